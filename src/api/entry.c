/* Entries: a kernel with fixed types and tuned values, started by position from any number of
 * threads.
 *
 * A start whose variant exists takes the fast path: one pass checks the arguments and makes a key
 * of them, a look-up without a lock finds the variant (entry_table.h), a small program computes the
 * grid (launch_sizes.h), and one call of the driver launches the kernel. All other starts (the
 * first one of a variant, one with a refused argument, with workspace, or from a thread without a
 * context) take the slow path: under the entry's lock, with the machinery of launches and its
 * messages. On the host a kernel runs on the thread that starts it, with the pool of the context
 * that made the entry if no other thread is using the pool; only a new variant and the message of a
 * fault take the lock.
 *
 * For this, an entry has a context of its own with its own compiled copy of the module, so calls
 * on the context that made it never interfere. */
#include "api/entry_table.h"
#include "api/launch_params.h"

#include "base/grid.h"
#include "base/platform.h"
#include "tile/launch_sizes.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct entry_param {
    tw_value_kind kind;
    enum dtype dtype; /* of a pointer: its elements */
    bool is_static;
    bool single; /* takes only one value: */
    uint64_t only;
    uint64_t below;  /* pointers: bits that an element's address has as 0 */
    int64_t least;   /* integers */
    uint64_t span;   /* the greatest value minus `least` */
    uint64_t preset; /* the default */
};

/* A tensor map of a variant, whose view starts at the address of an argument. */
struct entry_map {
    struct map_form form;
    enum dtype type;
    unsigned char base; /* the parameter */
};
enum {
    ENTRY_MAPS = 16,         /* of a variant that starts quickly */
    FROM_MAPS = ENTRY_PARAMS /* `from` of the first map */
};

struct entry_variant {
    struct entry_item item; /* first: the table holds its address */
    struct entry_variant *next;
    struct variant *variant;
    struct launch_sizes sizes;
    bool quick;                        /* the driver's launch is all that is needed */
    const struct cpu_program *program; /* the host's */
    struct cuda_quick launch;
    struct cuda_encoder encoder;
    int passed;                                    /* arguments that the kernel gets, */
    unsigned char from[ENTRY_PARAMS + ENTRY_MAPS]; /* by parameter, then by map */
    int map_count;
    struct entry_map map[ENTRY_MAPS];
    struct launch_sizes map_sizes; /* of the maps' views */
    /* Arrays that must not share memory, the first of which is written; NULL: all may. */
    int pairs;
    unsigned char (*pair)[2];
};

struct tw_entry {
    tw_entry *next; /* of the context */
    int param_count;
    struct entry_param params[ENTRY_PARAMS];
    int argument_count, least_arguments;     /* if fewer are given, defaults follow */
    unsigned char argument_of[ENTRY_PARAMS]; /* the parameter of each argument */
    int derived_count;                       /* parameters that the launch computes */
    uint64_t counted[ENTRY_FACTS];           /* bits of a key that are facts: floats have none */
    unsigned char derived[ENTRY_PARAMS];
    struct launch_sizes derive;
    atomic_bool full; /* new facts get the variant that assumes none */
    struct entry_table table;
    /* under the lock */
    struct platform_lock *lock;
    const struct executor *executor;
    struct cpu_options options; /* the host's */
    tw_context *owner;
    tw_context *ctx;           /* the entry's own */
    const char *made_ready_by; /* the call that a capture's refusal names */
    tw_launch *launch;
    struct variant *making;
    struct entry_variant *variants;
};

/* --- what is given --- */

struct given {
    uint64_t value[ENTRY_PARAMS]; /* in the form that the kernel gets */
    struct entry_key key;
    bool has_null; /* an address is NULL */
};

/* Converts a float to the parameter's type. Returns false if it is outside the type's range. */
static bool float_bits(enum dtype t, double v, uint64_t *bits)
{
    *bits = 0;
    if (t == DT_F32) {
        float rounded = (float)v;
        memcpy(bits, &rounded, sizeof rounded);
        return isfinite(rounded) || !isfinite(v);
    }
    dtype_store_f64(t, bits, v);
    return !isfinite(v) || isfinite(dtype_load_f64(t, bits));
}

static inline bool take_argument(const struct entry_param *p, const tw_value *a, uint64_t *value)
{
    if (a->kind != p->kind)
        return false;
    switch (p->kind) {
    case TW_POINTER: *value = (uintptr_t)a->pointer; return (*value & p->below) == 0;
    case TW_INTEGER: *value = (uint64_t)a->i; return *value - (uint64_t)p->least <= p->span;
    case TW_FLOAT: break;
    }
    return float_bits(p->dtype, a->f, value);
}

