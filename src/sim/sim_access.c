/* ld and st. Most warps access memory in one of three ways: the lanes of each half at the same
 * place, the lanes of each half at consecutive places, or lanes anywhere in one allocation. (In
 * blocks of 16 x 16 threads, a half is a row.) Whole warps that do so take a short way. All other
 * accesses, and faults, go lane by lane.
 *
 * op->more: slots of the elements, then the bytes of their registers; op->small: bytes of an
 * element in memory. */
#include "sim/sim_machine.h"

#include <stddef.h>
#include <string.h>

/* Called after a load: notes undefined values. */
static inline bool loaded(struct sim_warp *w, const struct sim_op *op)
{
    return !w->sim->loaded.any || sim_undefined_loaded(w, op);
}

/* --- lane by lane --- */

static bool ld_lanes(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    struct sim_want want = {
        .kind = SIM_READ, .bytes = op->bytes, .alignment = op->bytes, .element = op->small};
    uint8_t *host[SIM_LANES];
    if (!sim_reach(w, op, mask, &want, host))
        return false;
    if (op->order != SIM_WEAK)
        sim_polls(w, op, mask, false);
    size_t bytes = op->small, count = op->more_count / 2;
    for (size_t e = 0; e < count; e++) {
        uint8_t *to = w->file + op->more[e];
        size_t wide = op->more[count + e];
        if (bytes == 4 && wide == 4) {
            for (uint32_t rest = mask; rest; rest &= rest - 1) {
                size_t i = (size_t)__builtin_ctz(rest);
                memcpy(to + i * 4, host[i] + e * 4, 4);
            }
            continue;
        }
        for (uint32_t rest = mask; rest; rest &= rest - 1) {
            size_t i = (size_t)__builtin_ctz(rest);
            uint64_t v[2] = {0, 0};
            memcpy(v, host[i] + e * bytes, bytes);
            if (op->small2 && bytes < 8) { /* signed */
                unsigned up = 64 - (unsigned)bytes * 8;
                v[0] = (uint64_t)((int64_t)(v[0] << up) >> up);
            }
            memcpy(to + i * wide, v, wide);
        }
    }
    return loaded(w, op);
}

static bool st_lanes(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    uint8_t values[SIM_LANES][32];
    const uint8_t *value[SIM_LANES];
    uint8_t *host[SIM_LANES];
    struct sim_want want = {.kind = SIM_WRITE,
                            .bytes = op->bytes,
                            .alignment = op->bytes,
                            .element = op->small,
                            .value = value};
    size_t bytes = op->small, count = op->more_count / 2;
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        size_t i = (size_t)__builtin_ctz(rest);
        value[i] = values[i];
        for (size_t e = 0; e < count; e++)
            memcpy(values[i] + e * bytes, w->file + op->more[e] + i * op->more[count + e], bytes);
    }
    if (!sim_reach(w, op, mask, &want, host))
        return false;
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        int i = __builtin_ctz(rest);
        memcpy(host[i], values[i], op->bytes);
    }
    return true;
}

/* --- whole warps --- */

/* The pattern of the addresses of each half of a warp. */
enum way { WAY_ANY, WAY_SAME, WAY_ROW };
enum { HALF = SIM_LANES / 2 };

/* The lanes' offsets in shared memory or in one allocation. */
struct reached {
    uint8_t *host;  /* of lane 0 */
    uint64_t first; /* the address of the first place, as observers hear it */
    enum sim_space space;
    enum way way;
    int64_t apart;             /* distance of the second half from the first one; not for WAY_ANY */
    int32_t offset[SIM_LANES]; /* distance of each lane from the first place; only for WAY_ANY */
};

