/* Elements of views, of shared arrays and of a thread's own arrays, which one thread reads and writes for itself.
 *
 * An index is computed in the program's type. An i32 is then widened by the operation `index`: no operation that makes an index
 * may wrap (the language's rule for subscripts), so thread_reach may compute it in 64 bits from the start. The value of a
 * variable, which may have wrapped, stays whole. A u32 is converted as it is, because hashes and rings wrap on purpose. A
 * thread's own array is as many variables as it has elements: its indices are constants once loops are unrolled; others are
 * compared with those of each element. A large array, or one of more than a few elements with other indices, is in local
 * memory. */
#include "emit/emit_fragment.h"
#include "plan/plan.h"
#include "plan/plan_limits.h"
#include "tile/own_arrays.h"

static struct scalar times(struct emit *m, enum dtype t, struct scalar a, struct scalar b)
{
    return emit_op2(m, THREAD_MUL, t, a, b);
}

static struct scalar plus(struct emit *m, enum dtype t, struct scalar a, struct scalar b)
{
    return emit_op2(m, THREAD_ADD, t, a, b);
}

/* Returns an integer as an i64 that is an index. */
static struct scalar index_of(struct emit *m, struct scalar v)
{
    if (v.dtype == DT_I64 || v.dtype == DT_U32 || v.o.kind != THREAD_VALUE)
        return emit_as(m, v, DT_I64);
    return (struct scalar){thread_use(THREAD_ADD_OP(&m->b, THREAD_INDEX, DT_I64, v.dtype, v.o)),
                           DT_I64};
}

/* --- views --- */

struct scalar emit_view_at(struct emit *m, const struct sym *s, const struct scalar *indices)
{
    struct scalar at = emit_constant(DT_I64, 0), step = emit_constant(DT_I64, 1);
    for (int i = s->type.rank - 1; i >= 0; i--) {
        struct scalar index = index_of(m, indices[i]);
        if (s->strides[0])
            step = index_of(m, emit_scalar(m, s->strides[i]));
        at = plus(m, DT_I64, times(m, DT_I64, index, step), at);
        if (!s->strides[0] && i > 0)
            step = times(m, DT_I64, step, index_of(m, emit_extent(m, s, i)));
    }
    return at;
}

/* --- shared arrays --- */

struct thread_operand emit_shared_at(struct emit *m, const struct sym *s,
                                     const struct scalar *indices)
{
    const bool planned = m->by_threads->place_in_shared != NULL;
    struct scalar at = emit_constant(DT_U32, 0);
    int64_t step = 1;
    if (planned)
        at = m->by_threads->place_in_shared(m, s, indices);
    for (int i = s->type.rank - 1; i >= 0 && !planned; i--) {
        struct scalar index = emit_as(m, indices[i], DT_U32);
        at = plus(m, DT_U32, times(m, DT_U32, index, emit_constant(DT_U32, step)), at);
        step *= s->type.extent[i];
    }
    m->place.touched = true;
    return thread_element(emit_object(m, s), at.o, 0);
}

/* --- a thread's own arrays --- */

/* Returns whether all indices are constants. *number: the element's, row-major; -1: the indices are outside. */
static bool is_known(const struct type *t, const struct scalar *indices, int64_t *number)
{
    bool inside = true;
    *number = 0;
    for (int i = 0; i < t->rank; i++) {
        const struct thread_operand *o = &indices[i].o;
        if (o->kind != THREAD_INTEGER)
            return false;
        inside &= o->integer >= 0 && o->integer < t->extent[i];
        *number = *number * t->extent[i] + o->integer;
    }
    *number = inside ? *number : -1;
    return true;
}

/* Emits whether element `number` of the array has the indices: a bool, which is a constant if the indices are. */
static struct scalar is_element(struct emit *m, const struct type *t, int64_t number,
                                const struct scalar *indices)
{
    struct scalar is = emit_constant(DT_BOOL, 1);
    for (int i = t->rank - 1; i >= 0; i--) {
        const enum dtype type = indices[i].dtype;
        struct scalar at = emit_constant(type, number % t->extent[i]);
        is = emit_op2(m, THREAD_AND, DT_BOOL, emit_op2(m, THREAD_EQ, type, indices[i], at), is);
        number /= t->extent[i];
    }
    return is;
}

