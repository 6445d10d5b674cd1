#include "readings_maker.h"

#include "ptx/ptx_fragments.h"

#include <stdio.h>
#include <string.h>

/* --- operands --- */

static uint64_t mixed(uint64_t *state) /* splitmix64 */
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static uint64_t drawn(uint64_t *state, const uint64_t *special, size_t count, uint64_t ordinary)
{
    uint64_t z = mixed(state);
    return z % 3 == 0 ? special[(z >> 8) % count] : ordinary;
}

#define SPECIAL(array) array, sizeof array / sizeof *array

static uint64_t integer(uint64_t *s)
{
    static const uint64_t special[] = {0,
                                       1,
                                       2,
                                       3,
                                       0x7f,
                                       0x80,
                                       0xff,
                                       0x7fff,
                                       0x8000,
                                       0xffff,
                                       0x10000,
                                       0x7fffffff,
                                       0x80000000,
                                       0xffffffff,
                                       0x100000000,
                                       0xffffffff80000000,
                                       0x7fffffffffffffff,
                                       0x8000000000000000,
                                       0xffffffffffffffff,
                                       0x8000000080000000,
                                       0x7fff80007fff8000,
                                       0xff00ff0080018001};
    uint64_t any = mixed(s);
    return drawn(s, SPECIAL(special), any % 4 ? any : any >> (any >> 8) % 60);
}

/* Returns floats with close exponents, so that sums cancel and round. */
static uint64_t f32(uint64_t *s)
{
    static const uint64_t special[] = {0,          0x80000000, 1,          0x80000001, 0x7fffff,
                                       0x800000,   0x80800000, 0x3f800000, 0xbf800000, 0x3f000000,
                                       0x3fc00000, 0x40200000, 0x7f7fffff, 0xff7fffff, 0x7f800000,
                                       0xff800000, 0x7fc00000, 0xffc00000, 0x7f800001, 0x7fffffff,
                                       0x4f000000, 0xcf000000, 0x4effffff, 0x5f000000, 0x477fe000,
                                       0x477ff000, 0x33800000, 0x387fc000, 0x43e00000, 0x47600000};
    uint64_t any = mixed(s), sign = any & 0x80000000, fraction = any & 0x7fffff;
    uint64_t exponent = any >> 62 ? 110 + (any >> 32) % 40 : (any >> 32) % 255;
    return drawn(s, SPECIAL(special), sign | exponent << 23 | fraction);
}

static uint64_t f64(uint64_t *s)
{
    static const uint64_t special[] = {0,
                                       0x8000000000000000,
                                       1,
                                       0xfffffffffffff,
                                       0x10000000000000,
                                       0x3ff0000000000000,
                                       0xbff0000000000000,
                                       0x3fe0000000000000,
                                       0x3ff8000000000000,
                                       0x7fefffffffffffff,
                                       0x7ff0000000000000,
                                       0xfff0000000000000,
                                       0x7ff8000000000000,
                                       0xfff8000000000001,
                                       0x7ff0000000000001,
                                       0x41dfffffffc00000,
                                       0xc1e0000000000000,
                                       0x43e0000000000000,
                                       0x43f0000000000000,
                                       0x47efffffefffffff,
                                       0x47f0000000000000,
                                       0x36a0000000000000,
                                       0x380fffffc0000000,
                                       0x40effc0000000000,
                                       0x4004000000000000};
    uint64_t any = mixed(s), sign = any & 0x8000000000000000, fraction = mixed(s) >> 12;
    uint64_t exponent = any % 3 ? 1000 + (any >> 32) % 50 : (any >> 32) % 2047;
    return drawn(s, SPECIAL(special), sign | exponent << 52 | fraction);
}

static uint64_t half(uint64_t *s)
{
    static const uint64_t special[] = {0,      0x8000, 1,      0x03ff, 0x0400, 0x3c00, 0xbc00,
                                       0x3800, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00, 0x7c01,
                                       0xffff, 0x3f80, 0xbf80, 0x7f80, 0xff80, 0x7fc0, 0x7f7f,
                                       0x0080, 0x007f, 0x3e00, 0x5bff, 0x7800};
    uint64_t any = mixed(s);
    return drawn(s, SPECIAL(special),
                 any % 2 ? (any >> 8 & 0x83ff) | (12 + (any >> 32) % 8) << 10 : any >> 8 & 0xffff);
}

