#include "cli/settings.h"
#include "cli/tensor.h"
#include "tilewright_look.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_setting(const char *option)
{
    return strcmp(option, "set") == 0 || strcmp(option, "tune") == 0 || strcmp(option, "type") == 0;
}

const char *setting_at(tw_kernel *k, const char *option, int index)
{
    tw_param param = tw_param_init();
    tw_tune tune = tw_tune_init();
    tw_type type = tw_type_init();
    if (strcmp(option, "tune") == 0)
        return tw_kernel_tune(k, index, &tune) == TW_OK ? tune.name : NULL;
    if (strcmp(option, "type") == 0)
        return tw_kernel_type(k, index, &type) == TW_OK ? type.name : NULL;
    for (int i = 0; tw_kernel_param(k, i, &param) == TW_OK; i++)
        if (param.is_pointer == (strcmp(option, "fill") == 0) && index-- == 0)
            return param.name;
    return NULL;
}

bool setting_named(tw_kernel *k, const char *option, const char *name)
{
    const char *known;
    for (int i = 0; (known = setting_at(k, option, i)); i++)
        if (strcmp(known, name) == 0)
            return true;
    return false;
}

/* Finds the last NAME=VALUE that the option gives for the name. Returns false if there is none. */
static bool latest_assignment(const struct options *o, const char *option, const char *name,
                              struct assignment *out)
{
    bool found = false;
    for (const struct option_use *u = NULL; (u = options_next(o, option, u));) {
        const char *at = u->values[0];
        struct assignment a;
        bool bad;
        while (next_assignment(&at, &a, &bad))
            if (strcmp(a.name, name) == 0) {
                *out = a;
                found = true;
            }
    }
    return found;
}

enum fill settings_fill(const struct options *o, const char *name)
{
    struct assignment a;
    return latest_assignment(o, "fill", name, &a) ? fill_from_name(a.value) : FILL_NONE;
}

enum fill settings_fill_of_all(const struct options *o)
{
    enum fill kind = FILL_NONE;
    for (const struct option_use *u = NULL; (u = options_next(o, "fill", u));)
        kind = strchr(u->values[0], '=') ? kind : fill_from_name(u->values[0]);
    return kind;
}

bool settings_give(const struct options *o, const char *option, const char *name)
{
    struct assignment a;
    return latest_assignment(o, option, name, &a);
}

tw_dtype settings_type(const struct options *o, const char *variable)
{
    tw_dtype t = TW_DTYPE_NONE;
    for (const struct option_use *u = NULL; (u = options_next(o, "type", u));) {
        const char *at = u->values[0];
        struct assignment a;
        bool bad;
        if (!strchr(at, '='))
            t = tw_dtype_from_name(at);
        while (next_assignment(&at, &a, &bad))
            if (strcmp(a.name, variable) == 0)
                t = tw_dtype_from_name(a.value);
    }
    return t;
}

/* --- names that no kernel has --- */

/* Returns the value, as text, of a program constant that the kernel uses, or NULL if the name is
 * not such a constant. Tuned values are printed as constants too, so call this only for names
 * that are not tuned values. The caller frees. */
static char *constant_value(tw_kernel *k, const char *name)
{
    tw_launch *l;
    const char *text;
    char *value = NULL;
    if (tw_launch_new(k, &l) != TW_OK)
        return NULL;
    char *declared = need_text(" %s = ", name);
    if (tw_launch_show(l, "check", &text) == TW_OK)
        for (const char *line = text; *line && !value;) {
            size_t length = strcspn(line, "\n");
            const char *at = strstr(line, declared);
            if (strncmp(line, "const ", 6) == 0 && at && at < line + length)
                value = need_text("%.*s", (int)strcspn(at + strlen(declared), ";\n"),
                                  at + strlen(declared));
            line += length + (line[length] == '\n');
        }
    free(declared);
    tw_launch_free(l);
    return value;
}

static const char *const nouns[][2] = {{"set", "scalar parameter"},
                                       {"tune", "tuned value"},
                                       {"type", "type variable"},
                                       {"fill", "array"}};

static const char *noun_of(const char *option)
{
    for (size_t i = 0; i < sizeof nouns / sizeof *nouns; i++)
        if (strcmp(nouns[i][0], option) == 0)
            return nouns[i][1];
    return option;
}

static bool say_constant(const struct known_kernel *list, int count, const struct options *o,
                         const char *name)
{
    for (int i = 0; i < count; i++) {
        char *value = constant_value(list[i].kernel, name);
        if (!value)
            continue;
        usage_error(list[i].program->complaints, o->command,
                    "--tune %s: `%s` is a constant of %s, %s; `tune %s = {%s, …};` there makes it "
                    "one to choose",
                    name, name, list[i].program->path, value, name, value);
        free(value);
        return true;
    }
    return false;
}

