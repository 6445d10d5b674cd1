/* Shared tiles of tile-level kernels, in the layouts of the plan. The layout of the registers and that of the tile, composed,
 * give the place of each register: a few indices that a thread computes once, and a constant for each register
 * (layout_split_addresses). If the accessed part has no such form, elements move one by one, each to the place that the layout
 * computes from its coordinates. */
#include "emit/emit_fragment.h"
#include "plan/plan.h"

#include <string.h>

enum { VECTOR_BYTES = 16 };

static struct scalar number(int64_t v)
{
    return emit_constant(DT_U32, v);
}

static struct scalar combine(struct emit *m, enum thread_opcode op, struct scalar a,
                             struct scalar b)
{
    return emit_op2(m, op, DT_U32, a, b);
}

/* --- places from numbers --- */

/* The sum of the parts that digits add to a place, and that of the parts that they exclusive-or into it. */
struct sums {
    struct scalar adds, xors;
};

/* Returns how many digits from d on are one field of bits: the step of each is twice that of the one before. */
static int field_length(const struct layout *l, int d)
{
    int n = 1;
    while (d + n < l->digit_count && l->digits[d + n].in == l->digits[d].in &&
           l->digits[d + n].extent == 2 &&
           l->digits[d + n].add[0] == l->digits[d + n - 1].add[0] * 2 &&
           l->digits[d + n].xor [0] == l->digits[d + n - 1].xor [0] * 2)
        n++;
    return n;
}

static struct scalar digit_of(struct emit *m, struct scalar c, int64_t weight, int64_t extent,
                              bool top)
{
    c = emit_by(m, THREAD_DIV, c, weight);
    return top ? c : emit_by(m, THREAD_REM, c, extent);
}

/* Exclusive-ors a field into the place. If its bits go to several places, it is shifted once for each bit of its step. */
static struct scalar xor_field(struct emit *m, struct scalar xors, struct scalar field,
                               int64_t step)
{
    for (int b = 0; step >> b; b++)
        if (step >> b & 1)
            xors = combine(m, THREAD_XOR, xors, emit_by(m, THREAD_MUL, field, (int64_t)1 << b));
    return xors;
}

/* Adds the digits of counter `in`, whose value is c. */
static void add_counter(struct emit *m, const struct layout *l, int in, struct scalar c,
                        struct sums *sums)
{
    for (int d = 0; d < l->digit_count; d++) {
        const struct layout_digit *g = &l->digits[d];
        if (g->in != in || (!g->xor [0] && !g->add[0]))
            continue;
        const int n = g->extent == 2 ? field_length(l, d) : 1, next = d + n;
        const bool top = next == l->digit_count || l->digits[next].in != in;
        const struct scalar v =
            digit_of(m, c, layout_weight(l, d), n > 1 ? (int64_t)1 << n : g->extent, top);
        if (g->add[0])
            sums->adds = combine(m, THREAD_ADD, sums->adds, emit_by(m, THREAD_MUL, v, g->add[0]));
        if (g->xor [0])
            sums->xors = xor_field(m, sums->xors, v, g->xor [0]);
        d += n - 1;
    }
}

/* Computes a layout's only result. counter: by index of the layout's counters; a counter that is not given is 0. */
static struct scalar value_of(struct emit *m, const struct layout *layout,
                              const struct scalar *counter, const bool *given)
{
    struct layout l;
    layout_copy(&l, layout);
    layout_runs(&l);
    struct sums sums = {number(l.offset[0]), number(l.flip[0])};
    for (int i = 0; i < l.in_count; i++)
        if (given[i])
            add_counter(m, &l, i, counter[i], &sums);
    return combine(m, THREAD_ADD, sums.xors, sums.adds);
}

struct scalar emit_planned_place(struct emit *m, const struct sym *s, const struct scalar *indices)
{
    const struct layout *memory = plan_shared(m->layouts, s);
    struct scalar counter[LAYOUT_INS];
    bool given[LAYOUT_INS] = {false};
    for (int i = 0; i < s->type.rank; i++) {
        const int in = layout_in_index(memory, AXIS_DIM(i));
        if (in < 0)
            continue;
        counter[in] = emit_as(m, indices[i], DT_U32);
        given[in] = true;
    }
    return value_of(m, memory, counter, given);
}

