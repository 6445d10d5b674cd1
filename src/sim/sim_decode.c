/* Decodes a function once into an array of ops, one for each instruction. Each family is asked
 * in turn whether the instruction is its own. */
#include "base/platform.h"
#include "sim/sim_wgmma.h"

#include <string.h>

/* Most time goes to some families' loops over lanes; these families are compiled twice if the
 * compiler knows AVX2. Rare instructions are in the first set alone. */
#if defined(TILEWRIGHT_HAVE_V3)
#define SIM_V3_CHOOSE(name) sim_choose_##name##_v3
extern sim_choose SIM_V3_CHOOSE(integer), SIM_V3_CHOOSE(bits), SIM_V3_CHOOSE(float),
    SIM_V3_CHOOSE(compare), SIM_V3_CHOOSE(move), SIM_V3_CHOOSE(access), SIM_V3_CHOOSE(lanes),
    SIM_V3_CHOOSE(mma);
#define TWICE(name)                                                                                \
    {                                                                                              \
        sim_choose_##name, SIM_V3_CHOOSE(name)                                                     \
    }
#else
#define TWICE(name)                                                                                \
    {                                                                                              \
        sim_choose_##name, sim_choose_##name                                                       \
    }
#endif
#define ONCE(name)                                                                                 \
    {                                                                                              \
        sim_choose_##name, sim_choose_##name                                                       \
    }

/* The families of the most frequent instructions come first. */
static sim_choose *const families[][2] = {
    TWICE(access), TWICE(integer), TWICE(float), TWICE(move),     TWICE(compare), ONCE(convert),
    TWICE(bits),   ONCE(half),     ONCE(approx), TWICE(lanes),    TWICE(mma),     ONCE(matrix),
    ONCE(control), ONCE(barrier),  ONCE(atomic), ONCE(async),     ONCE(mbarrier), ONCE(mma_quads),
    ONCE(stack),   ONCE(bulk),     ONCE(wgmma),  ONCE(registers), ONCE(cluster),  ONCE(tensor),
};

static bool machine_is_v3(void)
{
#if defined(TILEWRIGHT_HAVE_V3)
    return platform_x86_has(X86_V3);
#else
    return false;
#endif
}

static bool run_unknown(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    (void)mask;
    sim_stop(w, op, "not simulated");
    w->sim->end = SIM_UNKNOWN;
    return false;
}

static bool run_end(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    (void)mask;
    sim_stop(
        w, op,
        "`%s` ends without ret or exit: its compiler assumes that no run reaches this place, as "
        "after an endless loop without effect, a division by zero or a null pointer, "
        "which C++ leaves undefined",
        ptx_plain_name(w->sim->arena, w->frame->code->function->name));
    w->sim->end = SIM_CUT_OFF;
    return false;
}

uint32_t sim_op_of_label(const struct sim_decoder *d, const struct ptx_label *label)
{
    return d->op_at[label->statement];
}

static void decode_instruction(struct sim_decoder *d, const struct ptx_instruction *ins,
                               struct loc where, bool v3, struct sim_op *op)
{
    struct sim_op fresh = {.ins = ins, .where = where};
    for (int i = 0; i < SIM_MOST_SLOTS; i++)
        fresh.slot[i] = SIM_NO_SLOT;
    fresh.guard = ins && ins->guarded ? d->registers[ins->guard] : sim_slot_constant(d, 1, 0);
    fresh.guard_flip = ins && ins->guarded && ins->guard_negated ? SIM_ALL : 0;
    for (int set = v3; ins && set >= 0; set--)
        for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
            *op = fresh;
            if (families[i][set](d, ins, op))
                return;
        }
    *op = fresh;
    op->run = ins ? run_unknown : run_end;
}

static void decode_body(struct sim_decoder *d)
{
    const struct ptx_function *f = d->function;
    struct sim_code *code = d->code;
    bool v3 = machine_is_v3();
    d->op_at = arena_array(d->sim->arena, uint32_t, f->body.count + 1);
    for (size_t i = 0; i < f->body.count; i++) {
        d->op_at[i] = code->count;
        code->count += f->body.data[i].kind == PTX_AT_INSTRUCTION;
    }
    code->ops = arena_array(d->sim->arena, struct sim_op, code->count + 1);
    for (size_t i = 0; i < f->body.count; i++) {
        const struct ptx_statement *s = &f->body.data[i];
        if (s->kind == PTX_AT_INSTRUCTION)
            decode_instruction(d, s->instruction, s->where, v3, &code->ops[d->op_at[i]]);
    }
    decode_instruction(d, NULL, LOC_NONE, v3, &code->ops[code->count]);
    if (f->body.count)
        code->ops[code->count].where = f->body.data[f->body.count - 1].where;
}

struct sim_code *sim_code_of(struct sim *sim, const struct ptx_function *f)
{
    struct sim_program *p = sim->program;
    const struct number_entry *known = number_map_find(&p->code_of, (uintptr_t)f);
    if (known)
        return (struct sim_code *)(uintptr_t)known->value;
    if (!f->defined)
        return NULL;
    struct sim_code *code = arena_new(sim->arena, struct sim_code);
    struct sim_decoder d = {.sim = sim, .function = f, .code = code, .target = p->target};
    code->function = f;
    code->next = p->codes;
    p->codes = code;
    number_map_entry(sim->arena, &p->code_of, (uintptr_t)f, &(bool){false})->value =
        (uintptr_t)code;
    if (!number_map_find(&p->reached, (uintptr_t)f)) {
        code->refused = "no place among the functions that the kernel names";
        return code;
    }
    sim_place_registers(&d);
    sim_place_locals(&d);
    decode_body(&d);
    if (code->local_bytes > GPU_LOCAL_BYTES || d.full)
        code->refused = d.full ? "more registers and constants than the simulator has room for"
                               : "more local memory than the 524288 bytes that a thread may have";
    code->file_bytes = (d.end + 63) / 64 * 64;
    code->constants = arena_alloc(sim->arena, code->file_bytes - code->zeros + 1);
    if (d.image.count)
        memcpy(code->constants, d.image.data, d.image.count);
    sim_held_prepare(&d, run_unknown);
    code->registers = d.registers;
    code->carry = d.carry;
    code->fills = d.fills.data;
    code->fill_count = d.fills.count;
    return code;
}