static int say_unknown(const struct known_kernel *list, int count, const struct options *o,
                       const char *option, const char *name)
{
    const char **names = NULL, *known;
    size_t n = 0;
    if (strcmp(option, "tune") == 0 && say_constant(list, count, o, name))
        return STATUS_USAGE;
    for (int i = 0; i < count; i++)
        for (int j = 0; (known = setting_at(list[i].kernel, option, j)); j++) {
            ADD_TO(names, n, known);
        }
    NEED_ROOM(names, n);
    names[n] = NULL;
    char *hint = name_hint(name, names);
    const char *who = count == 1 ? tw_kernel_name(list[0].kernel) : NULL;
    usage_error(list[0].program->complaints, o->command, "--%s %s: %s has %s %s '%s'%s", option,
                name, who ? who : "none of the kernels", who ? "no" : "a", noun_of(option), name,
                hint);
    free(hint);
    free(names);
    return STATUS_USAGE;
}

/* Returns whether `--type f16` can apply to the kernel: it has a type variable, or an array
 * whose fixed type is `type`. */
static bool type_known(tw_kernel *k, const char *type)
{
    tw_param p = tw_param_init();
    bool found = tw_kernel_type_count(k) > 0 || tw_dtype_from_name(type) == TW_DTYPE_NONE;
    for (int i = 0; !found && tw_kernel_param(k, i, &p) == TW_OK; i++)
        found = p.is_pointer && p.dtype == tw_dtype_from_name(type);
    return found;
}

static int say_no_types(const struct known_kernel *list, int count, const struct options *o,
                        const char *type)
{
    const char *who = count == 1 ? tw_kernel_name(list[0].kernel) : "none of the kernels";
    return usage_error(list[0].program->complaints, o->command,
                       "--type %s: %s has %s type variable, so no array can be of that type", type,
                       who, count == 1 ? "no" : "a");
}

static int bad_fill(struct complaints *c, const struct options *o, const struct option_use *use)
{
    const char *text = use->values[0];
    bool takes_all = *use->spec->value == '[';
    return usage_error(c, o->command, "--fill %s: expected %s" FILL_NAMES, text,
                       takes_all ? "[NAME=]" : "NAME=");
}

static bool any_named(const struct known_kernel *list, int count, const char *option,
                      const char *name)
{
    bool found = false;
    for (int i = 0; i < count && !found; i++)
        found = setting_named(list[i].kernel, option, name);
    return found;
}

/* Checks `--type f16`, which sets all type variables of a kernel. */
static int every_type_known(const struct known_kernel *list, int count, const struct options *o,
                            const char *type)
{
    bool found = false;
    for (int i = 0; i < count && !found; i++)
        found = type_known(list[i].kernel, type);
    return found ? STATUS_OK : say_no_types(list, count, o, type);
}

static int use_known(const struct known_kernel *list, int count, const struct options *o,
                     const struct option_use *use)
{
    struct complaints *said = list[0].program->complaints;
    const char *option = use->spec->name, *at = use->values[0];
    bool is_type = strcmp(option, "type") == 0, is_fill = strcmp(option, "fill") == 0, bad;
    struct assignment a;
    tw_value v;
    if (is_type && !strchr(at, '='))
        return every_type_known(list, count, o, at);
    if (is_fill && *use->spec->value == '[' && fill_from_name(at) != FILL_NONE)
        return STATUS_OK;
    while (next_assignment(&at, &a, &bad)) {
        if (!any_named(list, count, option, a.name))
            return say_unknown(list, count, o, option, a.name);
        if (strcmp(option, "tune") == 0 && !parse_scalar(a.value, &v))
            return usage_error(said, o->command, "--tune %s=%s: expected a number", a.name,
                               a.value);
        if (is_fill && fill_from_name(a.value) == FILL_NONE)
            return bad_fill(said, o, use);
    }
    if (bad && is_fill)
        return bad_fill(said, o, use);
    if (bad && !is_type)
        return usage_error(said, o->command, "--%s %s: expected NAME=VALUE", option, at);
    return STATUS_OK;
}

int settings_known(const struct known_kernel *list, int count, const struct options *o)
{
    int status = STATUS_OK;
    for (int u = 0; u < o->use_count && count > 0 && status == STATUS_OK; u++) {
        const char *option = o->uses[u].spec->name;
        if (is_setting(option) || strcmp(option, "fill") == 0)
            status = use_known(list, count, o, &o->uses[u]);
    }
    return status;
}