/* Returns floats of moderate size, for sums of many products. */
static uint64_t moderate(uint64_t *s, int class)
{
    uint64_t v = mixed(s);
    switch (class) {
    case MODERATE_F16:
        return (v & 0x83ff83ff83ff83ff) | 0x3000300030003000 | (v & 0x0c000c000c000c00);
    case MODERATE_BF16: return (v & 0x80ff80ff80ff80ff) | 0x3f003f003f003f00;
    case MODERATE_F32: return (v & 0x80ffffff80ffffff) | 0x3f0000003f000000;
    case MODERATE_F64: return (v & 0x801fffffffffffff) | 0x3fe0000000000000;
    default: return v & 0xbfbfbfbfbfbfbfbf; /* e4m3, e5m2 below 2 */
    }
}

static uint64_t small(uint64_t *s)
{
    uint64_t any = mixed(s);
    return any % 8 ? (any >> 8) % 70 : any % 64 == 0 ? any >> 32 : (any >> 8) % 300;
}

void readings_operands(uint64_t *operands)
{
    uint64_t s = 1;
    for (int class = 0; class < READING_CLASSES; class ++)
        for (int i = 0; i < READING_OPERANDS * READING_THREADS; i++) {
            uint64_t v = 0;
            switch (class) {
            case INTEGERS: v = integer(&s); break;
            case ANY_F32:
                v = f32(&s);
                v |= f32(&s) << 32;
                break;
            case ANY_F64: v = f64(&s); break;
            case ANY_HALF:
                for (int k = 0; k < 4; k++)
                    v |= half(&s) << 16 * k;
                break;
            case SMALL: v = small(&s); break;
            default: v = moderate(&s, class);
            }
            *operands++ = v;
        }
}

/* --- instructions --- */

bool maker_has(const struct maker *m, enum ptx_mod mod)
{
    for (size_t i = 0; i < m->count; i++)
        if (m->mods[i] == mod)
            return true;
    return false;
}

enum ptx_mod maker_type(const struct maker *m, int nth)
{
    for (size_t i = 0; i < m->count; i++)
        if (ptx_is_type(m->mods[i]) && nth-- == 0)
            return m->mods[i];
    return MOD_NONE;
}

enum ptx_mod maker_find(const struct maker *m, int class, int nth)
{
    for (size_t i = 0; i < m->count; i++)
        if (ptx_mods[m->mods[i]].class == class && nth-- == 0)
            return m->mods[i];
    return MOD_NONE;
}

static enum ptx_mod type_of(const struct maker *m, uint16_t type)
{
    return type >= TYPE_NTH ? maker_type(m, type == TYPE_WIDE ? 0 : type - TYPE_NTH) : type;
}

int maker_bits(const struct maker *m, uint16_t type)
{
    enum ptx_mod t = type_of(m, type);
    if (type == TYPE_WIDE)
        return 2 * ptx_mods[t].bits;
    return t == MOD_PRED ? 1 : ptx_mods[t].bits;
}

/* Returns the bits of the register for a type. Bytes are kept in registers of 16 bits, except
 * for conversions from and to bf16, which accept only .b8. */
static int held_bits(const struct maker *m, uint16_t type)
{
    int bits = maker_bits(m, type);
    return bits == 8 && !maker_has(m, MOD_BF16) ? 16 : bits;
}

void maker_register(struct maker *m, int bits, char name[MOST_NAME])
{
    const char *prefix = bits == 1     ? "%p"
                         : bits == 8   ? "%b"
                         : bits == 16  ? "%h"
                         : bits == 32  ? "%r"
                         : bits == 128 ? "%q"
                                       : "%d";
    snprintf(name, MOST_NAME, "%s%d", prefix, m->names++);
}

