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
#include "api/entry.h"

#include <string.h>

/* --- the fast path --- */

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
    if (!entry_take_arguments(e, arguments, count, &g) || g.has_null)
        return false;
    const struct entry_variant *v = entry_find_variant(e, &g);
    if (!v || !v->quick || entry_shared_pair(v, &g) || !launch_sizes_run(&v->sizes, g.value, grid))
        return false;
    if (grid[0] <= 0 || grid[1] <= 0 || grid[2] <= 0)
        return true; /* no blocks */
    if (v->map_count)
        return start_with_maps(v, &g, grid, stream);
    for (int i = 0; i < v->passed; i++)
        passed[i] = &g.value[v->from[i]];
    return cuda_quick_start(&v->launch, grid, stream, passed);
}

tw_status gpu_start(struct entry_call *c)
{
    if (entry_count_fits(c->entry, c->count) &&
        start_quickly(c->entry, c->arguments, c->count, c->stream))
        return TW_OK;
    return entry_start_slowly(c);
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
        entry_fill_launch(c->entry, c->given, c->variant);
        status = entry_check_nulls(c->entry, c->given);
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
    if (entry_count_fits(e, c->count) && entry_take_arguments(e, c->arguments, c->count, &g))
        v = entry_find_variant(e, &g);
    if (!v || entry_shared_pair(v, &g)) {
        tw_status status = entry_start_slowly(c);
        if (status != TW_OK || !entry_take_arguments(e, c->arguments, c->count, &g))
            return status;
        v = entry_find_variant(e, &g);
    }
    struct cpu_argument args[ENTRY_PARAMS];
    struct cpu_fault fault;
    for (int i = 0; i < e->param_count; i++)
        args[i] = host_argument(&e->params[i], g.value[i]);
    if (cpu_launch(v->program, args, &e->options, &fault) == CPU_OK)
        return TW_OK;
    return entry_call_locked(e, c->error, say_fault, &(struct fault_call){e, &g, v, &fault});
}

/* --- the calls --- */

/* Refuses calls without an entry, and arguments that are NULL. */
static tw_status check_call(const tw_entry *e, const tw_value *arguments, int count,
                            tw_error *error, const char *call)
{
    return e && (count <= 0 || arguments) ? TW_OK
                                          : sized_error_of_null(error, call, e ? "arguments" : "e");
}

tw_status tw_entry_start(tw_entry *e, const tw_value *arguments, int count, void *stream,
                         tw_error *error)
{
    error = sized_error_to_fill(error);
    tw_status status = check_call(e, arguments, count, error, "tw_entry_start");
    if (status != TW_OK)
        return status;
    return e->executor->start(&(struct entry_call){e, arguments, count, stream, error, true, NULL});
}

tw_status tw_entry_ready(tw_entry *e, const tw_value *arguments, int count, void *stream,
                         tw_error *error)
{
    error = sized_error_to_fill(error);
    tw_status status = check_call(e, arguments, count, error, "tw_entry_ready");
    if (status != TW_OK)
        return status;
    return entry_start_slowly(
        &(struct entry_call){e, arguments, count, stream, error, false, NULL});
}

tw_status tw_entry_occupancy(tw_entry *e, const tw_value *arguments, int count, void *stream,
                             tw_occupancy *out, int64_t *workspace_bytes, tw_error *error)
{
    struct entry_needs needs = {0};
    error = sized_error_to_fill(error);
    tw_status status = check_call(e, arguments, count, error, "tw_entry_occupancy");
    if (status != TW_OK)
        return status;
    if (!out || !workspace_bytes)
        return sized_error_of_null(error, "tw_entry_occupancy", out ? "workspace_bytes" : "out");
    if (!SIZED_FITS(NULL, tw_occupancy, out))
        return TW_BAD_ARGUMENT;
    if (!e->executor->streams)
        return TW_UNSUPPORTED;
    status = entry_start_slowly(
        &(struct entry_call){e, arguments, count, stream, error, .needs = &needs});
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
