/* Finds the functions and variables that a kernel may use. The search reads both lists while
 * they grow, because chains of initialisers and calls may be as long as the text. */
#include "ptx/ptx.h"

static void reach_function(struct ptx_reach *r, const struct ptx_function *f)
{
    if (number_map_add_object(r->arena, &r->seen, f))
        vec_push(r->arena, &r->functions, f);
}

static void reach_variable(struct ptx_reach *r, const struct ptx_variable *v)
{
    if (number_map_add_object(r->arena, &r->seen, v))
        vec_push(r->arena, &r->variables, v);
}

static void reach_initial(struct ptx_reach *r, const struct ptx_initial *init)
{
    if (init->kind == PTX_INIT_LIST) {
        for (size_t i = 0; i < init->list.count; i++)
            reach_initial(r, &init->list.data[i]);
    } else if (init->kind == PTX_INIT_ADDRESS) {
        if (init->function)
            reach_function(r, init->function);
        if (init->variable)
            reach_variable(r, init->variable);
    }
}

static void reach_operand(struct ptx_reach *r, const struct ptx_operand *o)
{
    if (o->kind == PTX_ADDRESS || o->kind == PTX_SYMBOL) {
        if (o->base == PTX_BASE_VARIABLE)
            reach_variable(r, o->variable);
        if (o->base == PTX_BASE_FUNCTION)
            reach_function(r, o->function);
    }
    if (o->kind == PTX_SPECIAL && o->special >= PTX_SREG_RESERVED_SMEM_BEGIN &&
        o->special <= PTX_SREG_RESERVED_SMEM_1)
        r->reserved = true;
    for (uint32_t i = 0; i < ptx_elements(o); i++)
        reach_operand(r, &o->elements[i]);
}

static bool calls_address(const struct ptx_instruction *ins)
{
    return ins->op == PTX_CALL && ins->operand_count > 1 && ins->operands[1].kind == PTX_REGISTER;
}

/* Adds the functions of the module. */
static void reach_all(struct ptx_reach *r)
{
    for (size_t i = 0; i < r->module->items.count; i++) {
        const struct ptx_item *item = &r->module->items.data[i];
        if (item->kind == PTX_ITEM_FUNCTION && !item->function->entry && !item->function->refused)
            reach_function(r, item->function);
    }
}

static void reach_body(struct ptx_reach *r, const struct ptx_function *f)
{
    for (size_t i = 0; i < f->body.count; i++) {
        const struct ptx_statement *s = &f->body.data[i];
        arena_poll(r->arena);
        if (s->kind == PTX_AT_INSTRUCTION)
            for (int k = 0; k < s->instruction->operand_count; k++)
                reach_operand(r, &s->instruction->operands[k]);
        if (s->kind == PTX_AT_INSTRUCTION && calls_address(s->instruction))
            reach_all(r);
        if (s->kind == PTX_AT_TARGETS)
            for (size_t k = 0; k < s->targets->functions.count; k++)
                reach_function(r, s->targets->functions.data[k]);
    }
}

void ptx_reach(struct ptx_reach *r, const struct ptx_function *kernel)
{
    reach_function(r, kernel);
    for (size_t f = 0, v = 0; f < r->functions.count;) {
        reach_body(r, r->functions.data[f++]);
        for (; v < r->variables.count; v++)
            if (r->variables.data[v]->initial)
                reach_initial(r, r->variables.data[v]->initial);
    }
}
