/* Operations on shared memory, barriers, the copy engine and the matrix unit. */
#include "nvptx/nvptx_own.h"
#include "target/targets.h"

#include <assert.h>
#include <string.h>

/* Returns the address of the operation's element in the block that the next operand names. mapa gives the start of that block's
 * shared memory, and the offset of the element is the same in each block of the cluster (PTX ISA, mapa). */
static struct ptx_operand in_peer(struct nvptx *n, const struct thread_operation *op)
{
    const struct thread_operand *o = op->operands.data;
    struct ptx_operand base = nvptx_scalar(n, &o[1], DT_U32), at = base;
    const int64_t bytes = thread_element_bytes(o->object);
    if (o->value) {
        at = ptx_reg(&n->build, MOD_U32);
        ptx_emit(&n->build, "mad.lo.u32", at, nvptx_registers_of(n, o->value)->word[0],
                 ptx_int(bytes), base);
    }
    return ptx_at(at, o->object->at + o->integer * bytes);
}

static void find_peer(struct nvptx *n, const struct thread_operation *op)
{
    struct ptx_operand rank = ptx_reg(&n->build, MOD_U32);
    ptx_emit(&n->build, "mov.u32", rank, nvptx_scalar(n, &op->operands.data[0], DT_U32));
    ptx_emit(&n->build, "mapa.shared::cluster.u32",
             nvptx_registers_of(n, op->results.data[0])->word[0], n->memory, rank);
}

/* --- loads and stores of one element --- */

/* Returns [address] of element index + constant of an array in global or local memory. */
static struct ptx_operand addressed(struct nvptx *n, const struct thread_operand *o, int64_t bytes)
{
    enum { MOST_AWAY = 1 << 24 }; /* elements: the offset in an address has 32 bits */
    const struct thread_operand *index = &o[1];
    const bool wide = index->kind != THREAD_VALUE || index->value->type.dtype != DT_U32;
    const int64_t known = index->kind == THREAD_INTEGER ? index->integer : 0;
    struct ptx_operand base = nvptx_scalar(n, &o[0], DT_U64);
    if (index->kind == THREAD_INTEGER && known > -MOST_AWAY && known < MOST_AWAY)
        return ptx_at(base, (known + o[2].integer) * bytes);
    struct ptx_operand at = ptx_reg(&n->build, MOD_U64);
    ptx_emit(&n->build, wide ? "mad.lo.u64" : "mad.wide.u32", at,
             nvptx_scalar(n, index, wide ? DT_I64 : DT_U32), ptx_int(bytes), base);
    return ptx_at(at, o[2].integer * bytes);
}

enum ptx_mod nvptx_moved_type(struct thread_type t)
{
    const size_t bytes = t.count * dtype_size(t.dtype);
    if (bytes >= 4)
        return nvptx_word_type(t.dtype == DT_BOOL ? DT_U8 : t.dtype);
    if (nvptx_register_type(t) == MOD_B16)
        return MOD_B16;
    const bool is_signed = t.count == 1 && dtype_table[t.dtype].kind == DK_SINT;
    return bytes == 2 ? (is_signed ? MOD_S16 : MOD_U16) : is_signed ? MOD_S8 : MOD_U8;
}

/* Returns the words that a store writes. Predicates are bytes in memory: 0 or 1. */
static struct ptx_operand *stored_words(struct nvptx *n, const struct thread_operand *o,
                                        struct thread_type t)
{
    const uint16_t words = nvptx_words(t);
    struct ptx_operand *e = NULL, *word = arena_array(n->arena, struct ptx_operand, words);
    const bool is_bool = o->kind == THREAD_VALUE && o->value->type.dtype == DT_BOOL;
    if (is_bool)
        e = nvptx_elements(n, o, DT_BOOL, t.count);
    for (uint16_t i = 0; is_bool && i < t.count; i++) {
        struct ptx_operand byte = ptx_reg(&n->build, MOD_B32);
        ptx_emit(&n->build, "selp.b32", byte, ptx_int(1), ptx_int(0), e[i]);
        e[i] = byte;
    }
    for (uint16_t w = 0; w < words; w++)
        if (is_bool)
            word[w] = t.count == 1 ? e[0] : nvptx_packed(n, t, e, w);
        else
            word[w] = t.count == 1 ? nvptx_scalar(n, o, t.dtype) : nvptx_word(n, o, t.dtype, w);
    return word;
}