static inline void add_to_key(const tw_entry *e, struct given *g, int param)
{
    uint64_t value = g->value[param];
    if (e->params[param].is_static) {
        g->key.word[g->key.words++] = value;
        return;
    }
    g->key.word[0] |= (uint64_t)(value % 16 == 0) << param;
    g->key.word[1] |= (uint64_t)(value % 8 == 0) << param;
}

static inline void forget_facts(struct entry_key *key)
{
    for (int i = 0; i < ENTRY_FACTS; i++)
        key->word[i] = 0;
}

/* Computes derived parameters, once all others are known. */
static bool derive(const tw_entry *e, struct given *g)
{
    for (int i = 0; i < e->derived_count; i++)
        g->value[e->derived[i]] = 0;
    struct size_fault ignored;
    if (!launch_derived_run(&e->derive, g->value, &ignored))
        return false;
    for (int i = 0; i < e->derived_count; i++)
        add_to_key(e, g, e->derived[i]);
    return true;
}

/* Takes the arguments; their number fits the entry. Returns false if one is invalid. */
static inline bool take_arguments(const tw_entry *e, const tw_value *arguments, int count,
                                  struct given *g)
{
    g->key.words = ENTRY_FACTS;
    forget_facts(&g->key);
    g->has_null = false;
    for (int i = 0; i < e->argument_count; i++) {
        int param = e->argument_of[i];
        const struct entry_param *p = &e->params[param];
        if (i >= count)
            g->value[param] = p->preset;
        else if (!take_argument(p, &arguments[i], &g->value[param]))
            return false;
        if (p->single && g->value[param] != p->only)
            return false;
        g->has_null |= p->kind == TW_POINTER && !g->value[param];
        add_to_key(e, g, param);
    }
    if (e->derived_count > 0 && !derive(e, g))
        return false;
    for (int i = 0; i < ENTRY_FACTS; i++)
        g->key.word[i] &= e->counted[i];
    return true;
}

static bool count_fits(const tw_entry *e, int count)
{
    return count >= e->least_arguments && count <= e->argument_count;
}

/* Returns the variant for these arguments; NULL: there is none yet. */
static inline const struct entry_variant *find_variant(tw_entry *e, struct given *g)
{
    const struct entry_item *item = entry_find(&e->table, &g->key);
    if (!item && atomic_load_explicit(&e->full, memory_order_acquire)) {
        struct entry_key plain = g->key;
        forget_facts(&plain);
        item = entry_find(&e->table, &plain);
    }
    return (const struct entry_variant *)item;
}

/* Returns the first pair of arrays that are at one address and must not be; NULL: none. The
 * lengths of the arrays are not known here. */
static inline const unsigned char *shared_pair(const struct entry_variant *v, const struct given *g)
{
    for (int i = 0; i < v->pairs; i++)
        if (g->value[v->pair[i][0]] == g->value[v->pair[i][1]] && g->value[v->pair[i][0]])
            return v->pair[i];
    return NULL;
}

/* Makes the code of map i. Returns false if it has none, and the slow path says why. */
static bool make_code(const struct entry_variant *v, const struct given *g, int i, uint64_t *code)
{
    const struct entry_map *m = &v->map[i];
    struct view_sizes sizes;
    struct map_request request;
    struct map_refusal why;
    int result;
    if (!launch_sizes_view(&v->map_sizes, i, g->value, &sizes))
        return false;
    switch (map_find(&m->form, g->value[m->base], sizes.offset, sizes.extent, sizes.stride,
                     &request, &why)) {
    case MAP_READY: return launch_map_code(&v->encoder, &request, m->type, &result, code);
    case MAP_EMPTY: memset(code, 0, MAP_WORDS * sizeof *code); return true;
    case MAP_REFUSED: break;
    }
    return false;
}

static bool start_with_maps(const struct entry_variant *v, struct given *g, const int64_t grid[3],
                            void *stream)
{
    _Alignas(MAP_ALIGNMENT) uint64_t code[ENTRY_MAPS][MAP_WORDS];
    void *passed[ENTRY_PARAMS + ENTRY_MAPS];
    for (int i = 0; i < v->map_count; i++)
        if (!make_code(v, g, i, code[i]))
            return false;
    for (int i = 0; i < v->passed; i++)
        passed[i] = v->from[i] < FROM_MAPS ? (void *)&g->value[v->from[i]]
                                           : (void *)code[v->from[i] - FROM_MAPS];
    return cuda_quick_start(&v->launch, grid, stream, passed);
}

