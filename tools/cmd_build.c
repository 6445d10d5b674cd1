/* Command build: kernels as C to ship. */
#include "build.h"
#include "chosen.h"
#include "commands.h"
#include "device_asked.h"
#include "learn_file.h"
#include "part_file.h"
#include "tuned.h"
#include "time_limit.h"
#include "tilewright_look.h"
#include "tilewright_tuning.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_FACTS = 4, MOST_INTEGERS = 16, MOST_TARGETS = 32 };

/* Kernel of the command line, with the options for its launches. */
struct builder {
    const struct command *self;
    const struct options *given;
    tw_context *ctx;
    tw_build *build;
    int program_count;
    struct program *programs;
    int kernel_count, family_count, member_count;
    struct known_kernel *kernels;  /* apart from those of families */
    struct known_kernel *families; /* by family, its first kernel */
    struct known_kernel *members;  /* all kernels, for the names of options */
    int target_count;
    char *targets[MOST_TARGETS];
    int device_count;
    struct built_device devices[MOST_TARGETS]; /* as asked; several may have one target */
    struct tuned tuned;
    char *said;     /* last compiler message; many versions repeat it */
    bool refused;   /* the compiler refused the latest version */
    bool *left_out; /* by kernel: the compiler refused a version */
};

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

/* --- kernels and targets --- */

static int add_kernel(struct builder *b, const struct known_kernel *known)
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

/* Adds a device for families. device: a GPU's name, or the target again. */
static void add_device(struct builder *b, const char *target, const char *device)
{
    tw_device here = tw_device_init();
    const char *name = strcmp(target, device) == 0 ? NULL : device;
    if (!name && strcmp(target, "cpu") != 0 && device_named(target, &here)) /* cuda */
        name = here.model;
    for (int i = 0; i < b->device_count; i++)
        if (strcmp(b->devices[i].target, target) == 0 &&
            (name && b->devices[i].device ? strcmp(b->devices[i].device, name) == 0
                                          : name == b->devices[i].device))
            return;
    if (b->device_count < MOST_TARGETS)
        b->devices[b->device_count++] =
            (struct built_device){need_text("%s", target), name ? need_text("%s", name) : NULL};
}

static int add_target(struct builder *b, const char *name, size_t length)
{
    char *target = need_text("%.*s", (int)length, name), room[16];
    char *device = need_text("%s", target);
    if (target_called(target, room)) {
        free(target);
        target = need_text("%s", room);
    }
    add_device(b, target, device);
    free(device);
    bool again = false;
    for (int i = 0; i < b->target_count; i++)
        again = again || strcmp(b->targets[i], target) == 0;
    int status = STATUS_OK;
    char *hint = capability_hint(target);
    if (strcmp(target, "cpu") != 0 && !names_gpu(target))
        status = usage_error(NULL, b->self,
                             "--device %s: there are cpu, sm_80 and up, a GPU by name (h100), and "
                             "cuda, the GPU that is here%s",
                             target, hint);
    else if (b->target_count == MOST_TARGETS)
        status = usage_error(NULL, b->self, "--device: at most %d", MOST_TARGETS);
    free(hint);
    if (status != STATUS_OK || again) {
        free(target);
        return status;
    }
    b->targets[b->target_count++] = target;
    return STATUS_OK;
}

static int find_targets(struct builder *b)
{
    int status = STATUS_OK;
    for (const struct option_use *u = NULL;
         status == STATUS_OK && (u = options_next(b->given, "device", u));)
        for (const char *at = u->values[0]; *at && status == STATUS_OK;) {
            size_t length = strcspn(at, ",");
            status = add_target(b, at, length);
            at += length + (at[length] == ',');
        }
    return status == STATUS_OK && b->target_count == 0 ? add_target(b, "sm_80", 5) : status;
}

static void add_known(struct known_kernel **list, int *count, const struct program *p, tw_kernel *k)
{
    *list = need_more_memory(*list, ((size_t)*count + 1) * sizeof **list);
    (*list)[(*count)++] = (struct known_kernel){p, k};
}

static void add_kernel_of(struct builder *b, const struct program *p, tw_kernel *k)
{
    add_known(&b->kernels, &b->kernel_count, p, k);
    add_known(&b->members, &b->member_count, p, k);
}