/* Makes predicates of the bytes that were loaded. */
static void put_bools(struct nvptx *n, const struct thread_value *to,
                      const struct ptx_operand *word)
{
    const struct nvptx_registers *r = nvptx_registers_of(n, to);
    struct ptx_operand byte[4] = {word[0]};
    for (uint16_t i = 0; i < r->words; i++) {
        if (i % 4 == 0 && r->words > 1)
            nvptx_unpack(&n->scalars, DT_U8, word[i / 4], byte);
        ptx_emit(&n->build, "setp.ne.b32", r->word[i], byte[i % 4], ptx_int(0));
    }
}

/* Returns the predicate of a load under one, and gives the registers what they have without it. */
static struct ptx_operand guard_load(struct nvptx *n, const struct thread_operation *op,
                                     struct ptx_operand to, struct thread_type t)
{
    const struct thread_operand *o = op->operands.data, *last = &o[op->operands.count - 1];
    const struct ptx_operand guard = nvptx_scalar(n, &o[0], DT_BOOL);
    const struct ptx_operand otherwise = nvptx_scalar(n, last, t.dtype);
    if (t.dtype != DT_BOOL)
        nvptx_give(n, nvptx_register_type(t), to, otherwise, last->kind != THREAD_VALUE);
    else if (otherwise.kind == PTX_REGISTER)
        ptx_emit(&n->build, "selp.b32", to, ptx_int(1), ptx_int(0), otherwise);
    else
        ptx_emit(&n->build, "mov.b32", to, otherwise);
    return guard;
}

static void load(struct nvptx *n, const struct thread_operation *op, const char *text,
                 struct thread_type t, struct ptx_operand at)
{
    const struct thread_value *v = op->results.data[0];
    const uint16_t type = (uint16_t)nvptx_moved_type(t), words = nvptx_words(t);
    struct ptx_operand byte[4];
    const bool is_bool = v->type.dtype == DT_BOOL;
    for (uint16_t w = 0; is_bool && w < words; w++)
        byte[w] = ptx_reg(&n->build, MOD_B32);
    const struct ptx_operand *to = is_bool ? byte : nvptx_registers_of(n, v)->word;
    struct ptx_operand guard = {.kind = PTX_NOTHING};
    if (thread_is_guarded_load(op->op))
        guard = guard_load(n, op, to[0], v->type);
    struct ptx_instruction *ins = ptx_emit_for(
        &n->build, &type, text, words == 1 ? to[0] : ptx_vector(&n->build, to, words), at);
    if (guard.kind != PTX_NOTHING)
        ptx_when(ins, guard);
    else
        nvptx_guarded(n, ins);
    if (is_bool)
        put_bools(n, v, byte);
}

/* Returns the name of a load or store, which ends with `*` in place of the type. words: 1, 2 or 4 */
static const char *mnemonic_of(enum thread_opcode op, uint16_t words)
{
    static const char *const mnemonic[5][2][3] = {
        {{"ld.global.*", "ld.global.v2.*", "ld.global.v4.*"},
         {"st.global.*", "st.global.v2.*", "st.global.v4.*"}},
        {{"ld.shared.*", "ld.shared.v2.*", "ld.shared.v4.*"},
         {"st.shared.*", "st.shared.v2.*", "st.shared.v4.*"}},
        {{"ld.shared::cluster.*", "ld.shared::cluster.v2.*", "ld.shared::cluster.v4.*"},
         {"st.shared::cluster.*", "st.shared::cluster.v2.*", "st.shared::cluster.v4.*"}},
        {{"ld.global.nc.*", "ld.global.nc.v2.*", "ld.global.nc.v4.*"}},
        {{"ld.local.*", "ld.local.v2.*", "ld.local.v4.*"},
         {"st.local.*", "st.local.v2.*", "st.local.v4.*"}}};
    const bool peer = op == THREAD_LOAD_PEER || op == THREAD_STORE_PEER;
    const bool own = thread_is_shared_access(op) || op == THREAD_LOAD_SHARED_IF;
    const bool local = op == THREAD_LOAD_LOCAL || op == THREAD_STORE_LOCAL;
    const int space = peer ? 2 : op == THREAD_LOAD_CONST ? 3 : local ? 4 : own;
    return mnemonic[space][thread_op_table[op].effects == THREAD_WRITES][words / 2];
}

const char *nvptx_access_name(struct arena *a, enum thread_opcode op, struct thread_type t,
                              bool typed)
{
    t.dtype = t.dtype == DT_BOOL ? DT_U8 : t.dtype;
    const char *name = mnemonic_of(op, nvptx_words(t));
    return typed ? arena_printf(a, "%.*s%s", (int)strlen(name) - 1, name,
                                ptx_mods[nvptx_moved_type(t)].text)
                 : name;
}