static inline bool reach_shared(const struct sim_warp *w, const struct sim_op *op, uint32_t bytes,
                                struct reached *r)
{
    uint32_t row = 0, same = 0, all = 0, most = 0;
    const uint32_t *from = sim_u32(w->file, op->address), *half = from + HALF;
    const uint32_t imm = (uint32_t)op->imm, size = (uint32_t)w->shared_bytes;
    const uint32_t first = from[0] + imm, second = half[0] + imm;
    for (uint32_t i = 0; i < HALF; i++) {
        uint32_t a = from[i] - from[0], b = half[i] - half[0];
        row |= (a - i * bytes) | (b - i * bytes);
        same |= a | b;
    }
    r->host = w->shared + first;
    r->first = first;
    r->space = SIM_SHARED;
    r->way = !row ? WAY_ROW : !same ? WAY_SAME : WAY_ANY;
    r->apart = (int64_t)second - first;
    if (r->way != WAY_ANY) {
        uint32_t span = row ? bytes : bytes * HALF;
        return !((first | second) & (bytes - 1)) && size >= span && first <= size - span &&
               second <= size - span;
    }
    for (uint32_t i = 0; i < SIM_LANES; i++) {
        uint32_t a = from[i] + imm;
        all |= a;
        most = a > most ? a : most;
        r->offset[i] = (int32_t)(a - first);
    }
    return !(all & (bytes - 1)) && size >= bytes && most <= size - bytes;
}

/* Accesses of global memory are few compared with those of shared memory, so this is not copied into
 * their handlers: 9 KB less. */
#if defined(__GNUC__)
__attribute__((noinline))
#endif
static bool
reach_global(const struct sim_warp *w, const struct sim_op *op, uint32_t bytes, bool writes,
             struct reached *r)
{
    const uint64_t *from = sim_u64(w->file, op->address);
    const uint64_t first = from[0] + (uint64_t)op->imm, apart = from[HALF] - from[0];
    uint64_t row = 0, same = 0;
    for (uint32_t i = 0; i < HALF; i++) {
        uint64_t a = from[i] - from[0], b = from[HALF + i] - from[HALF];
        row |= (a - (uint64_t)i * bytes) | (b - (uint64_t)i * bytes);
        same |= a | b;
    }
    uint64_t number = first >> SIM_OFFSET_BITS;
    if (number < SIM_FIRST_ALLOCATION || number >= w->sim->allocations.count)
        return false;
    const struct sim_allocation *a = &w->sim->allocations.data[number];
    uint64_t offset = first & ((UINT64_C(1) << SIM_OFFSET_BITS) - 1);
    const uint64_t size = sim_reach_of(a);
    if (a->freed || (writes && a->constant) || size < bytes)
        return false;
    r->host = a->host + offset;
    r->first = first;
    r->space = a->constant ? SIM_CONST : SIM_GLOBAL;
    r->way = !row ? WAY_ROW : !same ? WAY_SAME : WAY_ANY;
    r->apart = (int64_t)apart;
    if (r->way != WAY_ANY) {
        uint64_t span = row ? bytes : (uint64_t)bytes * HALF;
        return !((first | apart) & (bytes - 1)) && size >= span && offset <= size - span &&
               offset + apart <= size - span;
    }
    int64_t least = 0, most = 0;
    uint64_t all = first;
    for (int i = 0; i < SIM_LANES; i++) {
        int64_t more = (int64_t)(from[i] - from[0]);
        least = more < least ? more : least;
        most = more > most ? more : most;
        all |= (uint64_t)more;
        r->offset[i] = (int32_t)more;
    }
    /* `offset`, the place of the first lane, may be outside too, so it is tested before the sums */
    return !(all & (bytes - 1)) && least > INT32_MIN && most < INT32_MAX &&
           offset < (uint64_t)INT64_MAX && (int64_t)offset + least >= 0 &&
           offset + (uint64_t)most <= size - bytes;
}