static struct scalar choose(struct emit *m, struct scalar condition, struct scalar yes,
                            struct scalar no)
{
    if (condition.o.kind == THREAD_VALUE && yes.dtype == DT_BOOL) {
        yes.o = emit_predicate(m, yes);
        no.o = emit_predicate(m, no);
    }
    return emit_select(m, condition, yes, no);
}

static bool in_slots(struct emit *m, const struct sym *s)
{
    return s->storage == ST_ARRAY && !emit_variable(m, s)->memory;
}

/* Compares the indices with those of each element. */
static struct scalar load_own(struct emit *m, const struct expr *e, const struct scalar *indices,
                              struct scalar inside, struct scalar otherwise)
{
    const struct variable *v = emit_variable(m, e->sym);
    const struct type *t = &e->sym->type;
    struct scalar found = otherwise;
    bool any = false;
    int64_t number;
    if (is_known(t, indices, &number))
        return number < 0
                   ? otherwise
                   : choose(m, inside, (struct scalar){v->slots[number].o, t->dtype}, otherwise);
    for (int i = 0; i < v->count && !m->failed; i++) {
        struct scalar is = is_element(m, t, i, indices), value = {v->slots[i].o, t->dtype};
        if (is.o.kind != THREAD_VALUE && !is.o.integer)
            continue;
        found = any ? choose(m, is, value, found) : value;
        any = true;
    }
    return any ? choose(m, inside, found, otherwise) : otherwise;
}

static void store_own(struct emit *m, const struct expr *e, const struct scalar *indices,
                      struct scalar inside, struct scalar value)
{
    struct variable *v = emit_variable(m, e->sym);
    const struct type *t = &e->sym->type;
    int64_t number, first = 0, end = v->count;
    if (is_known(t, indices, &number)) {
        first = number < 0 ? end : number;
        end = number < 0 ? end : number + 1;
    }
    for (int64_t i = first; i < end && !m->failed; i++) {
        struct scalar is = is_element(m, t, i, indices);
        emit_and(m, &is, inside);
        v->slots[i].o = choose(m, is, value, (struct scalar){v->slots[i].o, t->dtype}).o;
    }
}

/* --- several elements --- */

struct scalar emit_extent(struct emit *m, const struct sym *s, int axis)
{
    return s->storage == ST_VIEW ? emit_scalar(m, s->dims[axis])
                                 : emit_constant(DT_I32, s->type.extent[axis]);
}

struct scalar emit_start(struct emit *m, const struct index *slice)
{
    const struct scalar v = emit_scalar(m, slice->value);
    bool fits = v.dtype == DT_I32;
    if (dtype_size(v.dtype) < sizeof(int64_t) && !fits) {
        const struct facts start = emit_facts_of(m, slice->value),
                           more = facts_between(0, slice->extent - 1),
                           all = facts_sum(&start, &more);
        fits = facts_fit(&all, facts_type_of(DT_I32));
    }
    return emit_as(m, v, fits ? DT_I32 : DT_I64);
}

struct scalar emit_start_i32(struct emit *m, const struct index *slice)
{
    enum { MOST_PART = 1 << 18 }; /* elements of a part: more than a block's shared memory has */
    const struct scalar most = emit_constant(DT_I64, INT32_MAX - MOST_PART),
                        least = emit_constant(DT_I64, INT32_MIN + MOST_PART);
    struct scalar start = emit_start(m, slice);
    if (start.dtype == DT_I64) {
        start = emit_op2(m, THREAD_MIN, DT_I64, start, most);
        start = emit_op2(m, THREAD_MAX, DT_I64, start, least);
    }
    return emit_as(m, start, DT_I32);
}

