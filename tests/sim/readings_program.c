#include "readings_program.h"

#include "base/text.h"
#include "ptx/ptx_fragments.h"

#include <stdio.h>
#include <string.h>

/* Kinds of operands, 64 bits each: pairs of f32, four halves (f16 and bf16 alike), … */
enum {
    INTEGERS,
    ANY_F32,
    ANY_F64,
    ANY_HALF,
    SMALL, /* of shifts, lanes */
    MODERATE_F16,
    MODERATE_BF16,
    MODERATE_F32,
    MODERATE_F64,
    MODERATE_BYTES
};

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

/* Floats near others: exponents that meet, so that sums cancel and round. */
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

/* Floats of moderate size, for sums of many products. */
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

struct maker {
    struct readings *r;
    struct ptx_target target;
    const struct ptx_form *form;
    const uint16_t *mods;
    size_t count;
    int names; /* of registers: so many were taken */
    int in_group;
    int sources, choice;
    /* of mma: registers of the sum; of atomics: where the word is */
    char sum[16][16];
    int sums, sum_bits;
    enum ptx_mod sum_type;
    size_t word;
    bool has_word;
    struct text body; /* of the group */
};

static bool has(const struct maker *m, enum ptx_mod mod)
{
    for (size_t i = 0; i < m->count; i++)
        if (m->mods[i] == mod)
            return true;
    return false;
}

static enum ptx_mod nth_type(const struct maker *m, int nth)
{
    for (size_t i = 0; i < m->count; i++)
        if (ptx_is_type(m->mods[i]) && nth-- == 0)
            return m->mods[i];
    return MOD_NONE;
}

static int bits_of(const struct maker *m, uint16_t type)
{
    if (type == TYPE_WIDE)
        return 2 * ptx_mods[nth_type(m, 0)].bits;
    enum ptx_mod t = type >= TYPE_NTH ? nth_type(m, type - TYPE_NTH) : type;
    return t == MOD_PRED ? 1 : ptx_mods[t].bits;
}

static enum ptx_mod type_of(const struct maker *m, uint16_t type)
{
    return type >= TYPE_NTH ? nth_type(m, type == TYPE_WIDE ? 0 : type - TYPE_NTH) : type;
}

static const char *prefix_of(int bits)
{
    return bits == 1 ? "%p" : bits == 8 ? "%b" : bits == 16 ? "%h" : bits == 32 ? "%r" : "%d";
}

/* Bytes are kept in registers of 16 bits, but for conversions from and to bf16: those take .b8 alone. */
static int held_bits(const struct maker *m, uint16_t type)
{
    int bits = bits_of(m, type);
    return bits == 8 && !has(m, MOD_BF16) ? 16 : bits;
}

static bool is_half(enum ptx_mod t)
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
    if (is_half(t))
        return ANY_HALF;
    bool lanes = op == PTX_SHFL && nth > 0;
    return slot->type < TYPE_NTH || op == PTX_BMSK || lanes ? SMALL : INTEGERS;
}

/* A register with the next operand of a class in it. */
static void load_bits(struct maker *m, int class, int bits, char name[16])
{
    int nth = m->sources++ % READING_OPERANDS, wide = m->names++;
    size_t at = (size_t)(class * READING_OPERANDS + nth) * READING_THREADS * 8;
    text_printf(&m->body, "    ld.global.b64 %%d%d, [%%din+%zu];\n", wide, at);
    snprintf(name, 16, "%s%d", prefix_of(bits), wide);
    if (bits < 64)
        text_printf(&m->body, "    cvt.u%d.u64 %s, %%d%d;\n", bits, name, wide);
}

static void load(struct maker *m, const struct ptx_slot *slot, char name[16])
{
    load_bits(m, class_of(m, slot, m->sources), held_bits(m, slot->type), name);
}

static void predicate(struct maker *m, char name[16])
{
    int wide = m->names++;
    size_t at = (size_t)(READING_OPERANDS - 1 - m->sources++ % 2) * READING_THREADS * 8;
    text_printf(&m->body,
                "    ld.global.b64 %%d%d, [%%din+%zu];\n    and.b64 %%d%d, %%d%d, 4;\n"
                "    setp.ne.s64 %%p%d, %%d%d, 0;\n",
                wide, at, wide, wide, wide, wide);
    snprintf(name, 16, "%%p%d", wide);
}

