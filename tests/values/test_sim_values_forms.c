/* Every form of the instruction table that is a value instruction has a handler; the exceptions
 * are named here. */
#include "value_decoder.h"

/* Returns true for the instructions of the value families. Those after szext, vadd2 to vset4,
 * are not simulated. */
static bool is_value(enum ptx_op op)
{
    return (op >= PTX_ADD && op <= PTX_CVT_PACK) || (op >= PTX_AND && op <= PTX_SZEXT);
}

/* Returns true for forms that are not simulated: float to ue8m0 conversions, whose values PTX
 * does not define; .rs to four values. */
static bool is_exception(const struct ptx_instruction *ins)
{
    if (ins->op == PTX_CVT && ptx_type(ins, 0) == MOD_UE8M0X2)
        return true;
    return ptx_has(ins, MOD_RS) && ins->operand_count == 3;
}

static uint8_t bytes_of(enum ptx_mod type)
{
    return type == MOD_NONE ? 4 : (uint8_t)value_type_bytes(type);
}

/* Makes operands for the form's slots, without the optional ones or with them; registers as wide
 * as the types, or 64 bits wide. */
static void make_operands(struct sim_decoder *d, const struct ptx_form *form,
                          struct ptx_instruction *ins, struct ptx_operand *operands, bool optional,
                          bool wide)
{
    ins->operands = operands;
    ins->operand_count = 0;
    for (size_t k = 0; k < form->slots; k++) {
        const struct ptx_slot *slot = &form->slot[k];
        if ((slot->flags & SLOT_OPTIONAL) && !optional)
            continue;
        struct ptx_operand *o = &operands[ins->operand_count];
        *o = (struct ptx_operand){.kind = PTX_REGISTER, .reg = ins->operand_count};
        o->joined = slot->flags & SLOT_JOINED;
        enum ptx_mod type = slot->type == TYPE_WIDE  ? PTX_U64
                            : slot->type >= TYPE_NTH ? ptx_type(ins, (slot->type - TYPE_NTH))
                                                     : (enum ptx_mod)slot->type;
        d->width[ins->operand_count++] = wide && (slot->flags & SLOT_WIDER) ? 8 : bytes_of(type);
        if (slot->kind == SLOT_IMMEDIATE)
            *o = (struct ptx_operand){.kind = PTX_IMMEDIATE, .bits = (uint64_t)slot->low};
    }
}

struct counts {
    int taken, missing, excepted;
};

static void try_operands(const struct ptx_form *form, struct ptx_instruction *ins, bool optional,
                         bool wide, struct counts *n)
{
    static struct sim_decoder d;
    d.next = 40;
    struct ptx_operand operands[PTX_MOST_OPERANDS];
    make_operands(&d, form, ins, operands, optional, wide);
    if (setjmp(d.out_of_memory))
        fail_msg("out of memory");
    arena_init(&d.arena, &allocator_libc, &d.out_of_memory);
    struct sim_op op;
    if (is_exception(ins)) {
        n->excepted++;
    } else if (value_choose(&d, ins, 0, &op)) {
        n->taken++;
    } else {
        n->missing++;
        fprintf(stderr, "no handler, or two: %s", ptx_ops[ins->op].name);
        for (int i = 0; i < ins->mod_count; i++)
            fprintf(stderr, ".%s", ptx_mods[ins->mods[i]].text);
        fprintf(stderr, " (%d operands)\n", ins->operand_count);
    }
    arena_free(&d.arena);
}

static void try_choice(const struct ptx_form *form, struct ptx_instruction *ins, struct counts *n)
{
    for (int way = 0; way < 4; way++)
        try_operands(form, ins, way & 1, way & 2, n);
}

/* Tries all choices of modifiers, from group `g` on. */
static void try_groups(const struct ptx_form *form, size_t g, struct ptx_instruction *ins,
                       struct counts *n)
{
    if (g == ptx_group_count(form)) {
        try_choice(form, ins, n);
        return;
    }
    struct ptx_group group = ptx_group_at(form, g);
    if (group.optional)
        try_groups(form, g + 1, ins, n);
    for (int i = 0; i < group.count; i++) {
        uint16_t mod = group.mods[i];
        ins->mods[ins->mod_count++] = mod == MOD_SAME0 ? (uint16_t)ptx_type(ins, 0) : mod;
        try_groups(form, g + 1, ins, n);
        ins->mod_count--;
    }
}

static void each_form_has_a_handler(void **state)
{
    (void)state;
    struct counts n = {0, 0, 0};
    for (size_t i = 0; i < ptx_form_count; i++) {
        if (!is_value((enum ptx_op)ptx_forms[i].op))
            continue;
        struct ptx_instruction ins = {.op = ptx_forms[i].op, .form = (uint16_t)i};
        try_groups(&ptx_forms[i], 0, &ins, &n);
    }
    print_message("%d choices taken, %d named as exceptions\n", n.taken, n.excepted);
    assert_int_equal(n.missing, 0);
    assert_true(n.taken > 5000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_form_has_a_handler)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
