/* Structs that carry their size (the rule at the top of tilewright.h): reads and fills the bytes
 * that both the caller's program and this library know. */
#include "api/objects.h"

#include <stdio.h>
#include <string.h>

enum { MOST_SIZE = 65536 }; /* larger ones were not made by tw_NAME_init() */

struct sized_refusal {
    tw_context *ctx;
    const char *type;
    size_t size, known;
    tw_status status;
};

static size_t size_of(const void *object)
{
    size_t size;
    memcpy(&size, object, sizeof size);
    return size;
}

static tw_status refuse(void *user)
{
    const struct sized_refusal *r = user;
    if (r->status == TW_UNSUPPORTED)
        diag_error(&r->ctx->diag, LOC_NONE,
                   "this library, version %s, knows %zu bytes of %s; the caller's %zu bytes set "
                   "fields past them: leave them 0, or use a later library",
                   TW_VERSION, r->known, r->type, r->size);
    else
        diag_error(&r->ctx->diag, LOC_NONE, "%s.size is %zu: make the struct with %s_init()",
                   r->type, r->size, r->type);
    return r->status;
}

static tw_status refused(tw_context *ctx, const char *type, size_t size, size_t known,
                         tw_status status)
{
    return ctx ? context_call(ctx, refuse, &(struct sized_refusal){ctx, type, size, known, status})
               : status;
}

bool sized_fits(tw_context *ctx, const char *call, const char *type, const void *object)
{
    char why[96];
    if (!object) {
        snprintf(why, sizeof why, "%s: `out` is NULL", call);
        return ctx && context_refuse(ctx, why) == TW_OK;
    }
    size_t size = size_of(object);
    if (size >= sizeof size && size <= MOST_SIZE)
        return true;
    refused(ctx, type, size, 0, TW_BAD_ARGUMENT);
    return false;
}

tw_status sized_read(tw_context *ctx, const char *type, void *to, size_t known, const void *from)
{
    if (!sized_fits(ctx, "", type, from))
        return TW_BAD_ARGUMENT;
    size_t size = size_of(from);
    memset(to, 0, known);
    memcpy(to, from, size < known ? size : known);
    memcpy(to, &known, sizeof known);
    for (size_t i = known; i < size; i++)
        if (((const unsigned char *)from)[i])
            return refused(ctx, type, size, known, TW_UNSUPPORTED);
    return TW_OK;
}

void sized_fill(void *to, const void *from, size_t known)
{
    size_t size = size_of(to);
    size_t end = size < known ? size : known;
    memcpy((char *)to + sizeof size, (const char *)from + sizeof size, end - sizeof size);
}

tw_error *sized_error_to_fill(tw_error *error)
{
    return error && SIZED_FITS(NULL, tw_error, error) ? error : NULL;
}

tw_status sized_error_of_null(tw_error *error, const char *call, const char *argument)
{
    tw_error found = {.status = TW_BAD_ARGUMENT, .code = TW_CODE_ARGUMENT};
    snprintf(found.text, sizeof found.text, "error: %s: `%s` is NULL\n", call, argument);
    if (error)
        FILL_SIZED(error, found);
    return TW_BAD_ARGUMENT;
}
