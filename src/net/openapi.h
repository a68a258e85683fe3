/*
 * openapi.h - docs/openapi.yaml as JSON, made at build time by tools/openapi-json.
 */
#ifndef NET_OPENAPI_H
#define NET_OPENAPI_H

#include <stddef.h>

extern const char openapi_json[]; /* ends in NUL, which is not counted */
extern const size_t openapi_json_size;

#endif