static bool start_quickly(tw_entry *e, const tw_value *arguments, int count, void *stream)
{
    struct given g;
    void *passed[ENTRY_PARAMS];
    int64_t grid[3];
    if (!take_arguments(e, arguments, count, &g) || g.has_null)
        return false;
    const struct entry_variant *v = find_variant(e, &g);
    if (!v || !v->quick || shared_pair(v, &g) || !launch_sizes_run(&v->sizes, g.value, grid))
        return false;
    if (grid[0] <= 0 || grid[1] <= 0 || grid[2] <= 0)
        return true; /* no blocks */
    if (v->map_count)
        return start_with_maps(v, &g, grid, stream);
    for (int i = 0; i < v->passed; i++)
        passed[i] = &g.value[v->from[i]];
    return cuda_quick_start(&v->launch, grid, stream, passed);
}

/* --- the slow path --- */

/* The resources that a start takes of the GPU. */
struct entry_needs {
    tw_occupancy occupancy;
    int64_t workspace_bytes;
};

struct entry_call {
    tw_entry *entry;
    const tw_value *arguments;
    int count;
    void *stream;
    tw_error *error;           /* NULL: the caller wants none */
    bool start;                /* else only prepares the start */
    struct entry_needs *needs; /* to be filled; NULL: not asked */
};

static const char *kind_text(const tw_entry *e, tw_value_kind kind)
{
    switch (kind) {
    case TW_INTEGER: return "an integer";
    case TW_FLOAT: return "a float";
    case TW_POINTER: return e->executor->streams ? "an address on the device" : "an address";
    }
    return "a value without a kind";
}

static tw_status refuse_count(const struct entry_call *c)
{
    const struct lang_kernel *info = c->entry->launch->kernel->info;
    tw_context *ctx = c->entry->ctx;
    struct text names;
    text_init(&names, &ctx->scratch);
    const tw_entry *e = c->entry;
    for (int i = 0; i < e->argument_count; i++)
        text_printf(&names, "%s%s", i ? ", " : "", info->params[e->argument_of[i]].name);
    diag_error(&ctx->diag, info->loc, "kernel `%s` takes %d arguments (%s); %d were given",
               info->name, e->argument_count, names.data, c->count);
    for (int i = 0; i < e->derived_count && c->count > e->argument_count; i++)
        diag_note(&ctx->diag, info->params[e->derived[i]].loc,
                  "`%s` takes no argument: the launch computes it",
                  info->params[e->derived[i]].name);
    if (e->least_arguments < e->argument_count)
        diag_note(&ctx->diag, info->loc, "those from `%s` on have defaults and may be left out",
                  info->params[e->argument_of[e->least_arguments]].name);
    return TW_BAD_ARGUMENT;
}

/* Reports an error in argument i. Returns true if there is none. */
static bool check_argument(const struct entry_call *c, int i)
{
    tw_entry *e = c->entry;
    struct diag *d = &e->ctx->diag;
    int param = e->argument_of[i];
    const struct entry_param *p = &e->params[param];
    const tw_value *a = &c->arguments[i];
    const char *name = e->launch->kernel->info->params[param].name;
    const char *type = dtype_table[p->dtype].name;
    if (a->kind != p->kind) {
        diag_error(d, LOC_NONE, "argument %d, `%s` (%s%s): %s was given, expected %s", i + 1, name,
                   type, p->kind == TW_POINTER ? " *" : "", kind_text(e, a->kind),
                   kind_text(e, p->kind));
        return false;
    }
    uint64_t address = (uintptr_t)a->pointer;
    if (p->kind == TW_POINTER && address & p->below)
        diag_error(
            d, LOC_NONE,
            "argument %d, `%s`: the address %#llx is not a multiple of %d, so no %s can be there",
            i + 1, name, (unsigned long long)address, (int)p->below + 1, type);
    else if (p->kind == TW_INTEGER)
        value_fits(e->launch, param, p->dtype, tw_int(a->i));
    else if (p->kind == TW_FLOAT)
        value_fits(e->launch, param, p->dtype, tw_float(a->f));
    return !d->errors;
}

/* Reports a wrong value for a static parameter whose program is for one value. */
static void refuse_value(const struct entry_call *c, int i)
{
    const tw_entry *e = c->entry;
    const struct lang_param *param = &e->launch->kernel->info->params[e->argument_of[i]];
    const tw_value *a = &c->arguments[i];
    double wanted = param->value.is_float ? param->value.f : (double)param->value.i;
    diag_error(&e->ctx->diag, LOC_NONE,
               "argument %d, `%s` is %g, but this program is for `%s = %g`", i + 1, param->name,
               a->kind == TW_FLOAT ? a->f : (double)a->i, param->name, wanted);
}

/* Fills in the choice that a launch would resolve from names: the values, and the facts in the
 * key. */