/* Tells observers of a whole warp's access. */
static bool tell_reached(struct sim_warp *w, const struct sim_op *op, const struct reached *r,
                         const uint8_t *values)
{
    struct sim_access a;
    const struct sim_want want = {
        .kind = values ? SIM_WRITE : SIM_READ, .bytes = op->bytes, .element = op->small};
    const uint64_t bytes = op->bytes;
    uint64_t other = 0;
    const struct sim_row row = {r->space, r->way == WAY_ROW, r->first, r->apart, r->host, values};
    const bool sent = w->sim->hears_later && r->way != WAY_ANY && sim_later_row(w, op, &row);
    const bool needs = sim_needs(w, r->space) || (values && w->sim->stored.any);
    if (sent && !needs)
        return true;
    sim_access_begin(w, op, &want, &a);
    a.space = r->space;
    a.pattern = SIM_UNSORTED;
    a.mask = SIM_ALL;
    if (r->way == WAY_ANY) {
        const int64_t stride = r->offset[1];
        for (int i = 0; i < SIM_LANES; i++) {
            a.address[i] = r->first + (uint64_t)(int64_t)r->offset[i];
            a.before[i] = r->host + r->offset[i];
            other |= (uint64_t)(r->offset[i] - i * stride);
        }
        if (!other && stride >= (int64_t)bytes) {
            a.pattern = SIM_LINEAR;
            a.stride = (uint32_t)stride;
        }
        for (uint64_t i = 0; values && i < SIM_LANES; i++)
            a.value[i] = values + i * bytes;
    } else {
        const uint64_t stride = r->way == WAY_ROW ? bytes : 0, apart = (uint64_t)r->apart;
        a.pattern = apart != HALF * stride ? SIM_HALVES : stride ? SIM_LINEAR : SIM_UNIFORM;
        a.stride = (uint32_t)stride;
        a.apart = r->apart;
        a.sparse = true;
        a.address[0] = r->first;
        a.address[HALF] = r->first + apart;
        a.before[0] = r->host;
        a.before[HALF] = r->host + r->apart;
        a.value[0] = values;
    }
    if (!sent)
        sim_notify_access_later(w, &a);
    return !needs || sim_notify_access_now(w, &a);
}

/* Gathers the values that a store will write, one lane after the other. */
static void gather_values(const struct sim_warp *w, const struct sim_op *op, uint8_t *values)
{
    size_t bytes = op->small, count = op->more_count / 2;
    for (size_t e = 0; e < count; e++) {
        const uint8_t *from = w->file + op->more[e];
        for (size_t i = 0; i < SIM_LANES; i++)
            memcpy(values + (i * count + e) * bytes, from + i * bytes, bytes);
    }
}

static bool tell_load(struct sim_warp *w, const struct sim_op *op, const struct reached *r)
{
    return tell_reached(w, op, r, NULL);
}

static bool tell_store(struct sim_warp *w, const struct sim_op *op, const struct reached *r)
{
    uint8_t values[SIM_LANES * 16];
    gather_values(w, op, values);
    return tell_reached(w, op, r, values);
}

/* Returns the place of a lane, in host memory. */
static inline uint8_t *place_of(const struct reached *r, int lane, size_t bytes)
{
    if (r->way == WAY_ANY)
        return r->host + r->offset[lane];
    return r->host + (lane / HALF) * r->apart +
           (r->way == WAY_ROW ? (ptrdiff_t)(lane % HALF) * (ptrdiff_t)bytes : 0);
}

#define LOAD(name, type, count)                                                                    \
    static inline void name(struct sim_warp *w, const struct sim_op *op, const struct reached *r)  \
    {                                                                                              \
        for (uint32_t e = 0; e < count; e++) {                                                     \
            type *to = (type *)(void *)(w->file + op->more[e]), v, v2;                             \
            const uint8_t *host = r->host + e * sizeof v;                                          \
            if (r->way == WAY_ROW && count == 1) {                                                 \
                memcpy(to, host, sizeof v *HALF);                                                  \
                memcpy(to + HALF, host + r->apart, sizeof v * HALF);                               \
            } else if (r->way == WAY_SAME) {                                                       \
                memcpy(&v, host, sizeof v);                                                        \
                memcpy(&v2, host + r->apart, sizeof v);                                            \
                for (int i = 0; i < HALF; i++) {                                                   \
                    to[i] = v;                                                                     \
                    to[HALF + i] = v2;                                                             \
                }                                                                                  \
            } else if (r->way == WAY_ROW) {                                                        \
                for (int i = 0; i < SIM_LANES; i++)                                                \
                    memcpy(&to[i], place_of(r, i, count * sizeof v) + e * sizeof v, sizeof v);     \
            } else {                                                                               \
                for (int i = 0; i < SIM_LANES; i++)                                                \
                    memcpy(&to[i], host + r->offset[i], sizeof v);                                 \
            }                                                                                      \
        }                                                                                          \
    }