/* --- parts of shared tiles --- */

/* A part of a shared tile. */
struct part {
    bool of_peer;
    struct layout memory; /* axes of the access's type → place in the object, after `base` */
    struct scalar base;   /* u32, in elements */
    int64_t alignment;    /* bytes that divide the part's first place, 16 at most */
};

static int64_t power_in(int64_t n)
{
    return n ? n & -n : VECTOR_BYTES;
}

static void align(struct part *p, int64_t bytes)
{
    const int64_t by = power_in(bytes);
    p->alignment = by < p->alignment ? by : p->alignment;
}

/* Adds an index that is known only when the kernel runs to the base of the part. Returns false if the index changes more than
 * the base. */
static bool add_index(struct emit *m, struct part *p, enum layout_axis axis, struct scalar start,
                      int64_t length, const struct facts *facts, int64_t size)
{
    struct layout runs, apart;
    struct scalar counter[LAYOUT_INS];
    bool given[LAYOUT_INS] = {false};
    const int in = layout_in_index(&p->memory, axis);
    const int64_t divisor = facts_divisor(facts);
    int digits = 0, linear = -1;
    layout_copy(&runs, &p->memory);
    layout_copy(&apart, &p->memory);
    layout_runs(&runs);
    layout_demote(&apart);
    for (int d = 0; d < runs.digit_count; d++)
        if (runs.digits[d].in == in)
            linear = d, digits++;
    if (digits == 0)
        return true;
    start = emit_as(m, start, DT_U32);
    if (digits == 1 && !runs.digits[linear].xor [0]) {
        const int64_t step = runs.digits[linear].add[0];
        p->base = combine(m, THREAD_ADD, p->base, emit_by(m, THREAD_MUL, start, step));
        align(p, divisor * step * size);
        return true;
    }
    if (!layout_own_digits(&apart, in, length, divisor))
        return false;
    apart.flip[0] = apart.offset[0] = 0;
    counter[in] = start;
    given[in] = true;
    p->base = combine(m, THREAD_ADD, p->base, value_of(m, &apart, counter, given));
    for (int d = 0; d < apart.digit_count; d++)
        if (apart.digits[d].in == in && apart.digits[d].add[0])
            align(p, apart.digits[d].add[0] * size);
    return true;
}

/* Fixes axis i of the tile at an index, or cuts it to a slice. Returns false if the access has no such form. */
static bool cut_axis(struct emit *m, const struct expr *e, int i, int64_t length, struct part *p)
{
    const struct sym *s = e->sym;
    const struct index *x = i < e->indices ? &e->index[i] : NULL;
    const enum index_kind kind = x ? x->kind : IX_ALL;
    const int64_t extent = s->type.extent[i], size = (int64_t)dtype_size(s->type.dtype);
    struct scalar start = number(0);
    struct layout cut;
    int64_t known = 0;
    if (kind == IX_GATHER)
        return false;
    if (kind != IX_ALL)
        start = emit_scalar(m, x->value);
    if (start.o.kind != THREAD_VALUE) {
        known = start.o.integer;
        if (known < 0 || known > extent - length)
            return false;
    } else {
        const struct facts f = emit_facts_of(m, x->value);
        const bool inside =
            kind == IX_ELEMENT || x->inside || (f.least >= 0 && f.greatest <= extent - length);
        if (!inside || !add_index(m, p, AXIS_DIM(i), start, length, &f, size))
            return false;
    }
    if (kind == IX_ELEMENT ? layout_in_index(&p->memory, AXIS_DIM(i)) < 0 : length == extent)
        return true;
    if (kind == IX_ELEMENT
            ? !layout_fix(&p->memory, AXIS_DIM(i), (int32_t)known, &cut)
            : !layout_slice_in(&p->memory, AXIS_DIM(i), (int32_t)known, (int32_t)length, &cut))
        return false;
    layout_copy(&p->memory, &cut);
    return true;
}