static void fill_choice(tw_entry *e, const struct given *g)
{
    struct choice *choice = &e->launch->choice;
    for (int i = 0; i < e->param_count; i++) {
        const struct entry_param *p = &e->params[i];
        bool by_16 = g->key.word[0] >> i & 1, by_8 = g->key.word[1] >> i & 1;
        choice->known[i] = p->kind != TW_POINTER;
        choice->divisor[i] = by_16 ? 16 : by_8 ? 8 : p->kind == TW_POINTER ? (int)p->below + 1 : 1;
        launch_keep_value(
            e->launch, i,
            p->kind == TW_FLOAT
                ? (struct literal){.is_float = true, .f = dtype_load_f64(p->dtype, &g->value[i])}
                : (struct literal){.i = (int64_t)g->value[i]});
    }
}

static tw_status check_arguments(const struct entry_call *c, struct given *g)
{
    tw_entry *e = c->entry;
    if (!count_fits(e, c->count))
        return refuse_count(c);
    for (int i = 0; i < c->count; i++)
        check_argument(c, i);
    if (e->ctx->diag.errors)
        return TW_BAD_ARGUMENT;
    if (take_arguments(e, c->arguments, c->count, g))
        return TW_OK;
    for (int i = 0; i < e->argument_count; i++) {
        const struct entry_param *p = &e->params[e->argument_of[i]];
        if (p->single && g->value[e->argument_of[i]] != p->only) {
            refuse_value(c, i);
            return TW_BAD_ARGUMENT;
        }
    }
    fill_choice(e, g); /* a derived parameter cannot be computed */
    for (int i = 0; i < e->derived_count; i++)
        launch_derive(e->launch, e->derived[i], false);
    return TW_BAD_ARGUMENT;
}

/* --- a new variant --- */

/* Makes room for a variant. If there are many, facts about sizes get no variants of their own
 * any more; values of statics always need one. */
static tw_status make_room(const struct entry_call *c, struct given *g)
{
    tw_entry *e = c->entry;
    if (e->table.count >= VARIANTS_KEPT)
        forget_facts(&g->key);
    if (e->table.count < ENTRY_VARIANTS)
        return TW_OK;
    const struct lang_kernel *info = e->launch->kernel->info;
    struct text names;
    text_init(&names, &e->ctx->scratch);
    for (int p = 0; p < info->param_count; p++)
        if (e->params[p].is_static)
            text_printf(&names, "%s`%s`", names.length ? ", " : "", info->params[p].name);
    diag_error(&e->ctx->diag, info->loc,
               "kernel `%s` has been compiled for %d combinations of values of %s, the most that "
               "an entry keeps: parameters that vary this much should not be static",
               info->name, ENTRY_VARIANTS, names.data);
    return TW_UNSUPPORTED;
}

/* Keeps only the parts of the lowered program that a launch needs. */
static void trim(struct variant *v)
{
    const struct lowered *whole = v->lowered;
    struct lowered *kept = arena_new(&v->arena, struct lowered);
    kept->shared_bytes = whole->shared_bytes;
    kept->cluster = whole->cluster;
    memcpy(kept->block, whole->block, sizeof kept->block);
    for (size_t i = 0; i < whole->params.count; i++) {
        struct lower_param p = whole->params.data[i];
        p.map = p.map ? arena_copy(&v->arena, p.map, sizeof *p.map) : NULL;
        vec_push(&v->arena, &kept->params, p);
    }
    v->lowered = kept;
}

static void find_pairs(struct entry_variant *out, struct arena *a, const struct overlay *o)
{
    unsigned char all[ENTRY_PARAMS * ENTRY_PARAMS][2];
    for (int p = 0; p < ENTRY_PARAMS; p++)
        for (int q = 0; q < ENTRY_PARAMS; q++)
            if (o->apart[p] >> q & 1) {
                all[out->pairs][0] = (unsigned char)p;
                all[out->pairs++][1] = (unsigned char)q;
            }
    out->pair = arena_copy(a, all, (size_t)out->pairs * sizeof *all);
}

/* Lists what the kernel gets. A kernel with workspace, or with more maps than a start makes quickly, has
 * no quick starts. */
static void describe_passed(struct entry_variant *out, struct variant *v)
{
    const struct sym *views[ENTRY_MAPS];
    for (size_t i = 0; i < v->lowered->params.count && out->quick; i++) {
        const struct lower_param *p = &v->lowered->params.data[i];
        unsigned char *from = &out->from[out->passed++];
        if (p->kind == LOWER_MAP && p->sym->base && out->map_count < ENTRY_MAPS) {
            enum dtype t = p->sym->type.dtype;
            *from = (unsigned char)(FROM_MAPS + out->map_count);
            views[out->map_count] = p->sym;
            out->map[out->map_count++] =
                (struct entry_map){.form = lower_map_form(p, tensor_map_type(t)),
                                   .type = t,
                                   .base = (unsigned char)p->sym->base->index};
        } else if (p->kind == LOWER_SCALAR || p->kind == LOWER_POINTER) {
            *from = (unsigned char)p->sym->index;
        } else {
            out->quick = false;
        }
    }
    if (out->map_count)
        launch_sizes_compile_all(&out->map_sizes, &v->arena, v->ir, views, out->map_count);
}

