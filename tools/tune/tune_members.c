/* The kernels that are tuned together, their element types and settings. */
#include "tune/tune.h"

#include "cli/type_list.h"
#include "cli/product.h"
#include "cli/settings.h"

#include <stdlib.h>
#include <string.h>

/* --- opening --- */

static void add_member(struct tuning *t, const struct program *p, tw_kernel *k)
{
    NEED_ROOM(t->members, t->member_count);
    t->members[t->member_count++] =
        (struct member){.program = p, .kernel = k, .batched = takes_extent(k, "batch")};
}

/* Opens FILE[:KERNEL] and adds its kernel, or the kernels of a family. */
static int open_word(struct tuning *t, const char *word)
{
    struct program *p = &t->programs[t->program_count++];
    int status = program_open_in(p, word, t->ctx, NULL);
    if (status != STATUS_OK)
        return status;
    if (program_is_family(p)) {
        for (int i = 0; i < tw_family_kernel_count(p->family); i++)
            add_member(t, p, tw_family_kernel(p->family, i));
        t->family = t->given->word_count == 1 ? tw_family_name(p->family) : NULL;
        return STATUS_OK;
    }
    tw_kernel *k = program_kernel(p, t->self);
    if (!k)
        return STATUS_USAGE;
    add_member(t, p, k);
    return STATUS_OK;
}

static bool same_param(const tw_param *a, const tw_param *b)
{
    const char *type_a = a->type_name ? a->type_name : "",
               *type_b = b->type_name ? b->type_name : "";
    return strcmp(a->name, b->name) == 0 && a->is_pointer == b->is_pointer &&
           a->is_const == b->is_const && a->dtype == b->dtype && strcmp(type_a, type_b) == 0 &&
           !a->derived == !b->derived;
}

/* Returns the number of parameters before those that are numbers of the device, as device.sms: these
 * come last, and their expression is their name. */
static int own_params(const tw_kernel *k)
{
    tw_param p = tw_param_init();
    int count = tw_kernel_param_count(k);
    while (count > 0 && tw_kernel_param(k, count - 1, &p) == TW_OK && p.derived &&
           strcmp(p.derived, p.name) == 0)
        count--;
    return count;
}

/* Checks that the member has the parameters of the first one, because all get the same sizes and
 * arrays. */
static int check_parameters(const struct tuning *t, const struct member *m)
{
    const struct member *first = &t->members[0];
    tw_param a = tw_param_init();
    tw_param b = tw_param_init();
    int count = own_params(first->kernel);
    bool same = count == own_params(m->kernel);
    for (int i = 0; i < count && same; i++) {
        tw_kernel_param(first->kernel, i, &a);
        tw_kernel_param(m->kernel, i, &b);
        same = same_param(&a, &b);
    }
    if (same)
        return STATUS_OK;
    complain(NULL,
             "%s and %s cannot be tuned together, because their parameters differ: kernels that "
             "are tuned together declare the same names and types in the same order",
             tw_kernel_name(first->kernel), tw_kernel_name(m->kernel));
    return STATUS_USAGE;
}

static int check_names(const struct tuning *t)
{
    struct known_kernel *known = need_memory((size_t)t->member_count * sizeof *known);
    for (int i = 0; i < t->member_count; i++)
        known[i] = (struct known_kernel){t->members[i].program, t->members[i].kernel};
    int status = t->member_count == 1 ? settings_fills_known(known, t->given)
                                      : settings_known(known, t->member_count, &t->settings);
    free(known);
    return status;
}

/* Returns whether some --type lists several types, or gives one to several members. Such types are
 * tuned for one after the other; a type with a name stays a setting. */
static bool lists_types(const struct tuning *t)
{
    for (const struct option_use *u = NULL; (u = options_next(t->given, "type", u));)
        if (!strchr(u->values[0], '=') && (strchr(u->values[0], ',') || t->member_count > 1))
            return true;
    return false;
}

/* Returns the type that the members have without --type: the first one of the first member, if it
 * has one type variable. */
static tw_dtype usual_type(const struct tuning *t)
{
    tw_type type = tw_type_init();
    bool one = t->member_count > 1 && tw_kernel_type_count(t->members[0].kernel) == 1 &&
               !options_has(t->given, "type");
    return one && tw_kernel_type(t->members[0].kernel, 0, &type) == TW_OK ? type.choices[0]
                                                                          : TW_DTYPE_NONE;
}

static int split_types(struct tuning *t)
{
    struct type_list found = {.count = 0};
    if (!lists_types(t)) {
        size_t bytes = (size_t)(t->given->use_count + 1) * sizeof *t->given->uses;
        t->types[t->type_count++] = usual_type(t);
        t->settings = *t->given;
        t->settings.uses = need_memory(bytes);
        memcpy(t->settings.uses, t->given->uses, bytes - sizeof *t->given->uses);
        return STATUS_OK;
    }
    int status = type_list_split(&found, &t->settings, t->self, t->given);
    for (int i = 0; i < found.count && status == STATUS_OK; i++)
        t->types[t->type_count++] = found.list[i];
    return status;
}

/* Removes --tune from the settings: it lists candidates. */
static void drop_tune(struct options *o)
{
    int kept = 0;
    for (int i = 0; i < o->use_count; i++)
        if (strcmp(o->uses[i].spec->name, "tune") != 0)
            o->uses[kept++] = o->uses[i];
    o->use_count = kept;
}