/* A new reading; where it goes. */
static size_t add_reading(struct maker *m, const char *name, int bytes, enum ptx_mod type)
{
    struct readings *r = m->r;
    size_t at = (r->bytes + 15) / 16 * 16;
    struct reading reading = {.name = name,
                              .op = m->form->op,
                              .bytes = bytes,
                              .type = type,
                              .offset = at,
                              .kernel = r->kernels};
    reading.approximate = has(m, MOD_APPROX) || has(m, MOD_FULL) ||
                          (m->form->op == PTX_MMA && type != PTX_S32 && type != PTX_F64);
    vec_push(r->arena, &r->list, reading);
    r->bytes = at + (size_t)bytes * READING_THREADS;
    return at;
}

static void keep(struct maker *m, const char *name, int bits, const char *reg, enum ptx_mod type)
{
    int bytes = bits == 1 ? 4 : bits / 8;
    size_t at = add_reading(m, name, bytes, type);
    text_printf(&m->body, "    mad.wide.u32 %%dat, %%rtid, %d, %%dout;\n", bytes);
    if (bits == 1)
        text_printf(&m->body, "    selp.u32 %%rtmp, 1, 0, %s;\n", reg);
    text_printf(&m->body, "    st.global.b%d [%%dat+%zu], %s;\n", bytes * 8, at,
                bits == 1 ? "%rtmp" : reg);
}

static bool is_carried(enum ptx_op op)
{
    return op == PTX_ADDC || op == PTX_SUBC || op == PTX_MADC;
}

/* The carry that such an instruction takes: of a sum of operands before it. */
static void make_carry(struct maker *m)
{
    struct ptx_slot word = {.type = PTX_U32};
    char a[16], b[16];
    load(m, &word, a);
    load(m, &word, b);
    text_printf(&m->body, "    %s.cc.u32 %%rtmp, %s, %s;\n",
                m->form->op == PTX_SUBC ? "sub" : "add", a, b);
}

static void begin_group(struct maker *m)
{
    text_init(&m->body, m->r->arena);
    m->names = m->in_group = 0;
}

static void end_group(struct maker *m)
{
    if (!m->in_group)
        return;
    struct text *out = &m->r->ptx;
    text_printf(out,
                "\n.visible .entry group_%d(.param .u64 out, .param .u64 operands)\n{\n"
                "    .reg .pred %%p<%d>;\n    .reg .b8 %%b<%d>;\n    .reg .b16 %%h<%d>;\n    .reg "
                ".b32 %%r<%d>;\n"
                "    .reg .b64 %%d<%d>;\n    .reg .b32 %%rtid, %%rtmp;\n"
                "    .reg .b64 %%din, %%dout, %%dat;\n"
                "    ld.param.u64 %%dout, [out];\n    ld.param.u64 %%din, [operands];\n"
                "    mov.u32 %%rtid, %%tid.x;\n    mad.wide.u32 %%din, %%rtid, 8, %%din;\n",
                m->r->kernels, m->names + 1, m->names + 1, m->names + 1, m->names + 1,
                m->names + 1);
    text_add(out, m->body.data);
    text_add(out, "    ret;\n}\n");
    m->r->kernels++;
    begin_group(m);
}