#define STORE(name, type, count)                                                                   \
    static inline void name(struct sim_warp *w, const struct sim_op *op, const struct reached *r)  \
    {                                                                                              \
        w->sim->changes++;                                                                         \
        if (r->way == WAY_ROW && count == 1) {                                                     \
            const uint8_t *from = w->file + op->more[0];                                           \
            memcpy(r->host, from, sizeof(type) * HALF);                                            \
            memcpy(r->host + r->apart, from + sizeof(type) * HALF, sizeof(type) * HALF);           \
            return;                                                                                \
        }                                                                                          \
        for (int i = 0; i < SIM_LANES; i++) { /* at one place the highest lane wins */             \
            uint8_t *host = place_of(r, i, count * sizeof(type));                                  \
            for (uint32_t e = 0; e < count; e++)                                                   \
                memcpy(host + e * sizeof(type),                                                    \
                       (const type *)(const void *)(w->file + op->more[e]) + i, sizeof(type));     \
        }                                                                                          \
    }

/* Defines a handler: a whole warp whose places are all in one memory takes the short way, all
 * other accesses go lane by lane. */
#define WHOLE_WARP(name, fits, tell, act, lane_by_lane)                                            \
    static bool name(struct sim_warp *w, const struct sim_op *op, uint32_t mask)                   \
    {                                                                                              \
        struct reached r;                                                                          \
        if (mask != SIM_ALL || !(fits))                                                            \
            return lane_by_lane(w, op, mask);                                                      \
        if (w->watched && !tell(w, op, &r))                                                        \
            return false;                                                                          \
        act(w, op, &r);                                                                            \
        return !w->watched || loaded(w, op);                                                       \
    }
