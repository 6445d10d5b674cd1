#include "api/source_object.h"

#include "base/platform.h"

#include <stdio.h>
#include <string.h>

struct source_call {
    const struct source_kind *kind;
    const struct source_given *given;
    void *object;
};

static tw_status read_object(void *user)
{
    struct source_call *call = user;
    return call->kind->read(call->object, call->given);
}

static tw_status check(tw_context *ctx, const struct source_given *given)
{
    char why[128];
    if (given->name && (given->text || given->is_file) && given->has_out)
        return TW_OK;
    snprintf(why, sizeof why, "%s: %s or `out` is NULL", given->function,
             given->is_file ? "`path`" : "`name`, `text`");
    return context_refuse(ctx, why);
}

void *source_object(tw_context *ctx, const struct source_kind *kind,
                    const struct source_given *given, tw_status *status)
{
    *status = ctx ? check(ctx, given) : TW_BAD_ARGUMENT;
    if (*status != TW_OK)
        return NULL;
    struct source_call call = {kind, given, context_object(ctx, kind->size)};
    if (!call.object) {
        *status = context_no_memory(ctx);
        return NULL;
    }
    kind->open(call.object, ctx);
    *status = context_call(ctx, read_object, &call);
    if (*status == TW_OK)
        return call.object;
    kind->destroy(call.object);
    return NULL;
}

tw_status source_object_read(const struct source_given *given, struct arena *a, struct diag *diag,
                             struct source *out)
{
    enum { MOST_TEXT = 64 << 20 }; /* bytes: a device may have no end */
    const char *why = "";
    out->name = arena_string(a, given->name, strlen(given->name));
    out->length = given->length;
    out->text = given->is_file
                    ? platform_read_text(a, given->name, MOST_TEXT, false, &out->length, &why)
                    : arena_string(a, given->text, given->length);
    if (out->text)
        return TW_OK;
    diag_error(diag, LOC_NONE, "cannot read `%s`: %s", given->name, why);
    return TW_NO_FILE;
}
