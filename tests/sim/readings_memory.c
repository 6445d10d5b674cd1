/* Instructions that move data. Each thread has 32 bytes of operands to read in every space (global:
 * %dgiven, shared: %rgiven, local: %dgiven_local, constant: %dfixed, the parameter `words`), and 32
 * bytes to write in shared and local memory; in global memory it writes to its reading.
 *
 * Orders, scopes and cache operations are not tried: they change no value of a single thread. */
#include "readings_maker.h"

#include "ptx/ptx_fragments.h"

#include <stdio.h>
#include <string.h>

enum { PLACE = 32, MOST_ELEMENTS = 8, MOST_SUFFIX = 32 };

/* --- places --- */

void maker_constants(struct text *out)
{
    static uint64_t operands[READING_CLASSES * READING_OPERANDS * READING_THREADS];
    readings_operands(operands);
    text_printf(out, ".const .align %d .b64 fixed[%d] = {", PLACE, READING_THREADS * PLACE / 8);
    for (int i = 0; i < READING_THREADS * PLACE / 8; i++)
        text_printf(out, "%s%s0x%llx", i ? "," : "", i % 8 ? "" : "\n",
                    (unsigned long long)operands[i]);
    text_add(out, "};\n");
}

void maker_places(struct text *out)
{
    text_printf(
        out,
        "    .reg .b64 %%dgiven, %%dgiven_local, %%dtaken_local, %%dfixed, %%dwarp, %%dspare<4>;\n"
        "    .reg .b32 %%rgiven, %%rtaken, %%rrow, %%rrow_taken, %%rwarp, %%rspare;\n"
        "    .shared .align 32 .b8 given[%d];\n    .shared .align 32 .b8 taken[%d];\n"
        "    .local .align 32 .b8 given_local[%d];\n    .local .align 32 .b8 taken_local[%d];\n",
        READING_THREADS * PLACE, READING_THREADS * PLACE, PLACE, PLACE);
    text_add(out,
             "    ld.param.u64 %dgiven, [operands];\n"
             "    and.b32 %rwarp, %rtid, -32;\n"
             "    mad.wide.u32 %dwarp, %rwarp, 64, %dgiven;\n"
             "    mad.wide.u32 %dgiven, %rtid, 32, %dgiven;\n"
             "    mov.u64 %dgiven_local, given_local;\n    mov.u64 %dtaken_local, taken_local;\n"
             "    mov.u64 %dfixed, fixed;\n    mad.wide.u32 %dfixed, %rtid, 32, %dfixed;\n"
             "    mov.u32 %rgiven, given;\n    mov.u32 %rtaken, taken;\n"
             /* rows of matrices: 16 bytes a lane, 1024 a warp */
             "    shl.b32 %rrow, %rwarp, 4;\n    mad.lo.u32 %rrow, %rtid, 16, %rrow;\n"
             "    add.u32 %rrow_taken, %rrow, %rtaken;\n    add.u32 %rrow, %rrow, %rgiven;\n"
             "    mad.lo.u32 %rgiven, %rtid, 32, %rgiven;\n"
             "    mad.lo.u32 %rtaken, %rtid, 32, %rtaken;\n");
    for (int at = 0; at < PLACE; at += 8)
        text_printf(
            out,
            "    ld.global.b64 %%dspare0, [%%dgiven+%d];\n"
            "    st.shared.b64 [%%rgiven+%d], %%dspare0;\n    st.shared.b64 [%%rtaken+%d], 0;\n"
            "    st.local.b64 [%%dgiven_local+%d], %%dspare0;\n    st.local.b64 "
            "[%%dtaken_local+%d], 0;\n",
            at, at, at, at, at);
    text_add(out, "    bar.sync 0;\n");
}

static bool is_shared(enum ptx_mod space)
{
    return space == MOD_SHARED || space == MOD_SHARED_CTA || space == MOD_SHARED_CLUSTER;
}