static struct entry_variant *describe(tw_entry *e, struct variant *v, const struct entry_key *key)
{
    struct entry_variant *out = arena_new(&v->arena, struct entry_variant);
    out->item.word = arena_copy(&v->arena, key->word, (size_t)key->words * sizeof *key->word);
    out->variant = v;
    out->program = v->program;
    if (!e->launch->allows_overlap)
        find_pairs(out, &v->arena, &v->overlay);
    if (!e->executor->streams)
        return out;
    trim(v);
    out->quick = !v->ir->cooperative;
    describe_passed(out, v);
    launch_sizes_compile(&out->sizes, &v->arena, v->ir);
    out->launch = cuda_quick(e->ctx->cuda, v->module, v->lowered->block, v->lowered->shared_bytes,
                             v->lowered->cluster);
    out->encoder = cuda_encoder(e->ctx->cuda);
    return out;
}

static void drop_unfinished(tw_entry *e)
{
    if (e->making)
        variant_free(e->ctx, e->making);
    e->making = NULL;
}

/* Returns true if the values of statics make too many blocks. Statics are arguments here, so
 * that is not an error of the program. */
static bool has_large_grid(const struct kernel *ir)
{
    int64_t blocks;
    for (int i = 0; ir && i < 3; i++)
        if (ir->grid[i] && eval_int(ir->grid[i], NULL, &blocks) && blocks > grid_limits[i])
            return true;
    return false;
}

/* Makes a variant. e->launch then has it. */
static tw_status make_variant(const struct entry_call *c, struct given *g,
                              const struct entry_variant **out)
{
    tw_entry *e = c->entry;
    tw_launch *l = e->launch;
    struct variant *v = e->making = context_object(e->ctx, sizeof *v);
    if (!v)
        return TW_NO_MEMORY;
    context_arena(e->ctx, &v->arena);
    fill_choice(e, g);
    tw_status status = variant_compile(l->kernel, v, &l->choice, &e->ctx->scratch);
    if (status == TW_BAD_PROGRAM && has_large_grid(v->ir))
        status = TW_BAD_ARGUMENT;
    l->variant = v;
    l->prepared = status == TW_OK;
    if (status == TW_OK && e->executor->streams)
        status = launch_load(l);
    if (status != TW_OK)
        return status;
    struct entry_variant *made = describe(e, v, &g->key);
    made->next = e->variants;
    e->variants = made;
    e->making = NULL;
    entry_put(&e->table, &made->item, &g->key);
    if (e->table.count >= VARIANTS_KEPT)
        atomic_store_explicit(&e->full, true, memory_order_release);
    *out = made;
    return TW_OK;
}

static tw_status variant_of(const struct entry_call *c, struct given *g,
                            const struct entry_variant **out)
{
    *out = find_variant(c->entry, g);
    if (*out)
        return TW_OK;
    tw_status status = TW_OK;
    if (c->entry->executor->streams)
        status = launch_not_captured(
            c->entry->launch, c->stream,
            arena_printf(&c->entry->ctx->scratch,
                         "it was not started with such arguments before, and cannot be compiled "
                         "while the stream is captured: call %s before the capture",
                         c->entry->made_ready_by));
    if (status == TW_OK)
        status = make_room(c, g);
    if (status == TW_OK)
        status = make_variant(c, g, out);
    if (status != TW_OK)
        drop_unfinished(c->entry);
    return status;
}

/* Fills the launch as if the caller had set the scalars by name. */
static void fill_launch(tw_entry *e, const struct given *g, const struct entry_variant *v)
{
    tw_launch *l = e->launch;
    fill_choice(e, g);
    l->variant = v->variant;
    l->prepared = true;
    l->gpu = NULL;
    for (int i = 0; i < e->param_count; i++)
        l->array_set[i] = false;
}

/* Refuses the first NULL array that has elements. The launch is filled. */
static tw_status check_nulls(tw_entry *e, const struct given *g)
{
    tw_status status = TW_OK;
    for (int i = 0; i < e->param_count && status == TW_OK; i++)
        if (e->params[i].kind == TW_POINTER && !g->value[i])
            status = launch_check_null(e->launch, i);
    return status;
}