/* One instruction moves 1, 2 or 4 words, or a part of one. */
static void load_or_store(struct nvptx *n, const struct thread_operation *op)
{
    const bool peer = op->op == THREAD_LOAD_PEER || op->op == THREAD_STORE_PEER;
    const bool own = thread_is_shared_access(op->op) || op->op == THREAD_LOAD_SHARED_IF;
    const struct thread_operand *from = op->operands.data + thread_is_guarded_load(op->op);
    const struct thread_operand *last = &op->operands.data[op->operands.count - 1];
    struct thread_type t = thread_moved_type(op);
    t.dtype = t.dtype == DT_BOOL ? DT_U8 : t.dtype;
    const uint16_t type = (uint16_t)nvptx_moved_type(t), words = nvptx_words(t);
    if (words > 4 || words == 3) {
        nvptx_fail(n, op);
        return;
    }
    const char *text = mnemonic_of(op->op, words);
    const bool stores = op->results.count == 0;
    struct ptx_operand at = peer  ? in_peer(n, op)
                            : own ? nvptx_element(n, from)
                                  : addressed(n, from, (int64_t)dtype_size(op->types[0]));
    if (!stores) {
        load(n, op, text, t, at);
        return;
    }
    const struct ptx_operand *word = stored_words(n, last, t);
    nvptx_guarded(n, ptx_emit_for(&n->build, &type, text, at,
                                  words == 1 ? word[0] : ptx_vector(&n->build, word, words)));
}

/* --- atomics --- */

/* Returns the type that the instruction names, MOD_NONE if there is none. Sums wrap alike with and without a sign. */
static enum ptx_mod atomic_type(enum thread_opcode op, enum dtype t)
{
    const bool is_float = dtype_is_float(t), wide = dtype_size(t) == 8;
    if (dtype_size(t) < 4)
        return op != THREAD_ATOMIC_ADD ? MOD_NONE
               : t == DT_F16           ? MOD_F16
               : t == DT_BF16          ? MOD_BF16
                                       : MOD_NONE;
    switch (op) {
    case THREAD_ATOMIC_INC: return t == DT_U32 ? MOD_U32 : MOD_NONE;
    case THREAD_ATOMIC_ARRIVE: return is_float ? MOD_NONE : wide ? MOD_U64 : MOD_U32;
    case THREAD_ATOMIC_ADD: return is_float ? nvptx_word_type(t) : wide ? MOD_U64 : MOD_U32;
    case THREAD_ATOMIC_MIN:
    case THREAD_ATOMIC_MAX: return is_float ? MOD_NONE : nvptx_word_type(t);
    case THREAD_ATOMIC_EXCHANGE: return wide ? MOD_B64 : MOD_B32;
    default: return is_float ? MOD_NONE : wide ? MOD_B64 : MOD_B32;
    }
}

static const char *atomic_name(enum thread_opcode op)
{
    return op == THREAD_ATOMIC_ARRIVE     ? "add"
           : op == THREAD_ATOMIC_EXCHANGE ? "exch"
                                          : thread_op_table[op].text + strlen("atomic_");
}

/* Returns the parts of a mnemonic as one text. Formats take ten times as long. */
static const char *joined(struct nvptx *n, const char *const *parts, size_t count)
{
    struct text text;
    text_init(&text, n->arena);
    for (size_t i = 0; i < count; i++)
        text_add(&text, parts[i]);
    return text.data;
}

/* Adds a group to neighbours in global memory. */
static void add_group(struct nvptx *n, const struct thread_operation *op)
{
    const struct thread_type t = op->results.data[0]->type;
    const struct thread_operand *o = op->operands.data;
    const bool half = dtype_size(t.dtype) == 2;
    const uint16_t type = !half               ? MOD_F32
                          : t.dtype == DT_F16 ? MOD_F16X2
                                              : MOD_BF16X2,
                   words = nvptx_words(t);
    const int target = n->function->target.number;
    if (n->used[op->results.data[0]->number] ||
        (words > 1 && !target_number_has(target, TARGET_RED_VECTORS)) ||
        (t.dtype == DT_BF16 && !target_number_has(target, TARGET_BF16_ARITHMETIC))) {
        nvptx_fail(n, op);
        return;
    }
    const struct ptx_operand *word = stored_words(n, &o[3], t);
    nvptx_guarded(n,
                  ptx_emit_for(&n->build, &type,
                               arena_printf(n->arena, "red.global.add%s%s.*", half ? ".noftz" : "",
                                            words == 4   ? ".v4"
                                            : words == 2 ? ".v2"
                                                         : ""),
                               addressed(n, o, (int64_t)dtype_size(t.dtype)),
                               words == 1 ? word[0] : ptx_vector(&n->build, word, words)));
}