bool emit_find_part(struct emit *m, const struct expr *e, struct part_access *p)
{
    int seen = 0;
    *p = (struct part_access){.e = e};
    for (int i = 0; i < e->sym->type.rank; i++) {
        enum index_kind kind = i < e->indices ? e->index[i].kind : IX_ALL;
        if (kind == IX_GATHER)
            p->rows[i] = emit_elements(m, e->index[i].value);
        p->start[i] = kind == IX_ALL      ? emit_constant(DT_I32, 0)
                      : kind == IX_GATHER ? p->rows[i][0]
                      : kind == IX_SLICE  ? emit_start(m, &e->index[i])
                                          : emit_scalar(m, e->index[i].value);
        p->axis[i] = kind == IX_ELEMENT ? -1 : seen++;
        p->guarded[i] = kind == IX_SLICE     ? !e->index[i].inside
                        : kind == IX_ELEMENT ? e->otherwise != NULL
                                             : kind == IX_GATHER;
        if (p->guarded[i])
            p->limit[i] = emit_extent(m, e->sym, i);
    }
    return !m->failed;
}

struct scalar emit_element_of(struct emit *m, const struct part_access *p, int64_t number,
                              struct scalar *index)
{
    const struct type *t = &p->e->type;
    int64_t at[MAX_RANK] = {0};
    struct scalar inside = emit_constant(DT_BOOL, 1);
    type_coordinates(t, number, at);
    for (int i = 0; i < p->e->sym->type.rank; i++) {
        enum dtype type = p->start[i].dtype;
        index[i] = p->axis[i] < 0 ? p->start[i]
                   : p->rows[i]   ? p->rows[i][at[p->axis[i]]]
                                  : plus(m, type, p->start[i], emit_constant(type, at[p->axis[i]]));
        if (!p->guarded[i])
            continue;
        struct scalar limit = p->limit[i];
        bool wide = type == DT_I64 || type == DT_U64 || limit.dtype == DT_I64;
        enum dtype as = wide ? DT_U64 : DT_U32;
        limit = emit_as(m, limit, as);
        emit_and(m, &inside, emit_op2(m, THREAD_LT, as, emit_as(m, index[i], as), limit));
    }
    return inside;
}

/* The address of a view, or of an array of a thread. */
static struct thread_operand base_of(struct emit *m, const struct sym *s)
{
    return s->storage == ST_ARRAY ? thread_use(emit_variable(m, s)->memory) : emit_base(m, s);
}

size_t emit_memory_at(struct emit *m, const struct sym *s, const struct scalar *index,
                      struct thread_operand place[3])
{
    const bool shared = s->storage == ST_SHARED;
    place[0] = shared ? emit_shared_at(m, s, index) : base_of(m, s);
    place[1] = shared ? thread_integer(0) : emit_view_at(m, s, index).o;
    place[2] = thread_integer(0);
    return shared ? 1 : 3;
}

static struct scalar load(struct emit *m, const struct expr *e, const struct thread_operand *from,
                          size_t operands, int count)
{
    const struct sym *s = e->sym;
    const enum thread_opcode op = access_peer(e)            ? THREAD_LOAD_PEER
                                  : s->storage == ST_SHARED ? THREAD_LOAD_SHARED
                                  : s->storage == ST_ARRAY  ? THREAD_LOAD_LOCAL
                                  : s->is_const             ? THREAD_LOAD_CONST
                                                            : THREAD_LOAD;
    return (struct scalar){thread_use(thread_add_counted(&m->b, op, s->type.dtype, DT_NONE,
                                                         (uint16_t)count, from, operands)),
                           s->type.dtype};
}

/* Gives the operands of loads and stores that address an element. Returns how many there are. */
static size_t place_at(struct emit *m, const struct expr *e, const struct scalar *index,
                       struct thread_operand place[3])
{
    const size_t operands = emit_memory_at(m, e->sym, index, place);
    if (!access_peer(e))
        return operands;
    place[operands] = emit_peer(m, e).o;
    return operands + 1;
}