/* Gathers the variants of --known, for the types to tune for. */
static int gather_known(struct tuning *t)
{
    tw_family *f = t->programs[0].family;
    tw_type variable = tw_type_init();
    tw_choice c = tw_choice_init();
    if (!t->known)
        return STATUS_OK;
    if (!t->family)
        return usage_error(NULL, t->self, "--known is for a family: its tables name the variants");
    for (int i = 0; i < t->type_count; i++) {
        for (int v = 0; tw_kernel_type(t->members[0].kernel, v, &variable) == TW_OK; v++)
            if (t->types[i] != TW_DTYPE_NONE)
                tw_family_type(f, variable.name, t->types[i]);
        for (int n = 0; tw_family_variant(f, n, true, &c); n++) {
            t->known_names = need_more_memory(t->known_names, (size_t)(t->known_count + 1) *
                                                                  sizeof *t->known_names);
            t->known_names[t->known_count++] = need_text("%s", c.variant);
        }
    }
    if (t->known_count > 0)
        return STATUS_OK;
    return usage_error(
        NULL, t->self,
        "--known: the tables of %s name no variant for these types; without --known, "
        "tune searches all",
        t->family);
}

int members_open(struct tuning *t)
{
    int words = t->given->word_count, status = STATUS_OK;
    if (words == 0)
        return no_one_file(NULL, t->self, 0);
    const struct program_config config = {.threads = (int)t->threads,
                                          .colour = on_terminal(stderr),
                                          .device = options_value(t->given, "device")};
    t->programs = need_memory((size_t)words * sizeof *t->programs);
    t->types = need_memory(TYPE_LIST_MOST * sizeof *t->types);
    status = context_open(&t->ctx, &config);
    for (int i = 0; i < words && status == STATUS_OK; i++)
        status = open_word(t, t->given->words[i]);
    for (int i = 1; i < t->member_count && status == STATUS_OK; i++)
        status = check_parameters(t, &t->members[i]);
    if (status == STATUS_OK)
        status = device_choose(t);
    if (status == STATUS_OK)
        status = split_types(t);
    if (status == STATUS_OK)
        status = gather_known(t);
    drop_tune(&t->settings);
    for (int i = 0; i < t->member_count && status == STATUS_OK; i++)
        status = candidates_make(t, i);
    return status == STATUS_OK ? check_names(t) : status;
}

void members_close(struct tuning *t)
{
    for (int i = 0; i < t->candidate_count; i++) {
        free(t->candidates[i].tuned);
        free(t->candidates[i].text);
    }
    for (int i = 0; i < t->known_count; i++)
        free(t->known_names[i]);
    free(t->known_names);
    for (int i = 0; i < t->program_count; i++)
        program_close(&t->programs[i]);
    tw_context_free(t->ctx);
    free(t->programs);
    free(t->candidates);
    free(t->members);
    free(t->types);
    free(t->settings.uses);
    free(t->device);
}

/* --- launches --- */

static void set_types(const struct tuning *t, const struct member *m, tw_launch *l)
{
    tw_type type = tw_type_init();
    for (int i = 0; tw_kernel_type(m->kernel, i, &type) == TW_OK; i++)
        for (int c = 0; c < type.count; c++)
            if (type.choices[c] == t->type)
                tw_launch_type(l, type.name, t->type);
}

/* Gives the launch device.sms, from which device.clusters follows if the kernel has both. It would ask the driver for them, which this process must not open. */
static void set_device_numbers(const struct tuning *t, const struct member *m, tw_launch *l)
{
    static const char *const names[] = {"device.sms", "device.clusters"};
    tw_value v = {.kind = TW_INTEGER, .i = t->multiprocessors};
    size_t i = 0;
    while (i < sizeof names / sizeof *names && !setting_named(m->kernel, "set", names[i]))
        i++;
    if (t->on_gpu && i < sizeof names / sizeof *names)
        tw_launch_set(l, names[i], v);
}

int member_settings(const struct tuning *t, const struct member *m, tw_launch *l)
{
    set_device_numbers(t, m, l);
    if (t->type != TW_DTYPE_NONE)
        set_types(t, m, l);
    return apply_settings(l, m->kernel, m->program, &t->settings, t->member_count > 1);
}

/* Leaves a member out that does not take the type in turn. */
static bool is_left_out(const struct tuning *t, const struct member *m)
{
    if (m->count > 0 && (t->type == TW_DTYPE_NONE || kernel_takes_type(m->kernel, t->type)))
        return false;
    if (t->member_count > 1)
        complain(NULL,
                 m->count   ? "%s is left out: it takes no elements of type %s"
                 : t->known ? "%s is left out: no table names a variant of it"
                            : "%s is left out: its `require`s allow no combination",
                 tw_kernel_name(m->kernel), tw_dtype_name(t->type));
    return true;
}

int members_launch(struct tuning *t)
{
    int status = STATUS_OK, taken = 0;
    for (int i = 0; i < t->member_count && status == STATUS_OK; i++) {
        struct member *m = &t->members[i];
        m->left_out = is_left_out(t, m);
        taken += !m->left_out;
        tw_status s = tw_launch_new(m->kernel, &m->launch);
        if (s != TW_OK) {
            complain_library(NULL, t->ctx, s);
            return STATUS_FAILED;
        }
        status = m->left_out ? STATUS_OK : member_settings(t, m, m->launch);
    }
    if (status == STATUS_OK && taken == 0 && t->candidate_count > 0)
        return usage_error(NULL, t->self, "--type %s: no kernel here takes elements of that type",
                           tw_dtype_name(t->type));
    return status;
}

void members_unlaunch(struct tuning *t)
{
    for (int i = 0; i < t->member_count; i++) {
        tw_launch_free(t->members[i].launch);
        t->members[i].launch = NULL;
    }
}