/* Returns the operand from which the test's threads read in a space; "" if there is none. */
static const char *given_in(enum ptx_mod space)
{
    switch ((int)space) {
    case MOD_NONE:
    case MOD_GLOBAL: return "%dgiven";
    case MOD_SHARED:
    case MOD_SHARED_CTA:
    case MOD_SHARED_CLUSTER: return "%rgiven";
    case MOD_LOCAL: return "%dgiven_local";
    case MOD_CONST: return "%dfixed";
    case MOD_PARAM:
    case MOD_PARAM_ENTRY: return "words";
    default: return "";
    }
}

static enum ptx_mod space_of(const struct maker *m)
{
    return maker_find(m, PTX_CLASS_SPACE, 0);
}

static int elements_of(const struct maker *m)
{
    enum ptx_mod vector = maker_find(m, PTX_CLASS_VECTOR, 0);
    return vector ? ptx_mods[vector].bits : 1;
}

/* --- vectors of registers --- */

struct vector {
    char name[MOST_ELEMENTS][MOST_NAME];
    int count, bits;
};

static void add_fragment(struct text *line, const struct vector *v)
{
    for (int i = 0; i < v->count; i++)
        text_printf(line, "%s%s", i ? ", " : "{", v->name[i]);
    text_add(line, "}");
}

/* A single register has no braces. */
static void add_vector(struct text *line, const struct vector *v)
{
    if (v->count == 1)
        text_add(line, v->name[0]);
    else
        add_fragment(line, v);
}

static struct vector new_vector(struct maker *m, int count, int bits)
{
    struct vector v = {.count = count, .bits = bits};
    for (int i = 0; i < count; i++)
        maker_register(m, bits, v.name[i]);
    return v;
}

static struct vector loaded_vector(struct maker *m, int class, int count, int bits)
{
    struct vector v = {.count = count, .bits = bits};
    for (int i = 0; i < count; i++)
        maker_load(m, class, bits, v.name[i]);
    return v;
}

/* Stores the registers to a reading of their own, one after the other. */
static void keep_vector(struct maker *m, const char *suffix, const struct vector *v,
                        enum ptx_mod type)
{
    size_t at = maker_reading(m, suffix, v->count * v->bits / 8, type);
    for (int i = 0; i < v->count; i++)
        if (v->bits == 128)
            text_printf(&m->body,
                        "    mov.b128 {%%dspare0, %%dspare1}, %s;\n"
                        "    st.global.v2.b64 [%%dat+%zu], {%%dspare0, %%dspare1};\n",
                        v->name[i], at + (size_t)i * 16);
        else
            text_printf(&m->body, "    st.global.b%d [%%dat+%zu], %s;\n", v->bits,
                        at + (size_t)(i * v->bits / 8), v->name[i]);
}

/* Copies the bytes of a place in a space to a reading. */
static void keep_place(struct maker *m, const char *suffix, const char *space, const char *address,
                       int bytes, enum ptx_mod type)
{
    size_t at = maker_reading(m, suffix, bytes, type);
    int piece = bytes < 8 ? bytes : 8;
    struct vector v = new_vector(m, 1, piece == 1 ? 16 : piece * 8);
    for (int i = 0; i < bytes; i += piece)
        text_printf(&m->body, "    ld.%s.b%d %s, [%s+%d];\n    st.global.b%d [%%dat+%zu], %s;\n",
                    space, piece * 8, v.name[0], address, i, piece * 8, at + (size_t)i, v.name[0]);
}

/* --- ld, ldu, st --- */

static bool is_float(enum ptx_mod t)
{
    return ptx_mods[t].class == PTX_CLASS_FLOAT;
}

/* Returns true if a type's values may use registers of this width: the type's own width, and in
 * two spaces wider ones too. */
static bool takes_width(const struct maker *m, enum ptx_mod type, int bits)
{
    int least = ptx_mods[type].bits < 16 ? 16 : ptx_mods[type].bits;
    enum ptx_mod space = space_of(m);
    return bits == least || (bits > least && bits <= 64 && !is_float(type) &&
                             (space == MOD_GLOBAL || space == MOD_SHARED));
}