struct scalar emit_load_if(struct emit *m, const struct expr *e, const struct scalar *index,
                           int count, struct scalar inside, struct scalar otherwise)
{
    const struct sym *s = e->sym;
    if (in_slots(m, s))
        return load_own(m, e, index, inside, otherwise);
    if (inside.o.kind != THREAD_VALUE && !inside.o.integer)
        return otherwise;
    struct thread_operand from[3];
    const size_t operands = place_at(m, e, index, from);
    if (inside.o.kind != THREAD_VALUE)
        return load(m, e, from, operands, count);
    const struct choice choice = emit_choice(m, inside);
    emit_choice_arm(m, &choice);
    struct scalar v = load(m, e, from, operands, count);
    emit_choice_give(m, &v, 1);
    emit_choice_arm(m, &choice);
    emit_choice_give(m, &otherwise, 1);
    const struct thread_type type = {.dtype = v.dtype, .count = (uint16_t)count};
    emit_choice_end(m, &choice, type, &v, 1);
    return v;
}

void emit_store_if(struct emit *m, const struct expr *e, const struct scalar *index,
                   struct scalar inside, struct scalar value)
{
    const struct sym *s = e->sym;
    if (inside.o.kind != THREAD_VALUE && !inside.o.integer)
        return;
    if (in_slots(m, s)) {
        store_own(m, e, index, inside, value);
        return;
    }
    struct thread_operand to[4];
    const size_t operands = place_at(m, e, index, to);
    to[operands] = value.o;
    struct thread_region *outer = emit_open_if(m, inside);
    const enum thread_opcode op = access_peer(e)            ? THREAD_STORE_PEER
                                  : s->storage == ST_SHARED ? THREAD_STORE_SHARED
                                  : s->storage == ST_ARRAY  ? THREAD_STORE_LOCAL
                                                            : THREAD_STORE;
    thread_add_counted(&m->b, op, s->type.dtype, DT_NONE, 0, to, operands + 1);
    m->b.region = outer;
}

/* --- neighbours --- */

/* Returns how many elements, `elements` at most, a thread may move together along the last axis of the part. */
int emit_access_width(struct emit *m, const struct expr *e, int elements)
{
    const struct sym *s = e->sym;
    int64_t size = (int64_t)dtype_size(s->type.dtype), stride = 1, divisor = elements;
    if (m->by_threads->place_in_shared && s->storage == ST_SHARED)
        return 1;
    if (s->storage == ST_VIEW) {
        const int bytes = plan_copier_of(m->options->target, e).bytes;
        return elements * size <= bytes ? elements : (int)(bytes / size);
    }
    int axis = e->type.rank;
    for (int i = s->type.rank - 1; i >= 0; i--) {
        const struct index *index = i < e->indices ? &e->index[i] : NULL;
        const enum index_kind kind = index ? index->kind : IX_ALL;
        struct facts start = facts_exactly(0);
        if (kind == IX_GATHER || (kind == IX_ELEMENT && i == s->type.rank - 1))
            return 1;
        if (kind != IX_ALL)
            start = emit_facts_of(m, index->value);
        axis -= kind != IX_ELEMENT;
        const bool moves = kind != IX_ELEMENT && axis != e->type.rank - 1;
        const bool ends = kind == IX_SLICE && !moves && !index->inside &&
                          (start.least < 0 || start.greatest > s->type.extent[i] - index->extent);
        while (facts_divisor(&start) % divisor * stride % divisor != 0 ||
               (moves && stride % divisor != 0) || (ends && s->type.extent[i] % divisor != 0))
            divisor /= 2;
        stride *= s->type.extent[i];
    }
    while (s->offset % (divisor * size) != 0)
        divisor /= 2;
    return (int)divisor;
}

/* Returns the greatest power of two, `most` at most, that divides the number of the first element of each row of the part. */
static int64_t divisor_of_rows(struct emit *m, const struct expr *e, int64_t most)
{
    const struct sym *s = e->sym;
    int64_t divisor = most, step = 1;
    for (int i = s->type.rank - 1; i > 0; i--) {
        const struct facts extent = emit_facts_of(m, s->dims[i]);
        const struct index *index = i - 1 < e->indices ? &e->index[i - 1] : NULL;
        struct facts start = facts_exactly(1);
        if (index && index->kind == IX_ELEMENT)
            start = emit_facts_of(m, index->value);
        step = step * (facts_divisor(&extent) % most) % most;
        while (step * (facts_divisor(&start) % most) % divisor != 0)
            divisor /= 2;
    }
    return divisor;
}

