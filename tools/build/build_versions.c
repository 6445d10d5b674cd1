/* Adds the versions of a kernel to the build: for each target, choice of types, static values, and
 * tuned values one, or several that assume which run-time integers 16 divides. */
#include "build/build.h"
#include "cli/tuned.h"
#include "tilewright_look.h"
#include "tilewright_tuning.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_FACTS = 4, MOST_INTEGERS = 16 };

/* Version to build: first the fields that all versions of a function share, then its own. */
struct version {
    struct builder *builder;
    const struct known_kernel *known;
    tw_kernel *kernel; /* for the target */
    const tw_dtype *types;
    const struct point *point;
    struct tuned_entry *entry; /* NULL: the defaults and --tune */
    unsigned facts;            /* by bit: run-time integers divisible by 16 */
    bool unaligned;            /* addresses are multiples of the element size only */
};

/* --- run-time integers --- */

/* Finds the index-th integer parameter of a launch. Returns false if there is none. */
static bool launch_integer(tw_kernel *k, int index, tw_param *out)
{
    for (int i = 0; tw_kernel_param(k, i, out) == TW_OK; i++)
        if (!out->is_pointer && !out->is_static && !out->derived && !out->type_name &&
            out->dtype != TW_BOOL && !is_float_type(out->dtype) && index-- == 0)
            return true;
    return false;
}

static int launch_integers(tw_kernel *k)
{
    tw_param p = tw_param_init();
    int count = 0;
    while (count < MOST_INTEGERS && launch_integer(k, count, &p))
        count++;
    return count;
}

static int bits_of(unsigned v)
{
    int count = 0;
    for (; v; v &= v - 1)
        count++;
    return count;
}

/* Sets *facts to the next subset of `all`, larger subsets first. Visits every subset of a small
 * set. For a large set, visits the set itself, the subsets with one bit less, and the empty set. */
static bool next_facts(unsigned all, unsigned *facts)
{
    int bits = bits_of(*facts), most = bits_of(all);
    for (unsigned v = *facts; v-- > 0;)
        if ((v & ~all) == 0 && bits_of(v) == bits) {
            *facts = v;
            return true;
        }
    if (bits == 0)
        return false;
    bits = most > MOST_FACTS && bits < most ? 0 : bits - 1;
    for (*facts = all; (*facts & ~all) != 0 || bits_of(*facts) != bits;)
        --*facts;
    return true;
}

/* --- one version --- */

/* Returns whether the version is for the CPU, whose programs do not depend on facts. */
static bool for_cpu(const struct version *v)
{
    return strcmp(tw_kernel_target(v->kernel), "cpu") == 0;
}

static bool fact_of(tw_kernel *k, const char *name, unsigned *bit)
{
    tw_param p = tw_param_init();
    for (int i = 0; i < MOST_INTEGERS && launch_integer(k, i, &p); i++)
        if (strcmp(p.name, name) == 0) {
            *bit = 1u << i;
            return true;
        }
    return false;
}

/* Returns whether a version with these facts and static values is within the ranges of its
 * entry. */
static bool within(const struct version *v)
{
    for (int i = 0; v->entry && i < v->entry->range_count; i++) {
        const struct tuned_range *r = &v->entry->ranges[i];
        const char *text = point_value(v->point, r->name);
        unsigned bit;
        int64_t value;
        if (fact_of(v->kernel, r->name, &bit) && r->divisible && !(v->facts & bit))
            return false;
        if (text && parse_integer(text, &value) &&
            (value < r->low || value > r->high || (r->divisible && value % 16 != 0)))
            return false;
    }
    return true;
}

static int set_statics(const struct version *v, tw_launch *l)
{
    int status = STATUS_OK;
    for (int i = 0; i < v->point->count && status == STATUS_OK; i++)
        status = apply_assignment(l, v->kernel, v->known->program, v->builder->given, "set", "set",
                                  &v->point->list[i]);
    return status;
}

