#include "ptx/accesses.h"
#include "ptx/flow.h"

/* --- one instruction --- */

static enum access_space space_of(const struct ptx_instruction *ins)
{
    switch ((int)ptx_find(ins, PTX_CLASS_SPACE, 0)) {
    case MOD_GLOBAL: return ACCESS_GLOBAL;
    case MOD_SHARED:
    case MOD_SHARED_CTA:
    case MOD_SHARED_CLUSTER: return ACCESS_SHARED;
    case MOD_LOCAL: return ACCESS_LOCAL;
    default: return ACCESS_GENERIC;
    }
}

static bool is_counted(const struct ptx_instruction *ins)
{
    switch ((int)ptx_find(ins, PTX_CLASS_SPACE, 0)) {
    case MOD_CONST:
    case MOD_PARAM:
    case MOD_PARAM_ENTRY:
    case MOD_PARAM_FUNC: return false;
    default: return true;
    }
}

static uint16_t vector_bytes(const struct ptx_instruction *ins)
{
    return (uint16_t)(ptx_mods[ptx_type(ins, 0)].bits / 8 * ptx_vector_length(ins));
}

/* Returns the bytes of a lane: 4 for each matrix of 8 x 8 elements of 16 bits. */
static uint16_t matrix_bytes(const struct ptx_instruction *ins)
{
    return ptx_has(ins, MOD_X4) ? 16 : ptx_has(ins, MOD_X2) ? 8 : 4;
}

static bool fill(struct coded_access *out, enum coded_access_kind kind, enum access_space space,
                 uint16_t bytes)
{
    *out = (struct coded_access){.kind = (uint8_t)kind, .space = (uint8_t)space, .bytes = bytes};
    return true;
}

int ptx_access_by_line(const void *left, const void *right)
{
    const struct coded_access *a = left, *b = right;
    return (a->line > b->line) - (a->line < b->line);
}

bool ptx_access_of(const struct ptx_instruction *ins, struct coded_access *out)
{
    switch ((int)ins->op) {
    case PTX_LD: return is_counted(ins) && fill(out, ACCESS_LOAD, space_of(ins), vector_bytes(ins));
    case PTX_LDU: return fill(out, ACCESS_LOAD, space_of(ins), vector_bytes(ins));
    case PTX_ST:
        return is_counted(ins) && fill(out, ACCESS_STORE, space_of(ins), vector_bytes(ins));
    case PTX_CP_ASYNC:
        return fill(out, ACCESS_COPY, ACCESS_SHARED, (uint16_t)ins->operands[2].bits);
    case PTX_LDMATRIX: return fill(out, ACCESS_LOAD_MATRIX, ACCESS_SHARED, matrix_bytes(ins));
    case PTX_STMATRIX: return fill(out, ACCESS_STORE_MATRIX, ACCESS_SHARED, matrix_bytes(ins));
    case PTX_ATOM:
    case PTX_RED: return fill(out, ACCESS_ATOMIC, space_of(ins), 0);
    default: return false;
    }
}

/* --- a function --- */

static bool ends(const struct ptx_instruction *ins)
{
    switch ((int)ins->op) {
    case PTX_BRX_IDX:
    case PTX_RET:
    case PTX_EXIT:
    case PTX_TRAP: return true;
    case PTX_BRA: return !ins->guarded;
    default: return false;
    }
}

typedef VEC(uint32_t) edge_list;

static void add_targets(struct arena *a, const struct ptx_function *f,
                        const struct ptx_instruction *ins, edge_list *to)
{
    for (size_t i = 0; i < ins->operand_count; i++) {
        const struct ptx_operand *o = &ins->operands[i];
        if (o->kind != PTX_LABEL || !o->label || !o->label->defined)
            continue;
        const struct ptx_statement *at = &f->body.data[o->label->statement];
        if (at->kind == PTX_AT_LABEL)
            vec_push(a, to, o->label->statement);
        for (size_t k = 0; at->kind == PTX_AT_TARGETS && k < at->targets->labels.count; k++)
            vec_push(a, to, at->targets->labels.data[k]->statement);
    }
}

/* Returns the loops around each statement; statements are the nodes of the graph. */
static uint16_t *loops_of(struct arena *a, const struct ptx_function *f)
{
    uint32_t n = (uint32_t)f->body.count, *first = arena_array(a, uint32_t, n + 2);
    edge_list to = {0};
    for (uint32_t i = 0; i < n; i++) {
        const struct ptx_statement *s = &f->body.data[i];
        const struct ptx_instruction *ins = s->kind == PTX_AT_INSTRUCTION ? s->instruction : NULL;
        first[i] = (uint32_t)to.count;
        if (ins && (ins->op == PTX_BRA || ins->op == PTX_BRX_IDX))
            add_targets(a, f, ins, &to);
        if (i + 1 < n && !(ins && ends(ins)))
            vec_push(a, &to, i + 1);
    }
    first[n] = (uint32_t)to.count;
    return flow_loops(a, &(struct flow){n, first, to.data});
}

/* Returns the line of a place, counted from an earlier place. */
static uint32_t line_from(struct loc *at, uint32_t line, struct loc to)
{
    if (!to.source)
        return 0;
    for (uint32_t i = at->source == to.source ? at->offset : 0; i < to.offset; i++)
        line += to.source->text[i] == '\n';
    *at = to;
    return line;
}

/* Returns the `entry` of struct ptx_access. */
static const struct ptx_instruction *entry_of(const struct ptx_function *f, const uint16_t *loops,
                                              uint32_t statement)
{
    uint16_t depth = loops[statement];
    for (uint32_t i = statement; depth > 0 && i-- > 0 && loops[i] + 1 >= depth;) {
        const struct ptx_statement *s = &f->body.data[i];
        bool outside = loops[i] + 1 == depth && s->kind == PTX_AT_INSTRUCTION;
        if (outside && !s->instruction->guarded)
            return s->instruction;
    }
    return NULL;
}

size_t ptx_accesses(struct arena *a, const struct ptx_function *f, struct ptx_access **out)
{
    VEC(struct ptx_access) list = {0};
    const uint16_t *loops = loops_of(a, f);
    struct loc at = LOC_NONE;
    uint32_t line = 1;
    for (uint32_t i = 0; i < f->body.count; i++) {
        const struct ptx_statement *s = &f->body.data[i];
        struct ptx_access one = {.statement = i};
        if (s->kind != PTX_AT_INSTRUCTION || !ptx_access_of(s->instruction, &one.is))
            continue;
        one.ins = s->instruction;
        one.entry = entry_of(f, loops, i);
        one.is.loops = loops[i];
        one.is.line = line = line_from(&at, line, s->where);
        vec_push(a, &list, one);
    }
    *out = list.data;
    return list.count;
}