static void add_family_of(struct builder *b, const struct program *p)
{
    add_known(&b->families, &b->family_count, p, tw_family_kernel(p->family, 0));
    for (int k = 0; k < tw_family_kernel_count(p->family); k++)
        add_known(&b->members, &b->member_count, p, tw_family_kernel(p->family, k));
}

/* Finds the kernels: FILE:KERNEL is one kernel, FILE is all of its kernels, or the family that it
 * declares. */
static int find_kernels(struct builder *b)
{
    b->programs = need_memory((size_t)b->given->word_count * sizeof *b->programs);
    for (int i = 0; i < b->given->word_count; i++) {
        struct program *p = &b->programs[b->program_count++];
        int status = program_open_in(p, b->given->words[i], b->ctx, NULL);
        if (status != STATUS_OK)
            return status;
        if (p->family) {
            add_family_of(b, p);
            continue;
        }
        int count = tw_module_kernel_count(p->module);
        if (!p->kernel)
            for (int k = 0; k < count; k++)
                add_kernel_of(b, p, tw_module_kernel_at(p->module, k));
        if (p->kernel || count == 0) {
            tw_kernel *k = program_kernel(p, b->self);
            if (!k)
                return STATUS_USAGE;
            add_kernel_of(b, p, k);
        }
    }
    return STATUS_OK;
}

/* --- the whole --- */

/* Returns --name, else the only kernel's or family's name, else the first file's name. Avoids R_OK, W_OK,
 * X_OK and F_OK as names in NAME.h, because <unistd.h> defines these macros. The caller frees. */
static char *build_name(const struct builder *b)
{
    const char *given = options_value(b->given, "name");
    if (given)
        return need_text("%s", given);
    if (b->kernel_count + b->family_count == 1) {
        const char *kernel = b->family_count ? tw_family_name(b->families[0].program->family)
                                             : tw_kernel_name(b->kernels[0].kernel);
        bool letter = kernel[0] && !kernel[1] && strchr("FRWXfrwx", kernel[0]);
        return need_text("%s%s", letter ? "kernel_" : "", kernel);
    }
    const char *path = b->programs[0].path, *slash = strrchr(path, '/');
    const char *stem = slash ? slash + 1 : path;
    return need_text("%.*s", (int)strcspn(stem, "."), stem);
}

/* Opens the build. If a kernel's name, such as `math` or `_k`, is not usable for C files and
 * functions, takes kernel_NAME. */
static int open_build(struct builder *b, char **name)
{
    bool given = options_has(b->given, "name");
    tw_status s = tw_build_new(b->ctx, *name, &b->build);
    if (s == TW_BAD_ARGUMENT && !given) {
        char *longer = need_text("kernel_%s", *name);
        s = tw_build_new(b->ctx, longer, &b->build);
        free(s == TW_OK ? *name : longer);
        *name = s == TW_OK ? longer : *name;
    }
    if (s == TW_OK)
        return STATUS_OK;
    complain_library(NULL, b->ctx, s);
    if (s == TW_BAD_ARGUMENT && !given)
        complain_more(NULL, "--name NAME gives another");
    return STATUS_USAGE;
}

static int write_files(struct builder *b, const char *name)
{
    const char *folder = options_value(b->given, "out");
    folder = folder ? folder : ".";
    part_file_hold();
    tw_status s = tw_build_write(b->build, folder);
    part_file_release();
    if (s != TW_OK) {
        complain_library(NULL, b->ctx, s);
        return STATUS_FAILED;
    }
    bool object = options_has(b->given, "object");
    int status = object ? build_object(folder, name) : STATUS_OK;
    if (status == STATUS_OK)
        printf("%s/%s.h\n%s/%s.c\n", folder, name, folder, name);
    if (status == STATUS_OK && object)
        printf("%s/%s.o\n", folder, name);
    return status;
}

static int add_families(struct builder *b)
{
    int status = STATUS_OK;
    for (int i = 0; i < b->family_count && status == STATUS_OK; i++)
        status = family_build(&(struct family_request){b->build, b->ctx, b->families[i].program,
                                                       b->given, b->devices, b->device_count,
                                                       &b->tuned});
    return status;
}

/* Adds all kernels that are not left out. Adds the number of kernels to leave out from now on to
 * *more. */
