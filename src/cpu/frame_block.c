/* The block of a frame: its place in the grid, whether it goes on, its fault. */
#include "base/number.h"
#include "cpu/program.h"

#include <stdarg.h>

/* Workers that each take some columns of blocks begin at different rows. So each worker packs
 * another part of the operands that all of them need, instead of all packing the same part at
 * the same time. */
int64_t frame_block_of_turn(const struct launch_state *l, int64_t turn)
{
    if (!l->program->by_columns)
        return turn;
    int64_t plane = l->grid[0] * l->grid[1], z = turn / plane, in_plane = turn - z * plane;
    int64_t x = in_plane / l->grid[1], y = in_plane - x * l->grid[1];
    if (l->workers > 1) {
        y += (turn - y) / l->turns_a_worker * l->grid[1] / l->workers;
        y -= y < l->grid[1] ? 0 : l->grid[1];
    }
    return z * plane + y * l->grid[0] + x;
}

void frame_block_place(const struct launch_state *l, int64_t id, int64_t place[3])
{
    const int64_t *grid = l->grid;
    int64_t rest = id < grid[0] ? 0 : id / grid[0]; /* avoids a division, which is slow */
    place[0] = id - rest * grid[0];
    place[2] = rest < grid[1] ? 0 : rest / grid[1];
    place[1] = rest - place[2] * grid[1];
}

bool frame_is_cancelled(const struct launch_state *l)
{
    if (l->options->cancelled && l->options->cancelled(l->options->cancelled_user))
        atomic_store(l->cancelled, true);
    return atomic_load(l->cancelled);
}

void frame_poll(struct frame *f)
{
    if (frame_is_cancelled(f->launch) || atomic_load(f->launch->stop) < f->id)
        f->state = FRAME_STOPPED;
    f->until_poll = FRAME_TURNS_BETWEEN_POLLS;
}

void frame_fault(struct frame *f, enum cpu_fault_kind kind, struct loc loc, int lane,
                 const char *format, ...)
{
    if (f->state == FRAME_FAULT)
        return;
    const int *threads = f->program->kernel->threads;
    f->state = FRAME_FAULT;
    f->fault = (struct cpu_fault){.kind = kind, .loc = loc, .thread = {-1, -1, -1}};
    memcpy(f->fault.block, f->block, sizeof f->block);
    if (lane >= 0 && kernel_thread_level(f->program->kernel)) {
        int x = threads[0], y = threads[1] > 0 ? threads[1] : 1;
        f->fault.thread[0] = lane % x;
        f->fault.thread[1] = lane / x % y;
        f->fault.thread[2] = lane / x / y;
    }
    va_list args;
    va_start(args, format);
    number_vformat(f->fault.message, sizeof f->fault.message, format, args);
    va_end(args);
}
