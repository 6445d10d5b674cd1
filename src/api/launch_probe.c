/* tw_launch_probe: prints intermediate values during a run. The request lives in the module's
 * arena, because the kernel keeps compiled versions that point to it. */
#include "api/objects.h"
#include "tile/probe.h"

#include <inttypes.h>
#include <string.h>

struct probe_call {
    tw_launch *launch;
    const tw_probe_options *options;
};

static tw_status refuse(tw_launch *l, const char *why)
{
    return context_refuse(l->ctx, why);
}

static tw_status probe_call(void *user)
{
    const struct probe_call *c = user;
    const tw_probe_options *o = c->options;
    tw_launch *l = c->launch;
    l->prepared = false;
    l->probe = NULL;
    if (!o)
        return TW_OK;
    struct arena *a = &l->kernel->module->arena;
    struct probe_request *r = arena_new(a, struct probe_request);
    r->arena = a;
    r->names = arena_array(a, struct probe_name, o->count + 1);
    for (int i = 0; i < o->count; i++) {
        const tw_probe *p = &o->probes[i];
        if (!p->name || p->rank < 0 || p->rank > MAX_RANK)
            return refuse(l, "tw_launch_probe: a probe has no name, or too many axes");
        r->names[i] = (struct probe_name){.name = arena_printf(a, "%s", p->name), .rank = p->rank};
        memcpy(r->names[i].window.first, p->first, sizeof p->first);
        memcpy(r->names[i].window.count, p->extent, sizeof p->extent);
    }
    r->count = o->count;
    r->line = o->line;
    for (int axis = 0; axis < 3; axis++) {
        r->block[axis] = o->block[axis];
        r->thread[axis] = o->all_threads ? -1 : o->thread[axis];
    }
    l->probe = r;
    return TW_OK;
}

tw_status tw_launch_probe(tw_launch *l, const tw_probe_options *options)
{
    tw_probe_options known;
    if (!l)
        return TW_BAD_ARGUMENT;
    tw_status s = options ? READ_SIZED(l->ctx, tw_probe_options, &known, options) : TW_OK;
    if (s != TW_OK)
        return s;
    if (options && (known.count < 0 || known.count > TW_MOST_PROBES ||
                    (known.count && !known.probes) || known.line < 0))
        return TW_BAD_ARGUMENT;
    struct probe_call call = {l, options ? &known : NULL};
    return context_call(l->ctx, probe_call, &call);
}

tw_status launch_check_probe(tw_launch *l)
{
    const struct probe_request *r = l->probe;
    const struct kernel *ir = l->variant->ir;
    bool has_block = true, has_thread = true;
    int64_t grid[3];
    if (!launch_grid(l, grid))
        return TW_OK;
    for (int i = 0; r && i < 3; i++) {
        has_block = has_block && r->block[i] < (grid[i] > 1 ? grid[i] : 1); /* 0: of no block */
        has_thread = has_thread && (!kernel_thread_level(ir) || r->thread[0] < 0 ||
                                    r->thread[i] < (ir->threads[i] ? ir->threads[i] : 1));
    }
    if (!has_block)
        diag_error(&l->ctx->diag, ir->loc,
                   "there is no block (%" PRId64 ",%" PRId64 ",%" PRId64
                   ") to show: the grid has (%" PRId64 ",%" PRId64 ",%" PRId64 ") blocks",
                   r->block[0], r->block[1], r->block[2], grid[0], grid[1], grid[2]);
    else if (!has_thread)
        diag_error(&l->ctx->diag, ir->loc,
                   "there is no thread (%d,%d,%d) to show: a block has (%d,%d,%d) threads",
                   r->thread[0], r->thread[1], r->thread[2], ir->threads[0],
                   ir->threads[1] ? ir->threads[1] : 1, ir->threads[2] ? ir->threads[2] : 1);
    return has_block && has_thread ? TW_OK : TW_BAD_ARGUMENT;
}

bool tw_launch_probe_site(const tw_launch *l, int index, tw_probe_site *out)
{
    if (!out || !SIZED_FITS(l ? l->ctx : NULL, tw_probe_site, out))
        return false;
    tw_probe_site found = {0};
    FILL_SIZED(out, found);
    if (!l || !l->probe || index < 0 || (size_t)index >= l->probe->sites.count)
        return false;
    const struct probe_site *s = &l->probe->sites.data[index];
    found = (tw_probe_site){.name = s->name,
                            .type = (tw_dtype)s->type.dtype,
                            .rank = s->type.rank,
                            .file = s->at.source ? s->at.source->name : NULL,
                            .counters = s->counters.data,
                            .counter_count = (int)s->counters.count,
                            .stops = s->stops,
                            .last = s->last};
    memcpy(found.shape, s->type.extent, sizeof found.shape);
    if (s->at.source)
        loc_line_column(s->at, &found.line, &found.column);
    FILL_SIZED(out, found);
    return true;
}