/* Registers of a matrix, filled or, for the sum, to be filled. */
static void fragment(struct maker *m, const struct ptx_slot *slot, struct text *line)
{
    char which = (char)slot->low, name[16];
    struct ptx_fragment f = ptx_fragment_of(m->form->op, m->mods, m->count, which);
    enum ptx_mod t = nth_type(m, which == 'd' ? 0 : which - 'a' + 1);
    int bits = ptx_mods[f.type].bits, class = INTEGERS;
    if (t == PTX_F16 || t == PTX_BF16)
        class = t == PTX_F16 ? MODERATE_F16 : MODERATE_BF16;
    else if (t == PTX_F32 || t == PTX_TF32)
        class = MODERATE_F32;
    else if (t == PTX_F64)
        class = MODERATE_F64;
    else if (t == MOD_E4M3 || t == MOD_E5M2)
        class = MODERATE_BYTES;
    text_printf(line, "%s{", line->length == 0 ? " " : ", ");
    for (int i = 0; i < f.count; i++) {
        if (which == 'd')
            snprintf(name, sizeof name, "%s%d", prefix_of(bits), m->names++);
        else
            load_bits(m, class, bits, name);
        if (which == 'd')
            memcpy(m->sum[i], name, sizeof name);
        text_printf(line, "%s%s", i ? ", " : "", name);
    }
    text_add(line, "}");
    if (which == 'd') {
        m->sums = f.count;
        m->sum_bits = bits;
        m->sum_type = t;
    }
}

/* The word that an atomic operation changes: one a thread, with an operand in it at first. */
static void changed_word(struct maker *m, const struct ptx_slot *slot, struct text *line)
{
    int bits = bits_of(m, slot->type), bytes = bits / 8;
    char name[16];
    load(m, slot, name);
    m->word = add_reading(m, "", bytes, type_of(m, slot->type));
    m->has_word = true;
    text_printf(&m->body,
                "    mad.wide.u32 %%dat, %%rtid, %d, %%dout;\n    st.global.b%d [%%dat+%zu], %s;\n",
                bytes, bits, m->word, name);
    text_printf(line, "%s[%%dat+%zu]", line->length == 0 ? " " : ", ", m->word);
}

/* What stands for a slot, behind what is there already. False: such an operand is not ours to choose. */
static bool add_operand(struct maker *m, const struct ptx_slot *slot, struct text *line,
                        char result[2][16], int *results)
{
    char name[16] = "";
    if (slot->when != MOD_NONE && !has(m, slot->when))
        return true;
    switch (slot->kind) {
    case SLOT_FRAGMENT: fragment(m, slot, line); return true;
    case SLOT_ADDRESS: changed_word(m, slot, line); return true;
    case SLOT_DESTINATION: {
        int bits = held_bits(m, slot->type);
        if (*results == 2 || bits > 64)
            return false;
        snprintf(name, sizeof name, "%s%d", prefix_of(bits), m->names++);
        memcpy(result[(*results)++], name, sizeof name);
        break;
    }
    case SLOT_SOURCE: {
        enum ptx_op op = m->form->op;
        bool members =
            slot->type == PTX_B32 && (op == PTX_SHFL || op == PTX_VOTE || op == PTX_MATCH ||
                                      op == PTX_REDUX || op == PTX_ELECT);
        if (members)
            snprintf(name, sizeof name, "0xffffffff");
        else
            load(m, slot, name);
        break;
    }
    case SLOT_PREDICATE: predicate(m, name); break;
    case SLOT_IMMEDIATE:
        snprintf(name, sizeof name, "%d",
                 slot->low + (m->choice * 37 + 27) % (slot->high - slot->low + 1));
        break;
    default: return false;
    }
    text_printf(line, "%s%s",
                line->length == 0           ? " "
                : slot->flags & SLOT_JOINED ? "|"
                                            : ", ",
                name);
    return true;
}

