#include "ptx_samples.h"

#include "ptx/ptx_fragments.h"

#include <string.h>

/* --- modifiers --- */

struct chooser {
    const struct ptx_form *form;
    sample_taker *take;
    void *user;
    uint32_t seed;
};

static size_t ways(struct ptx_group group)
{
    return (size_t)group.count + group.optional;
}

static uint32_t draw(struct chooser *c, size_t below)
{
    c->seed = c->seed * 1664525u + 1013904223u;
    return (c->seed >> 8) % (uint32_t)below;
}

/* Emits the modifiers of a choice: for each group the number of one, or past the last for none. */
static void emit(struct chooser *c, const size_t *choice)
{
    uint16_t mods[PTX_MOST_MODS], first_type = MOD_NONE;
    size_t count = 0;
    for (size_t g = 0; g < ptx_group_count(c->form); g++) {
        struct ptx_group group = ptx_group_at(c->form, g);
        if (choice[g] >= group.count)
            continue;
        uint16_t mod = group.mods[choice[g]];
        if (mod == MOD_SAME0)
            mod = first_type;
        if (!first_type && ptx_is_type(mod))
            first_type = mod;
        mods[count++] = mod;
    }
    c->take(c->user, c->form, mods, count);
}

static void each(struct chooser *c)
{
    size_t choice[PTX_MOST_MODS] = {0}, groups = ptx_group_count(c->form), g;
    do {
        emit(c, choice);
        for (g = 0; g < groups && ++choice[g] == ways(ptx_group_at(c->form, g)); g++)
            choice[g] = 0;
    } while (g < groups);
}

static void some(struct chooser *c, size_t most)
{
    size_t choice[PTX_MOST_MODS], groups = ptx_group_count(c->form), made = 0;
    for (size_t g = 0; g < groups; g++)
        for (size_t way = 0; way < ways(ptx_group_at(c->form, g)); way++, made++) {
            for (size_t other = 0; other < groups; other++)
                choice[other] = draw(c, ways(ptx_group_at(c->form, other)));
            choice[g] = way;
            emit(c, choice);
        }
    for (; made < most; made++) {
        for (size_t g = 0; g < groups; g++)
            choice[g] = draw(c, ways(ptx_group_at(c->form, g)));
        emit(c, choice);
    }
}

void sample_choices(const struct ptx_form *form, size_t most, sample_taker *take, void *user)
{
    struct chooser c = {form, take, user, 1};
    size_t all = 1;
    for (size_t g = 0; g < ptx_group_count(form); g++)
        all *= ways(ptx_group_at(form, g));
    if (all <= most)
        each(&c);
    else
        some(&c, most);
}

/* --- operands --- */

struct line {
    struct text *out;
    const struct ptx_form *form;
    const uint16_t *mods;
    size_t count;
    unsigned next; /* register to take */
};

static bool has(const struct line *l, uint16_t mod)
{
    for (size_t i = 0; i < l->count; i++)
        if (l->mods[i] == mod)
            return true;
    return false;
}

static int mod_of_class(const struct line *l, int class, int nth)
{
    for (size_t i = 0; i < l->count; i++)
        if (ptx_mods[l->mods[i]].class == class && nth-- == 0)
            return l->mods[i];
    return MOD_NONE;
}

static void reg(struct line *l, int type)
{
    const char *prefix = "%r";
    int bits = ptx_mods[type].bits;
    if (type == MOD_PRED)
        prefix = "%p";
    else if (type == MOD_F32)
        prefix = "%f";
    else if (type == MOD_F64)
        prefix = "%fd";
    else if (bits == 128)
        prefix = "%rq";
    else if (bits == 64)
        prefix = "%rd";
    else if (bits == 8)
        prefix = "%rb";
    else if (bits == 16)
        prefix = "%rs";
    unsigned names = bits == 1 || bits == 128 || bits == 8 ? 8 : 150;
    text_printf(l->out, "%s%u", prefix, l->next++ % names);
}

static void vector(struct line *l, int type, int count)
{
    text_add(l->out, "{");
    for (int i = 0; i < count; i++) {
        text_add(l->out, i ? ", " : "");
        reg(l, type);
    }
    text_add(l->out, "}");
}

static int type_of(const struct line *l, unsigned type)
{
    static const uint16_t wide[][2] = {
        {MOD_U16, MOD_U32}, {MOD_U32, MOD_U64}, {MOD_S16, MOD_S32}, {MOD_S32, MOD_S64}};
    if (type < MOD_COUNT)
        return (int)type;
    int nth = type == TYPE_WIDE ? 0 : (int)type - TYPE_NTH, t = MOD_NONE;
    if (type == TYPE_ADDRESS)
        return MOD_U64;
    for (size_t i = 0; i < l->count; i++)
        if (ptx_is_type(l->mods[i]) && nth-- == 0) {
            t = l->mods[i];
            break;
        }
    for (size_t i = 0; type == TYPE_WIDE && i < sizeof wide / sizeof *wide; i++)
        if (wide[i][0] == t)
            return wide[i][1];
    return t;
}

static void address(struct line *l, const struct ptx_slot *slot)
{
    int space = slot->flags & SLOT_FIXED_SPACE ? slot->space
                                               : mod_of_class(l, PTX_CLASS_SPACE, slot->space);
    bool small = space == MOD_SHARED || space == MOD_SHARED_CTA || space == MOD_SHARED_CLUSTER;
    text_add(l->out, "[");
    if (space == MOD_PARAM_FUNC || (space == MOD_PARAM && l->form->op == PTX_ST))
        text_add(l->out, l->form->op == PTX_ST ? "passed" : "given");
    else
        reg(l, small ? MOD_U32 : MOD_U64);
    text_add(l->out, "]");
}