/* Enqueues the launch as if the caller had set all arguments by name. */
static tw_status enqueue(const struct entry_call *c, const struct given *g,
                         const struct entry_variant *v)
{
    tw_entry *e = c->entry;
    tw_launch *l = e->launch;
    fill_launch(e, g, v);
    tw_status status = launch_check_sizes(l);
    if (status == TW_OK && c->start)
        status = check_nulls(e, g);
    if (status != TW_OK)
        return status;
    for (int i = 0; i < e->param_count; i++) {
        l->array_set[i] = e->params[i].kind == TW_POINTER;
        l->arrays[i] = (tw_array){.data = (void *)(uintptr_t)g->value[i],
                                  .dtype = (tw_dtype)e->params[i].dtype,
                                  .place = TW_ON_DEVICE};
    }
    return launch_enqueue(l, c->stream, c->start);
}

static tw_status slow_body(void *user)
{
    const struct entry_call *c = user;
    struct given g;
    const struct entry_variant *v;
    drop_unfinished(c->entry);
    struct diag *d = &c->entry->ctx->diag;
    d->code = CODE_ARGUMENT;
    tw_status status = check_arguments(c, &g);
    d->code = CODE_OTHER;
    if (status == TW_OK)
        status = variant_of(c, &g, &v);
    const unsigned char *pair = status == TW_OK ? shared_pair(v, &g) : NULL;
    if (pair) {
        fill_launch(c->entry, &g, v);
        launch_refuse_overlap(c->entry->launch, pair[0], pair[1]);
        return TW_BAD_ARGUMENT;
    }
    if (status == TW_OK && c->entry->executor->streams)
        status = enqueue(c, &g, v);
    if (status != TW_OK || !c->needs)
        return status;
    return launch_occupancy(c->entry->launch, &c->needs->occupancy, &c->needs->workspace_bytes);
}

void context_fill_error(const tw_context *ctx, tw_status status, tw_error *error)
{
    tw_error found = {.status = status};
    const tw_message *first = ctx->message_count ? ctx->messages : NULL;
    if (first) {
        found.code = first->code;
        found.line = first->line;
        found.column = first->column;
        snprintf(found.file, sizeof found.file, "%s", first->file ? first->file : "");
    }
    snprintf(found.text, sizeof found.text, "%s", ctx->rendered);
    FILL_SIZED(error, found);
}

/* Makes a call on the entry's own context, which one thread uses at a time. */
static tw_status locked_call(tw_entry *e, tw_error *error, tw_status (*body)(void *call),
                             void *call)
{
    platform_lock(e->lock);
    tw_status status = context_call(e->ctx, body, call);
    if (status != TW_OK && error)
        context_fill_error(e->ctx, status, error);
    platform_unlock(e->lock);
    return status;
}

static tw_status start_slowly(struct entry_call *c)
{
    return locked_call(c->entry, c->error, slow_body, c);
}

tw_status gpu_start(struct entry_call *c)
{
    if (count_fits(c->entry, c->count) &&
        start_quickly(c->entry, c->arguments, c->count, c->stream))
        return TW_OK;
    return start_slowly(c);
}

/* --- on the host --- */

struct fault_call {
    tw_entry *entry;
    const struct given *given;
    const struct entry_variant *variant;
    const struct cpu_fault *fault;
};

/* Reports a fault. The engine takes a NULL array as one without elements and does not know the
 * names of arguments. */
static tw_status say_fault(void *user)
{
    const struct fault_call *c = user;
    tw_status status = TW_OK;
    if (c->fault->kind == CPU_BAD_ARGUMENT && c->given->has_null) {
        fill_launch(c->entry, c->given, c->variant);
        status = check_nulls(c->entry, c->given);
    }
    return status != TW_OK ? status : host_outcome(c->entry->ctx, c->fault->kind, c->fault);
}

/* Returns an argument. The caller vouches for the lengths of arrays, so the engine gets the
 * greatest. */
static struct cpu_argument host_argument(const struct entry_param *p, uint64_t value)
{
    switch (p->kind) {
    case TW_POINTER:
        return (struct cpu_argument){.data = (void *)(uintptr_t)value, .bytes = PTRDIFF_MAX};
    case TW_FLOAT:
        return (struct cpu_argument){
            .scalar = {.is_float = true, .f = dtype_load_f64(p->dtype, &value)}};
    case TW_INTEGER: break;
    }
    return (struct cpu_argument){.scalar = {.i = (int64_t)value}};
}

