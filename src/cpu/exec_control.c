/* Steps that decide what runs next and which lanes run. */
#include "cpu/program.h"

/* Again at the top of a loop that changes nothing. */
void step_stuck(struct frame *f, const struct instr *in)
{
    frame_fault(f, CPU_DEADLOCK, in->loc, -1,
                "this loop waits for memory to change, but nothing does while the block waits; "
                "lock() waits for other blocks");
}

/* The end of the kernel, from wherever it is left. */
void step_end(struct frame *f, const struct instr *in)
{
    if (f->copy_count > 0) {
        int line, column;
        const struct copy_under_way *copy = &f->copies[0];
        loc_line_column(copy->loc, &line, &column);
        frame_fault(f, CPU_ASYNC, copy->loc.source ? copy->loc : in->loc, -1,
                    "the kernel ends while this copy into %s is under way; async_wait(0) must "
                    "come first",
                    copy->detail->to->sym->name);
        return;
    }
    f->state = FRAME_DONE;
}

/* Loops close with it: those that never end can be stopped. */
void step_jump(struct frame *f, const struct instr *in)
{
    bool is_back = in->n < f->pc;
    f->pc = in->n;
    if (is_back && --f->until_poll <= 0)
        frame_poll(f);
}

void step_jump_if(struct frame *f, const struct instr *in)
{
    if (f->memory[in->a])
        f->pc = in->n;
}

void step_jump_unless(struct frame *f, const struct instr *in)
{
    if (!f->memory[in->a])
        f->pc = in->n;
}

/* --- masks --- */

static int64_t mask_running(const struct frame *f, uint32_t mask)
{
    struct mask_header header;
    memcpy(&header, f->memory + mask, sizeof header);
    return header.running;
}

static void mask_set_running(struct frame *f, uint32_t mask, int64_t running)
{
    struct mask_header header = {.running = running};
    memcpy(f->memory + mask, &header, sizeof header);
}

static uint8_t *mask_lanes(struct frame *f, uint32_t mask)
{
    return f->memory + mask + MASK_HEADER;
}

/* The rectangle that the running lanes, some but not all, fill; none in blocks with a z axis. */
static struct lane_box find_box(const uint8_t *mask, const struct cpu_program *p, int64_t running)
{
    const struct lane_box none = {{0}, {0}};
    uint32_t first = 0, last = p->lanes - 1, x = p->threads[0];
    while (!mask[first])
        first++;
    while (!mask[last])
        last--;
    struct lane_box box = {{(uint16_t)(first % x), (uint16_t)(first / x)},
                           {(uint16_t)(last % x + 1), (uint16_t)(last / x + 1)}};
    int64_t width = box.high[0] - box.low[0], height = box.high[1] - box.low[1];
    if (p->threads[2] > 1 || width <= 0 || width * height != running)
        return none;
    for (uint32_t y = box.low[1]; y < box.high[1]; y++)
        if (memchr(mask + y * x + box.low[0], 0, (size_t)width))
            return none;
    return box;
}

/* A new mask, of which so many lanes run. */
static void mask_made(struct frame *f, uint32_t mask, int64_t running)
{
    const struct cpu_program *p = f->program;
    struct mask_header header = {.running = running};
    if (running > 0 && running < (int64_t)p->lanes)
        header.box = find_box(mask_lanes(f, mask), p, running);
    memcpy(f->memory + mask, &header, sizeof header);
}

void step_mask_all(struct frame *f, const struct instr *in)
{
    memset(mask_lanes(f, in->dst), 1, f->program->lanes);
    mask_set_running(f, in->dst, f->program->lanes);
}

void step_mask_copy(struct frame *f, const struct instr *in)
{
    memcpy(f->memory + in->dst, f->memory + in->a, MASK_HEADER + f->program->lanes);
}

/* dst = mask and condition a. */
void step_mask_and(struct frame *f, const struct instr *in)
{
    size_t running = f->program->set->memory->mask_and(
        mask_lanes(f, in->dst), frame_mask(f, in->mask), frame_at(f, in->a), f->program->lanes);
    mask_made(f, in->dst, (int64_t)running);
}

void step_mask_and_not(struct frame *f, const struct instr *in)
{
    size_t running = f->program->set->memory->mask_and_not(
        mask_lanes(f, in->dst), frame_mask(f, in->mask), frame_at(f, in->a), f->program->lanes);
    mask_made(f, in->dst, (int64_t)running);
}

/* The lanes of instr.mask leave it, and the masks around it. */
void step_mask_leave(struct frame *f, const struct instr *in)
{
    const struct mask_list *list = in->detail;
    uint8_t *leaving = mask_lanes(f, in->mask);
    int64_t count = mask_running(f, in->mask);
    for (int i = 0; i < list->count; i++) {
        uint8_t *around = mask_lanes(f, list->mask[i]);
        for (uint32_t lane = 0; lane < f->program->lanes; lane++)
            around[lane] = around[lane] & (leaving[lane] == 0);
        mask_set_running(f, list->mask[i], mask_running(f, list->mask[i]) - count);
    }
    memset(leaving, 0, f->program->lanes);
    mask_set_running(f, in->mask, 0);
}

void step_jump_none(struct frame *f, const struct instr *in)
{
    if (mask_running(f, in->mask) == 0)
        f->pc = in->n;
}

/* --- what must hold --- */

/* dst: the first of `rows` rows of lanes for which test is false where the mask runs; -1: it holds.
 */
static int first_false(const struct frame *f, const struct instr *in, size_t rows, size_t lanes)
{
    const uint8_t *x = frame_at(f, in->a), *mask = frame_mask(f, in->mask);
    for (size_t row = 0; row < rows; row++)
        for (size_t lane = 0; lane < lanes; lane++)
            if (!x[row * lanes + lane] && (lanes == 1 || !mask || mask[lane]))
                return (int)lane;
    return -1;
}

/* a: bytes, divisor != 0; in->n rows of in->c lanes. */
void step_divisor(struct frame *f, const struct instr *in)
{
    int lane = first_false(f, in, in->n, in->c);
    if (lane >= 0)
        frame_fault(f, CPU_DIVIDE, in->loc, in->c > 1 ? lane : -1, "an integer is divided by zero");
}

/* a: bytes, the condition; in->n rows of in->c lanes; detail: its text. */
void step_assume(struct frame *f, const struct instr *in)
{
    int lane = first_false(f, in, in->n, in->c);
    if (lane >= 0)
        frame_fault(f, CPU_ASSUME, in->loc, in->c > 1 ? lane : -1, "assume(%s) does not hold",
                    (const char *)in->detail);
}