static void take(struct maker *m)
{
    struct arena *a = m->r->arena;
    struct text line, head;
    text_init(&line, a);
    text_init(&head, a);
    char result[2][16];
    int results = 0;
    size_t mark = m->body.length;
    int names = m->names;
    m->sources = m->sums = 0;
    m->has_word = false;
    if (is_carried(m->form->op))
        make_carry(m);
    for (size_t s = 0; s < m->form->slots.count; s++)
        if (!add_operand(m, &m->form->slots.list[s], &line, result, &results)) {
            m->body.length = mark; /* not one of these */
            m->names = names;
            return;
        }
    text_add(&head, ptx_ops[m->form->op].name);
    for (size_t i = 0; i < m->count; i++)
        text_printf(&head, "%s%s", *ptx_mods[m->mods[i]].text == '.' ? "" : ".",
                    ptx_mods[m->mods[i]].text);
    text_printf(&m->body, "    %s%s;\n", head.data, line.data);
    bool carries = has(m, MOD_CC);
    if (carries)
        text_printf(&m->body, "    %s.u32 %%r%d, 0, 0;\n",
                    m->form->op == PTX_SUB || m->form->op == PTX_SUBC ? "subc" : "addc", m->names);
    for (int i = 0, at = 0; i < results; i++, at++) {
        while (m->form->slots.list[at].kind != SLOT_DESTINATION)
            at++;
        const struct ptx_slot *slot = &m->form->slots.list[at];
        keep(m, head.data, held_bits(m, slot->type), result[i], type_of(m, slot->type));
    }
    for (int i = 0; i < m->sums; i++)
        keep(m, head.data, m->sum_bits, m->sum[i], m->sum_type);
    if (m->has_word)
        m->r->list.data[m->r->list.count - (size_t)results - 1].name = head.data;
    if (carries) {
        snprintf(result[0], sizeof result[0], "%%r%d", m->names++);
        keep(m, head.data, 32, result[0], PTX_U32);
    }
    if (++m->in_group == READING_GROUP)
        end_group(m);
}

/* Of atomics one order and scope, in global memory, word by word; sparse matrices are left out. */
static bool is_wanted(const struct maker *m)
{
    for (size_t i = 0; i < m->count; i++) {
        enum ptx_mod mod = m->mods[i];
        int class = ptx_mods[mod].class;
        if (mod == MOD_SP || mod == MOD_SP_ORDERED || mod == PTX_B128 || mod == MOD_L2_CACHE_HINT)
            return false;
        if (m->form->op != PTX_ATOM && m->form->op != PTX_RED)
            continue;
        if (class == PTX_CLASS_ORDER || class == PTX_CLASS_SCOPE || class == PTX_CLASS_VECTOR ||
            (class == PTX_CLASS_SPACE && mod != MOD_GLOBAL))
            return false;
    }
    return true;
}

/* Every choice of a form's modifiers. */
static void each_choice(struct maker *m, const struct ptx_form *form)
{
    size_t choice[PTX_MOST_MODS] = {0}, groups = form->groups.count, g;
    uint16_t mods[PTX_MOST_MODS];
    m->form = form;
    m->mods = mods;
    m->choice = 0;
    do {
        enum ptx_mod first = MOD_NONE;
        m->count = 0;
        for (g = 0; g < groups; g++) {
            const struct ptx_group *group = &form->groups.list[g];
            if (choice[g] >= group->count)
                continue;
            enum ptx_mod mod = group->mods[choice[g]] == MOD_SAME0 ? first : group->mods[choice[g]];
            if (!first && ptx_is_type(mod))
                first = mod;
            mods[m->count++] = (uint16_t)mod;
        }
        if (ptx_choice_has(form, mods, m->count, m->target) && is_wanted(m))
            take(m);
        m->choice++;
        for (g = 0; g < groups; g++) {
            const struct ptx_group *group = &form->groups.list[g];
            if (++choice[g] < (size_t)group->count + group->optional)
                break;
            choice[g] = 0;
        }
    } while (g < groups);
}

/* Instructions whose results are their operands' alone, and those of the lanes of a full warp. */
static bool is_ours(enum ptx_op op)
{
    return (op >= PTX_ADD && op <= PTX_SZEXT) || op == PTX_SHFL || op == PTX_VOTE ||
           op == PTX_MATCH || op == PTX_REDUX || op == PTX_ELECT || op == PTX_MMA ||
           op == PTX_MOVMATRIX || op == PTX_ATOM || op == PTX_RED;
}

void readings_make(struct readings *r, struct arena *a, struct ptx_target target)
{
    memset(r, 0, sizeof *r);
    r->arena = a;
    text_init(&r->ptx, a);
    struct maker m = {.r = r, .target = target};
    text_printf(&r->ptx, ".version 8.8\n.target sm_%d\n.address_size 64\n", target.number);
    begin_group(&m);
    for (size_t f = 0; f < ptx_form_count; f++) {
        const struct ptx_form *form = &ptx_forms[f];
        if (is_ours(form->op) && ptx_target_has(target, form->target))
            each_choice(&m, form);
    }
    end_group(&m);
}
