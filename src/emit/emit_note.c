/* Notes for `show --stage layout`, traces and explanations: tiles and their layouts, accesses and their wavefronts. The plan notes
 * the layouts of kernels without roles, and of shared tiles (plan/plan_layouts.c). */
#include "emit/emit_fragment.h"
#include "layout/layout_access.h"
#include "nvptx/nvptx.h"

#include <string.h>

enum { WAVEFRONT_BYTES = 128 };

static int size_of(enum dtype t)
{
    return (int)dtype_size(t);
}

/* --- register tiles --- */

void emit_note_tile(struct emit *m, const struct sym *s)
{
    const struct layout *layout = plan_symbol(m->layouts, s);
    const struct lowered_placed placed = {
        .sym = s, .layout = layout, .bits = dtype_table[s->type.dtype].bits};
    if (!layout_masked(layout))
        vec_push(m->arena, &m->out->placed, placed);
}

/* --- accesses --- */

static bool same_access(const struct lowered_access *a, const struct lowered_access *b)
{
    return a->loc.source == b->loc.source && a->loc.offset == b->loc.offset && a->sym == b->sym &&
           a->store == b->store && a->bytes == b->bytes && strcmp(a->how, b->how) == 0 &&
           (a->sym || a->instructions == b->instructions);
}

/* Notes an access; once, if copies of a loop's body emit it several times. */
static void add_access(struct emit *m, struct lowered_access access)
{
    for (size_t i = 0; i < m->out->accesses.count; i++)
        if (same_access(&m->out->accesses.data[i], &access))
            return;
    vec_push(m->arena, &m->out->accesses, access);
}

static enum thread_opcode opcode_of(const struct sym *s, bool store)
{
    if (!s || s->storage == ST_SHARED)
        return store ? THREAD_STORE_SHARED : THREAD_LOAD_SHARED;
    return store ? THREAD_STORE : s->is_const ? THREAD_LOAD_CONST : THREAD_LOAD;
}

static int64_t warps_of(const struct emit *m)
{
    return m->roles ? (int64_t)m->place.warps * m->place.replicas
                    : divide_up(kernel_block_threads(m->kernel), WARP_LANES);
}

void emit_note_elements(struct emit *m, const struct expr *e, int count, bool store)
{
    const struct thread_type type = {.dtype = e->sym->type.dtype, .count = (uint16_t)count};
    if (e->sym->storage == ST_ARRAY)
        return;
    add_access(m, (struct lowered_access){
                      .loc = e->loc,
                      .sym = e->sym,
                      .shared = e->sym->storage == ST_SHARED,
                      .store = store,
                      .how = nvptx_access_name(m->arena, opcode_of(e->sym, store), type, false),
                      .bytes = size_of(type.dtype) * count,
                      .instructions = warps_of(m)});
}

void emit_note_vectors(struct emit *m, const struct expr *e, int count, int64_t vectors, bool store)
{
    const struct thread_type type = {.dtype = e->sym->type.dtype, .count = (uint16_t)count};
    add_access(m, (struct lowered_access){
                      .loc = e->loc,
                      .sym = e->sym,
                      .shared = e->sym->storage == ST_SHARED,
                      .store = store,
                      .how = nvptx_access_name(m->arena, opcode_of(e->sym, store), type, true),
                      .bytes = size_of(type.dtype) * count,
                      .instructions = vectors * warps_of(m)});
}

void emit_note_way(struct emit *m, struct loc loc, const struct sym *s, const struct shared_way *w,
                   bool store)
{
    const struct access *a = &w->how;
    const struct thread_type type = {.dtype = w->dtype, .count = (uint16_t)a->elements};
    const bool lanes = a->kind == ACCESS_LANES;
    const int64_t times = layout_in_extent(w->regs, AXIS_STAGE) * (int64_t)m->place.replicas;
    const char *how =
        lanes ? nvptx_access_name(m->arena,
                                  w->of_peer ? (store ? THREAD_STORE_PEER : THREAD_LOAD_PEER)
                                             : opcode_of(NULL, store),
                                  type, true)
              : arena_printf(m->arena, "%smatrix.x%d%s", store ? "st" : "ld", a->matrices,
                             a->kind == ACCESS_MATRIX_TRANS ? ".trans" : "");
    add_access(m, (struct lowered_access){.loc = loc,
                                          .sym = s,
                                          .shared = true,
                                          .store = store,
                                          .how = how,
                                          .bytes = lanes ? a->elements * size_of(type.dtype)
                                                         : a->matrices * 4,
                                          .instructions = times * a->instructions,
                                          .wavefronts = times * a->wavefronts,
                                          .least = times * a->least});
}