/* Sets the tuned values; --tune takes precedence over the file. */
static int set_tuned_values(const struct version *v, tw_launch *l)
{
    const struct options *o = v->builder->given;
    int status = STATUS_OK;
    for (int i = 0; v->entry && i < v->entry->tune_count && status == STATUS_OK; i++)
        status = apply_assignment(l, v->kernel, v->known->program, o, "tune", "tune",
                                  &v->entry->tunes[i]);
    for (const struct option_use *u = NULL;
         status == STATUS_OK && (u = options_next(o, "tune", u));) {
        const char *at = u->values[0];
        struct assignment a;
        bool bad = false;
        while (status == STATUS_OK && next_assignment(&at, &a, &bad))
            if (setting_named(v->kernel, "tune", a.name))
                status = apply_assignment(l, v->kernel, v->known->program, o, "tune", "tune", &a);
        if (bad)
            status = usage_error(NULL, o->command, "--tune %s: expected NAME=VALUE", at);
    }
    return status;
}

static void set_types_and_facts(const struct version *v, tw_launch *l)
{
    tw_type type = tw_type_init();
    tw_param p = tw_param_init();
    for (int i = 0; tw_kernel_type(v->kernel, i, &type) == TW_OK; i++)
        tw_launch_type(l, type.name, v->types[i]);
    for (int i = 0; i < MOST_INTEGERS && launch_integer(v->kernel, i, &p); i++)
        if (v->facts >> i & 1)
            tw_launch_set(l, p.name, tw_int(16));
}

/* Prints the compiler's message unless the previous one was the same. */
static void say(struct builder *b, tw_status s)
{
    const char *text = tw_context_messages(b->ctx);
    if (s == TW_OK && (!*text || (b->said && strcmp(b->said, text) == 0)))
        return;
    free(b->said);
    b->said = need_text("%s", text);
    complain_library(NULL, b->ctx, s);
}

static tw_status add_to_build(const struct version *v, tw_launch *l)
{
    tw_size_range ranges[TUNED_NAMES];
    tw_build_when when = {.size = sizeof when, .ranges = ranges};
    unsigned bit;
    for (int i = 0; v->entry && i < v->entry->range_count; i++) {
        const struct tuned_range *r = &v->entry->ranges[i];
        if (fact_of(v->kernel, r->name, &bit))
            ranges[when.range_count++] = (tw_size_range){r->name, r->low, r->high};
    }
    when.device = v->entry && !for_cpu(v) ? v->entry->device : NULL;
    when.alignment = v->unaligned ? 1 : 16;
    return tw_build_add(v->builder->build, l, &when);
}

/* Sets integers that have a default and lack the fact to 1, which 16 does not divide. */
static void set_other_defaults(const struct version *v, tw_launch *l)
{
    tw_param p = tw_param_init();
    for (int i = 0; i < MOST_INTEGERS && launch_integer(v->kernel, i, &p); i++)
        if (p.default_value.kind && !(v->facts >> i & 1))
            tw_launch_set(l, p.name, tw_int(1));
}

/* Returns the PTX of a version, without the leading comments, or NULL if it does not compile.
 * The caller frees. */
static char *ptx_of(const struct version *v)
{
    tw_launch *l;
    const char *text = NULL;
    if (tw_launch_new(v->kernel, &l) != TW_OK)
        return NULL;
    set_types_and_facts(v, l);
    set_other_defaults(v, l);
    bool good = set_statics(v, l) == STATUS_OK && set_tuned_values(v, l) == STATUS_OK &&
                tw_launch_show_stage(l, TW_STAGE_PTX, &text) == TW_OK;
    while (good && strncmp(text, "//", 2) == 0)
        text += strcspn(text, "\n") + 1;
    char *copy = good ? need_text("%s", text) : NULL;
    tw_launch_free(l);
    return copy;
}

/* Returns the integers whose divisibility by 16 changes the program. */
static unsigned facts_that_matter(struct version *v)
{
    unsigned all = (1u << launch_integers(v->kernel)) - 1, matter = 0;
    v->facts = all;
    char *best = ptx_of(v);
    for (unsigned bit = 1; bit & all; bit <<= 1) {
        v->facts = all & ~bit;
        char *without = ptx_of(v);
        if (!best || !without || strcmp(best, without) != 0)
            matter |= bit;
        free(without);
    }
    free(best);
    return matter;
}

