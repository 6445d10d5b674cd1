/* Finds the bytes that the blocks of a persistent grid copy at the same turn. If all blocks of a grid run at the same
 * time, each takes tile after tile, in an order of the program's own. The place of a block in the
 * grid does not tell which tiles these are, so the model follows the scalars of every block, and
 * takes its copies in the background as they come. Blocks in step make the same number of copies in
 * the same time. */
#include "api/explain.h"
#include "tile/block_copies.h"

#include <string.h>

enum { MOST_BLOCKS = 4096 };

/* One copy of a block, or several that follow each other along one axis. */
struct copied {
    const struct stmt *by;
    int array; /* of explain_counts.accesses */
    bool stores;
    int64_t offset, latest, bytes; /* bytes from the array's start: of the first, of the last */
    int64_t first;                 /* number among the block's loads, or stores */
};

struct recorded {
    VEC(struct copied) list;
    int64_t count[2]; /* loads, stores */
};

struct recording {
    struct explain *e;
    const struct accesses *accesses;
    struct scalar_env values;
    struct recorded *of; /* of the present block */
    bool failed;
};

static int array_named(const struct recording *r, const struct sym *base)
{
    for (size_t i = 0; base && i < r->accesses->arrays.count; i++)
        if (strcmp(r->accesses->arrays.data[i].name, base->name) == 0)
            return (int)i;
    return -1;
}

/* Returns the place of the box's first element within its array, and the bytes of its part inside
 * the view. Returns false if the view's strides are not known. */
static bool place_box(const struct recording *r, const struct block_copy *c, int64_t *offset,
                      int64_t *bytes)
{
    int64_t size = (int64_t)dtype_size(c->view->type.dtype), step = size, first = 0;
    *offset = 0;
    *bytes = size;
    if (c->view->base_offset && !eval_int(c->view->base_offset, &r->values, &first))
        return false;
    *offset = first * size;
    for (int i = c->view->type.rank - 1; i >= 0; i--) {
        int64_t extent, stride = step, inside;
        if (!eval_int(c->view->dims[i], &r->values, &extent) ||
            (c->view->strides[0] && !eval_int(c->view->strides[i], &r->values, &stride)))
            return false;
        stride = c->view->strides[0] ? stride * size : step;
        inside = extent - c->start[i] < c->extent[i] ? extent - c->start[i] : c->extent[i];
        *offset += c->start[i] * stride;
        *bytes *= inside > 0 ? inside : 0;
        step *= extent;
    }
    return true;
}

static void record(void *user, const struct block_copy *c)
{
    struct recording *r = user;
    struct copied new = {.by = c->by, .array = array_named(r, c->view->base), .stores = c->stores};
    r->failed |= new.array < 0 || !place_box(r, c, &new.offset, &new.bytes);
    if (r->failed)
        return;
    new.latest = new.offset;
    new.first = r->of->count[c->stores]++;
    vec_push(&r->e->ctx->scratch, &r->of->list, new);
}

/* Adds a copy to the pieces of its slice: to the piece before it, if that is of the same statement
 * and lies below. `join`: the latest piece of each statement. */
static void add_copy(struct arena *a, struct l2_own *own, struct copied *join,
                     const struct copied *c, uint64_t address, int slice)
{
    bool follows = join->by == c->by && join->first == slice && c->offset > join->latest;
    if (!follows) {
        struct l2_piece new = {.base = (address + (uint64_t)c->offset) / GPU_SECTOR_BYTES};
        vec_push(a, &own->list, new);
        *join = *c;
        join->first = slice;
        join->bytes = (int64_t)own->list.count - 1;
    }
    struct l2_piece *p = &own->list.data[join->bytes];
    *(c->stores ? &p->stored : &p->loaded) += (double)c->bytes;
    join->latest = c->offset;
}

static void take_block(struct recording *r, struct l2_grid *g, int64_t block,
                       const struct recorded *of, const int64_t most[2])
{
    enum { STATEMENTS = 16 };
    struct copied join[STATEMENTS] = {{0}};
    for (size_t i = 0; i < of->list.count; i++) {
        const struct copied *c = &of->list.data[i];
        uint64_t address = r->accesses->arrays.data[c->array].address;
        int slice = (int)(c->first * TIME_SLICES / most[c->stores]), k = 0;
        while (k < STATEMENTS - 1 && join[k].by && join[k].by != c->by)
            k++;
        add_copy(&r->e->ctx->scratch, &g->own[block][slice], &join[k], c, address, slice);
        g->own_arrays |= 1u << model_l2_array_of(address);
    }
}

static struct block_program *program_of(struct explain *e)
{
    tw_launch *l = e->launch;
    struct kernel *k =
        choice_check(&e->ctx->scratch, &e->ctx->diag, l->kernel, &l->choice, l->choice.known);
    return k ? block_program_new(&e->ctx->scratch, k) : NULL;
}

static bool is_persistent(const struct explain *e)
{
    const tw_explanation *o = &e->out;
    int64_t places = (int64_t)o->resident_blocks * e->gpu->multiprocessors;
    return o->launches && e->launch && kernel_uses_roles(e->launch->variant->ir) &&
           o->blocks <= places && o->blocks <= MOST_BLOCKS;
}

void explain_persistent(struct explain *e, struct explain_counts *c)
{
    struct l2_grid *g = &c->l2;
    struct arena *a = &e->ctx->scratch;
    struct block_program *p = is_persistent(e) ? program_of(e) : NULL;
    struct recording r = {.e = e, .accesses = &c->accesses};
    int64_t most[2] = {0};
    if (!p)
        return;
    r.values = launch_env(e->launch);
    struct recorded *all = arena_array(a, struct recorded, e->out.blocks);
    for (int64_t b = 0; b < e->out.blocks; b++) {
        int64_t at[3] = {b % g->extent[0], b / g->extent[0] % g->extent[1],
                         b / g->extent[0] / g->extent[1]};
        r.of = &all[b];
        if (!block_copies(p, &r.values, g->extent, at, record, &r) || r.failed)
            return;
        for (int i = 0; i < 2; i++)
            most[i] = all[b].count[i] > most[i] ? all[b].count[i] : most[i];
    }
    if (most[0] == 0)
        return;
    g->own = arena_alloc(a, (size_t)e->out.blocks * sizeof *g->own);
    memset(g->own, 0, (size_t)e->out.blocks * sizeof *g->own);
    for (int64_t b = 0; b < e->out.blocks; b++)
        take_block(&r, g, b, &all[b], most);
}