tw_status host_start(struct entry_call *c)
{
    tw_entry *e = c->entry;
    struct given g;
    const struct entry_variant *v = NULL;
    if (count_fits(e, c->count) && take_arguments(e, c->arguments, c->count, &g))
        v = find_variant(e, &g);
    if (!v || shared_pair(v, &g)) {
        tw_status status = start_slowly(c);
        if (status != TW_OK || !take_arguments(e, c->arguments, c->count, &g))
            return status;
        v = find_variant(e, &g);
    }
    struct cpu_argument args[ENTRY_PARAMS];
    struct cpu_fault fault;
    for (int i = 0; i < e->param_count; i++)
        args[i] = host_argument(&e->params[i], g.value[i]);
    if (cpu_launch(v->program, args, &e->options, &fault) == CPU_OK)
        return TW_OK;
    return locked_call(e, c->error, say_fault, &(struct fault_call){e, &g, v, &fault});
}

/* --- the calls --- */

/* Refuses calls without an entry, and arguments that are NULL. */
static tw_status check_call(const tw_entry *e, const tw_value *arguments, int count,
                            tw_error *error, const char *call)
{
    return e && (count <= 0 || arguments) ? TW_OK
                                          : error_of_null(error, call, e ? "arguments" : "e");
}

tw_status tw_entry_start(tw_entry *e, const tw_value *arguments, int count, void *stream,
                         tw_error *error)
{
    error = error_to_fill(error);
    tw_status status = check_call(e, arguments, count, error, "tw_entry_start");
    if (status != TW_OK)
        return status;
    return e->executor->start(&(struct entry_call){e, arguments, count, stream, error, true, NULL});
}

tw_status tw_entry_ready(tw_entry *e, const tw_value *arguments, int count, void *stream,
                         tw_error *error)
{
    error = error_to_fill(error);
    tw_status status = check_call(e, arguments, count, error, "tw_entry_ready");
    if (status != TW_OK)
        return status;
    return start_slowly(&(struct entry_call){e, arguments, count, stream, error, false, NULL});
}

tw_status tw_entry_occupancy(tw_entry *e, const tw_value *arguments, int count, void *stream,
                             tw_occupancy *out, int64_t *workspace_bytes, tw_error *error)
{
    struct entry_needs needs = {0};
    error = error_to_fill(error);
    tw_status status = check_call(e, arguments, count, error, "tw_entry_occupancy");
    if (status != TW_OK)
        return status;
    if (!out || !workspace_bytes)
        return error_of_null(error, "tw_entry_occupancy", out ? "workspace_bytes" : "out");
    if (!SIZED_FITS(NULL, tw_occupancy, out))
        return TW_BAD_ARGUMENT;
    if (!e->executor->streams)
        return TW_UNSUPPORTED;
    status =
        start_slowly(&(struct entry_call){e, arguments, count, stream, error, .needs = &needs});
    if (status != TW_OK)
        return status;
    FILL_SIZED(out, needs.occupancy);
    *workspace_bytes = needs.workspace_bytes;
    return TW_OK;
}

int tw_entry_variants(tw_entry *e)
{
    if (!e)
        return 0;
    platform_lock(e->lock);
    int count = e->table.count;
    platform_unlock(e->lock);
    return count;
}

/* --- entries --- */

/* Finds the range of an integer type, as values of tw_value.i. */
static void find_range(struct entry_param *p)
{
    int bits = p->dtype == DT_BOOL ? 1 : dtype_table[p->dtype].bits;
    bool is_signed = dtype_table[p->dtype].kind == DK_SINT || bits == 64;
    p->span = bits == 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1;
    p->least = is_signed ? (int64_t)(~(uint64_t)0 << (bits - 1)) : 0;
}

static void describe_params(tw_entry *e, const tw_launch *l)
{
    const struct lang_kernel *info = l->kernel->info;
    e->param_count = info->param_count;
    for (int i = 0; i < info->param_count; i++) {
        const struct lang_param *from = &info->params[i];
        struct entry_param *p = &e->params[i];
        p->dtype = from->type_variable >= 0 ? l->choice.types[from->type_variable] : from->dtype;
        p->kind = from->is_pointer ? TW_POINTER : dtype_is_float(p->dtype) ? TW_FLOAT : TW_INTEGER;
        p->below = dtype_size(p->dtype) - 1;
        p->single = from->has_value;
        if (p->kind == TW_INTEGER)
            find_range(p);
        uint64_t value =
            (uint64_t)(from->device ? l->kernel->executor->processors(l->kernel) : from->value.i);
        if (dtype_is_float(p->dtype))
            float_bits(p->dtype, from->value.is_float ? from->value.f : (double)from->value.i,
                       &value);
        p->only = p->preset = value;
        p->is_static = from->is_static && !p->single;
        e->counted[0] |= (uint64_t)(p->kind != TW_FLOAT) << i;
        e->counted[1] |= (uint64_t)(p->kind == TW_INTEGER) << i;
        if (from->derived)
            e->derived[e->derived_count++] = (unsigned char)i;
        else
            e->argument_of[e->argument_count++] = (unsigned char)i;
        if (!from->derived && !from->has_default)
            e->least_arguments = e->argument_count;
    }
}