static void atomic(struct nvptx *n, const struct thread_operation *op)
{
    const struct thread_operand *o = op->operands.data;
    const enum dtype t = op->types[0];
    if (op->results.data[0]->type.count > 1) {
        add_group(n, op);
        return;
    }
    const uint16_t type = (uint16_t)atomic_type(op->op, t);
    const bool loops = nvptx_atomic_loops(&n->scalars, op->op, t);
    if (type == MOD_NONE && !loops) {
        nvptx_fail(n, op);
        return;
    }
    const bool shared = o[0].kind == THREAD_ELEMENT, swaps = op->op == THREAD_ATOMIC_CAS;
    const bool reduces = !n->used[op->results.data[0]->number] && !swaps &&
                         op->op != THREAD_ATOMIC_EXCHANGE && op->op != THREAD_ATOMIC_INC &&
                         op->op != THREAD_ATOMIC_ARRIVE;
    const char *const parts[] = {reduces ? "red" : "atom",
                                 op->op == THREAD_ATOMIC_ARRIVE ? ".acq_rel.gpu" : "",
                                 shared ? ".shared." : ".global.", atomic_name(op->op),
                                 dtype_size(t) == 2 ? ".noftz.*" : ".*"};
    const char *text = joined(n, parts, sizeof parts / sizeof *parts);
    const struct ptx_operand at = shared ? nvptx_element(n, o)
                                         : addressed(n, o, (int64_t)dtype_size(t)),
                             value = nvptx_scalar(n, &o[3], t);
    struct ptx_operand all[] = {{0}, at, value, {0}};
    if (loops) {
        nvptx_atomic_loop(&n->scalars, op->op, t, shared, at, value,
                          reduces ? NULL : &nvptx_registers_of(n, op->results.data[0])->word[0]);
        return;
    }
    if (!reduces)
        all[0] = nvptx_registers_of(n, op->results.data[0])->word[0];
    if (swaps)
        all[3] = nvptx_scalar(n, &o[4], t);
    nvptx_guarded(
        n, ptx_emit_list(&n->build, text, &type, all + reduces, (size_t)(swaps ? 4 : 3) - reduces));
}

/* Nanoseconds between polls, at first and at most; they double each time. */
enum { FIRST_NAP = 32, LONGEST_NAP = 1024 };

static void lock(struct nvptx *n, const struct thread_operation *op)
{
    const enum dtype t = op->types[0];
    const enum ptx_mod bits = dtype_size(t) == 8 ? MOD_B64 : MOD_B32;
    const uint16_t type = (uint16_t)bits;
    const struct ptx_operand at = addressed(n, op->operands.data, (int64_t)dtype_size(t)),
                             value = nvptx_scalar(n, &op->operands.data[3], t),
                             found = ptx_reg(&n->build, bits), nap = ptx_reg(&n->build, MOD_B32),
                             equal = ptx_reg(&n->build, MOD_PRED);
    if (op->op == THREAD_UNLOCK) {
        nvptx_guarded(n, ptx_emit_for(&n->build, &type, "st.release.gpu.global.*", at, value));
        return;
    }
    struct ptx_label *again = ptx_new_label(&n->build, "poll"),
                     *got = ptx_new_label(&n->build, "got");
    ptx_emit(&n->build, "mov.b32", nap, ptx_int(FIRST_NAP));
    ptx_place(&n->build, again);
    ptx_emit_for(&n->build, &type, "ld.acquire.gpu.global.*", found, at);
    ptx_emit_for(&n->build, &type, "setp.eq.*", equal, found, value);
    ptx_when(ptx_branch(&n->build, got), equal);
    ptx_emit(&n->build, "nanosleep.u32", nap);
    ptx_emit(&n->build, "shl.b32", nap, nap, ptx_int(1));
    ptx_emit(&n->build, "min.u32", nap, nap, ptx_int(LONGEST_NAP));
    ptx_branch(&n->build, again);
    ptx_place(&n->build, got);
}

/* Returns the mnemonic for matrices of `words` words a lane; NULL after a report: there is none. */
static const char *on_matrices(struct nvptx *n, const struct thread_operation *op, uint16_t words,
                               const char *transposed)
{
    static const char *const counts[] = {NULL, "x1", "x2", NULL, "x4"};
    if (words > 4 || !counts[words] || dtype_size(op->types[0]) > 4 || op->types[0] == DT_BOOL) {
        nvptx_fail(n, op);
        return NULL;
    }
    const char *const parts[] = {op->op == THREAD_LOAD_MATRIX ? "ld" : "st",
                                 "matrix.sync.aligned.m8n8.", counts[words], transposed,
                                 ".shared.b16"};
    return joined(n, parts, sizeof parts / sizeof *parts);
}