/* Adds a version. Skips an entry of a file that names no target and does not fit this target. */
static int add_version(const struct version *v)
{
    tw_launch *l;
    tw_status s = tw_launch_new(v->kernel, &l);
    if (s != TW_OK) {
        complain_library(NULL, v->builder->ctx, s);
        return STATUS_FAILED;
    }
    set_types_and_facts(v, l);
    int status = set_statics(v, l);
    if (status == STATUS_OK)
        status = set_tuned_values(v, l);
    if (status == STATUS_OK) {
        s = add_to_build(v, l);
        if (v->entry)
            tuned_reached(v->entry, s == TW_OK ? TUNED_BUILT : TUNED_DOES_NOT_FIT);
        if (s != TW_BAD_PROGRAM || !v->entry || v->entry->target) {
            say(v->builder, s);
            status = s == TW_OK ? STATUS_OK : STATUS_USAGE;
            v->builder->refused = s == TW_BAD_PROGRAM || s == TW_UNSYNCHRONISED;
            if (s != TW_OK && v->entry)
                complain_more(NULL, "with the tuned values of %s:%d", v->builder->tuned.path,
                              v->entry->line);
        }
    }
    tw_launch_free(l);
    return status;
}

static int add_facts(struct version *v)
{
    v->facts = 0;
    if (for_cpu(v))
        return add_version(v);
    unsigned all = facts_that_matter(v), bit;
    int status = STATUS_OK;
    for (int i = 0; v->entry && i < v->entry->range_count; i++)
        if (v->entry->ranges[i].divisible && fact_of(v->kernel, v->entry->ranges[i].name, &bit))
            all |= bit;
    v->facts = all;
    do {
        if (within(v))
            status = add_version(v);
    } while (status == STATUS_OK && next_facts(all, &v->facts));
    return status;
}

/* Adds the version that takes every launch that the others do not take. */
static int add_unaligned(struct version *v)
{
    v->facts = 0;
    v->unaligned = true;
    int status = add_version(v);
    v->unaligned = false;
    return status;
}

/* --- versions of a function --- */

static bool has_types(const struct version *v, const struct tuned_entry *e)
{
    tw_type type = tw_type_init();
    for (int i = 0; tw_kernel_type(v->kernel, i, &type) == TW_OK; i++)
        for (int j = 0; j < e->type_count; j++)
            if (strcmp(e->types[j].name, type.name) == 0 &&
                strcmp(e->types[j].value, tw_dtype_name(v->types[i])) != 0)
                return false;
    return true;
}

/* Returns whether the kernel's text is the one that was measured. Its hash depends on no size,
 * but the library returns it only for a launch with known sizes. */
static bool is_program(const struct version *v, const struct tuned_entry *e)
{
    tw_launch *l;
    tw_tuned key = tw_tuned_init();
    tw_param p = tw_param_init();
    if (!e->program || tw_launch_new(v->kernel, &l) != TW_OK)
        return true;
    set_types_and_facts(v, l);
    for (int i = 0; tw_kernel_param(v->kernel, i, &p) == TW_OK; i++)
        if (!p.is_pointer && !p.is_static && !p.derived && !p.default_value.kind)
            tw_launch_set(l, p.name, tw_int(0));
    bool is = set_statics(v, l) != STATUS_OK || tw_launch_tuning_key(l, "", &key) != TW_OK ||
              strcmp(key.program, e->program) == 0;
    tw_launch_free(l);
    return is;
}

/* Returns the last check that the entry passes with this version's kernel, target and types. */
static enum tuned_fate fate_with(const struct version *v, const struct tuned_entry *e)
{
    if (strcmp(e->kernel, tw_kernel_name(v->kernel)) != 0)
        return TUNED_NO_KERNEL;
    bool of_host =
        (e->target && strcmp(e->target, "cpu") == 0) || (e->device && tuned_of_host(e->device));
    if (of_host && !for_cpu(v))
        return TUNED_OF_HOST;
    if (for_cpu(v) && e->device && !of_host)
        return TUNED_NO_TARGET;
    if (e->target && strcmp(e->target, tw_kernel_target(v->kernel)) != 0)
        return TUNED_NO_TARGET;
    if (!has_types(v, e))
        return TUNED_NO_TYPES;
    return is_program(v, e) ? TUNED_NO_CLASS : TUNED_OTHER_PROGRAM;
}