static tw_status resolve(void *user)
{
    tw_launch *l = user;
    if (l->kernel->info->param_count > ENTRY_PARAMS) {
        diag_error(&l->ctx->diag, l->kernel->info->loc,
                   "kernel `%s` has %d parameters; an entry's kernel has %d at most",
                   l->kernel->info->name, l->kernel->info->param_count, ENTRY_PARAMS);
        return TW_UNSUPPORTED;
    }
    tw_status status = launch_resolve(l, false);
    if (status == TW_OK && !launch_check_declarations(l))
        status = TW_BAD_PROGRAM;
    return status;
}

/* Makes the kernel again, in a context of the entry's own. */
static tw_status open_own(tw_entry *e, const tw_launch *l)
{
    const tw_context *owner = l->ctx;
    tw_module *module;
    tw_kernel *kernel;
    tw_status status = context_again(owner, &e->ctx);
    if (status == TW_OK)
        status = module_again(e->ctx, l->kernel->module, &module);
    if (status == TW_OK)
        status = tw_kernel_for_target(tw_module_kernel_at(module, l->kernel->index),
                                      l->kernel->target, &kernel);
    if (status == TW_OK)
        status = tw_launch_new(kernel, &e->launch);
    e->executor = l->kernel->executor;
    if (status == TW_OK)
        status = tw_launch_allow_overlap(e->launch, l->allows_overlap);
    if (status == TW_OK)
        e->options = host_options(e->ctx);
    return status;
}

/* Compiles the derived parameters of the module in the entry's own context. */
static tw_status compile_derived(void *user)
{
    tw_entry *e = user;
    const struct lang_kernel *info = e->launch->kernel->info;
    struct derived_param params[ENTRY_PARAMS];
    for (int i = 0; i < e->param_count; i++)
        params[i] = (struct derived_param){e->params[i].dtype, info->params[i].derived};
    launch_derived_compile(&e->derive, &e->launch->arena, params, e->param_count);
    return TW_OK;
}

static void take_choice(tw_entry *e, const tw_launch *l)
{
    const struct lang_kernel *info = l->kernel->info;
    struct choice *own = &e->launch->choice;
    for (int t = 0; t < info->tune_count; t++)
        own->tunes[t] = l->choice.tunes[t];
    for (int t = 0; t < info->type_count; t++)
        own->types[t] = l->choice.types[t];
}

static void entry_destroy(tw_entry *e)
{
    tw_context *owner = e->owner;
    if (e->ctx)
        drop_unfinished(e);
    while (e->variants) {
        struct entry_variant *v = e->variants;
        e->variants = v->next;
        variant_free(e->ctx, v->variant);
    }
    tw_context_free(e->ctx);
    platform_lock_free(&owner->allocator, e->lock);
    context_object_free(owner, e, sizeof *e);
}

tw_status tw_entry_new(tw_launch *l, tw_entry **out)
{
    if (out)
        *out = NULL;
    if (!l)
        return TW_BAD_ARGUMENT;
    if (!out)
        return context_refuse(l->ctx, "tw_entry_new: `out` is NULL");
    tw_status status = context_call(l->ctx, resolve, l);
    if (status != TW_OK)
        return status;
    tw_entry *e = context_object(l->ctx, sizeof *e);
    if (!e)
        return context_no_memory(l->ctx);
    e->owner = l->ctx;
    e->made_ready_by = "tw_entry_ready";
    e->lock = platform_lock_new(&l->ctx->allocator);
    describe_params(e, l);
    status = e->lock ? open_own(e, l) : TW_NO_MEMORY;
    if (status == TW_OK && e->derived_count > 0)
        status = context_call(e->ctx, compile_derived, e);
    if (status != TW_OK) { /* the text compiled before, so no other message applies */
        entry_destroy(e);
        return context_no_memory(l->ctx);
    }
    take_choice(e, l);
    e->next = l->ctx->entries;
    l->ctx->entries = e;
    *out = e;
    return TW_OK;
}

void entry_made_ready_by(tw_entry *e, const char *call)
{
    e->made_ready_by = call;
}

void tw_entry_free(tw_entry *e)
{
    if (!e)
        return;
    for (tw_entry **at = &e->owner->entries; *at; at = &(*at)->next)
        if (*at == e) {
            *at = e->next;
            break;
        }
    entry_destroy(e);
}