void emit_note_async(struct emit *m, const struct stmt *s, const struct access *how)
{
    const int bytes = how->elements * size_of(s->target->type.dtype);
    add_access(m, (struct lowered_access){.loc = s->loc,
                                          .sym = s->target->sym,
                                          .shared = true,
                                          .store = true,
                                          .how = arena_printf(m->arena, "cp.async %d", bytes),
                                          .bytes = bytes,
                                          .instructions = how->instructions,
                                          .wavefronts = how->wavefronts,
                                          .least = how->least});
}

void emit_note_atomics(struct emit *m, const struct expr *e, int elements, int64_t count,
                       bool wanted)
{
    const struct sym *s = e->args[0]->sym;
    const bool shared = s->storage == ST_SHARED, half = dtype_size(s->type.dtype) == 2;
    const int words = half ? elements / 2 : elements;
    const char *vector = elements == 1 ? "" : words == 4 ? ".v4" : words == 2 ? ".v2" : "";
    add_access(m, (struct lowered_access){
                      .loc = e->loc,
                      .sym = s,
                      .shared = shared,
                      .store = true,
                      .how = arena_printf(
                          m->arena, "%s.%s.%s%s%s.%s%s", wanted ? "atom" : "red",
                          shared ? "shared" : "global", op_table[e->op].text + strlen("atomic_"),
                          half && elements > 1 ? ".noftz" : "", vector,
                          dtype_table[s->type.dtype].name, half && elements > 1 ? "x2" : ""),
                      .bytes = elements * size_of(s->type.dtype),
                      .instructions = count * warps_of(m)});
}

void emit_note_boxes(struct emit *m, const struct stmt *s, const struct shared_part *p, int rows,
                     int columns)
{
    bool stores = s->target->sym->storage == ST_VIEW;
    const struct expr *sides[] = {s->target, s->value};
    int64_t boxes = (int64_t)(p->part_rows / rows) * (p->part_columns / columns);
    int64_t bytes = (int64_t)rows * columns * size_of(p->sym->type.dtype);
    int64_t wavefronts = (boxes * bytes + WAVEFRONT_BYTES - 1) / WAVEFRONT_BYTES;
    for (int i = 0; i < 2; i++) {
        bool shared = sides[i]->sym->storage == ST_SHARED;
        add_access(
            m, (struct lowered_access){.loc = sides[i]->loc,
                                       .sym = sides[i]->sym,
                                       .shared = shared,
                                       .store = i == 0,
                                       .how = arena_printf(m->arena, "tensor copy %s, %dx%d",
                                                           stores ? "out" : "in", rows, columns),
                                       .bytes = (int)bytes,
                                       .instructions = boxes,
                                       .wavefronts = shared ? wavefronts : 0,
                                       .least = shared ? wavefronts : 0});
    }
}

void emit_note_factor(struct emit *m, const struct expr *e, const struct shared_part *p, int rows,
                      int64_t products, int n)
{
    enum { K_BYTES = 32, THREADS = EMIT_WARPGROUP * WARP_LANES };
    int64_t bytes = (int64_t)rows * K_BYTES;
    int64_t all = products * (m->place.warps / EMIT_WARPGROUP) * m->place.replicas;
    add_access(m,
               (struct lowered_access){.loc = e->loc,
                                       .sym = p->sym,
                                       .shared = true,
                                       .how = arena_printf(m->arena, "wgmma m64n%dk%d", n,
                                                           K_BYTES / size_of(p->sym->type.dtype)),
                                       .bytes = (int)((bytes + THREADS - 1) / THREADS),
                                       .instructions = all,
                                       .wavefronts = all * bytes / WAVEFRONT_BYTES,
                                       .least = all * bytes / WAVEFRONT_BYTES});
}