/* Returns the words of a group of matrices, which instructions take as bits: registers of floats are copied before it if the
 * group is an operand. */
static struct ptx_operand matrices_of(struct nvptx *n, const struct thread_value *v, bool is_result,
                                      struct ptx_operand *bits)
{
    const struct nvptx_registers *r = nvptx_registers_of(n, v);
    const bool copies = v->type.dtype == DT_F32;
    for (uint16_t i = 0; i < r->words; i++) {
        bits[i] = copies ? ptx_reg(&n->build, MOD_B32) : r->word[i];
        if (copies && !is_result)
            ptx_emit(&n->build, "mov.b32", bits[i], r->word[i]);
    }
    return ptx_vector(&n->build, bits, r->words);
}

static void load_matrix(struct nvptx *n, const struct thread_operation *op)
{
    enum { MOST_WORDS = 4 };
    const struct thread_operand *o = op->operands.data;
    const struct thread_value *to = op->results.data[0];
    struct ptx_operand bits[MOST_WORDS];
    const char *text = on_matrices(n, op, nvptx_words(to->type), o[1].integer ? ".trans" : "");
    if (!text)
        return;
    const struct nvptx_registers *r = nvptx_registers_of(n, to);
    const struct ptx_operand all = matrices_of(n, to, true, bits);
    ptx_emit(&n->build, text, all, nvptx_element(n, &o[0]));
    for (uint16_t i = 0; i < r->words && to->type.dtype == DT_F32; i++)
        ptx_emit(&n->build, "mov.b32", r->word[i], bits[i]);
}

static void cache_policy(struct nvptx *n, const struct thread_operation *op)
{
    const char *text =
        arena_printf(n->arena, "createpolicy.fractional.L2::%s.b64", op->operands.data[0].text);
    ptx_emit(&n->build, text, nvptx_registers_of(n, op->results.data[0])->word[0], ptx_f32(1));
}

static void copy_async(struct nvptx *n, const struct thread_operation *op)
{
    static const char *const names[2][2] = {
        {"cp.async.ca.shared.global", "cp.async.cg.shared.global"},
        {"cp.async.ca.shared.global.L2::cache_hint", "cp.async.cg.shared.global.L2::cache_hint"}};
    const struct thread_operand *o = op->operands.data;
    const bool has_policy = op->operands.count > 6;
    struct ptx_operand all[5] = {nvptx_element(n, &o[0])};
    all[1] = addressed(n, &o[1], thread_element_bytes(o[0].object));
    all[2] = ptx_int(o[4].integer);
    size_t count = 3;
    if (o[5].kind == THREAD_VALUE)
        all[count++] = ptx_not(nvptx_scalar(n, &o[5], DT_BOOL));
    else if (o[5].integer == 0)
        all[count++] = ptx_int(0);
    if (has_policy)
        all[count++] = nvptx_scalar(n, &o[6], DT_U64);
    nvptx_guarded(
        n, ptx_emit_list(&n->build, names[has_policy][o[4].integer == 16], NULL, all, count));
}

static struct ptx_operand words_of(struct nvptx *n, const struct thread_value *v)
{
    const struct nvptx_registers *r = nvptx_registers_of(n, v);
    return (struct ptx_operand){.kind = PTX_VECTOR, .count = r->words, .elements = r->word};
}

/* Returns the type as mnemonics have it: signed integers are s8 and s32. */
static const char *matrix_type(enum dtype t)
{
    return t == DT_I8 ? "s8" : t == DT_U8 ? "u8" : t == DT_I32 ? "s32" : dtype_table[t].name;
}

static void mma(struct nvptx *n, const struct thread_operation *op)
{
    const struct thread_operand *o = op->operands.data;
    const uint16_t counts[3] = {o[0].value->type.count, o[1].value->type.count,
                                o[2].value->type.count};
    const struct target_unit *u = target_unit_of_fragments(op->types, counts);
    if (!u || n->function->target.number < u->since) {
        nvptx_fail(n, op);
        return;
    }
    if (n->unit != u) {
        const char *sum = matrix_type(u->sum);
        n->unit = u;
        n->product = arena_printf(n->arena, "mma.sync.aligned.m%dn%dk%d.row.col.%s.%s.%s.%s", u->m,
                                  u->n, u->k, sum, matrix_type(u->a), matrix_type(u->b), sum);
    }
    ptx_emit(&n->build, n->product, words_of(n, op->results.data[0]), words_of(n, o[1].value),
             words_of(n, o[2].value), words_of(n, o[0].value));
}