static bool find_part(struct emit *m, const struct expr *e, struct part *p)
{
    const struct sym *s = e->sym;
    enum layout_axis map[AXIS_COUNT];
    struct layout renamed;
    int axis = 0;
    layout_copy(&p->memory, plan_shared(m->layouts, s));
    p->base = number(0);
    p->alignment = VECTOR_BYTES;
    align(p, s->offset);
    for (int a = 0; a < AXIS_COUNT; a++)
        map[a] = (enum layout_axis)a;
    if (e->otherwise)
        return false;
    for (int i = 0; i < s->type.rank; i++) {
        const bool element = i < e->indices && e->index[i].kind == IX_ELEMENT;
        if (!cut_axis(m, e, i, element ? 1 : e->type.extent[axis], p))
            return false;
        if (!element)
            map[AXIS_DIM(i)] = AXIS_DIM(axis++);
    }
    layout_rename(&p->memory, map, &renamed);
    layout_copy(&p->memory, &renamed);
    return true;
}

/* --- ways between registers and memory --- */

bool emit_stores_matrices(const struct emit *m, const struct layout *regs)
{
    return target_has(m->options->target, TARGET_STMATRIX) &&
           layout_free_extent(regs, AXIS_LANE) == 1;
}

static bool choose_access(const struct emit *m, const struct layout *regs, const struct part *p,
                          enum dtype t, bool store, struct access *how)
{
    struct shared_wish wish = {.bits = 8 * (int)dtype_size(t), .count = 1};
    struct shared_choice choice; /* large, so only what is read is set */
    unsigned kinds = 1u << ACCESS_LANES;
    const bool whole_warps =
        layout_in_extent(regs, AXIS_LANE) == LAYOUT_LANES && t != DT_BOOL && !p->of_peer;
    if (whole_warps && p->alignment == VECTOR_BYTES && !layout_masked(regs)) {
        if (!store)
            kinds |= 1u << ACCESS_MATRIX | 1u << ACCESS_MATRIX_TRANS;
        else if (emit_stores_matrices(m, regs))
            kinds |= 1u << ACCESS_MATRIX;
    }
    wish.access[0] = (struct shared_access){
        .regs = regs, .kinds = kinds, .most = (int)p->alignment, .weight = 1};
    if (!layout_rate_shared(&wish, &p->memory, &choice))
        return false;
    *how = choice.access[0];
    return true;
}

/* Finds the vectors of a copy in the background. Returns false if the registers of one do not follow each other, or it has not
 * 4, 8 or 16 bytes. */
static bool narrow(const struct layout *l, const struct part *p, enum dtype t, int elements,
                   struct access *how)
{
    const int size = (int)dtype_size(t);
    int most = elements * size;
    most = most < p->alignment ? most : (int)p->alignment;
    layout_access_lanes(l, &p->memory, 8 * size, most, how);
    bool follow = true;
    for (int b = 0; b < how->vector_bits; b++)
        follow &= how->vector[b] == 1 << b;
    const int bytes = how->elements * size;
    return follow && (bytes == 4 || bytes == 8 || bytes == 16);
}

/* A way without the place where its part begins. Parts share it. */
struct known_way {
    struct layout regs, memory;
    enum dtype dtype;
    bool store, of_peer;
    bool right;   /* a way was found */
    int elements; /* at most, of a copy in the background; 0: any access */
    int64_t alignment;
    struct access how;
    struct layout composed;
    struct address_split split;
};

static bool compose_way(const struct part *p, const struct layout *regs, struct known_way *k)
{
    struct layout composed;
    if (!layout_compose(&p->memory, regs, &composed))
        return false;
    if (k->how.kind == ACCESS_LANES)
        layout_copy(&k->composed, &composed);
    else
        layout_access_rows(&composed, &k->how, &k->composed);
    layout_runs(&k->composed);
    layout_split_addresses(&k->composed, &k->split);
    return k->split.variants <= EMIT_MOST_POINTERS;
}