static void take_load(struct maker *m, enum ptx_mod type, int bits)
{
    struct vector v = new_vector(m, elements_of(m), bits);
    struct text line;
    char suffix[MOST_SUFFIX];
    snprintf(suffix, sizeof suffix, "b%d", bits);
    text_init(&line, m->r->arena);
    text_add(&line, " ");
    add_vector(&line, &v);
    text_printf(&line, ", [%s]", given_in(space_of(m)));
    maker_line(m, line.data);
    keep_vector(m, suffix, &v, type);
}

static void take_store(struct maker *m, enum ptx_mod type, int bits)
{
    struct vector v = loaded_vector(m, INTEGERS, elements_of(m), bits);
    enum ptx_mod space = space_of(m);
    int bytes = v.count * ptx_mods[type].bits / 8;
    struct text line;
    char suffix[MOST_SUFFIX];
    snprintf(suffix, sizeof suffix, "b%d", bits);
    text_init(&line, m->r->arena);
    if (!space || space == MOD_GLOBAL)
        text_printf(&line, " [%%dat+%zu], ", maker_reading(m, suffix, bytes, type));
    else
        text_printf(&line, " [%s], ", is_shared(space) ? "%rtaken" : "%dtaken_local");
    add_vector(&line, &v);
    maker_line(m, line.data);
    if (is_shared(space))
        keep_place(m, suffix, "shared", "%rtaken", bytes, type);
    else if (space == MOD_LOCAL)
        keep_place(m, suffix, "local", "%dtaken_local", bytes, type);
}

static void take_access(struct maker *m)
{
    enum ptx_mod type = maker_type(m, 0);
    for (int bits = 16; bits <= 128; bits *= 2) {
        if (!takes_width(m, type, bits))
            continue;
        if (m->form->op == PTX_ST)
            take_store(m, type, bits);
        else
            take_load(m, type, bits);
    }
}

/* Returns true for no order, no scope, and no cache operation except .nc. */
static bool is_plain(const struct maker *m)
{
    for (size_t i = 0; i < m->count; i++) {
        int class = ptx_mods[m->mods[i]].class;
        if (class == PTX_CLASS_ORDER || class == PTX_CLASS_SCOPE || m->mods[i] == MOD_MMIO ||
            (class == PTX_CLASS_CACHE && m->mods[i] != MOD_NC))
            return false;
    }
    return true;
}

/* Returns true if a row of the table before this one has made this instruction, because rows
 * overlap. */
static bool is_taken(const struct maker *m)
{
    const struct readings *r = m->r;
    for (size_t i = 0; i < r->instructions.count; i++)
        if (strcmp(r->instructions.data[i], m->head) == 0)
            return true;
    return false;
}

static bool is_access(const struct maker *m)
{
    enum ptx_mod space = space_of(m);
    if (!is_plain(m))
        return false;
    if (m->form->op == PTX_ST)
        return !space || space == MOD_GLOBAL || space == MOD_LOCAL || is_shared(space);
    return (m->form->op == PTX_LD || m->form->op == PTX_LDU) && *given_in(space);
}

/* --- ldmatrix, stmatrix --- */

static void add_row(struct maker *m, struct text *line, const char *row)
{
    if (!space_of(m)) {
        text_printf(&m->body,
                    "    cvt.u64.u32 %%dspare0, %s;\n    cvta.shared.u64 %%dspare0, %%dspare0;\n",
                    row);
        row = "%dspare0";
    }
    text_printf(line, "[%s]", row);
}