#define IN_SHARED(type, count) reach_shared(w, op, sizeof(type) * count, &r)
#define IN_GLOBAL(type, count, writes) reach_global(w, op, sizeof(type) * count, writes, &r)
#define ACCESSES(type, count)                                                                      \
    LOAD(load_##type##_##count, type, count)                                                       \
    STORE(store_##type##_##count, type, count)                                                     \
    WHOLE_WARP(ld_shared_##type##_##count, IN_SHARED(type, count), tell_load,                      \
               load_##type##_##count, ld_lanes)                                                    \
    WHOLE_WARP(ld_global_##type##_##count, IN_GLOBAL(type, count, false), tell_load,               \
               load_##type##_##count, ld_lanes)                                                    \
    WHOLE_WARP(st_shared_##type##_##count, IN_SHARED(type, count), tell_store,                     \
               store_##type##_##count, st_lanes)                                                   \
    WHOLE_WARP(st_global_##type##_##count, IN_GLOBAL(type, count, true), tell_store,               \
               store_##type##_##count, st_lanes)

ACCESSES(uint16_t, 1)
ACCESSES(uint32_t, 1)
ACCESSES(uint32_t, 2)
ACCESSES(uint32_t, 4)
ACCESSES(uint64_t, 1)
ACCESSES(uint64_t, 2)

/* Loads a kernel's parameter, which all lanes share; requires is_parameter. */
static bool ld_param(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    uint8_t *from = w->sim->parameters + op->imm;
    if (mask != SIM_ALL)
        return ld_lanes(w, op, mask);
    if (w->watched) {
        struct reached r = {
            .host = from, .first = (uint64_t)op->imm, .space = SIM_PARAM, .way = WAY_SAME};
        if (!tell_load(w, op, &r))
            return false;
    }
    if (op->small == 4) {
        uint32_t v, *to = sim_u32(w->file, op->more[0]);
        memcpy(&v, from, sizeof v);
        for (int i = 0; i < SIM_LANES; i++)
            to[i] = v;
    } else {
        uint64_t v, *to = sim_u64(w->file, op->more[0]);
        memcpy(&v, from, sizeof v);
        for (int i = 0; i < SIM_LANES; i++)
            to[i] = v;
    }
    return !w->watched || loaded(w, op);
}

/* --- choosing --- */

struct row {
    int bytes, count;
    sim_handler *ld_shared, *ld_global, *st_shared, *st_global;
};
#define ROW(bits, count)                                                                           \
    {                                                                                              \
        bits / 8, count, ld_shared_uint##bits##_t_##count, ld_global_uint##bits##_t_##count,       \
            st_shared_uint##bits##_t_##count, st_global_uint##bits##_t_##count                     \
    }
static const struct row rows[] = {
    ROW(16, 1), ROW(32, 1), ROW(32, 2), ROW(32, 4), ROW(64, 1), ROW(64, 2),
};

/* Returns true if the address is an aligned place within the kernel's parameters. All other
 * addresses are for ld_lanes. */
static bool is_parameter(const struct sim_decoder *d, const struct sim_op *op)
{
    uint64_t size = d->sim->program->parameter_bytes, at = (uint64_t)op->imm;
    return op->space == SIM_IN_PARAM && !op->address_bytes && at <= size &&
           op->small <= size - at && at % op->small == 0;
}

/* Returns the handler for one simple case of loads and stores, which is faster; NULL if the
 * registers are wider than the elements in memory, or no row has the case. */
static sim_handler *short_way(const struct sim_decoder *d, const struct sim_op *op, bool stores)
{
    bool shared = op->space == SIM_IN_SHARED && op->address_bytes == 4;
    bool global =
        (op->space == SIM_IN_GLOBAL || op->space == SIM_IN_GENERIC || op->space == SIM_IN_CONST) &&
        op->address_bytes == 8;
    uint32_t count = op->more_count / 2;
    for (uint32_t e = 0; e < count; e++)
        if (op->more[count + e] != op->small)
            return NULL;
    if (!stores && count == 1 && (op->small == 4 || op->small == 8) && is_parameter(d, op))
        return ld_param;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct row *r = &rows[i];
        if (r->bytes != op->small || (uint32_t)r->count != count)
            continue;
        if (shared)
            return stores ? r->st_shared : r->ld_shared;
        if (global)
            return stores ? r->st_global : r->ld_global;
    }
    return NULL;
}

/* Appends the bytes of the elements' registers after their slots. */
static void add_widths(struct sim_decoder *d, struct sim_op *op, const struct ptx_operand *o,
                       enum ptx_mod type)
{
    uint32_t count = op->more_count;
    uint32_t *more = arena_array(sim_decoder_arena(d), uint32_t, count * 2);
    for (uint32_t e = 0; e < count; e++) {
        const struct ptx_operand *element = o->kind == PTX_VECTOR ? &o->elements[e] : o;
        more[e] = op->more[e];
        more[count + e] = (uint32_t)sim_operand_bytes(d, element, type);
    }
    op->more = more;
    op->more_count = count * 2;
}

static bool choose_access(struct sim_decoder *d, const struct ptx_instruction *ins, bool stores,
                          struct sim_op *op)
{
    enum ptx_mod type = ptx_type(ins, 0);
    const struct ptx_operand *value = &ins->operands[stores ? 1 : 0];
    if (ins->operand_count < 2 ||
        !sim_decode_address(d, ins, &ins->operands[stores ? 0 : 1], 0, op) ||
        !sim_more_of(d, op, value, type))
        return false;
    add_widths(d, op, value, type);
    sim_decode_order(ins, op);
    op->small = (uint16_t)(ptx_mods[type].bits / 8);
    op->small2 = ptx_mods[type].class == PTX_CLASS_SIGNED;
    op->bytes = (uint8_t)(op->small * (op->more_count / 2));
    op->run = op->order == SIM_WEAK ? short_way(d, op, stores) : NULL;
    if (!op->run)
        op->run = stores ? st_lanes : ld_lanes;
    return true;
}

/* Does nothing: moving data between caches has no effect that a program can observe. */
static bool nothing(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    (void)w, (void)op, (void)mask;
    return true;
}

bool sim_choose_access(struct sim_decoder *d, const struct ptx_instruction *ins, struct sim_op *op)
{
    switch (ins->op) {
    case PTX_LD:
    case PTX_LDU: return choose_access(d, ins, false, op);
    case PTX_ST: return choose_access(d, ins, true, op);
    case PTX_PREFETCH:
    case PTX_PREFETCHU:
    case PTX_APPLYPRIORITY: op->run = nothing; return true;
    default: return false;
    }
}