void maker_load(struct maker *m, int class, int bits, char name[MOST_NAME])
{
    int nth = m->sources++ % READING_OPERANDS;
    size_t at = (size_t)(class * READING_OPERANDS + nth) * READING_THREADS * 8;
    char wide[MOST_NAME], other[MOST_NAME];
    if (bits == 128) {
        maker_load(m, class, 64, other);
        maker_load(m, class, 64, wide);
        maker_register(m, 128, name);
        text_printf(&m->body, "    mov.b128 %s, {%s, %s};\n", name, other, wide);
        return;
    }
    if (bits >= 16) { /* ptxas 13.0 fails with part of a 64-bit register */
        maker_register(m, bits, name);
        text_printf(&m->body, "    ld.global.b%d %s, [%%din+%zu];\n", bits, name, at);
        return;
    }
    maker_register(m, 64, wide);
    text_printf(&m->body, "    ld.global.b64 %s, [%%din+%zu];\n", wide, at);
    maker_register(m, bits, name);
    text_printf(&m->body, "    cvt.u%d.u64 %s, %s;\n", bits, name, wide);
}

static bool dtype_is_half(enum ptx_mod t)
{
    return t == PTX_F16 || t == PTX_BF16 || t == PTX_F16X2 || t == PTX_BF16X2;
}

static int class_of(const struct maker *m, const struct ptx_slot *slot, int nth)
{
    enum ptx_mod t = type_of(m, slot->type);
    enum ptx_op op = m->form->op;
    if (t == PTX_F32 || t == PTX_F32X2 || t == PTX_TF32)
        return ANY_F32;
    if (t == PTX_F64)
        return ANY_F64;
    if (dtype_is_half(t))
        return ANY_HALF;
    bool lanes = op == PTX_SHFL && nth > 0;
    return slot->type < TYPE_NTH || op == PTX_BMSK || lanes ? SMALL : INTEGERS;
}

static void load(struct maker *m, const struct ptx_slot *slot, char name[MOST_NAME])
{
    maker_load(m, class_of(m, slot, m->sources), held_bits(m, slot->type), name);
}

void maker_predicate(struct maker *m, char name[MOST_NAME])
{
    char wide[MOST_NAME];
    size_t at = (size_t)(READING_OPERANDS - 1 - m->sources++ % 2) * READING_THREADS * 8;
    maker_register(m, 64, wide);
    maker_register(m, 1, name);
    text_printf(&m->body,
                "    ld.global.b64 %s, [%%din+%zu];\n    and.b64 %s, %s, 4;\n"
                "    setp.ne.s64 %s, %s, 0;\n",
                wide, at, wide, wide, name, wide);
}

/* --- readings --- */

static const char *key_of(const struct maker *m, const char *suffix)
{
    struct text key;
    text_init(&key, m->r->arena);
    text_add(&key, m->head);
    if (m->immediate >= 0)
        text_printf(&key, " %d", m->immediate);
    if (*suffix)
        text_printf(&key, " %s", suffix);
    return key.data;
}

size_t maker_reading(struct maker *m, const char *suffix, int bytes, enum ptx_mod type)
{
    struct readings *r = m->r;
    size_t at = (r->bytes + 15) / 16 * 16;
    struct reading reading = {.key = key_of(m, suffix),
                              .op = m->form->op,
                              .bytes = bytes,
                              .type = type,
                              .offset = at,
                              .kernel = r->kernels};
    bool product = m->form->op == PTX_MMA || m->form->op == PTX_WMMA_MMA;
    reading.approximate = maker_has(m, MOD_APPROX) || maker_has(m, MOD_FULL) ||
                          (product && type != PTX_S32 && type != PTX_F64);
    vec_push(r->arena, &r->list, reading);
    r->bytes = at + (size_t)bytes * READING_THREADS;
    text_printf(&m->body, "    mad.wide.u32 %%dat, %%rtid, %d, %%dout;\n", bytes);
    return at;
}

void maker_keep(struct maker *m, const char *suffix, int bits, const char *reg, enum ptx_mod type)
{
    int bytes = bits == 1 ? 4 : bits / 8;
    size_t at = maker_reading(m, suffix, bytes, type);
    if (bits == 1)
        text_printf(&m->body, "    selp.u32 %%rtmp, 1, 0, %s;\n", reg);
    text_printf(&m->body, "    st.global.b%d [%%dat+%zu], %s;\n", bytes * 8, at,
                bits == 1 ? "%rtmp" : reg);
}

