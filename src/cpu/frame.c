/* A frame: a block's state. It has its own memory, but no thread of its own: it runs on the
 * thread that calls frame_run. */
#include "cpu/profile.h"

enum { WORTH_BINDING = 8 }; /* least number of blocks of a worker for which binding pays */

/* Returns the size of the frame's memory, which is aligned to SLOT_ALIGNMENT within a block of
 * the allocator's. */
static size_t memory_bytes(const struct cpu_program *p)
{
    return p->frame_bytes + SLOT_ALIGNMENT;
}

struct kept_block frame_take(const struct launch_state *launch, int worker)
{
    return kept_take(launch, memory_bytes(launch->program), worker);
}

bool frame_init(struct frame *f, const struct launch_state *launch, struct kept_block memory)
{
    const struct cpu_program *p = launch->program;
    if (!memory.memory)
        return false;
    *f = (struct frame){.program = p, .launch = launch, .kept = memory};
    size_t skip = SLOT_ALIGNMENT - (uintptr_t)memory.memory % SLOT_ALIGNMENT;
    f->memory = (unsigned char *)memory.memory + skip;
    memcpy(f->memory, p->image, p->image_bytes);
    int32_t *extents = frame_at(f, p->grid_at);
    for (int i = 0; i < 3; i++)
        extents[i] = (int32_t)launch->grid[i];
    for (uint32_t i = 0; i < p->row_chain_count; i++)
        exec_row_chain_open(f, p->row_chains[i]);
    if (p->row_blocks_bytes > 0 && !p->by_columns && launch->turns_a_worker >= WORTH_BINDING)
        f->row_blocks = row_blocks_open(f, f->memory + p->row_blocks_at);
    return true;
}

void frame_free(struct frame *f)
{
    if (!f->launch)
        return;
    exec_async_drop(f);
    if (f->copies)
        workers_realloc(f->launch, f->copies, f->copy_capacity * sizeof *f->copies, 0);
    kept_give(f->launch, f->kept);
    *f = (struct frame){0};
}

void frame_set_params(struct frame *f, const struct cpu_argument *args)
{
    const struct cpu_program *p = f->program;
    for (int i = 0; i < p->kernel->param_count; i++) {
        const struct scalar_slot *slot = &p->params[i];
        if (slot->at == NO_SLOT)
            continue;
        if (args[i].scalar.is_float)
            dtype_store_f64(slot->dtype, f->memory + slot->at, args[i].scalar.f);
        else
            dtype_store_i64(slot->dtype, f->memory + slot->at, args[i].scalar.i);
    }
}

void frame_start(struct frame *f, int64_t turn, int64_t id)
{
    const struct cpu_program *p = f->program;
    f->turn = turn;
    f->id = id;
    frame_block_place(f->launch, f->id, f->block);
    int32_t *block = frame_at(f, p->block_at);
    for (int i = 0; i < 3; i++)
        block[i] = (int32_t)f->block[i];
    f->syncs = 0;
    f->at_sync = f->stuck = false;
    if (f->copy_count > 0)
        exec_async_drop(f);
    if (p->packed_states > 0)
        packed_start(f);
    f->group = 0;
    f->pc = 0;
    f->until_poll = FRAME_TURNS_BETWEEN_POLLS;
    f->state = FRAME_READY;
    if (f->fault.kind != CPU_OK)
        f->fault = (struct cpu_fault){0};
}

void frame_run(struct frame *f)
{
    if (f->profile) {
        frame_run_profiled(f);
        return;
    }
    const struct instr *code = f->program->code;
    size_t steps = 0;
    f->state = FRAME_READY;
    for (; f->state == FRAME_READY; steps++) {
        const struct instr *in = &code[f->pc++];
        in->step(f, in);
    }
    f->progressed = (steps > 1 && !f->stuck) || f->state != FRAME_WAITING;
}