static const struct known_way *known_way(struct emit *m, const struct part *p,
                                         const struct layout *regs, enum dtype t, bool store,
                                         int elements)
{
    for (size_t i = 0; i < m->ways.count; i++) {
        const struct known_way *k = m->ways.data[i];
        if (k->dtype == t && k->store == store && k->elements == elements &&
            k->of_peer == p->of_peer && k->alignment == p->alignment &&
            layout_same(&k->regs, regs) && layout_same(&k->memory, &p->memory))
            return k;
    }
    struct known_way *k = arena_room(m->arena, sizeof *k);
    layout_copy(&k->regs, regs);
    layout_copy(&k->memory, &p->memory);
    k->dtype = t;
    k->store = store;
    k->of_peer = p->of_peer;
    k->elements = elements;
    k->alignment = p->alignment;
    k->right = elements ? narrow(regs, p, t, elements, &k->how)
                        : choose_access(m, regs, p, t, store, &k->how);
    k->right = k->right && compose_way(p, regs, k);
    vec_push(m->arena, &m->ways, k);
    return k;
}

/* Returns the step from each thread's place to that of the next thread, if lanes and warps have the same; else 0. */
static int64_t step_of_threads(const struct layout *l)
{
    const struct layout_digit *lane = NULL, *warp = NULL;
    for (int d = 0; d < l->digit_count; d++) {
        const struct layout_digit *g = &l->digits[d];
        const enum layout_axis axis = l->ins[g->in].axis;
        const struct layout_digit **of = axis == AXIS_LANE   ? &lane
                                         : axis == AXIS_WARP ? &warp
                                                             : NULL;
        if (of && (*of || g->xor [0]))
            return 0;
        if (of)
            *of = g;
    }
    const bool follows = lane && warp && lane->extent == WARP_LANES &&
                         (int64_t)lane->add[0] * WARP_LANES == warp->add[0];
    return follows ? lane->add[0] : 0;
}

static bool open_way(struct emit *m, const struct part *p, const struct layout *regs, bool store,
                     int elements, struct shared_way *w)
{
    const struct known_way *k = known_way(m, p, regs, w->dtype, store, elements);
    if (!k->right)
        return false;
    w->regs = regs;
    w->how = k->how;
    w->base = p->base;
    layout_copy(&w->composed, &k->composed);
    w->split = k->split;
    struct sums sums = {number(0), number(w->composed.flip[0])};
    const int64_t step = step_of_threads(&w->composed);
    if (step)
        sums.adds = emit_by(m, THREAD_MUL, m->place.number, step);
    for (int i = 0; !step && i < w->composed.in_count; i++)
        if (w->composed.ins[i].axis == AXIS_LANE)
            add_counter(m, &w->composed, i, m->place.lane, &sums);
        else if (w->composed.ins[i].axis == AXIS_WARP)
            add_counter(m, &w->composed, i, m->place.warp, &sums);
    w->xors = sums.xors;
    w->adds = sums.adds;
    memset(w->made, 0, sizeof w->made);
    return true;
}

static bool open_part(struct emit *m, const struct expr *access, const struct layout *regs,
                      bool store, int elements, struct shared_way *w)
{
    struct part p;
    w->dtype = access->sym->type.dtype;
    w->object = emit_object(m, access->sym);
    w->is_scratch = false;
    w->of_peer = p.of_peer = access_peer(access) != NULL;
    if (w->of_peer)
        w->peer = emit_peer(m, access);
    return find_part(m, access, &p) && !m->failed && open_way(m, &p, regs, store, elements, w);
}

bool emit_way_open(struct emit *m, const struct expr *access, const struct layout *regs, bool store,
                   struct shared_way *w)
{
    return open_part(m, access, regs, store, 0, w);
}

bool emit_way_through(struct emit *m, const struct scratch *s, const struct layout *memory,
                      const struct layout *regs, bool store, struct shared_way *w)
{
    struct part p; /* large, so only what is read is set */
    p.of_peer = w->of_peer = false;
    p.base = s->first;
    p.alignment = VECTOR_BYTES;
    layout_copy(&p.memory, memory);
    w->dtype = s->object->dtype;
    w->object = s->object;
    w->is_scratch = true;
    return open_way(m, &p, regs, store, 0, w);
}