/* Stores the next result of an instruction. */
static void keep_result(struct maker *m, int bits, const char *reg, enum ptx_mod type)
{
    char suffix[MOST_NAME] = "";
    if (m->results++ > 0)
        snprintf(suffix, sizeof suffix, "#%d", m->results - 1);
    maker_keep(m, suffix, bits, reg, type);
}

/* --- kernels --- */

static void begin_kernel(struct maker *m)
{
    text_init(&m->body, m->r->arena);
    m->names = m->in_group = 0;
}

static void end_kernel(struct maker *m)
{
    struct text *out = &m->r->ptx;
    int names = m->names + 1;
    if (!m->in_group)
        return;
    text_printf(out,
                "\n.visible .entry group_%d(.param .u64 out, .param .u64 operands, .param .align "
                "32 .b8 words[%d])\n{\n"
                "    .reg .pred %%p<%d>;\n    .reg .b8 %%b<%d>;\n    .reg .b16 %%h<%d>;\n    .reg "
                ".b32 %%r<%d>;\n"
                "    .reg .b64 %%d<%d>;\n    .reg .b32 %%rtid, %%rtmp;\n"
                "    .reg .b64 %%din, %%dout, %%dat;\n"
                "    ld.param.u64 %%dout, [out];\n    ld.param.u64 %%din, [operands];\n"
                "    mov.u32 %%rtid, %%tid.x;\n    mad.wide.u32 %%din, %%rtid, 8, %%din;\n",
                m->r->kernels, READING_WORDS, names, names, names, names, names);
    if (m->memory) {
        text_printf(out, "    .reg .b128 %%q<%d>;\n", names);
        maker_places(out);
    }
    text_add(out, m->body.data);
    text_add(out, "    ret;\n}\n");
    m->r->kernels++;
    begin_kernel(m);
}

/* The state before a combination, to undo it. */
struct mark {
    size_t body, readings, bytes;
    int names;
};

static struct mark mark_of(const struct maker *m)
{
    return (struct mark){m->body.length, m->r->list.count, m->r->bytes, m->names};
}

static void take_back(struct maker *m, const struct mark *mark)
{
    m->body.length = mark->body;
    m->r->list.count = mark->readings;
    m->r->bytes = mark->bytes;
    m->names = mark->names;
}

void maker_line(struct maker *m, const char *operands)
{
    text_printf(&m->body, "    %s%s;\n", m->head, operands);
}

/* --- operands --- */

static bool is_carried(enum ptx_op op)
{
    return op == PTX_ADDC || op == PTX_SUBC || op == PTX_MADC;
}

/* Makes the carry that such an instruction takes: that of a sum of operands before it. */
static void make_carry(struct maker *m)
{
    struct ptx_slot word = {.type = PTX_U32};
    char a[MOST_NAME], b[MOST_NAME];
    load(m, &word, a);
    load(m, &word, b);
    text_printf(&m->body, "    %s.cc.u32 %%rtmp, %s, %s;\n",
                m->form->op == PTX_SUBC ? "sub" : "add", a, b);
}

int maker_factor_class(enum ptx_mod t)
{
    switch ((int)t) {
    case PTX_F16: return MODERATE_F16;
    case PTX_BF16: return MODERATE_BF16;
    case PTX_F32:
    case PTX_TF32: return MODERATE_F32;
    case PTX_F64: return MODERATE_F64;
    case MOD_E4M3:
    case MOD_E5M2: return MODERATE_BYTES;
    default: return INTEGERS;
    }
}

/* Writes the registers of a matrix: filled ones, or those that receive the sum. */
static void fragment(struct maker *m, const struct ptx_slot *slot, struct text *line)
{
    char which = (char)slot->low, name[MOST_NAME];
    struct ptx_fragment f = ptx_fragment_of(m->form->op, m->mods, m->count, which);
    enum ptx_mod t = maker_type(m, which == 'd' ? 0 : which - 'a' + 1);
    int bits = ptx_mods[f.type].bits;
    text_printf(line, "%s{", line->length == 0 ? " " : ", ");
    for (int i = 0; i < f.count; i++) {
        if (which == 'd') {
            maker_register(m, bits, name);
            memcpy(m->sum[i], name, sizeof name);
        } else {
            maker_load(m, maker_factor_class(t), bits, name);
        }
        text_printf(line, "%s%s", i ? ", " : "", name);
    }
    text_add(line, "}");
    if (which == 'd') {
        m->sums = f.count;
        m->sum_bits = bits;
        m->sum_type = t;
    }
}

