/* Messages about an instruction that no row of the table takes. */
#include "ptx/ptx_verifier.h"

#include <string.h>

const char *ptx_mnemonic(struct arena *a, const struct ptx_instruction *ins)
{
    struct text t;
    text_init(&t, a);
    text_add(&t, ptx_ops[ins->op].name);
    for (int i = 0; i < ins->mod_count; i++)
        text_printf(&t, ".%s", ptx_mods[ins->mods[i]].text);
    return t.data;
}

/* --- modifiers --- */

/* How well a form matches: the number of modifiers that it takes, the first one that it does not
 * take, and the first group that finds no modifier. */
struct nearness {
    const struct ptx_form *form;
    int taken, missing;
    uint16_t stranger;
    int stranger_at;
    struct ptx_group wanted; /* mods NULL: none */
};

static struct nearness measure(const struct ptx_form *form, const struct ptx_instruction *ins)
{
    struct nearness n = {.form = form};
    bool used[PTX_MOST_MODS] = {false};
    uint16_t first_type = (uint16_t)ptx_type(ins, 0);
    for (struct ptx_group group = ptx_first_group(form); group.mods;
         group = ptx_next_group(form, group)) {
        int i = 0;
        while (i < ins->mod_count && (used[i] || !ptx_group_has(&group, ins->mods[i], first_type) ||
                                      ptx_mod_overtakes(ins->mods, used, (size_t)i)))
            i++;
        if (i < ins->mod_count) {
            used[i] = true;
            n.taken++;
        } else if (!group.optional) {
            n.missing++;
            n.wanted = n.wanted.mods ? n.wanted : group;
        }
    }
    while (n.stranger_at < ins->mod_count && used[n.stranger_at])
        n.stranger_at++;
    if (n.stranger_at < ins->mod_count)
        n.stranger = ins->mods[n.stranger_at];
    return n;
}

/* Returns true if a matches better than b. Between equal matches, the form that follows the
 * instruction further is the better one. */
static bool nearer(const struct nearness *a, const struct nearness *b)
{
    int more = 2 * (a->taken - b->taken) - (a->missing - b->missing);
    return more > 0 || (more == 0 && a->stranger_at > b->stranger_at);
}

static const char *list_group(struct arena *a, const struct ptx_group *group)
{
    enum { MOST = 12 };
    struct text t;
    text_init(&t, a);
    for (int i = 0; i < group->count && i < MOST; i++)
        if (group->mods[i] < MOD_COUNT)
            text_printf(&t, "%s.%s", i ? " " : "", ptx_mods[group->mods[i]].text);
    if (group->count > MOST)
        text_add(&t, " …");
    return t.data;
}

void ptx_explain_modifiers(struct ptx_verifier *v)
{
    const struct ptx_instruction *ins = v->instruction;
    size_t count;
    const struct ptx_form *forms = ptx_forms_of((enum ptx_op)ins->op, &count);
    struct nearness best = measure(&forms[0], ins);
    for (size_t i = 1; i < count; i++) {
        struct nearness n = measure(&forms[i], ins);
        if (nearer(&n, &best))
            best = n;
    }
    const char *name = ptx_mnemonic(v->arena, ins);
    if (best.stranger && best.wanted.mods)
        ptx_complain(v, "`%s`: `.%s` does not go here; expected %s%s", name,
                     ptx_mods[best.stranger].text, best.wanted.count == 1 ? "" : "one of ",
                     list_group(v->arena, &best.wanted));
    else if (best.stranger)
        ptx_complain(v, "`%s`: `.%s` does not go with the rest", name,
                     ptx_mods[best.stranger].text);
    else if (best.wanted.mods)
        ptx_complain(v, "`%s` lacks %s%s", name, best.wanted.count == 1 ? "" : "one of ",
                     list_group(v->arena, &best.wanted));
    else
        ptx_complain(v, "`%s`: these modifiers are in the wrong order", name);
}

/* --- operands --- */