static struct thread_operand way_at(struct emit *m, struct shared_way *w, int32_t reg)
{
    int variant;
    m->place.touched |= !w->is_scratch;
    const int32_t constant = layout_split_constant(&w->composed, &w->split, reg, &variant);
    if (!w->made[variant]) {
        struct scalar at = combine(m, THREAD_XOR, w->xors, number(w->split.variant[variant]));
        at = combine(m, THREAD_ADD, at, w->adds);
        w->pointer[variant] = combine(m, THREAD_ADD, at, w->base);
        w->made[variant] = true;
    }
    if (constant >= 0 && constant < (int64_t)w->object->count)
        return thread_element(w->object, w->pointer[variant].o, constant);
    /* The constant lies outside of the object. The thread's part of the place makes up for that, unless no thread has the
     * element. */
    const struct scalar at = combine(m, THREAD_ADD, w->pointer[variant], number(constant));
    return thread_element(w->object, at.o, 0);
}

bool emit_way_begins(const struct shared_way *w, int32_t reg)
{
    return layout_access_base(w->regs, &w->how, reg);
}

int emit_way_registers(const struct shared_way *w, int32_t reg, int32_t *registers)
{
    int count = 0;
    const struct access *how = &w->how;
    for (int i = 0; i < how->matrices; i++)
        for (int e = 0; e < how->elements; e++) {
            int32_t r = reg + (i & 1) * how->matrix[0] + (i >> 1) * how->matrix[1];
            for (int b = 0; b < how->vector_bits; b++)
                r += (e >> b & 1) * how->vector[b];
            registers[count++] = r;
        }
    return count;
}

struct thread_operand emit_way_group(struct emit *m, struct shared_way *w, int32_t reg)
{
    int32_t registers[EMIT_MOST_MOVED];
    const uint16_t count = (uint16_t)emit_way_registers(w, reg, registers);
    const bool lanes = w->how.kind == ACCESS_LANES;
    const struct thread_operand o[] = {
        way_at(m, w, reg),
        w->of_peer ? w->peer.o : thread_integer(w->how.kind == ACCESS_MATRIX_TRANS)};
    const enum thread_opcode op = w->of_peer ? THREAD_LOAD_PEER
                                  : lanes    ? THREAD_LOAD_SHARED
                                             : THREAD_LOAD_MATRIX;
    return thread_use(thread_add_counted(&m->b, op, w->dtype, DT_NONE, count, o,
                                         op == THREAD_LOAD_SHARED ? 1 : 2));
}

void emit_way_spread(struct emit *m, const struct shared_way *w, int32_t reg,
                     struct thread_operand group, struct scalar *v)
{
    int32_t registers[EMIT_MOST_MOVED];
    struct scalar all[EMIT_MOST_MOVED] = {{group, w->dtype}};
    const int count = emit_way_registers(w, reg, registers);
    emit_take_apart(m, all, count);
    for (int i = 0; i < count; i++)
        v[registers[i]] = all[i];
}

struct shared_way emit_way_follow(struct emit *m, const struct shared_way *way, struct scalar stage)
{
    struct shared_way w = *way;
    struct sums sums = {w.adds, w.xors};
    const int in = layout_in_index(&w.composed, AXIS_STAGE);
    if (in >= 0)
        add_counter(m, &w.composed, in, stage, &sums);
    w.adds = sums.adds;
    w.xors = sums.xors;
    memset(w.made, 0, sizeof w.made);
    return w;
}

/* Gives registers that repeat the element of a loaded one its value. */
static void copy_repeated(const struct shared_way *w, const bool *loaded, struct scalar *v)
{
    const struct layout *l = w->regs;
    for (int32_t r = 0; r < emit_registers(l); r++) {
        int32_t first = r;
        for (int d = 0; d < l->digit_count; d++) {
            const struct layout_digit *g = &l->digits[d];
            bool moves = l->ins[g->in].axis != AXIS_REG;
            for (int j = 0; j < l->out_count; j++)
                moves |= g->add[j] || g->xor [j];
            if (!moves)
                first -= first / layout_weight(l, d) % g->extent * layout_weight(l, d);
        }
        if (!loaded[r] && loaded[first])
            v[r] = v[first];
    }
}