static void take_matrices(struct maker *m)
{
    int count = ptx_fragment_of(m->form->op, m->mods, m->count, 'r').count;
    struct text line;
    text_init(&line, m->r->arena);
    text_add(&line, " ");
    if (m->form->op == PTX_LDMATRIX) {
        struct vector v = new_vector(m, count, 32);
        add_fragment(&line, &v);
        text_add(&line, ", ");
        add_row(m, &line, "%rrow");
        maker_line(m, line.data);
        keep_vector(m, "", &v, PTX_B32);
        return;
    }
    struct vector v = loaded_vector(m, INTEGERS, count, 32);
    add_row(m, &line, "%rrow_taken");
    text_add(&line, ", ");
    add_fragment(&line, &v);
    text_add(&m->body, "    bar.warp.sync 0xffffffff;\n");
    maker_line(m, line.data);
    /* the warp's bytes, a lane's share each; the first row is the warp's first place */
    text_printf(&m->body,
                "    bar.warp.sync 0xffffffff;\n    and.b32 %%rspare, %%rtid, 31;\n"
                "    mad.lo.s32 %%rspare, %%rspare, %d, %%rrow_taken;\n",
                4 * count - 16);
    keep_place(m, "", "shared", "%rspare", 4 * count, PTX_B32);
    text_add(&m->body, "    bar.warp.sync 0xffffffff;\n"); /* before the next write there */
}

/* --- wmma: matrices from memory, their product to memory --- */

/* Returns the name between the first modifiers and the types: "m16n16k16". */
static const char *shape_of(const struct maker *m)
{
    return ptx_mods[maker_find(m, PTX_CLASS_SHAPE, 0)].text;
}

static const char *layout_of(const struct maker *m, int nth)
{
    for (size_t i = 0; i < m->count; i++)
        if ((m->mods[i] == MOD_ROW || m->mods[i] == MOD_COL) && nth-- == 0)
            return ptx_mods[m->mods[i]].text;
    return "row";
}

/* Returns the type of D, A, B or C; .f16 of factors is not written. */
static enum ptx_mod matrix_type(const struct maker *m, char which)
{
    bool all = maker_type(m, 2) != MOD_NONE;
    switch (which) {
    case 'd': return maker_type(m, 0);
    case 'c': return maker_type(m, all ? 3 : 1);
    default: return all ? maker_type(m, which == 'a' ? 1 : 2) : PTX_F16;
    }
}

/* Writes wmma.load or wmma.store; reads the stored matrix, too. */
static void move_matrix(struct maker *m, char which, const char *layout, const struct vector *v,
                        const char *address)
{
    struct text line;
    text_init(&line, m->r->arena);
    text_printf(&line, "wmma.%s.%c.sync.aligned.%s.%s.global.%s", which == 'd' ? "store" : "load",
                which, layout, shape_of(m), ptx_mods[matrix_type(m, which)].text);
    const char *head = arena_string(m->r->arena, line.data, line.length);
    vec_push(m->r->arena, &m->r->instructions, head);
    text_add(&line, " ");
    if (which != 'd') {
        add_fragment(&line, v);
        text_printf(&line, ", [%s]", address);
    } else {
        text_printf(&line, "[%s], ", address);
        add_fragment(&line, v);
    }
    text_printf(&m->body, "    %s;\n", line.data);
}

static struct vector matrix_registers(struct maker *m, char which)
{
    struct ptx_fragment f = ptx_fragment_of(m->form->op, m->mods, m->count, which);
    return new_vector(m, f.count, ptx_mods[f.type].bits);
}

static void take_product(struct maker *m)
{
    int mm, n, k;
    struct text line;
    struct vector v[4]; /* d, a, b, c */
    ptx_shape(maker_find(m, PTX_CLASS_SHAPE, 0), &mm, &n, &k);
    text_init(&line, m->r->arena);
    for (int i = 0; i < 4; i++) {
        char which = "dabc"[i], address[64];
        v[i] = matrix_registers(m, which);
        text_add(&line, i ? ", " : " ");
        add_fragment(&line, &v[i]);
        if (which == 'd')
            continue;
        /* a warp's matrix is 2048 bytes at most; each of the three is in a third of its own */
        int at = maker_factor_class(matrix_type(m, which)) * READING_OPERANDS * READING_THREADS * 8;
        snprintf(address, sizeof address, "%%dwarp+%d", at + (which - 'a') * 4096);
        move_matrix(m, which, layout_of(m, which == 'b'), &v[i], address);
    }
    maker_line(m, line.data);
    enum ptx_mod type = matrix_type(m, 'd');
    int bytes = mm * n / 32 * ptx_mods[type].bits / 8;
    size_t at = maker_reading(m, "", bytes, type);
    text_printf(&m->body, "    mad.wide.u32 %%dspare0, %%rwarp, %d, %%dout;\n", bytes);
    char address[64];
    snprintf(address, sizeof address, "%%dspare0+%zu", at);
    move_matrix(m, 'd', layout_of(m, 1), &v[0], address);
}