/* Returns how many neighbours along the last axis one instruction may move. */
static int neighbours(struct emit *m, const struct expr *e)
{
    enum { BYTES = 16 };
    const struct sym *s = e->sym;
    const int last = s->type.rank - 1, size = (int)dtype_size(s->type.dtype);
    if (s->storage == ST_ARRAY || last < 0 || last >= e->indices || s->strides[0] ||
        s->base_offset || e->index[last].kind != IX_SLICE || s->type.dtype == DT_BOOL ||
        e->type.extent[e->type.rank - 1] == 1)
        return 1;
    if (s->storage == ST_SHARED) {
        int most = BYTES / size;
        while (e->index[last].extent % most != 0)
            most /= 2;
        return emit_access_width(m, e, most);
    }
    const struct sym *memory = s->base ? s->base : s;
    const int *given = m->options->alignment;
    const int64_t aligned = given && memory->is_pointer ? given[memory->index] : BYTES;
    const struct facts start = emit_facts_of(m, e->index[last].value),
                       extent = emit_facts_of(m, s->dims[last]);
    int64_t n = (aligned < BYTES ? aligned : BYTES) / size;
    while (n > 1 && (facts_divisor(&start) % n != 0 || facts_divisor(&extent) % n != 0 ||
                     e->index[last].extent % n != 0))
        n /= 2;
    return n > 1 ? (int)divisor_of_rows(m, e, n) : 1;
}

/* Returns how many neighbours along the last axis move together, because all or none of them are inside. Accesses that are
 * certainly inside move one by one here: thread_combine joins them. */
static int vector_width(struct emit *m, const struct expr *e, const struct part_access *p)
{
    const int last = e->sym->type.rank - 1;
    return e->sym->storage == ST_VIEW && last >= 0 && p->guarded[last] ? neighbours(m, e) : 1;
}

/* --- parts --- */

struct scalar *emit_elements_as(struct emit *m, const struct expr *e, const struct type *to)
{
    const int64_t count = type_elements(to);
    const struct scalar *v = emit_elements(m, e);
    struct scalar *all = arena_array(m->arena, struct scalar, count + 1);
    int64_t at[MAX_RANK] = {0};
    for (int64_t i = 0; i < count; i++) {
        type_coordinates(to, i, at);
        all[i] = v[type_broadcast_number(&e->type, to, at)];
    }
    return all;
}

struct scalar *emit_load_part(struct emit *m, const struct expr *e)
{
    struct part_access p;
    struct scalar index[MAX_RANK];
    const enum dtype t = e->type.dtype;
    const int64_t count = type_elements(&e->type);
    struct scalar *v = arena_array(m->arena, struct scalar, count + 1), *others = NULL;
    const struct loc before = emit_at(m, e->loc);
    if (!emit_find_part(m, e, &p))
        return v;
    if (e->otherwise)
        others = emit_elements_as(m, e->otherwise, &e->type);
    const int each = others ? 1 : vector_width(m, e, &p);
    for (int64_t i = 0; i < count && !m->failed; i += each) {
        struct scalar inside = emit_element_of(m, &p, i, index);
        struct scalar otherwise = others ? emit_as(m, others[i], t) : emit_constant(t, 0);
        if (each > 1)
            otherwise.o = emit_splat(m, t, otherwise.o, each);
        v[i] = emit_load_if(m, e, index, each, inside, otherwise);
        emit_take_apart(m, &v[i], each);
    }
    emit_note_elements(m, e, neighbours(m, e), false);
    emit_at(m, before);
    return v;
}