/* --- barriers --- */

static void barrier(struct nvptx *n, const struct thread_operation *op)
{
    const struct thread_operand *o = op->operands.data;
    const struct ptx_operand all[] = {nvptx_scalar(n, &o[0], DT_U32), ptx_int(o[1].integer)};
    ptx_emit_list(&n->build, op->op == THREAD_BARRIER_ARRIVE ? "bar.arrive" : "bar.sync", NULL, all,
                  o[1].integer ? 2 : 1);
}

static void wait(struct nvptx *n, const struct thread_operation *op)
{
    struct ptx_operand at = nvptx_element(n, &op->operands.data[0]);
    struct ptx_operand parity = nvptx_scalar(n, &op->operands.data[1], DT_U32),
                       done = ptx_reg(&n->build, MOD_PRED);
    struct ptx_label *again = ptx_new_label(&n->build, "wait");
    ptx_place(&n->build, again);
    ptx_emit(&n->build,
             op->op == THREAD_MBARRIER_ACQUIRE
                 ? "mbarrier.try_wait.parity.acquire.cluster.shared.b64"
                 : "mbarrier.try_wait.parity.shared.b64",
             done, at, parity);
    ptx_when(ptx_branch(&n->build, again), ptx_not(done));
}

static void on_mbarrier(struct nvptx *n, const struct thread_operation *op)
{
    const struct thread_operand *o = op->operands.data;
    struct ptx_operand all[3] = {ptx_sink()};
    const char *text;
    size_t first = 0, count = 2;
    switch (op->op) {
    case THREAD_MBARRIER_ARRIVE: text = "mbarrier.arrive.shared.b64"; break;
    case THREAD_MBARRIER_ARRIVE_PEER:
        text = "mbarrier.arrive.release.cta.shared::cluster.b64";
        break;
    case THREAD_MBARRIER_RELEASE_PEER:
        text = "mbarrier.arrive.release.cluster.shared::cluster.b64";
        break;
    case THREAD_MBARRIER_EXPECT:
        text = "mbarrier.arrive.expect_tx.shared.b64";
        count = 3;
        break;
    default:
        text = "mbarrier.init.shared.b64";
        first = 1;
        break;
    }
    const bool counts = first || count == 3;
    all[1] = counts || op->operands.count == 1 ? nvptx_element(n, &o[0]) : in_peer(n, op);
    if (counts)
        all[2] = ptx_int(o[1].integer);
    nvptx_guarded(n, ptx_emit_list(&n->build, text, NULL, all + first, count));
}

/* --- the copy engine --- */

static struct ptx_operand box(struct nvptx *n, const struct thread_operation *op, size_t from)
{
    struct ptx_operand at[5], map = nvptx_scalar(n, &op->operands.data[0], DT_NONE);
    size_t count = op->operands.count - from;
    for (size_t i = 0; i < count && i < 5; i++)
        at[i] = nvptx_scalar(n, &op->operands.data[from + i], DT_U32);
    return ptx_at_tensor(&n->build, map, at, count);
}

/* Returns a mnemonic of tensor copies. count: of coordinates */
static const char *on_tensor(struct nvptx *n, size_t count, const char *rest)
{
    return arena_printf(n->arena, "cp.async.bulk.tensor.%dd.%s", (int)count, rest);
}

#define TO_SHARED "shared::cluster.global.tile.mbarrier::complete_tx::bytes"

static void copy_in(struct nvptx *n, const struct thread_operation *op)
{
    const struct thread_operand *o = op->operands.data;
    struct ptx_operand to = nvptx_element(n, &o[1]), full = nvptx_element(n, &o[2]);
    ptx_emit(&n->build, on_tensor(n, op->operands.count - 3, TO_SHARED), to, box(n, op, 3), full);
}

static void copy_in_multicast(struct nvptx *n, const struct thread_operation *op)
{
    const struct thread_operand *o = op->operands.data;
    struct ptx_operand to = nvptx_element(n, &o[1]), full = nvptx_element(n, &o[2]);
    struct ptx_operand bits = ptx_reg(&n->build, MOD_U32), blocks = ptx_reg(&n->build, MOD_U16);
    ptx_emit(&n->build, "mov.u32", bits, nvptx_scalar(n, &o[3], DT_U32));
    ptx_emit(&n->build, "cvt.u16.u32", blocks, bits);
    ptx_emit(&n->build, on_tensor(n, op->operands.count - 4, TO_SHARED ".multicast::cluster"), to,
             box(n, op, 4), full, blocks);
}