static void tensor(struct line *l)
{
    int dims = mod_of_class(l, PTX_CLASS_DIMENSION, 0);
    bool rows = has(l, MOD_TILE_GATHER4) || has(l, MOD_TILE_SCATTER4);
    text_add(l->out, "[");
    reg(l, MOD_U64);
    text_add(l->out, ", ");
    vector(l, MOD_S32, rows ? 5 : ptx_mods[dims].bits);
    text_add(l->out, "]");
}

static void constant(struct line *l, const struct ptx_slot *slot)
{
    int value = slot->high;
    if (l->form->op == PTX_CREATEPOLICY)
        value = 1;
    if (slot->low == -1)
        value = -1;
    text_printf(l->out, "%d", slot->step > 1 ? slot->low : value);
}

static void pack(struct line *l, int type)
{
    int half = type == MOD_B128 ? MOD_B64 : type == MOD_B64 ? MOD_B32 : MOD_B16;
    vector(l, type == MOD_B16 ? MOD_B8 : half, 2);
}

static void operand(struct line *l, const struct ptx_slot *slot)
{
    int type = type_of(l, slot->type), lanes = mod_of_class(l, PTX_CLASS_VECTOR, 0);
    struct ptx_fragment fragment;
    switch ((enum ptx_slot_kind)slot->kind) {
    case SLOT_DESTINATION:
    case SLOT_SOURCE:
    case SLOT_MOVED:
    case SLOT_SYMBOL:
        if ((slot->flags & SLOT_VECTORIAL) && lanes)
            vector(l, type, ptx_mods[lanes].bits);
        else
            reg(l, type);
        break;
    case SLOT_PREDICATE: reg(l, MOD_PRED); break;
    case SLOT_ADDRESS: address(l, slot); break;
    case SLOT_TENSOR: tensor(l); break;
    case SLOT_TENSOR_MEMORY:
        text_add(l->out, "[");
        reg(l, MOD_B32);
        text_add(l->out, "]");
        break;
    case SLOT_IMMEDIATE: constant(l, slot); break;
    case SLOT_VECTOR: vector(l, type, slot->low); break;
    case SLOT_OFFSETS:
        vector(l, MOD_U16,
               has(l, MOD_IM2COL) ? ptx_mods[mod_of_class(l, PTX_CLASS_DIMENSION, 0)].bits - 2 : 2);
        break;
    case SLOT_LANES: vector(l, MOD_B32, has(l, MOD_CTA_GROUP_2) ? 8 : 4); break;
    case SLOT_FRAGMENT:
        fragment = ptx_fragment_of(l->form->op, l->mods, l->count, (char)slot->low);
        vector(l, fragment.type, fragment.count);
        break;
    case SLOT_PACK: pack(l, type); break;
    case SLOT_SINK: text_add(l->out, "_"); break;
    case SLOT_BARRIER: text_add(l->out, "1"); break;
    case SLOT_LABEL: text_add(l->out, "target"); break;
    case SLOT_TARGETS: text_add(l->out, "table"); break;
    case SLOT_CALL: text_add(l->out, "callee"); break;
    }
}

void sample_line(struct text *out, const struct ptx_form *form, const uint16_t *mods, size_t count,
                 bool all_operands)
{
    struct line l = {out, form, mods, count, 0};
    text_add(out, ptx_ops[form->op].name);
    for (size_t i = 0; i < count; i++)
        text_printf(out, ".%s", ptx_mods[mods[i]].text);
    const char *before = " ";
    for (size_t i = 0; i < form->slots; i++) {
        const struct ptx_slot *slot = &form->slot[i];
        if ((slot->when && !has(&l, slot->when)) ||
            ((slot->flags & SLOT_OPTIONAL) && !all_operands))
            continue;
        text_add(out, slot->flags & SLOT_JOINED ? "|" : before);
        operand(&l, slot);
        before = ", ";
    }
    text_add(out, ";");
}

void sample_outside(struct text *out)
{
    text_add(out, ".func callee()\n{\n    ret;\n}\n"
                  ".func taker(.param .align 16 .b8 x[64])\n{\n    ret;\n}\n"
                  ".func (.param .align 16 .b8 result[64]) giver()\n{\n    ret;\n}\n");
}

void sample_head(struct text *out, bool wide)
{
    text_add(out, "    .reg .pred %p<8>;\n"
                  "    .reg .b8 %rb<8>;\n"
                  "    .reg .b16 %rs<150>;\n"
                  "    .reg .b32 %r<150>;\n"
                  "    .reg .b64 %rd<150>;\n"
                  "    .reg .f32 %f<150>;\n"
                  "    .reg .f64 %fd<150>;\n"
                  "    .param .align 16 .b8 given[64];\n"
                  "    .param .align 16 .b8 passed[64];\n"
                  "table: .branchtargets target;\n"
                  "    call (given), giver;\n");
    if (wide)
        text_add(out, "    .reg .b128 %rq<8>;\n");
}

size_t sample_instructions_before(void)
{
    return 1;
}

void sample_tail(struct text *out)
{
    text_add(out, "target:\n    call taker, (passed);\n    ret;\n");
}