/* --- giving them --- */

struct setting {
    tw_launch *launch;
    tw_kernel *kernel;
    const struct program *program;
    const struct options *options;
    const char *given_by; /* the option, for messages */
    tw_status status;     /* of the library */
};

static bool is_hexadecimal(const char *text)
{
    return strncmp(text, "0x", 2) == 0 || strncmp(text, "0X", 2) == 0;
}

/* Returns whether the text has the form of an integer, of any size. */
static bool looks_integer(const char *text)
{
    text += *text == '-' || *text == '+';
    const char *digits = is_hexadecimal(text) ? "0123456789abcdefABCDEF" : "0123456789";
    text += is_hexadecimal(text) ? 2 : 0;
    return *text && !text[strspn(text, digits)];
}

/* Parses an unsigned 64-bit value that does not fit into int64_t; stores its bits. */
static bool parse_unsigned(const char *text, tw_value *out)
{
    char *end;
    errno = 0;
    unsigned long long v = strtoull(text, &end, is_hexadecimal(text) ? 16 : 10);
    *out = tw_int((int64_t)v);
    return end != text && !*end && !errno && *text != '-';
}

/* Returns the message about a 64-bit integer that is out of range, or NULL if it is in range.
 * The library reports narrower integers. */
static const char *integer_fault(tw_dtype t, const char *text, const tw_value *v)
{
    if (t == TW_U64 && v->kind != TW_FLOAT && v->i < 0 && *text == '-')
        return "has no negative values";
    bool is_integer = t != TW_DTYPE_NONE && !is_float_type(t);
    return is_integer && v->kind == TW_FLOAT && looks_integer(text) ? "does not hold that" : NULL;
}

static int set_scalar(struct setting *s, const struct assignment *a)
{
    tw_param param = tw_param_init();
    tw_value v;
    struct complaints *c = s->program->complaints;
    if (find_param(s->program, s->kernel, a->name, false, &param) < 0)
        return STATUS_USAGE;
    if (param.is_pointer)
        return usage_error(c, s->options->command, "--%s %s=%s: `%s` is an array", s->given_by,
                           a->name, a->value, a->name);
    bool wants_float = is_float_type(param.dtype);
    bool parsed =
        (param.dtype == TW_U64 && parse_unsigned(a->value, &v)) || parse_scalar(a->value, &v);
    const char *fault = parsed ? integer_fault(param.dtype, a->value, &v) : NULL;
    if (fault)
        return usage_error(c, s->options->command, "--%s %s=%s: `%s` is of type %s, which %s",
                           s->given_by, a->name, a->value, a->name, tw_dtype_name(param.dtype),
                           fault);
    if (!parsed)
        return usage_error(c, s->options->command, "--%s %s=%s: `%s` is not a number", s->given_by,
                           a->name, a->value, a->value);
    if (v.kind == TW_FLOAT && !wants_float && param.dtype != TW_DTYPE_NONE)
        return usage_error(c, s->options->command, "--%s %s=%s: `%s` is of type %s", s->given_by,
                           a->name, a->value, a->name,
                           param.type_name ? param.type_name : tw_dtype_name(param.dtype));
    if (wants_float && v.kind != TW_FLOAT)
        v = tw_float(*a->value == '-' && v.i == 0 ? -0.0 : (double)v.i);
    s->status = tw_launch_set(s->launch, a->name, v);
    return STATUS_OK;
}

static int set_tuned(struct setting *s, const struct assignment *a)
{
    tw_value v;
    struct known_kernel k = {s->program, s->kernel};
    if (!setting_named(s->kernel, "tune", a->name) && say_constant(&k, 1, s->options, a->name))
        return STATUS_USAGE;
    if (!parse_scalar(a->value, &v))
        return usage_error(s->program->complaints, s->options->command,
                           "--%s %s=%s: expected a number", s->given_by, a->name, a->value);
    s->status = tw_launch_tune(s->launch, a->name, v);
    return STATUS_OK;
}

/* Returns STATUS_OK, or prints a message about an unknown type. */
static int known_type(const struct setting *s, const char *type)
{
    const char *names[TW_DTYPE_COUNT + 1] = {0};
    if (tw_dtype_from_name(type) != TW_DTYPE_NONE)
        return STATUS_OK;
    if (strchr(type, ','))
        return usage_error(s->program->complaints, s->options->command,
                           "--%s %s: `%s` takes one element type at a time", s->given_by, type,
                           s->options->command->name);
    for (int i = 0; i < TW_DTYPE_COUNT; i++)
        names[i] = tw_dtype_name((tw_dtype)i);
    char *hint = name_hint(type, names);
    usage_error(s->program->complaints, s->options->command, "--%s: unknown type '%s'%s",
                s->given_by, type, hint);
    free(hint);
    return STATUS_USAGE;
}

