/* Opening files, choosing the kernel, applying settings. */
#include "target.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void print_to_file(void *user, const char *text, size_t length)
{
    fwrite(text, 1, length, user);
}

/* "FILE:KERNEL": the last colon, when what follows is a name and no file is called like the whole. */
static void split_target(struct program *p, const char *target)
{
    const char *colon = strrchr(target, ':');
    bool is_name = colon && colon > target && (isalpha((unsigned char)colon[1]) || colon[1] == '_');
    for (const char *c = colon; is_name && *++c;)
        is_name = isalnum((unsigned char)*c) || *c == '_';
    if (is_name && access(target, F_OK) != 0) {
        p->path = need_text("%.*s", (int)(colon - target), target);
        p->kernel = need_text("%s", colon + 1);
    } else {
        p->path = need_text("%s", target);
    }
}

int program_open(struct program *p, const char *target, const struct program_config *config)
{
    *p = (struct program){0};
    split_target(p, target);
    tw_config settings = {.threads = config->threads,
                          .colour = config->colour,
                          .print = config->print ? print_to_file : NULL,
                          .print_user = config->print};
    tw_status s = tw_context_new(&settings, &p->ctx);
    if (s != TW_OK) {
        complain("%s", tw_status_text(s));
        return STATUS_FAILED;
    }
    s = tw_module_from_file(p->ctx, p->path, &p->module);
    if (s == TW_NO_FILE && !*tw_context_messages(p->ctx))
        complain("%s: %s", p->path, tw_status_text(s));
    else if (s != TW_OK || *tw_context_messages(p->ctx))
        complain_library(p->ctx, s);
    return s == TW_OK ? STATUS_OK : STATUS_USAGE;
}

void program_close(struct program *p)
{
    tw_context_free(p->ctx);
    free(p->path);
    free(p->kernel);
    *p = (struct program){0};
}

tw_kernel *program_kernel(const struct program *p, const struct command *c)
{
    int count = tw_module_kernel_count(p->module);
    if (p->kernel) {
        tw_kernel *k = tw_module_kernel(p->module, p->kernel);
        if (!k)
            complain_library(p->ctx, TW_NOT_FOUND);
        return k;
    }
    if (count == 1)
        return tw_module_kernel_at(p->module, 0);
    if (count == 0) {
        complain("%s has no kernel", p->path);
        return NULL;
    }
    complain("%s has %d kernels; say which:", p->path, count);
    for (int i = 0; i < count; i++)
        fprintf(stderr, "  tilewright %s %s:%s\n", c->name, p->path,
                tw_kernel_name(tw_module_kernel_at(p->module, i)));
    return NULL;
}

int find_param(tw_kernel *k, const char *name, tw_param *out)
{
    int count = tw_kernel_param_count(k);
    const char **names = need_memory(((size_t)count + 1) * sizeof *names);
    int found = -1;
    for (int i = 0; i < count && found < 0; i++) {
        tw_kernel_param(k, i, out);
        names[i] = out->name;
        if (strcmp(out->name, name) == 0)
            found = i;
    }
    if (found < 0) {
        const char *near = closest_name(name, names);
        complain("%s has no parameter '%s'%s%s%s", tw_kernel_name(k), name,
                 near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
    }
    free(names);
    return found;
}

bool is_float_type(tw_dtype t)
{
    return t == TW_F64 || t == TW_F32 || t == TW_F16 || t == TW_BF16;
}

bool parse_scalar(const char *text, tw_scalar *out)
{
    *out = (tw_scalar){0};
    if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0) {
        out->i = text[0] == 't';
        return true;
    }
    if (parse_integer(text, &out->i))
        return true;
    out->is_float = true;
    return parse_real(text, &out->f);
}

void format_scalar(char *out, size_t size, tw_scalar v)
{
    if (v.is_float)
        snprintf(out, size, "%.9g", v.f);
    else
        snprintf(out, size, "%lld", (long long)v.i);
}

void format_array_type(char *out, size_t size, const tw_array *a)
{
    int at = snprintf(out, size, "%s", tw_dtype_name(a->dtype));
    for (int i = 0; i < a->rank && at > 0 && (size_t)at < size; i++)
        at += snprintf(out + at, size - (size_t)at, "[%lld]", (long long)a->shape[i]);
}

static bool has_name(tw_kernel *k, const char *option, const char *name)
{
    tw_param param;
    tw_tune tune;
    tw_type type;
    if (strcmp(option, "set") == 0)
        for (int i = 0; tw_kernel_param(k, i, &param) == TW_OK; i++)
            if (strcmp(param.name, name) == 0)
                return true;
    if (strcmp(option, "tune") == 0)
        for (int i = 0; tw_kernel_tune(k, i, &tune) == TW_OK; i++)
            if (strcmp(tune.name, name) == 0)
                return true;
    if (strcmp(option, "type") == 0)
        for (int i = 0; tw_kernel_type(k, i, &type) == TW_OK; i++)
            if (strcmp(type.name, name) == 0)
                return true;
    return false;
}