/* Writes the word that an atomic operation changes: one a thread, which starts as an operand. */
static void changed_word(struct maker *m, const struct ptx_slot *slot, struct text *line)
{
    int bits = maker_bits(m, slot->type);
    char name[MOST_NAME];
    load(m, slot, name);
    size_t at = maker_reading(m, "word", bits / 8, type_of(m, slot->type));
    text_printf(&m->body, "    st.global.b%d [%%dat+%zu], %s;\n", bits, at, name);
    text_printf(line, "%s[%%dat+%zu]", line->length == 0 ? " " : ", ", at);
}

static void source(struct maker *m, const struct ptx_slot *slot, char name[MOST_NAME])
{
    enum ptx_op op = m->form->op;
    bool members = slot->type == PTX_B32 && (op == PTX_SHFL || op == PTX_VOTE || op == PTX_MATCH ||
                                             op == PTX_REDUX || op == PTX_ELECT);
    if (members)
        snprintf(name, MOST_NAME, "0xffffffff");
    else
        load(m, slot, name);
}

/* Adds the operand of a slot to the line. */
static void add_operand(struct maker *m, const struct ptx_slot *slot, struct text *line,
                        char result[2][MOST_NAME], int *results)
{
    char name[MOST_NAME] = "";
    int bits = held_bits(m, slot->type);
    switch (slot->kind) {
    case SLOT_FRAGMENT: fragment(m, slot, line); return;
    case SLOT_ADDRESS: changed_word(m, slot, line); return;
    case SLOT_DESTINATION:
        m->spoilt |= *results == 2 || bits > 64;
        if (m->spoilt)
            return;
        maker_register(m, bits, name);
        memcpy(result[(*results)++], name, sizeof name);
        break;
    case SLOT_SOURCE: source(m, slot, name); break;
    case SLOT_PREDICATE: maker_predicate(m, name); break;
    case SLOT_IMMEDIATE:
        m->immediate = slot->low + (m->choice * 37 + 27) % (slot->high - slot->low + 1);
        snprintf(name, sizeof name, "%d", m->immediate);
        break;
    default: m->spoilt = true; return; /* the test cannot choose such an operand */
    }
    text_printf(line, "%s%s",
                line->length == 0           ? " "
                : slot->flags & SLOT_JOINED ? "|"
                                            : ", ",
                name);
}

static void keep_results(struct maker *m, char result[2][MOST_NAME], int results)
{
    for (int i = 0, at = 0; i < results; i++, at++) {
        while (m->form->slot[at].kind != SLOT_DESTINATION)
            at++;
        const struct ptx_slot *slot = &m->form->slot[at];
        keep_result(m, held_bits(m, slot->type), result[i], type_of(m, slot->type));
    }
    for (int i = 0; i < m->sums; i++)
        keep_result(m, m->sum_bits, m->sum[i], m->sum_type);
}

static void take_value(struct maker *m)
{
    struct text line;
    text_init(&line, m->r->arena);
    char result[2][MOST_NAME];
    int results = 0;
    if (is_carried(m->form->op))
        make_carry(m);
    for (size_t s = 0; s < m->form->slots && !m->spoilt; s++) {
        const struct ptx_slot *slot = &m->form->slot[s];
        if (slot->when == MOD_NONE || maker_has(m, slot->when))
            add_operand(m, slot, &line, result, &results);
    }
    if (m->spoilt)
        return;
    maker_line(m, line.length ? line.data : "");
    bool carries = maker_has(m, MOD_CC),
         borrows = m->form->op == PTX_SUB || m->form->op == PTX_SUBC;
    char carry[MOST_NAME];
    if (carries) {
        maker_register(m, 32, carry);
        text_printf(&m->body, "    %s.u32 %s, 0, 0;\n", borrows ? "subc" : "addc", carry);
    }
    keep_results(m, result, results);
    if (carries)
        maker_keep(m, "carry", 32, carry, PTX_U32);
}

/* Returns true for atomics of a word in global memory, with one order and scope. Others move
 * data, or only change the order. */