static int set_type(struct setting *s, const char *name, const char *type)
{
    int status = known_type(s, type);
    if (status == STATUS_OK)
        s->status = tw_launch_type(s->launch, name, tw_dtype_from_name(type));
    return status;
}

/* Applies `--type f16` to all type variables. */
static int set_every_type(struct setting *s, const char *text)
{
    tw_type type = tw_type_init();
    int status = known_type(s, text); /* also where the kernel has no type variable */
    for (int i = 0;
         tw_kernel_type(s->kernel, i, &type) == TW_OK && s->status == TW_OK && status == STATUS_OK;
         i++)
        status = set_type(s, type.name, text);
    return status;
}

static int give(struct setting *s, const char *option, const struct assignment *a)
{
    if (strcmp(option, "set") == 0)
        return set_scalar(s, a);
    if (strcmp(option, "tune") == 0)
        return set_tuned(s, a);
    return set_type(s, a->name, a->value);
}

static int end_of(const struct setting *s, int status)
{
    if (s->status == TW_OK)
        return status;
    complain_library(s->program->complaints, s->program->ctx, s->status);
    return STATUS_USAGE;
}

int apply_assignment(tw_launch *l, tw_kernel *k, const struct program *p, const struct options *o,
                     const char *option, const char *given_by, const struct assignment *a)
{
    struct setting s = {.launch = l, .kernel = k, .program = p, .options = o, .given_by = given_by};
    return end_of(&s, give(&s, option, a));
}

static int apply_one(struct setting *s, const struct option_use *use, bool others_too)
{
    const char *option = use->spec->name, *at = use->values[0];
    if (strcmp(option, "type") == 0 && !strchr(at, '=')) {
        const struct known_kernel one = {s->program, s->kernel};
        return others_too || type_known(s->kernel, at) ? set_every_type(s, at)
                                                       : say_no_types(&one, 1, s->options, at);
    }
    struct assignment a;
    bool bad = false;
    int status = STATUS_OK;
    while (status == STATUS_OK && s->status == TW_OK && next_assignment(&at, &a, &bad)) {
        if (others_too && !setting_named(s->kernel, option, a.name))
            continue;
        status = give(s, option, &a);
    }
    if (status == STATUS_OK && s->status == TW_OK && bad)
        return usage_error(s->program->complaints, s->options->command, "--%s %s: expected %s",
                           option, at, use->spec->value);
    return status;
}

/* Applies --sms: sets device.sms, from which device.clusters follows if the kernel has both. */
static int apply_sms(struct setting *s, const struct option_use *use)
{
    static const char *const names[] = {"device.sms", "device.clusters"};
    struct assignment a;
    tw_value v;
    if (!parse_scalar(use->values[0], &v) || v.kind != TW_INTEGER || v.i < 1 || v.i > INT32_MAX)
        return usage_error(s->program->complaints, s->options->command,
                           "--sms %s: expected a number of multiprocessors, 1 or more",
                           use->values[0]);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(a.name, sizeof a.name, "%s", names[i]);
        snprintf(a.value, sizeof a.value, "%.60s", use->values[0]);
        if (setting_named(s->kernel, "set", a.name))
            return set_scalar(s, &a);
    }
    return STATUS_OK;
}

int apply_settings(tw_launch *l, tw_kernel *k, const struct program *p, const struct options *o,
                   bool others_too)
{
    for (int i = 0; i < o->use_count; i++) {
        struct setting s = {.launch = l,
                            .kernel = k,
                            .program = p,
                            .options = o,
                            .given_by = o->uses[i].spec->name};
        bool is_sms = strcmp(s.given_by, "sms") == 0;
        if (is_sms && end_of(&s, apply_sms(&s, &o->uses[i])) != STATUS_OK)
            return STATUS_USAGE;
        if (!is_setting(s.given_by))
            continue;
        if (end_of(&s, apply_one(&s, &o->uses[i], others_too)) != STATUS_OK)
            return STATUS_USAGE;
    }
    return STATUS_OK;
}

int settings_fills_known(const struct known_kernel *k, const struct options *o)
{
    int status = STATUS_OK;
    for (int i = 0; i < o->use_count && status == STATUS_OK; i++) {
        struct options one = *o;
        one.uses = &o->uses[i];
        one.use_count = 1;
        if (strcmp(o->uses[i].spec->name, "fill") == 0)
            status = settings_known(k, 1, &one);
    }
    return status;
}
