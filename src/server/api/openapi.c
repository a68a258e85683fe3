/*
 * openapi.c - the API's description for programs.
 */
#include "net/openapi.h"
#include "net/http.h"
#include "server/api/api.h"
#include "server/api/call.h"

void api_openapi(struct server *s, const struct call *c)
{
	http_reply(c->r, 200, "application/json", openapi_json, openapi_json_size);
}