/* --- atomics of shared memory, of vectors, of 16 bytes --- */

static bool is_atomic(const struct maker *m)
{
    enum ptx_mod space = space_of(m);
    bool wide = maker_has(m, PTX_B128) || maker_find(m, PTX_CLASS_VECTOR, 0);
    return (m->form->op == PTX_ATOM || m->form->op == PTX_RED) && is_plain(m) &&
           (space == MOD_SHARED || (wide && space == MOD_GLOBAL));
}

static int class_of(enum ptx_mod t)
{
    return t == PTX_F32                                           ? ANY_F32
           : t == PTX_F64                                         ? ANY_F64
           : is_float(t) || ptx_mods[t].class == PTX_CLASS_PACKED ? ANY_HALF
                                                                  : INTEGERS;
}

static void take_atomic(struct maker *m)
{
    enum ptx_mod type = maker_type(m, 0);
    int bits = ptx_mods[type].bits, count = elements_of(m), bytes = count * bits / 8;
    bool shared = space_of(m) == MOD_SHARED, old = m->form->op == PTX_ATOM;
    struct text line;
    char address[32] = "%rtaken", wide[MOST_NAME];
    size_t at = shared ? 0 : maker_reading(m, "word", bytes, type);
    if (!shared)
        snprintf(address, sizeof address, "%%dat+%zu", at);
    for (int i = 0; i * 8 < bytes; i++) {
        maker_load(m, class_of(type), bytes < 8 ? bytes * 8 : 64, wide);
        text_printf(&m->body, "    st.%s.b%d [%s+%d], %s;\n", shared ? "shared" : "global",
                    bytes < 8 ? bytes * 8 : 64, address, i * 8, wide);
    }
    text_init(&line, m->r->arena);
    struct vector given, result = {.count = 0};
    if (old) {
        result = new_vector(m, count, bits);
        text_add(&line, " ");
        add_vector(&line, &result);
    }
    text_printf(&line, "%s[%s]", old ? ", " : " ", address);
    for (int i = 0; i < 1 + maker_has(m, MOD_CAS); i++) {
        given = loaded_vector(m, class_of(type), count, bits);
        text_add(&line, ", ");
        add_vector(&line, &given);
    }
    maker_line(m, line.data);
    if (shared)
        keep_place(m, "word", "shared", "%rtaken", bytes, type);
    if (old)
        keep_vector(m, "", &result, type);
}

/* --- addresses --- */

/* Computes the address of the thread's place in a space into %dspare0: in the space, or generic. */
static void own_address(struct maker *m, enum ptx_mod space)
{
    text_printf(&m->body, "    %s %%dspare0, %s;\n", is_shared(space) ? "cvt.u64.u32" : "mov.u64",
                given_in(space));
}

static void generic_address(struct maker *m, enum ptx_mod space)
{
    own_address(m, space);
    if (space != MOD_GLOBAL)
        text_printf(&m->body, "    cvta.%s.u64 %%dspare0, %%dspare0;\n", ptx_mods[space].text);
}

/* Reads, for addresses of each space, if they are in this one. */
static void take_is_in(struct maker *m)
{
    static const enum ptx_mod spaces[] = {MOD_GLOBAL, MOD_SHARED, MOD_LOCAL, MOD_CONST, MOD_PARAM};
    for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++) {
        char suffix[MOST_SUFFIX], result[MOST_NAME];
        generic_address(m, spaces[i]);
        maker_register(m, 1, result);
        text_printf(&m->body, "    %s %s, %%dspare0;\n", m->head, result);
        snprintf(suffix, sizeof suffix, "of %s", ptx_mods[spaces[i]].text);
        maker_keep(m, suffix, 1, result, PTX_PRED);
    }
}

