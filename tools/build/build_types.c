/* Reads element types for `build`: --type f16,bf16 or --type T=f16; several uses add up. */
#include "build/build.h"

#include <stdlib.h>
#include <string.h>

/* Request "T=f16", or "f16" for every variable that has it; `variable` is then "". */
struct wanted {
    char variable[64], type[64];
};

/* Reads the next type that --type names; *use and *at are its position. */
static bool next_wanted(const struct options *o, const struct option_use **use, const char **at,
                        struct wanted *out)
{
    while (!*use || !**at) {
        *use = options_next(o, "type", *use);
        if (!*use)
            return false;
        *at = (*use)->values[0];
    }
    size_t length = strcspn(*at, ",");
    const char *equals = memchr(*at, '=', length);
    size_t name = equals ? (size_t)(equals - *at) : 0;
    const char *type = equals ? equals + 1 : *at;
    snprintf(out->variable, sizeof out->variable, "%.*s", (int)name, *at);
    snprintf(out->type, sizeof out->type, "%.*s", (int)(*at + length - type), type);
    *at += length + ((*at)[length] == ',');
    return true;
}

static bool has_choice(const tw_type *variable, const char *type)
{
    for (int i = 0; i < variable->count; i++)
        if (strcmp(tw_dtype_name(variable->choices[i]), type) == 0)
            return true;
    return false;
}

/* Returns whether the request applies to that variable. */
static bool concerns(const struct wanted *w, const tw_type *variable)
{
    return *w->variable ? strcmp(w->variable, variable->name) == 0 : has_choice(variable, w->type);
}

bool type_asked(const struct options *o, const tw_type *variable, const char *type)
{
    const struct option_use *use = NULL;
    const char *at = NULL;
    struct wanted w;
    bool any = false;
    while (next_wanted(o, &use, &at, &w)) {
        if (!concerns(&w, variable))
            continue;
        any = true;
        if (strcmp(w.type, type) == 0)
            return true;
    }
    return !any;
}

static bool is_had(const struct known_kernel *list, int count, const struct wanted *w)
{
    tw_type variable = tw_type_init();
    for (int i = 0; i < count; i++)
        for (int t = 0; tw_kernel_type(list[i].kernel, t, &variable) == TW_OK; t++)
            if (concerns(w, &variable) && has_choice(&variable, w->type))
                return true;
    return false;
}

static int refuse(const struct known_kernel *list, int count, const struct options *o,
                  const struct wanted *w)
{
    char *choices = NULL;
    tw_type t = tw_type_init();
    for (int i = 0; i < count; i++)
        for (int v = 0; tw_kernel_type(list[i].kernel, v, &t) == TW_OK; v++) {
            append_text(&choices, "%s%s of %s: ", choices ? "; " : "", t.name,
                        tw_kernel_name(list[i].kernel));
            for (int c = 0; c < t.count; c++)
                append_text(&choices, "%s%s", c ? ", " : "", tw_dtype_name(t.choices[c]));
        }
    usage_error(NULL, o->command, "--type %s%s%s: no kernel has that (%s)", w->variable,
                *w->variable ? "=" : "", w->type,
                choices ? choices : "there are no type variables");
    free(choices);
    return STATUS_USAGE;
}

int types_check(const struct known_kernel *list, int count, const struct options *o)
{
    const struct option_use *use = NULL;
    const char *at = NULL;
    struct wanted w;
    while (next_wanted(o, &use, &at, &w))
        if (!is_had(list, count, &w))
            return refuse(list, count, o, &w);
    return STATUS_OK;
}