bool emit_planned_load(struct emit *m, const struct expr *access, struct fragment *f)
{
    struct shared_way w;
    if (!emit_way_open(m, access, f->layout, false, &w))
        return false;
    emit_way_fetch(m, &w, f);
    emit_note_way(m, access->loc, access->sym, &w, false);
    return true;
}

/* Returns the present values of the registers as a group. If all are constants, none was loaded yet, and the group has any
 * value. */
static struct thread_operand group_before(struct emit *m, const struct shared_way *w, int32_t reg,
                                          const struct scalar *v)
{
    int32_t registers[EMIT_MOST_MOVED];
    struct thread_operand all[EMIT_MOST_MOVED];
    const int count = emit_way_registers(w, reg, registers);
    bool any = false;
    for (int i = 0; v && i < count; i++) {
        all[i] = v[registers[i]].o;
        any |= all[i].kind == THREAD_VALUE;
    }
    return any ? emit_join(m, w->dtype, all, count)
               : thread_use(thread_add_counted(&m->b, THREAD_UNDEFINED, w->dtype, DT_NONE,
                                               (uint16_t)count, NULL, 0));
}

struct thread_operand emit_way_group_if(struct emit *m, struct shared_way *w, int32_t reg,
                                        struct scalar inside, const struct scalar *v)
{
    if (inside.o.kind != THREAD_VALUE)
        return emit_way_group(m, w, reg);
    const struct scalar before = {group_before(m, w, reg, v), w->dtype};
    way_at(m, w, reg); /* before the branch, because others use the index, too */
    const struct choice choice = emit_choice(m, inside);
    emit_choice_arm(m, &choice);
    struct scalar group = {emit_way_group(m, w, reg), w->dtype};
    emit_choice_give(m, &group, 1);
    emit_choice_arm(m, &choice);
    emit_choice_give(m, &before, 1);
    emit_choice_end(m, &choice, before.o.value->type, &group, 1);
    return group.o;
}

/* Returns how many registers each instruction loads, if these are neighbours, and together all instructions load all registers
 * in all lanes; else 1. */
static int32_t brought_together(const struct shared_way *w, const struct spots *s)
{
    int32_t registers[EMIT_MOST_MOVED];
    const int32_t each = emit_way_registers(w, 0, registers);
    for (int32_t r = 0; r < emit_registers(w->regs); r += each) {
        emit_way_registers(w, r, registers);
        for (int32_t i = 0; i < each; i++)
            if (emit_way_begins(w, r + i) != (i == 0) || registers[i] != r + i)
                return 1;
    }
    for (int j = 0; j < s->layout.out_count; j++)
        if (s->least[j] < 0 || s->greatest[j] >= s->layout.outs[j].extent)
            return 1;
    return each;
}

void emit_way_fetch(struct emit *m, struct shared_way *w, struct fragment *f)
{
    const struct spots s = emit_spots(m, f->layout);
    f->each = brought_together(w, &s);
    if (f->each > 1) {
        f->groups = arena_array(m->arena, struct thread_operand, f->count / f->each + 1);
        for (int32_t r = 0; r < f->count; r += f->each)
            f->groups[r / f->each] = emit_way_group(m, w, r);
        return;
    }
    bool *loaded = arena_array(m->arena, bool, f->count + 1);
    for (int32_t r = 0; r < f->count; r++) {
        int32_t registers[EMIT_MOST_MOVED];
        if (!emit_way_begins(w, r))
            continue;
        const struct scalar inside = emit_spot_inside(m, &s, r, ~0u);
        if (inside.o.kind != THREAD_VALUE && !inside.o.integer)
            continue;
        const int count = emit_way_registers(w, r, registers);
        for (int i = 0; i < count; i++)
            loaded[registers[i]] = true;
        emit_way_spread(m, w, r, emit_way_group_if(m, w, r, inside, f->v), f->v);
    }
    copy_repeated(w, loaded, f->v);
}