/* Reads the value at an address that was converted to generic, or from it. */
static void take_conversion(struct maker *m)
{
    enum ptx_mod space = space_of(m);
    char value[MOST_NAME];
    maker_register(m, 64, value);
    if (maker_has(m, MOD_TO)) {
        generic_address(m, space);
        maker_line(m, " %dspare0, %dspare0");
        text_printf(&m->body, "    ld.%s.b64 %s, [%%dspare0];\n", ptx_mods[space].text, value);
    } else {
        own_address(m, space);
        maker_line(m, " %dspare0, %dspare0");
        text_printf(&m->body, "    ld.b64 %s, [%%dspare0];\n", value);
    }
    maker_keep(m, "", 64, value, PTX_B64);
}

/* Reads the value in shared memory of the cluster's only block, and that block's number. */
static void take_block(struct maker *m)
{
    bool shared = space_of(m) == MOD_SHARED_CLUSTER, word = maker_type(m, 0) == PTX_U32;
    char value[MOST_NAME];
    maker_register(m, m->form->op == PTX_MAPA ? 64 : 32, value);
    generic_address(m, MOD_SHARED);
    if (shared)
        text_add(&m->body, "    cvt.u64.u32 %dspare0, %rgiven;\n");
    text_add(&m->body, "    cvt.u32.u64 %rspare, %dspare0;\n");
    const char *address = word ? "%rspare" : "%dspare0";
    m->spoilt = !shared && word; /* a generic address has 64 bits */
    if (m->form->op == PTX_GETCTARANK) {
        text_printf(&m->body, "    %s %s, %s;\n", m->head, value, address);
        maker_keep(m, "", 32, value, PTX_U32);
        return;
    }
    text_printf(&m->body, "    %s %s, %s, 0;\n    ld%s.b64 %s, [%s];\n", m->head, address, address,
                shared ? ".shared::cluster" : "", value, address);
    maker_keep(m, "", 64, value, PTX_B64);
}

/* --- mov --- */

static void take_pieces(struct maker *m, int whole, int part, bool packs)
{
    struct vector v =
        packs ? loaded_vector(m, INTEGERS, whole / part, part) : new_vector(m, whole / part, part);
    struct vector one = packs ? new_vector(m, 1, whole) : loaded_vector(m, INTEGERS, 1, whole);
    struct text line;
    char suffix[MOST_SUFFIX];
    snprintf(suffix, sizeof suffix, "%s %d", packs ? "pack" : "unpack", part);
    text_init(&line, m->r->arena);
    text_add(&line, " ");
    add_vector(&line, packs ? &one : &v);
    text_add(&line, ", ");
    add_vector(&line, packs ? &v : &one);
    maker_line(m, line.data);
    keep_vector(m, suffix, packs ? &one : &v, maker_type(m, 0));
}

static void take_move(struct maker *m)
{
    enum ptx_mod type = maker_type(m, 0);
    int bits = ptx_mods[type].bits;
    const struct ptx_slot *slots = m->form->slot;
    bool packs = slots[1].kind == SLOT_PACK, unpacks = slots[0].kind == SLOT_PACK;
    if (type == PTX_PRED) {
        char from[MOST_NAME], to[MOST_NAME], operands[64];
        maker_predicate(m, from);
        maker_register(m, 1, to);
        snprintf(operands, sizeof operands, " %s, %s", to, from);
        maker_line(m, operands);
        maker_keep(m, "", 1, to, type);
        return;
    }
    for (int part = bits / 2; (packs || unpacks) && part >= 16 && part >= bits / 4; part /= 2)
        take_pieces(m, bits, part, packs);
    m->spoilt = (packs || unpacks) && bits < 32;
    if (packs || unpacks)
        return;
    struct vector from = loaded_vector(m, INTEGERS, 1, bits), to = new_vector(m, 1, bits);
    char operands[64];
    snprintf(operands, sizeof operands, " %s, %s", to.name[0], from.name[0]);
    maker_line(m, operands);
    keep_vector(m, "", &to, type);
}

