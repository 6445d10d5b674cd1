/* Costs of accesses by line, with loads and stores apart. */
#include "api/explain.h"
#include "sim/sim_counters.h"

#include <math.h>
#include <string.h>

static bool alike(const tw_explained_access *a, const tw_explained_access *b)
{
    return a->line == b->line && a->column == b->column && a->copy == b->copy &&
           a->shared == b->shared && a->store == b->store && a->bytes == b->bytes &&
           fabs(a->ways - b->ways) < 0.005 &&
           fabs(a->units / a->requests - b->units / b->requests) < 0.005 &&
           strcmp(a->file, b->file) == 0;
}

/* Returns the operation of an atomic instruction; NULL: it is another one. */
static const char *atomic_of(const struct ptx_instruction *ins)
{
    bool is_atomic = ins->op == PTX_ATOM || ins->op == PTX_RED;
    enum ptx_mod operation = is_atomic ? ptx_find(ins, PTX_CLASS_OPERATION, 0) : MOD_NONE;
    return operation != MOD_NONE ? ptx_mods[operation].text : NULL;
}

static double ratio(double taken, double ideal)
{
    return ideal > 0 ? taken / ideal : 1;
}

/* Returns the tile that the program accesses there; NULL: none of its own. */
static const char *tile_at(const struct explain *e, uint32_t line, uint32_t column)
{
    if (!e->launch) /* PTX of another compiler */
        return NULL;
    const struct lowered *lowered = e->launch->variant->lowered;
    for (size_t i = 0; i < lowered->accesses.count; i++) {
        const struct lowered_access *a = &lowered->accesses.data[i];
        int at = 0, in = 0;
        if (a->shared && a->sym && a->loc.source)
            loc_line_column(a->loc, &at, &in);
        if (at == (int)line && in == (int)column && at)
            return a->sym->name;
    }
    return NULL;
}

static tw_explained_request request_of(struct explain *e, const struct accesses *all,
                                       const struct access_of *a)
{
    const struct access_request *r = &a->dearest;
    const struct ptx_line *at = a->place.ins->line;
    tw_explained_request out = {.block = r->block,
                                .warp = r->warp,
                                .mask = r->mask,
                                .units = r->units,
                                .units_ideal = r->ideal};
    uint64_t base = 0, lowest = r->mask ? r->address[__builtin_ctz(r->mask)] : 0;
    const char *name = a->shared && at ? tile_at(e, at->line, at->column) : NULL;
    for (size_t i = 0; i < all->arrays.count && !a->shared; i++)
        if (lowest - all->arrays.data[i].address < all->arrays.data[i].bytes) {
            base = all->arrays.data[i].address;
            name = all->arrays.data[i].name;
        }
    out.array = name ? arena_string(e->results, name, strlen(name)) : NULL;
    for (uint32_t rest = r->mask; rest; rest &= rest - 1)
        out.address[__builtin_ctz(rest)] = (int64_t)(r->address[__builtin_ctz(rest)] - base);
    for (int lane = 0; lane < SIM_LANES; lane++)
        out.wavefront[lane] = r->wavefront[lane] == SIM_NOT_SERVED ? -1 : r->wavefront[lane];
    return out;
}

static tw_explained_access shown(struct explain *e, const struct accesses *all,
                                 const struct access_of *a)
{
    const struct sim_counted at = {.ins = a->place.ins, .where = a->place.where};
    const char *file = NULL;
    uint32_t line = sim_counted_line(&at, e->simulation.module, &file);
    const struct access_cost *c = &a->launch;
    bool merges = c->merged > 0;
    double units = merges ? c->merged : c->units, ideal = merges ? c->merged_ideal : c->ideal;
    return (tw_explained_access){.file = arena_string(e->results, file, strlen(file)),
                                 .line = (int)line,
                                 .column = a->place.ins->line ? (int)a->place.ins->line->column : 0,
                                 .shared = a->shared,
                                 .store = a->write,
                                 .copy = a->copy,
                                 .bytes = a->bytes,
                                 .requests = c->requests,
                                 .units = units,
                                 .units_ideal = ideal,
                                 .ways = ratio(units, ideal),
                                 .ways_by_element =
                                     a->shared ? ratio(c->by_element, c->ideal_by_element) : 1,
                                 .lanes = request_of(e, all, a)};
}

/* The accesses of the explanation, and what it says of each of them. */
struct shown_list {
    tw_explained_access *data;
    const char **atomics;
    double *written; /* ways_as_written */
    int count;
};

/* Adds an access to an equal one, or inserts it after the others of its line. */
static void keep(struct shown_list *all, const tw_explained_access *a, const char *atomic,
                 double written)
{
    tw_explained_access *list = all->data;
    for (int i = 0; i < all->count; i++)
        if (alike(&list[i], a) && all->atomics[i] == atomic &&
            fabs(all->written[i] - written) < 0.005) {
            list[i].requests += a->requests;
            list[i].units += a->units;
            list[i].units_ideal += a->units_ideal;
            return;
        }
    int at = all->count++;
    for (; at > 0 && list[at - 1].line > a->line; at--) {
        list[at] = list[at - 1];
        all->atomics[at] = all->atomics[at - 1];
        all->written[at] = all->written[at - 1];
    }
    list[at] = *a;
    all->atomics[at] = atomic;
    all->written[at] = written;
}

void explain_accesses(struct explain *e, const struct accesses *accesses)
{
    size_t all = accesses->list.count;
    struct shown_list list = {.data = arena_array(e->results, tw_explained_access, all + 1),
                              .atomics = arena_array(e->results, const char *, all + 1),
                              .written = arena_array(e->results, double, all + 1)};
    for (size_t i = 0; i < all; i++) {
        const struct access_of *a = &accesses->list.data[i];
        tw_explained_access one = shown(e, accesses, a);
        tw_traffic *t = &e->out.traffic[a->shared ? TW_AT_SHARED : TW_AT_L2];
        double unit =
            a->shared ? GPU_LINE_BYTES : GPU_SECTOR_BYTES; /* of a wavefront, of a sector */
        t->by_thread += a->launch.by_thread;
        *(a->write ? &t->written_by_thread : &t->read_by_thread) += a->launch.by_thread;
        *(a->write ? &t->written_by_request : &t->read_by_request) += a->launch.units * unit;
        *(a->write ? &t->written_by_element : &t->read_by_element) += a->launch.by_element * unit;
        if (a->launch.requests > 0)
            keep(&list, &one, atomic_of(a->place.ins), ratio(a->launch.units, a->launch.ideal));
    }
    e->out.accesses = list.data;
    e->out.atomics = list.atomics;
    e->out.ways_as_written = list.written;
    e->out.access_count = list.count;
}