static void copy_out(struct nvptx *n, const struct thread_operation *op)
{
    struct ptx_operand from = nvptx_element(n, &op->operands.data[1]);
    ptx_emit(&n->build, on_tensor(n, op->operands.count - 2, "global.shared::cta.tile.bulk_group"),
             box(n, op, 2), from);
}

/* --- matrices in shared memory --- */

static void store_matrix(struct nvptx *n, const struct thread_operation *op)
{
    enum { MOST_WORDS = 4 };
    const struct thread_operand *o = op->operands.data;
    struct ptx_operand bits[MOST_WORDS];
    uint16_t words = o[1].kind == THREAD_VALUE ? nvptx_words(o[1].value->type) : 0;
    const char *text = on_matrices(n, op, words, "");
    if (!text)
        return;
    const struct ptx_operand all = matrices_of(n, o[1].value, false, bits);
    ptx_emit(&n->build, text, nvptx_element(n, &o[0]), all);
}

/* Rows of 128 bytes whose pieces of 16 bytes are swizzled: 1 in bits 62 and 63; addresses and distances count
 * 16 bytes. PTX ISA, "Matrix Descriptor Format". */
static void descriptor(struct nvptx *n, const struct thread_operation *op)
{
    const struct thread_operand *o = op->operands.data;
    struct ptx_operand at = nvptx_element_address(n, &o[0]),
                       to = nvptx_registers_of(n, op->results.data[0])->word[0];
    uint64_t fixed =
        (uint64_t)1 << 62 | (uint64_t)o[2].integer >> 4 << 32 | (uint64_t)o[1].integer >> 4 << 16;
    ptx_emit(&n->build, "shr.u32", at, at, ptx_int(4));
    ptx_emit(&n->build, "and.b32", at, at, ptx_int(0x3fff));
    ptx_emit(&n->build, "cvt.u64.u32", to, at);
    ptx_emit(&n->build, "or.b64", to, to, ptx_int((int64_t)fixed));
}

/* --- products --- */

static const char *product_mnemonic(struct nvptx *n, const struct thread_operation *op, int words)
{
    const struct target_warpgroup_unit *u =
        target_warpgroup_unit_of(op->types[1], op->types[2], op->types[0]);
    return arena_printf(n->arena, "wgmma.mma_async.sync.aligned.m64n%dk%d.%s.%s.%s", 2 * words,
                        u->k, matrix_type(u->sum), matrix_type(u->a), matrix_type(u->b));
}

/* After the predicate come the signs of both factors, unless they are integers, and for factors of 16 bits whether
 * each is read across its rows; a left factor in registers is not. */
static void product(struct nvptx *n, const struct thread_operation *op)
{
    enum { MOST = 8 };
    const struct thread_operand *o = op->operands.data;
    const struct nvptx_registers *sums = nvptx_registers_of(n, op->results.data[0]);
    const bool from = op->op == THREAD_PRODUCT_FROM;
    struct ptx_operand all[MOST];
    size_t count = 0;
    assert(nvptx_registers_of(n, o[0].value) == sums &&
           "sums are live after a product has taken them");
    all[count++] = ptx_vector(&n->build, sums->word, sums->words);
    all[count++] = from ? ptx_vector(&n->build, nvptx_registers_of(n, o[1].value)->word, 4)
                        : nvptx_scalar(n, &o[1], DT_U64);
    all[count++] = nvptx_scalar(n, &o[2], DT_U64);
    all[count++] = nvptx_scalar(n, &o[3], DT_BOOL);
    for (int i = 0; i < 2 && dtype_is_float(op->types[1]); i++)
        all[count++] = ptx_int(1);
    const bool halves = dtype_size(op->types[1]) == 2;
    if (halves && !from)
        all[count++] = ptx_int(o[4].integer >> 1);
    if (halves)
        all[count++] = ptx_int(o[4].integer & 1);
    const char *mnemonic = product_mnemonic(n, op, sums->words);
    ptx_emit_list(&n->build, mnemonic, NULL, all, count);
}

/* No instruction, unless the sums are needed elsewhere, too. */
static void begin(struct nvptx *n, const struct thread_operation *op)
{
    const struct nvptx_registers *to = nvptx_registers_of(n, op->results.data[0]);
    const struct nvptx_registers *from = nvptx_registers_of(n, op->operands.data[0].value);
    for (uint16_t w = 0; w < to->words && to != from; w++)
        nvptx_set(n, nvptx_word_type(op->types[0]), to->word[w], from->word[w]);
}