static bool is_wanted(const struct maker *m)
{
    if (maker_has(m, MOD_SP) || maker_has(m, MOD_SP_ORDERED) || maker_has(m, PTX_B128) ||
        maker_has(m, MOD_L2_CACHE_HINT))
        return false;
    if (m->form->op != PTX_ATOM && m->form->op != PTX_RED)
        return true;
    enum ptx_mod space = maker_find(m, PTX_CLASS_SPACE, 0);
    return !maker_find(m, PTX_CLASS_ORDER, 0) && !maker_find(m, PTX_CLASS_SCOPE, 0) &&
           !maker_find(m, PTX_CLASS_VECTOR, 0) && (!space || space == MOD_GLOBAL);
}

/* Returns true for instructions whose results depend on their operands alone, or on those of the
 * lanes of a full warp. */
static bool is_value(enum ptx_op op)
{
    return (op >= PTX_ADD && op <= PTX_SZEXT) || op == PTX_SHFL || op == PTX_VOTE ||
           op == PTX_MATCH || op == PTX_REDUX || op == PTX_ELECT || op == PTX_MMA ||
           op == PTX_MOVMATRIX || op == PTX_ATOM || op == PTX_RED || op == PTX_ACTIVEMASK;
}

/* --- choices --- */

static void name_choice(struct maker *m)
{
    struct text head;
    text_init(&head, m->r->arena);
    text_add(&head, ptx_ops[m->form->op].name);
    for (size_t i = 0; i < m->count; i++)
        text_printf(&head, "%s%s", *ptx_mods[m->mods[i]].text == '.' ? "" : ".",
                    ptx_mods[m->mods[i]].text);
    m->head = head.data;
}

static void take_choice(struct maker *m)
{
    name_choice(m);
    bool value = is_value(m->form->op) && is_wanted(m);
    if (m->memory ? value || !maker_is_memory(m) : !value)
        return;
    m->sources = m->results = m->sums = 0;
    m->immediate = -1;
    m->spoilt = false;
    struct mark mark = mark_of(m);
    if (m->memory)
        maker_take_memory(m);
    else
        take_value(m);
    if (m->spoilt) {
        take_back(m, &mark);
        return;
    }
    vec_push(m->r->arena, &m->r->instructions, m->head);
    if (++m->in_group == READING_GROUP)
        end_kernel(m);
}

/* Tries every combination of a form's modifiers. */
static void each_choice(struct maker *m, const struct ptx_form *form)
{
    size_t choice[PTX_MOST_MODS] = {0}, groups = ptx_group_count(form), g;
    uint16_t mods[PTX_MOST_MODS];
    m->form = form;
    m->mods = mods;
    m->choice = 0;
    do {
        enum ptx_mod first = MOD_NONE;
        m->count = 0;
        for (g = 0; g < groups; g++) {
            struct ptx_group group = ptx_group_at(form, g);
            if (choice[g] >= group.count)
                continue;
            enum ptx_mod mod = group.mods[choice[g]] == MOD_SAME0 ? first : group.mods[choice[g]];
            if (!first && ptx_is_type(mod))
                first = mod;
            mods[m->count++] = (uint16_t)mod;
        }
        if (ptx_choice_has(form, mods, m->count, m->target))
            take_choice(m);
        m->choice++;
        for (g = 0; g < groups; g++) {
            struct ptx_group group = ptx_group_at(form, g);
            if (++choice[g] < (size_t)group.count + group.optional)
                break;
            choice[g] = 0;
        }
    } while (g < groups);
}

void readings_make(struct readings *r, struct arena *a, struct ptx_target target)
{
    memset(r, 0, sizeof *r);
    r->arena = a;
    text_init(&r->ptx, a);
    struct maker m = {.r = r, .target = target};
    text_printf(&r->ptx, ".version 8.8\n.target sm_%d\n.address_size 64\n", target.number);
    maker_constants(&r->ptx);
    begin_kernel(&m);
    for (int memory = 0; memory < 2; memory++) {
        m.memory = memory;
        for (size_t f = 0; f < ptx_form_count; f++)
            if (ptx_target_has(target, ptx_forms[f].target))
                each_choice(&m, &ptx_forms[f]);
        end_kernel(&m);
    }
}