static int check_entry(const struct version *v, const struct tuned_entry *e)
{
    const char *path = v->builder->tuned.path;
    for (int i = 0; i < e->type_count; i++)
        if (!setting_named(v->kernel, "type", e->types[i].name)) {
            complain(NULL, "%s:%d: kernel `%s` has no type variable `%s`", path, e->line, e->kernel,
                     e->types[i].name);
            return STATUS_USAGE;
        }
    for (int i = 0; i < e->tune_count; i++)
        if (!setting_named(v->kernel, "tune", e->tunes[i].name)) {
            complain(NULL, "%s:%d: kernel `%s` has no tuned value `%s`", path, e->line, e->kernel,
                     e->tunes[i].name);
            return STATUS_USAGE;
        }
    for (int i = 0; i < e->range_count; i++)
        if (!setting_named(v->kernel, "set", e->ranges[i].name)) {
            complain(NULL, "%s:%d: kernel `%s` has no scalar parameter `%s`", path, e->line,
                     e->kernel, e->ranges[i].name);
            return STATUS_USAGE;
        }
    return STATUS_OK;
}

/* Adds the entries of the file: a first call adds those that name a GPU (`named`), a second the
 * others. */
static int add_entries(struct version *v, bool named)
{
    const struct tuned *t = &v->builder->tuned;
    int status = STATUS_OK;
    for (int i = 0; i < t->count && status == STATUS_OK; i++) {
        v->entry = &t->list[i];
        if ((v->entry->device != NULL) != named)
            continue;
        enum tuned_fate fate = fate_with(v, v->entry);
        tuned_reached(v->entry, fate);
        if (fate != TUNED_NO_CLASS)
            continue;
        status = check_entry(v, v->entry);
        if (status == STATUS_OK)
            status = add_facts(v);
    }
    v->entry = NULL;
    return status;
}

static int add_points(struct version *v, const struct points *points)
{
    int status = STATUS_OK;
    for (int i = 0; i < points->count && status == STATUS_OK; i++) {
        v->point = &points->list[i];
        status = add_entries(v, true);
        if (status == STATUS_OK)
            status = add_entries(v, false);
        if (status == STATUS_OK)
            status = add_facts(v);
        if (status == STATUS_OK && options_has(v->builder->given, "unaligned") && !for_cpu(v))
            status = add_unaligned(v);
    }
    return status;
}

/* --- types --- */

/* Finds the next choice of types, from *at on, that --type allows. `at` holds an index for each
 * type variable. */
static bool next_types(tw_kernel *k, int *at)
{
    tw_type type = tw_type_init();
    int count = tw_kernel_type_count(k);
    for (int i = count - 1; i >= 0; i--) {
        tw_kernel_type(k, i, &type);
        if (++at[i] < type.count)
            return true;
        at[i] = 0;
    }
    return false;
}

static bool types_asked(const struct options *o, tw_kernel *k, const int *at, tw_dtype *types)
{
    tw_type type = tw_type_init();
    bool asked = true;
    for (int i = 0; tw_kernel_type(k, i, &type) == TW_OK; i++) {
        types[i] = type.choices[at[i]];
        asked = asked && type_asked(o, &type, tw_dtype_name(types[i]));
    }
    return asked;
}

static int add_types(struct version *v, const struct points *points)
{
    struct builder *b = v->builder;
    size_t room = (size_t)tw_kernel_type_count(v->kernel) + 1;
    int *at = need_memory(room * sizeof *at), status = STATUS_OK;
    tw_dtype *types = need_memory(room * sizeof *types);
    v->types = types;
    do {
        if (types_asked(b->given, v->kernel, at, types))
            status = add_points(v, points);
    } while (status == STATUS_OK && next_types(v->kernel, at));
    free(types);
    free(at);
    return status;
}

/* --- targets --- */

int build_add_kernel(struct builder *b, const struct known_kernel *known)
{
    struct points points;
    int status = points_find(&points, known->kernel, b->given, false);
    for (int t = 0; t < b->target_count && status == STATUS_OK; t++) {
        struct version v = {.builder = b, .known = known};
        tw_status s = tw_kernel_for_target(known->kernel, b->targets[t], &v.kernel);
        if (s != TW_OK) {
            complain_library(NULL, b->ctx, s);
            status = STATUS_USAGE;
        } else {
            status = add_types(&v, &points);
        }
    }
    points_free(&points);
    return status;
}