static const char *plain(const struct nvptx *n, enum thread_opcode op)
{
    switch (op) {
    case THREAD_GRID_WAIT: return "griddepcontrol.wait";
    case THREAD_GRID_LAUNCH: return "griddepcontrol.launch_dependents";
    case THREAD_FENCE_MBARRIER_INIT: return "fence.mbarrier_init.release.cluster";
    case THREAD_FENCE_ASYNC: /* of a cluster: stores to another block's memory, too */
        return n->function->cluster[0] ? "fence.proxy.async.shared::cluster"
                                       : "fence.proxy.async.shared::cta";
    case THREAD_FENCE_ASYNC_GLOBAL: return "fence.proxy.async.global";
    case THREAD_COPY_OUT_COMMIT: return "cp.async.bulk.commit_group";
    case THREAD_COPY_ASYNC_COMMIT: return "cp.async.commit_group";
    case THREAD_PRODUCT_FENCE: return "wgmma.fence.sync.aligned";
    case THREAD_PRODUCT_COMMIT: return "wgmma.commit_group.sync.aligned";
    default: return NULL;
    }
}

static const char *counted(enum thread_opcode op)
{
    switch (op) {
    case THREAD_COPY_OUT_WAIT: return "cp.async.bulk.wait_group";
    case THREAD_COPY_ASYNC_WAIT: return "cp.async.wait_group";
    case THREAD_COPY_OUT_WAIT_READ: return "cp.async.bulk.wait_group.read";
    case THREAD_PRODUCT_WAIT:
    case THREAD_PRODUCT_WAIT_READ: return "wgmma.wait_group.sync.aligned";
    default: return NULL;
    }
}

void nvptx_act(struct nvptx *n, const struct thread_operation *op)
{
    const struct thread_operand *o = op->operands.data;
    if (plain(n, op->op)) {
        nvptx_guarded(n, ptx_emit_plain(&n->build, plain(n, op->op)));
        return;
    }
    const bool all = op->op == THREAD_COPY_ASYNC_WAIT && o[0].integer == 0;
    if (all) {
        nvptx_guarded(n, ptx_emit_plain(&n->build, "cp.async.wait_all"));
        return;
    }
    if (counted(op->op)) {
        nvptx_guarded(
            n, ptx_emit(&n->build, counted(op->op), ptx_int(o[op->operands.count - 1].integer)));
        return;
    }
    if (thread_is_atomic(op->op)) {
        atomic(n, op);
        return;
    }
    switch (op->op) {
    case THREAD_CLUSTER_SYNC:
        ptx_emit_plain(&n->build, "barrier.cluster.arrive.release");
        ptx_emit_plain(&n->build, "barrier.cluster.wait.acquire");
        break;
    case THREAD_PEER: find_peer(n, op); break;
    case THREAD_LOAD_MATRIX: load_matrix(n, op); break;
    case THREAD_CACHE_POLICY: cache_policy(n, op); break;
    case THREAD_COPY_ASYNC: copy_async(n, op); break;
    case THREAD_MMA: mma(n, op); break;
    case THREAD_LOCK:
    case THREAD_UNLOCK: lock(n, op); break;
    case THREAD_BARRIER:
    case THREAD_BARRIER_ARRIVE: barrier(n, op); break;
    case THREAD_WARP_SYNC: ptx_emit(&n->build, "bar.warp.sync", ptx_int(-1)); break;
    case THREAD_MBARRIER_WAIT:
    case THREAD_MBARRIER_ACQUIRE: wait(n, op); break;
    case THREAD_MBARRIER_INIT:
    case THREAD_MBARRIER_EXPECT:
    case THREAD_MBARRIER_ARRIVE_PEER:
    case THREAD_MBARRIER_RELEASE_PEER:
    case THREAD_MBARRIER_ARRIVE: on_mbarrier(n, op); break;
    case THREAD_PREFETCH_MAP:
        ptx_emit(&n->build, "prefetch.tensormap", ptx_at(nvptx_scalar(n, &o[0], DT_NONE), 0));
        break;
    case THREAD_COPY_IN: copy_in(n, op); break;
    case THREAD_COPY_IN_MULTICAST: copy_in_multicast(n, op); break;
    case THREAD_COPY_OUT: copy_out(n, op); break;
    case THREAD_STORE_MATRIX: store_matrix(n, op); break;
    case THREAD_DESCRIPTOR: descriptor(n, op); break;
    case THREAD_PRODUCT:
    case THREAD_PRODUCT_FROM: product(n, op); break;
    case THREAD_PRODUCT_BEGIN: begin(n, op); break;
    default:
        if (thread_is_access(op->op))
            load_or_store(n, op);
        else if (thread_is_printing(op->op))
            nvptx_print(n, op);
        else
            nvptx_compute(n, op);
        break;
    }
}