static int add_kernels(struct builder *b, int *more)
{
    int status = STATUS_OK;
    for (int i = 0; i < b->kernel_count && status == STATUS_OK; i++) {
        b->refused = false;
        if (!b->left_out[i])
            status = add_kernel(b, &b->kernels[i]);
        if (status == STATUS_OK || !b->refused || b->kernel_count + b->family_count == 1)
            continue;
        b->left_out[i] = true;
        ++*more;
        status = STATUS_OK;
    }
    return status;
}

/* Builds the kernels; may replace *name, the NAME of the build. A kernel that does not compile
 * is left out. The build then starts again with the others, because it may already contain
 * versions of that kernel. */
static int build_kernels(struct builder *b, char **name)
{
    int left_out = 0, before;
    int status = tuned_read(&b->tuned, options_value(b->given, "tuned"));
    do {
        before = left_out;
        tw_build_free(b->build);
        b->build = NULL;
        if (status == STATUS_OK)
            status = open_build(b, name);
        if (status == STATUS_OK)
            status = add_kernels(b, &left_out);
        if (status == STATUS_OK && left_out == before)
            status = add_families(b);
    } while (status == STATUS_OK && left_out > before &&
             (left_out < b->kernel_count || b->family_count));
    if (status == STATUS_OK)
        tuned_say_unused(&b->tuned);
    return left_out < b->kernel_count || b->family_count ? status : STATUS_USAGE;
}

/* Names the kernels that were left out; the build contains only the others. */
static int say_left_out(const struct builder *b)
{
    int status = STATUS_OK;
    for (int i = 0; i < b->kernel_count; i++)
        if (b->left_out[i]) {
            complain(NULL, "`%s` is left out", tw_kernel_name(b->kernels[i].kernel));
            status = STATUS_USAGE;
        }
    return status;
}

static int build_all(struct builder *b, char **name)
{
    b->left_out = need_memory(((size_t)b->kernel_count + 1) * sizeof *b->left_out);
    int status = build_kernels(b, name);
    bool for_gpu = false;
    for (int t = 0; t < b->target_count; t++)
        for_gpu = for_gpu || strcmp(b->targets[t], "cpu") != 0;
    for_gpu = for_gpu && options_has(b->given, "device");
    if (status == STATUS_OK && for_gpu && !options_has(b->given, "no-cubin"))
        status = build_cubins(b->build, b->ctx);
    if (status == STATUS_OK)
        status = write_files(b, *name);
    return status == STATUS_OK ? say_left_out(b) : status;
}

static void builder_close(struct builder *b)
{
    for (int i = 0; i < b->program_count; i++)
        program_close(&b->programs[i]);
    for (int i = 0; i < b->target_count; i++)
        free(b->targets[i]);
    for (int i = 0; i < b->device_count; i++) {
        free(b->devices[i].target);
        free(b->devices[i].device);
    }
    tuned_free(&b->tuned);
    free(b->programs);
    free(b->kernels);
    free(b->families);
    free(b->members);
    free(b->said);
    free(b->left_out);
    tw_context_free(b->ctx);
}

static int build_run(const struct command *self, const struct options *given)
{
    struct builder b = {.self = self, .given = given};
    const char *out = options_value(given, "out");
    if (given->word_count == 0)
        return usage_error(NULL, self, "which FILE?");
    struct deadline deadline = {0};
    double seconds = 0;
    if (!time_limit_begin(given, &seconds, &deadline.at))
        return STATUS_USAGE;
    int status = context_open(
        &b.ctx, &(struct program_config){.colour = on_terminal(stderr), .deadline = &deadline});
    if (status == STATUS_OK)
        status = find_targets(&b);
    if (status == STATUS_OK)
        status = find_kernels(&b);
    if (status == STATUS_OK)
        status = settings_known(b.members, b.member_count, given);
    if (status == STATUS_OK)
        status = points_check(b.kernels, b.kernel_count, b.families, b.family_count, given);
    if (status == STATUS_OK)
        status = types_check(b.members, b.member_count, given);
    if (status == STATUS_OK && out && folder_is_missing(out))
        status = STATUS_FAILED;
    if (status == STATUS_OK) {
        char *name = build_name(&b);
        status = build_all(&b, &name);
        free(name);
    }
    builder_close(&b);
    return status;
}

