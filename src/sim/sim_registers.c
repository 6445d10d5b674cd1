/* setmaxnreg: PTX ISA, miscellaneous-instructions-setmaxnreg.
 *
 * The registers of a block are a pool: those of its threads at the launch. A warp gives some back
 * (.dec), and another takes them (.inc), which waits until there are enough. The assembler chooses
 * how many a thread has at the launch. It may choose up to .maxnreg or, without that, what lets
 * .minnctapersm blocks of this size share a multiprocessor: the simulator takes the most. */
#include "sim/sim_machine.h"

#include <assert.h>

enum { UNIT = 8, MOST_REGISTERS = 256 };

static const struct ptx_limit *limit_of(const struct ptx_function *f, enum ptx_directive directive)
{
    for (size_t i = 0; i < f->limits.count; i++)
        if (f->limits.data[i].directive == directive && f->limits.data[i].count)
            return &f->limits.data[i];
    return NULL;
}

static int at_launch(const struct sim_block *b, const struct ptx_function *kernel)
{
    const struct ptx_limit *most = limit_of(kernel, PTX_MAXNREG),
                           *blocks = limit_of(kernel, PTX_MINNCTAPERSM);
    if (most)
        return (int)most->values[0];
    int64_t threads = (int64_t)b->warp_count * SIM_LANES * (blocks ? blocks->values[0] : 1);
    int64_t share = GPU_REGISTERS / (threads ? threads : 1) / UNIT * UNIT;
    return share > MOST_REGISTERS ? MOST_REGISTERS : (int)share;
}

void sim_registers_begin(struct sim_block *b, const struct ptx_function *kernel)
{
    int each = at_launch(b, kernel);
    b->registers_left = 0;
    for (int i = 0; i < b->warp_count; i++)
        b->warps[i].registers = each;
}

/* op->imm: the number; op->small: .inc */
static bool set(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    int wanted = (int)op->imm, more = wanted - w->registers;
    if (!sim_gather_all(w, op, mask))
        return false;
    if (op->small ? more <= 0 : more >= 0)
        return true;
    if (more > w->block->registers_left) { /* asks again */
        w->polled = true;
        w->polled_mbarrier = false;
        w->paths[w->path].poll = NULL;
        w->next = op;
        w->state = SIM_JUMPS;
        return false;
    }
    w->block->registers_left -= more;
    assert(w->block->registers_left >= 0);
    w->registers = wanted;
    w->sim->changes++;
    return true;
}

void sim_describe_registers(struct text *out, const struct sim_warp *w, const struct sim_op *op)
{
    text_printf(out,
                ": waits for %d more registers a thread, of which its block has %d left: all warps "
                "together may have as many as at the launch",
                (int)op->imm - w->registers, w->block->registers_left);
}

bool sim_choose_registers(struct sim_decoder *d, const struct ptx_instruction *ins,
                          struct sim_op *op)
{
    (void)d;
    if (ins->op != PTX_SETMAXNREG)
        return false;
    op->imm = (int64_t)ins->operands[0].bits;
    op->small = ptx_has(ins, MOD_INC);
    op->run = set;
    return true;
}
