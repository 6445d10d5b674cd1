#include "cli/chosen.h"
#include "tilewright_tuning.h"

#include <stdlib.h>
#include <string.h>

/* --- before the choice --- */

/* Returns a device in words: "NVIDIA H200", "AMD EPYC, 2 cores, …", or the target itself if no such
 * device is here. The caller frees. */
static char *device_text(const char *target)
{
    tw_device d = tw_device_init();
    if (!device_named(target ? target : "cpu", &d))
        return need_text("%s", target);
    size_t length = strcspn(d.description, strcmp(d.name, "cpu") == 0 ? "" : ",");
    return need_text("%.*s", (int)length, d.description);
}

static int refuse(const struct program *p, tw_status s)
{
    complain_library(p->complaints, p->ctx, s);
    return s == TW_CANCELLED || s == TW_NO_MEMORY ? STATUS_FAILED : STATUS_USAGE;
}

/* Checks that some kernel has each name of the options. */
static int check_names(const struct program *p, const struct options *o, tw_family *f)
{
    int count = tw_family_kernel_count(f);
    struct known_kernel *list = need_memory((size_t)count * sizeof *list);
    for (int i = 0; i < count; i++)
        list[i] = (struct known_kernel){p, tw_family_kernel(f, i)};
    int status = settings_known(list, count, o);
    free(list);
    return status;
}

static bool lists(const tw_type *type, tw_dtype t)
{
    for (int i = 0; i < type->count; i++)
        if (type->choices[i] == t)
            return true;
    return false;
}

/* Returns whether the kernel takes the types of --type. */
static bool takes_types(tw_kernel *k, const struct options *o)
{
    tw_type type = tw_type_init();
    for (int i = 0; tw_kernel_type(k, i, &type) == TW_OK; i++) {
        tw_dtype asked = settings_type(o, type.name);
        if (asked != TW_DTYPE_NONE && !lists(&type, asked))
            return false;
    }
    return true;
}

/* Gives the family the types of --type, and finds a kernel that takes them. */
static int take_types(struct chosen *c, const struct program *p, const struct options *o)
{
    tw_type type = tw_type_init();
    tw_kernel *k;
    for (int i = 0; (k = tw_family_kernel(c->family, i)); i++)
        if (!c->any && takes_types(k, o))
            c->any = k;
    c->any = c->any ? c->any : tw_family_kernel(c->family, 0);
    for (int i = 0; tw_kernel_type(tw_family_kernel(c->family, 0), i, &type) == TW_OK; i++) {
        tw_dtype asked = settings_type(o, type.name);
        tw_status s = asked == TW_DTYPE_NONE ? TW_OK : tw_family_type(c->family, type.name, asked);
        if (s != TW_OK)
            return refuse(p, s);
    }
    return STATUS_OK;
}

int chosen_add_store(tw_family *f, const struct program *p, const struct options *o)
{
    const char *path = options_value(o, "store");
    tw_store *store;
    tw_status s = tw_store_open_existing(p->ctx, path, &store);
    if (!path && (s == TW_NOT_FOUND || s == TW_UNSUPPORTED))
        return STATUS_OK;
    if (s != TW_OK)
        return refuse(p, s);
    s = tw_family_add_store(f, store, NULL);
    tw_store_close(store);
    /* TW_UNSUPPORTED: the device is not here */
    return s == TW_OK || s == TW_UNSUPPORTED ? STATUS_OK : refuse(p, s);
}

int chosen_begin(struct chosen *c, const struct program *p, const struct options *o,
                 const char *target, const char *gpu)
{
    *c = (struct chosen){.own = gpu ? need_text("%s", gpu) : device_text(target)};
    tw_status s =
        tw_family_from_file(p->ctx, p->path, tw_family_name(p->family), target, &c->family);
    if (s == TW_OK && gpu)
        s = tw_family_device(c->family, gpu);
    if (s == TW_OK && options_has(o, "same-bits"))
        s = tw_family_same_bits(c->family, true);
    if (s != TW_OK)
        return refuse(p, s);
    int status = check_names(p, o, c->family);
    if (status == STATUS_OK)
        status = take_types(c, p, o);
    return status == STATUS_OK ? chosen_add_store(c->family, p, o) : status;
}

int chosen_refuse(const struct program *p, const struct options *o)
{
    return options_has(o, "same-bits")
               ? usage_error(p->complaints, o->command,
                             "--same-bits is for a family, and %s is a kernel", p->path)
               : STATUS_OK;
}

/* --- the choice --- */

/* Takes the types of a launch, of which some may follow from its arrays. */
static tw_status take_launch_types(struct chosen *c, tw_launch *sizes)
{
    tw_tuned key = tw_tuned_init();
    tw_status s = tw_launch_tuning_key(sizes, c->own, &key);
    const char *at = c->types = need_text("%s", s == TW_OK ? key.types : "");
    struct assignment a;
    bool bad;
    while (s == TW_OK && next_assignment(&at, &a, &bad))
        s = tw_family_type(c->family, a.name, tw_dtype_from_name(a.value));
    return s;
}

/* Refuses a launch without a choice: a size may be missing. */
static int refuse_choice(const struct program *p, tw_launch *sizes, tw_kernel *k, tw_status s)
{
    tw_message m = tw_message_init();
    bool unset =
        s == TW_BAD_ARGUMENT && tw_context_message(p->ctx, 0, &m) && m.code == TW_CODE_UNSET;
    int status = refuse(p, s);
    char *missing = unset ? missing_scalars(sizes, k) : NULL;
    if (missing)
        complain_more(p->complaints, "give it with --set %s", missing);
    free(missing);
    return status;
}