static int set_scalar(tw_launch *l, tw_kernel *k, const struct options *o,
                      const struct assignment *a, tw_status *s)
{
    tw_param param;
    tw_scalar v;
    if (find_param(k, a->name, &param) < 0)
        return STATUS_USAGE;
    if (param.is_pointer)
        return usage_error(o->command, "--set %s=%s: `%s` is an array", a->name, a->value, a->name);
    bool wants_float = is_float_type(param.dtype);
    if (!parse_scalar(a->value, &v) || (v.is_float && !wants_float && param.dtype != TW_DTYPE_NONE))
        return usage_error(o->command, "--set %s=%s: `%s` is of type %s", a->name, a->value,
                           a->name, param.type_name ? param.type_name : tw_dtype_name(param.dtype));
    if (wants_float && !v.is_float)
        v = (tw_scalar){.is_float = true, .f = (double)v.i};
    *s = tw_launch_set(l, a->name, v);
    return STATUS_OK;
}

static int set_tuned(tw_launch *l, const struct options *o, const struct assignment *a,
                     tw_status *s)
{
    tw_scalar v;
    if (!parse_scalar(a->value, &v))
        return usage_error(o->command, "--tune %s=%s: expected a number", a->name, a->value);
    *s = tw_launch_tune(l, a->name, v);
    return STATUS_OK;
}

static int set_type(tw_launch *l, const struct options *o, const char *name, const char *type,
                    tw_status *s)
{
    tw_dtype t = tw_dtype_from_name(type);
    if (t == TW_DTYPE_NONE) {
        const char *names[TW_DTYPE_COUNT + 1] = {0};
        for (int i = 0; i < TW_DTYPE_COUNT; i++)
            names[i] = tw_dtype_name((tw_dtype)i);
        const char *near = closest_name(type, names);
        return usage_error(o->command, "unknown type %s%s%s%s", type, near ? "; did you mean " : "",
                           near ? near : "", near ? "?" : "");
    }
    *s = tw_launch_type(l, name, t);
    return STATUS_OK;
}

/* `--type f16`: all type variables that have it among their choices. */
static int set_every_type(tw_launch *l, tw_kernel *k, const struct options *o, const char *text,
                          tw_status *s)
{
    tw_type type;
    for (int i = 0; tw_kernel_type(k, i, &type) == TW_OK && *s == TW_OK; i++) {
        int status = set_type(l, o, type.name, text, s);
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

static int apply_one(tw_launch *l, tw_kernel *k, const struct options *o,
                     const struct option_use *use, bool others_too, tw_status *s)
{
    const char *option = use->spec->name;
    const char *at = use->values[0];
    if (strcmp(option, "type") == 0 && !strchr(at, '='))
        return set_every_type(l, k, o, at, s);
    struct assignment a;
    bool bad;
    int status = STATUS_OK;
    while (status == STATUS_OK && *s == TW_OK && next_assignment(&at, &a, &bad)) {
        if (others_too && !has_name(k, option, a.name))
            continue;
        if (strcmp(option, "set") == 0)
            status = set_scalar(l, k, o, &a, s);
        else if (strcmp(option, "tune") == 0)
            status = set_tuned(l, o, &a, s);
        else
            status = set_type(l, o, a.name, a.value, s);
    }
    if (status == STATUS_OK && *s == TW_OK && bad)
        return usage_error(o->command, "--%s %s: expected %s", option, use->values[0],
                           use->spec->value);
    return status;
}

int apply_settings(tw_launch *l, tw_kernel *k, const struct program *p, const struct options *o,
                   bool others_too)
{
    for (int i = 0; i < o->use_count; i++) {
        const char *option = o->uses[i].spec->name;
        if (strcmp(option, "set") != 0 && strcmp(option, "tune") != 0 &&
            strcmp(option, "type") != 0)
            continue;
        tw_status s = TW_OK;
        int status = apply_one(l, k, o, &o->uses[i], others_too, &s);
        if (s != TW_OK)
            complain_library(p->ctx, s);
        if (s != TW_OK || status != STATUS_OK)
            return STATUS_USAGE;
    }
    return STATUS_OK;
}

char *missing_scalars(tw_launch *l, tw_kernel *k)
{
    char *text = NULL;
    tw_param p;
    tw_scalar v;
    for (int i = 0; tw_kernel_param(k, i, &p) == TW_OK; i++) {
        if (p.is_pointer || tw_launch_value(l, p.name, &v) == TW_OK)
            continue;
        char *longer = need_text("%s%s%s=…", text ? text : "", text ? "," : "", p.name);
        free(text);
        text = longer;
    }
    return text;
}