static const char *kind_wanted(const struct ptx_slot *slot, const struct ptx_instruction *ins,
                               struct arena *a)
{
    enum ptx_mod type = ptx_slot_type(slot, ins->mods, ins->mod_count);
    const char *name = type ? ptx_mods[type].text : "b64";
    bool vector = (slot->flags & SLOT_VECTORIAL) && ptx_vector_length(ins) > 1;
    switch ((enum ptx_slot_kind)slot->kind) {
    case SLOT_DESTINATION:
    case SLOT_SOURCE:
        if (vector)
            return arena_printf(a, "a vector of %d registers for .%s", ptx_vector_length(ins),
                                name);
        if (type == MOD_PRED)
            return "a predicate register";
        if (slot->kind == SLOT_DESTINATION || (slot->flags & SLOT_NO_CONSTANT))
            return arena_printf(a, "a register for .%s", name);
        if (slot->step)
            return arena_printf(a, "a register or a multiple of %d", slot->step);
        return arena_printf(a, "a register or constant for .%s", name);
    case SLOT_PREDICATE: return "a predicate";
    case SLOT_ADDRESS:
    case SLOT_TENSOR_MEMORY: return "an address in brackets";
    case SLOT_TENSOR: return "a tensor map and coordinates in brackets";
    case SLOT_IMMEDIATE:
        if (slot->step == 0)
            return "the constant 4, 8 or 16";
        if (slot->low == slot->high)
            return arena_printf(a, "the constant %d", slot->low);
        return arena_printf(a, "a constant from %d to %d%s", slot->low, slot->high,
                            slot->step > 1 ? arena_printf(a, ", a multiple of %d", slot->step)
                                           : "");
    case SLOT_VECTOR: return arena_printf(a, "a vector of %d registers", slot->low);
    case SLOT_OFFSETS: return "a vector of offsets";
    case SLOT_LANES: return "a vector of lane masks";
    case SLOT_FRAGMENT: return "the registers of a matrix in braces";
    case SLOT_MOVED: return arena_printf(a, "a register, constant or address for .%s", name);
    case SLOT_SYMBOL: return "a register or a variable";
    case SLOT_PACK: return arena_printf(a, "registers in braces that make up a .%s", name);
    case SLOT_SINK: return "`_`";
    case SLOT_BARRIER: return "a barrier from 0 to 15";
    case SLOT_LABEL: return "a label";
    case SLOT_TARGETS: return "the name of branch targets";
    case SLOT_CALL: return "a function";
    }
    return "something else";
}

static bool slot_is_there(const struct ptx_slot *slot, const struct ptx_instruction *ins)
{
    return !slot->when || ptx_has(ins, (enum ptx_mod)slot->when);
}

/* Compares slots and operands in order, and explains the first operand that does not fit. */
void ptx_explain_operands(struct ptx_verifier *v, const struct ptx_form *form)
{
    const struct ptx_instruction *ins = v->instruction;
    const char *name = ptx_mnemonic(v->arena, ins);
    int operand = 0;
    const struct ptx_slot *passed = NULL; /* an optional slot that this operand did not fit */
    if (ins->op == PTX_CALL) {
        ptx_complain(v, "`%s` takes results, a function, arguments, and for a register its targets",
                     name);
        return;
    }
    for (size_t i = 0; i < form->slots; i++) {
        const struct ptx_slot *slot = &form->slot[i];
        if (!slot_is_there(slot, ins))
            continue;
        bool takes = operand < ins->operand_count &&
                     ptx_slot_takes(v->function, ins, slot, &ins->operands[operand]);
        if (takes) {
            operand++;
            passed = NULL;
            continue;
        }
        if (slot->flags & SLOT_OPTIONAL) {
            passed = passed ? passed : slot;
            continue;
        }
        const char *wanted = kind_wanted(slot, ins, v->arena);
        if (operand >= ins->operand_count)
            ptx_complain(v, "`%s` lacks an operand: %s", name, wanted);
        else
            ptx_complain(v, "operand %d of `%s` must be %s", operand + 1, name, wanted);
        return;
    }
    if (passed && operand < ins->operand_count)
        ptx_complain(v, "operand %d of `%s` must be %s", operand + 1, name,
                     kind_wanted(passed, ins, v->arena));
    else
        ptx_complain(v, "`%s` has %d operand%s, that is too many", name, ins->operand_count,
                     ins->operand_count == 1 ? "" : "s");
}