void emit_store_part(struct emit *m, const struct expr *target, const struct scalar *v)
{
    enum { MOST = 16 };
    struct part_access p;
    struct scalar index[MAX_RANK];
    struct thread_operand all[MOST];
    const enum dtype t = target->sym->type.dtype;
    const int64_t count = type_elements(&target->type);
    const struct loc before = emit_at(m, target->loc);
    if (!emit_find_part(m, target, &p))
        return;
    const int each = vector_width(m, target, &p);
    for (int64_t i = 0; i < count; i += each) {
        struct scalar inside = emit_element_of(m, &p, i, index);
        for (int k = 0; k < each; k++)
            all[k] = emit_as(m, v[i + k], t).o;
        struct scalar group = {emit_join(m, t, all, each), t};
        emit_store_if(m, target, index, inside, group);
    }
    emit_note_elements(m, target, neighbours(m, target), true);
    emit_at(m, before);
}

/* --- arrays --- */

static void own_indices(const struct type *t, int64_t number, struct scalar *index)
{
    int64_t at[MAX_RANK] = {0};
    type_coordinates(t, number, at);
    for (int i = 0; i < t->rank; i++)
        index[i] = emit_constant(DT_I32, at[i]);
}

static const struct scalar always = {{.kind = THREAD_INTEGER, .integer = 1}, DT_BOOL};

struct scalar *emit_own_elements(struct emit *m, const struct sym *s)
{
    const struct expr e = {.op = OP_ACCESS, .sym = (struct sym *)(uintptr_t)s};
    const int64_t count = type_elements(&s->type);
    struct scalar *all = arena_array(m->arena, struct scalar, count + 1), index[MAX_RANK];
    for (int64_t i = 0; i < count; i++) {
        own_indices(&s->type, i, index);
        all[i] = emit_load_if(m, &e, index, 1, always, always);
    }
    return all;
}

/* Gives each element of an array of the thread its value; a single one serves all. */
void emit_give_elements(struct emit *m, struct variable *v, const struct expr *value)
{
    const struct type *type = &v->sym->type;
    const struct expr e = {.op = OP_ACCESS, .sym = (struct sym *)(uintptr_t)v->sym};
    const struct scalar *x = emit_elements_as(m, value, type);
    for (int64_t i = 0; i < type_elements(type) && !m->failed; i++) {
        const struct scalar one = emit_as(m, x[i], type->dtype);
        struct scalar index[MAX_RANK];
        own_indices(type, i, index);
        if (in_slots(m, v->sym))
            v->slots[i] = (struct slot){one.o, {.dtype = type->dtype, .count = 1}};
        else
            emit_store_if(m, &e, index, always, one);
    }
}

/* Returns the address of the array's memory. */
static struct thread_value *make_local(struct emit *m, const struct sym *s)
{
    bool added;
    struct number_entry *entry = number_map_entry(m->arena, &m->objects, (uintptr_t)s, &added);
    if (added) {
        entry->value = (uintptr_t)thread_new_local(&m->b, s->name, s->type.dtype,
                                                   (uint32_t)type_elements(&s->type));
        vec_push(m->arena, &m->local, s);
        plan_limits_of_local(m->layouts, m->local.data, m->local.count);
        m->failed |= m->layouts->failed;
    }
    const struct thread_object *o = (const struct thread_object *)(uintptr_t)entry->value;
    return THREAD_ADD_OP(&m->b, THREAD_LOCAL, DT_NONE, DT_NONE,
                         thread_element(o, thread_integer(0), 0));
}

void emit_declare_array(struct emit *m, const struct stmt *s)
{
    const bool local = s->sym->storage == ST_ARRAY && own_arrays_in_memory(m->own_arrays, s->sym);
    const int64_t count = local ? 0 : type_elements(&s->sym->type);
    const enum dtype t = s->sym->type.dtype;
    struct variable *v = emit_declare(m, s->sym, (int)count);
    if (local)
        v->memory = make_local(m, s->sym);
    for (int i = 0; i < count; i++)
        v->slots[i] = (struct slot){emit_constant(t, 0).o, {.dtype = t, .count = 1}};
    if (s->value)
        emit_give_elements(m, v, s->value);
}