void emit_way_store(struct emit *m, struct shared_way *w, const struct fragment *f)
{
    const bool lanes = w->how.kind == ACCESS_LANES;
    const struct spots s = emit_spots(m, f->layout);
    for (int32_t r = 0; r < f->count; r++) {
        int32_t registers[EMIT_MOST_MOVED];
        struct thread_operand all[EMIT_MOST_MOVED];
        if (!emit_way_begins(w, r))
            continue;
        const struct scalar mine =
            emit_op2(m, THREAD_AND, DT_BOOL, s.first, emit_spot_inside(m, &s, r, ~0u));
        if (mine.o.kind != THREAD_VALUE && !mine.o.integer)
            continue;
        const int count = emit_way_registers(w, r, registers);
        for (int i = 0; i < count; i++)
            all[i] = f->v[registers[i]].o;
        const struct thread_operand at = way_at(m, w, r);
        struct thread_region *outer = emit_open_if(m, mine);
        const struct thread_operand v = emit_join(m, f->dtype, all, count);
        if (w->of_peer)
            THREAD_ADD_OP(&m->b, THREAD_STORE_PEER, f->dtype, DT_NONE, at, w->peer.o, v);
        else
            THREAD_ADD_OP(&m->b, lanes ? THREAD_STORE_SHARED : THREAD_STORE_MATRIX, f->dtype,
                          DT_NONE, at, v);
        m->b.region = outer;
    }
}

bool emit_planned_store(struct emit *m, const struct expr *access, const struct fragment *f)
{
    struct shared_way w;
    if (!emit_way_open(m, access, f->layout, true, &w))
        return false;
    emit_way_store(m, &w, f);
    emit_note_way(m, access->loc, access->sym, &w, true);
    return true;
}

/* --- in the background --- */

static bool copy_in_background(struct emit *m, const struct stmt *copied)
{
    const struct expr *target = copied->target, *value = copied->value;
    const struct layout *l = plan_copy(m->layouts, target, value);
    const enum dtype t = target->type.dtype;
    const struct spots s = emit_spots(m, l);
    const struct gathers gathers = emit_find_gathers(m, value, l);
    struct shared_way w;
    int elements = s.vector;
    while (elements * (int)dtype_size(t) > VECTOR_BYTES)
        elements /= 2;
    elements = emit_access_width(m, value, elements);
    if (!open_part(m, target, l, true, elements, &w))
        return false;
    const int64_t bytes = (int64_t)w.how.elements * (int64_t)dtype_size(t);
    emit_note_async(m, copied, &w.how);
    const struct thread_operand policy = emit_cache_policy(m, copied);
    for (int32_t r = 0; r < emit_registers(l) && !m->failed; r++) {
        struct coordinate at[MAX_RANK];
        struct scalar index[MAX_RANK];
        if (!emit_way_begins(&w, r))
            continue;
        const struct scalar all = emit_constant(DT_BOOL, 1);
        const struct scalar mine =
            emit_op2(m, THREAD_AND, DT_BOOL, s.first, emit_spot_inside(m, &s, r, ~0u));
        if (mine.o.kind != THREAD_VALUE && !mine.o.integer)
            continue;
        for (int j = 0; j < target->type.rank; j++)
            at[j] = emit_spot(m, &s, j, r);
        const struct thread_operand to = way_at(m, &w, r);
        struct thread_region *outer = emit_open_if(m, mine);
        const struct element from =
            emit_access_at(m, value, at, all, emit_gathered_at(&gathers, r, index));
        emit_piece_async(m, to, value->sym, &from, bytes, policy);
        m->b.region = outer;
    }
    return true;
}

void emit_planned_copy(struct emit *m, const struct stmt *s)
{
    const bool background =
        plan_copier_of(m->options->target, s->value).copier->to == COPIER_SHARED &&
        s->value->op == OP_ACCESS && plan_is_zero(s->value->otherwise);
    if (!background || !copy_in_background(m, s))
        m->by_threads->store(m, s->target, s->value);
}