static char *copy_of(const char *text)
{
    return text ? need_text("%s", text) : NULL;
}

int chosen_take(struct chosen *c, struct program *p, tw_launch *sizes)
{
    tw_choice made = tw_choice_init();
    int member = 0;
    tw_status s = take_launch_types(c, sizes);
    if (s == TW_OK)
        s = tw_family_choose_for(c->family, sizes, &made);
    if (s != TW_OK)
        return refuse_choice(p, sizes, c->any, s);
    c->variant = need_text("%s", made.variant);
    c->kernel = need_text("%s", tw_kernel_name(made.kernel));
    c->tune = need_text("%s", made.tune);
    c->by = made.by;
    c->device = copy_of(made.device);
    c->nearest = copy_of(made.nearest);
    c->result_types = copy_of(made.types);
    c->distance = made.distance;
    c->milliseconds = made.milliseconds;
    c->compared = made.compared;
    while (tw_family_kernel(c->family, member) != made.kernel)
        member++;
    return program_take_member(p, member);
}

int chosen_apply(const struct chosen *c, const struct program *p, tw_launch *l)
{
    const char *at = c->types;
    struct assignment a;
    bool bad;
    tw_value v;
    tw_status s = TW_OK;
    if (!c->variant)
        return STATUS_OK;
    while (s == TW_OK && next_assignment(&at, &a, &bad)) {
        s = tw_launch_type(l, a.name, tw_dtype_from_name(a.value));
        s = s == TW_NOT_FOUND ? TW_OK : s; /* the kernel lacks the variable */
    }
    at = c->tune;
    while (s == TW_OK && next_assignment(&at, &a, &bad))
        if (parse_scalar(a.value, &v))
            s = tw_launch_tune(l, a.name, v);
    return s == TW_OK ? STATUS_OK : refuse(p, s);
}

/* --- tuned values by hand --- */

/* Returns the kernels of the family that have a tuned value, as "`rows` and `columns`". The caller
 * frees. */
static char *kernels_with(tw_family *f, const char *name)
{
    char *text = NULL;
    tw_kernel *k;
    for (int i = 0; (k = tw_family_kernel(f, i)); i++)
        if (setting_named(k, "tune", name))
            append_text(&text, "%s`%s`", text ? ", " : "", tw_kernel_name(k));
    return text;
}

int chosen_has_tuned(struct chosen *c, const struct program *p, const struct options *o,
                     tw_kernel *k)
{
    for (const struct option_use *u = NULL; c->variant && (u = options_next(o, "tune", u));) {
        const char *at = u->values[0];
        append_text(&c->by_hand, "%s%s", c->by_hand ? "," : "", at);
        struct assignment a;
        bool bad;
        while (next_assignment(&at, &a, &bad)) {
            if (setting_named(k, "tune", a.name))
                continue;
            char *others = kernels_with(c->family, a.name);
            usage_error(p->complaints, o->command,
                        "--tune %s: at these sizes the choice is `%s`, which has no such value; "
                        "FAMILY:KERNEL takes a kernel that has it: %s",
                        a.name, c->kernel, others);
            free(others);
            return STATUS_USAGE;
        }
    }
    return STATUS_OK;
}

/* --- in words --- */

/* Returns the reason of the choice. */
static char *reason_text(const struct chosen *c)
{
    const char *with = c->result_types ? " with " : "",
               *types = c->result_types ? c->result_types : "";
    if (c->by == TW_BY_RESULT)
        return need_text("%s, %.4g ms at these sizes%s%s on %s", c->variant, c->milliseconds, with,
                         types, c->device);
    if (c->by == TW_BY_NEAREST)
        return need_text("%s, estimated %.4g ms from %s%s%s", c->variant, c->milliseconds,
                         c->nearest, with, types);
    if (c->device)
        return need_text("%s, by the model: no results for %s, so from those of %s at %s%s%s",
                         c->variant, c->own, c->device, c->nearest, with, types);
    if (c->milliseconds > 0)
        return need_text(
            "%s, estimated %.4g ms from the work of one block: no results for it on %s", c->variant,
            c->milliseconds, c->own);
    return need_text("%s: no results for %s, which the model does not know (`tilewright tune` "
                     "finds the fastest)",
                     c->variant, c->own);
}

char *chosen_text(const struct chosen *c)
{
    char *text = reason_text(c);
    if (c->by_hand)
        append_text(&text, "; --tune replaces its values by %s", c->by_hand);
    return text;
}

void chosen_json(const struct chosen *c, struct json *j)
{
    static const char *const ways[] = {
        [TW_BY_RESULT] = "result", [TW_BY_NEAREST] = "nearest", [TW_BY_MODEL] = "model"};
    if (!c->variant)
        return;
    json_open_object(j, "chosen");
    json_put_text(j, "kernel", c->kernel);
    json_put_text(j, "tune", c->tune);
    json_put_text(j, "types", c->types);
    json_put_text(j, "by", ways[c->by]);
    json_put_text(j, "device", c->device);
    json_put_text(j, "nearest", c->nearest);
    json_put_real(j, "distance", c->distance);
    json_put_real(j, "milliseconds", c->milliseconds);
    json_put_integer(j, "compared", c->compared);
    json_put_text(j, "result_types", c->result_types);
    json_put_text(j, "by_hand", c->by_hand);
    json_close(j, '}');
}

void chosen_free(struct chosen *c)
{
    free(c->own);
    free(c->variant);
    free(c->kernel);
    free(c->tune);
    free(c->types);
    free(c->device);
    free(c->nearest);
    free(c->result_types);
    free(c->by_hand);
    *c = (struct chosen){0};
}