/* --- variables --- */

void emit_note_holder(struct emit *m, const struct variable *v, struct thread_value *const *values)
{
    struct thread_function *f = m->b.function;
    for (size_t i = 0; i < f->holders.count; i++)
        if (f->holders.data[i]->of == v->sym)
            return;
    if (v->sym->storage != ST_SCALAR && v->sym->storage != ST_REG)
        return;
    struct thread_holder *h = arena_new(m->arena, struct thread_holder);
    h->of = v->sym;
    for (int i = 0; i < v->count - v->sums; i++)
        vec_push(m->arena, &h->values, values[i]);
    vec_push(m->arena, &f->holders, h);
}

void emit_note_last_values(struct emit *m)
{
    for (size_t i = 0; i < m->live.count; i++) {
        const struct variable *v = m->live.data[i];
        struct thread_value **values = arena_array(m->arena, struct thread_value *, v->count + 1);
        bool all = true;
        for (int j = 0; j < v->count; j++) {
            all &= v->slots[j].o.kind == THREAD_VALUE;
            values[j] = v->slots[j].o.value;
        }
        if (all)
            emit_note_holder(m, v, values);
    }
}

/* The assignments to a symbol. A variable is a loop's counter if its only assignment is an addition in the step of that
 * loop. */
struct assignments {
    int count;
    bool counts; /* the step of a loop adds to it */
};
struct assigned {
    struct arena *arena;
    struct number_map map; /* sym → struct assignments */
};

static struct assignments *assignments_to(struct assigned *a, const struct sym *s)
{
    bool added;
    struct number_entry *e = number_map_entry(a->arena, &a->map, (uintptr_t)s, &added);
    if (added)
        e->value = (uintptr_t)arena_new(a->arena, struct assignments);
    return (struct assignments *)(uintptr_t)e->value;
}

static bool is_ref(const struct expr *e, const struct sym *s)
{
    return e->op == OP_REF && e->sym == s;
}

static void note_assignment(void *user, struct stmt *s)
{
    if (s->kind == STMT_ASSIGN)
        assignments_to(user, s->target->sym)->count++;
    for (const struct stmt *step = s->kind == STMT_FOR ? s->step : NULL; step; step = step->next) {
        const struct expr *e = step->kind == STMT_ASSIGN ? step->value : NULL;
        const struct sym *to = e ? step->target->sym : NULL;
        if (e && (e->op == OP_ADD || e->op == OP_SUB))
            assignments_to(user, to)->counts |=
                is_ref(e->args[0], to) || (e->op == OP_ADD && is_ref(e->args[1], to));
    }
}

static const struct layout *layout_of(const struct lowered *out, const struct sym *s)
{
    for (size_t i = 0; i < out->placed.count; i++)
        if (out->placed.data[i].sym == s)
            return out->placed.data[i].layout;
    return NULL;
}

static const struct thread_holder *holder_of(const struct thread_function *f, const struct sym *s)
{
    for (size_t i = 0; i < f->holders.count; i++)
        if (f->holders.data[i]->of == s && f->holders.data[i]->registers.count > 0)
            return f->holders.data[i];
    return NULL;
}

void emit_list_held(struct arena *a, const struct kernel *k, const struct thread_function *f,
                    struct lowered *out)
{
    struct assigned assigned = {.arena = a};
    stmt_walk(k->body, note_assignment, &assigned);
    for (const struct sym *s = k->symbols; s; s = s->next) {
        const struct thread_holder *h = holder_of(f, s);
        if (!h)
            continue;
        const struct assignments found = *assignments_to(&assigned, s);
        const bool is_tile = s->storage == ST_REG,
                   variable = found.count > 0 && !(found.counts && found.count == 1);
        struct lowered_held held = {.sym = s,
                                    .layout = is_tile ? layout_of(out, s) : NULL,
                                    .assigned = found.count > 0,
                                    .count = (int)h->registers.count,
                                    .registers = h->registers.data};
        if (is_tile ? held.layout != NULL : variable)
            vec_push(a, &out->held, held);
    }
}