static const struct option_spec build_options[] = {
    {.name = "device",
     .values = 1,
     .value = "DEVICES",
     .help =
         "GPUs to build for, e.g. sm_80,h100: machine code for each target, and PTX of the least,\n"
         "which later GPUs run too (default: PTX for sm_80 alone); cpu: for libtilewright_cpu"},
    {.name = "target", .values = 1, .now = "device"},
    {.name = "set",
     .values = 1,
     .value = "NAME=VALUE",
     .help =
         "value of a static parameter to build in, e.g. n=4096,k=4096; several times for several;\n"
         "of a family: sizes that count, e.g. m=1..128,n=4096"},
    {.name = "type",
     .values = 1,
     .value = "[NAME=]TYPES",
     .help = "element types to build for, e.g. f16,bf16 or T=f16 (default: all of the kernel)"},
    OPTION_TUNE,
    {.name = "tuned",
     .values = 1,
     .value = "FILE",
     .help = "tuned values by class of sizes, as lines of JSON (docs/build.md)"},
    {.name = "table",
     .values = 1,
     .value = "FILE",
     .help = "measured times of a family, in addition to FAMILY.table next to its file"},
    {.name = "store",
     .values = 1,
     .value = "FILE",
     .help = "also the results of `tilewright tune` for a family's kernels in this store (the\n"
             "user's own store always counts for the CPU)"},
    {.name = "variants",
     .values = 1,
     .value = "N",
     .help = "kernels with tuned values to ship of a family, at most (default: 8)"},
    OPTION_SAME_BITS,
    {.name = "name",
     .values = 1,
     .value = "NAME",
     .help = "what the files and all names in them start with (default: the kernel's name, of\n"
             "several kernels that of the first FILE)"},
    {.name = "out",
     .letter = 'o',
     .values = 1,
     .value = "FOLDER",
     .help = "where the files go (default: .)"},
    {.name = "output", .values = 1, .now = "out"},
    {.name = "unaligned",
     .help = "also build a version for arrays whose addresses are not multiples of 16"},
    {.name = "no-cubin", .help = "ship PTX alone, which the driver assembles when it is loaded"},
    {.name = "object", .help = "compile it too: NAME.o, by $CC or cc"},
    {.name = "time-limit",
     .values = 1,
     .value = "TIME",
     .help = "ends the command, whatever it is doing, status 1"},
    OPTION_IMPORT,
    OPTION_END,
};

const struct command command_build = {
    .name = "build",
    .arguments = "FILE[:KERNEL]... [OPTIONS]",
    .summary = "kernels as C to ship: NAME.h and NAME.c",
    .about =
        "Compiles kernels ahead of time into NAME.h, with a function for each kernel and choice "
        "of\n"
        "element types, and NAME.c, which has them as PTX and machine code and needs nothing but "
        "a\n"
        "C compiler and, where it runs, NVIDIA's driver. Static parameters are built in, for all\n"
        "values that --set gives; a launch takes the version for its sizes (for multiples of 16\n"
        "there is one of its own if that makes a difference), and fails with a message if there is "
        "none.\n"
        "A family becomes one function, which starts the fastest kernel at its sizes: at most N\n"
        "kernels with tuned values ship, chosen by the family's measured times at the sizes of\n"
        "--set, which may be ranges (m=1..4096).\n"
        "With --device cpu, the files need libtilewright_cpu.a in place of the driver; with\n"
        "cpu,sm_90 they have both, and the program chooses where it runs.\n"
        "Machine code needs `ptxas`; without it PTX is shipped, with a note. docs/build.md shows "
        "a\n"
        "program that uses them.",
    .options = build_options,
    .examples =
        "  tilewright build kernels/fused/softmax.tile --set cols=1024\n"
        "  tilewright build kernels/matmul/auto.tile --type f16 --device sm_80,sm_90 --set "
        "n=4096,k=4096\n"
        "  tilewright build kernels/matmul/auto.tile kernels/fused/softmax.tile --name model --set "
        "n=4096,k=4096 --set cols=1024\n"
        "  tilewright build kernels/matmul.tile --type f16 --device h200 --set "
        "m=1..256,n=4096,k=4096\n",
    .run = build_run,
};