/* --- bar.red, barrier.red --- */

static void take_barrier(struct maker *m)
{
    char result[MOST_NAME], predicate[MOST_NAME], operands[64];
    bool counts = maker_has(m, MOD_POPC), threads = m->form->slots == 4;
    maker_predicate(m, predicate);
    maker_register(m, counts ? 32 : 1, result);
    snprintf(operands, sizeof operands, " %s, 1, %s%s", result, threads ? "256, " : "", predicate);
    maker_line(m, operands);
    maker_keep(m, threads ? "256" : "", counts ? 32 : 1, result, counts ? PTX_U32 : PTX_PRED);
}

/* --- cp.async --- */

static void take_copy(struct maker *m)
{
    const struct ptx_slot *last = &m->form->slot[3];
    int least = m->form->slot[2].low;
    for (int bytes = least; bytes <= 16; bytes *= 2)
        for (int way = 0; way < 2; way++) {
            char operands[96], more[32] = "", suffix[MOST_SUFFIX], predicate[MOST_NAME];
            if (way && last->kind == SLOT_PREDICATE) {
                maker_predicate(m, predicate);
                snprintf(more, sizeof more, ", %s", predicate);
            } else if (way) { /* after these bytes the rest becomes 0 */
                text_printf(&m->body, "    rem.u32 %%rspare, %%rtid, %d;\n", bytes + 1);
                snprintf(more, sizeof more, ", %%rspare");
            } else if (last->kind == SLOT_PREDICATE) {
                continue; /* the other form reads it */
            }
            text_add(&m->body, "    mov.b64 %dspare0, -1;\n"
                               "    st.shared.v2.b64 [%rtaken], {%dspare0, %dspare0};\n");
            snprintf(operands, sizeof operands, " [%%rtaken], [%%dgiven], %d%s", bytes, more);
            maker_line(m, operands);
            text_add(&m->body, "    cp.async.wait_all;\n");
            snprintf(suffix, sizeof suffix, "%d%s", bytes,
                     !way                           ? ""
                     : last->kind == SLOT_PREDICATE ? " ignored"
                                                    : " of fewer");
            keep_place(m, suffix, "shared", "%rtaken", 16, PTX_B64);
        }
}

/* --- choosing --- */

bool maker_is_memory(const struct maker *m)
{
    switch ((int)m->form->op) {
    case PTX_LD:
    case PTX_LDU:
    case PTX_ST: return is_access(m) && !is_taken(m);
    case PTX_ATOM:
    case PTX_RED: return is_atomic(m);
    case PTX_BAR:
    case PTX_BARRIER: return maker_has(m, MOD_RED);
    case PTX_CP_ASYNC: return is_plain(m) || maker_find(m, PTX_CLASS_CACHE, 1) == MOD_NONE;
    case PTX_ISSPACEP:
    case PTX_CVTA:
    case PTX_MAPA:
    case PTX_GETCTARANK:
    case PTX_LDMATRIX:
    case PTX_STMATRIX:
    case PTX_MOV: return true;
    case PTX_WMMA_MMA: /* other roundings of f64 are not simulated */
        return !maker_has(m, MOD_RZ) && !maker_has(m, MOD_RM) && !maker_has(m, MOD_RP);
    default: return false;
    }
}

void maker_take_memory(struct maker *m)
{
    switch ((int)m->form->op) {
    case PTX_ATOM:
    case PTX_RED: take_atomic(m); break;
    case PTX_BAR:
    case PTX_BARRIER: take_barrier(m); break;
    case PTX_CP_ASYNC: take_copy(m); break;
    case PTX_ISSPACEP: take_is_in(m); break;
    case PTX_CVTA: take_conversion(m); break;
    case PTX_MAPA:
    case PTX_GETCTARANK: take_block(m); break;
    case PTX_LDMATRIX:
    case PTX_STMATRIX: take_matrices(m); break;
    case PTX_WMMA_MMA: take_product(m); break;
    case PTX_MOV: take_move(m); break;
    default: take_access(m); break;
    }
}
