/*
 * handle.h - callbacks for uv_close(): they free the struct that has the handle, or the handle.
 */
#ifndef NET_HANDLE_H
#define NET_HANDLE_H

#include <stdlib.h>
#include <uv.h>

static inline void handle_data_free(uv_handle_t *h)
{
	free(h->data);
}

static inline void handle_free(uv_handle_t *h)
{
	free(h);
}

#endif
