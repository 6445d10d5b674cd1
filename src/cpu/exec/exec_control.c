/* Steps that decide which step runs next and which lanes run. */
#include "base/number.h"
#include "cpu/program.h"

#include <inttypes.h>
#include <stdio.h>

/* Faults if a loop that changes nothing reaches its top again. */
void step_stuck(struct frame *f, const struct instr *in)
{
    frame_fault(f, CPU_ENDLESS, in->loc, -1,
                "this loop does not end: it waits for memory to change, but nothing does while the "
                "block waits; lock() waits for other blocks");
}

/* Ends the kernel, from any place. */
void step_end(struct frame *f, const struct instr *in)
{
    if (f->copy_count > 0) {
        int line, column;
        const struct copy_under_way *copy = &f->copies[0];
        loc_line_column(copy->loc, &line, &column);
        frame_fault(f, CPU_ASYNC, copy->loc.source ? copy->loc : in->loc, -1,
                    "the kernel ends while this copy into %s is under way; %s must come first",
                    copy->detail->to->sym->name,
                    copy->detail->barrier ? "a wait for its mbarrier" : "async_wait(0)");
        return;
    }
    f->state = FRAME_DONE;
}

/* Jumps. Loops close with this step, so it polls: a loop that never ends can be stopped. */
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
    return frame_mask_header(f, mask).running;
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

/* Returns the rectangle that the running lanes fill, if some but not all run; blocks with a z
 * axis have none. */
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

/* Completes a new mask, of which `running` lanes run. */
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

/* Computes dst = mask and condition a. */
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

/* --- masks that are rectangles --- */

/* Returns the greatest integer that is at most a / b, for b > 0. */
static int64_t quotient_down(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

/* Computes the rectangle of lanes for which all tests hold; high <= low: none. false: they may
 * not form a rectangle, because some value wraps, or because some but not all lanes pass a test
 * of thread.x taken apart. */
static bool test_box(const struct frame *f, const struct box_detail *d, int64_t low[2],
                     int64_t high[2])
{
    for (int i = 0; i < d->count; i++) {
        const struct box_test *t = &d->test[i];
        if (t->uniform) {
            if (!f->memory[t->a])
                high[0] = 0;
            continue;
        }
        int64_t a = *(const int32_t *)frame_at(f, t->a), b = *(const int32_t *)frame_at(f, t->b);
        if (a + t->low[0] < INT32_MIN || a + t->high[0] > INT32_MAX || b + t->low[1] < INT32_MIN ||
            b + t->high[1] > INT32_MAX)
            return false;
        /* The test becomes first + step * index < 0. */
        bool less = t->op == OP_LT || t->op == OP_LE;
        int axis = t->step[0] != t->step_b[0] ? 0 : 1;
        int64_t step = t->step[axis] - t->step_b[axis], first = less ? a - b : b - a;
        step = less ? step : -step;
        first -= t->op == OP_LE || t->op == OP_GE;
        bool apart = t->step[0] != t->step_b[0] && t->step[1] != t->step_b[1];
        if (apart) { /* thread.x is taken apart: lanes in their order */
            int64_t last = first + step * ((int64_t)f->program->lanes - 1);
            if (first >= 0 && last >= 0)
                high[0] = 0;
            else if (first >= 0 || last >= 0)
                return false;
            continue;
        }
        if (step == 0 && first >= 0)
            high[0] = 0;
        else if (step > 0 && -quotient_down(first, step) < high[axis])
            high[axis] = -quotient_down(first, step);
        else if (step < 0 && quotient_down(first, -step) + 1 > low[axis])
            low[axis] = quotient_down(first, -step) + 1;
    }
    return true;
}

/* Returns whether one lane passes all tests, with its values wrapped. */
static bool test_lane(const struct frame *f, const struct box_detail *d, uint32_t x, uint32_t y)
{
    for (int i = 0; i < d->count; i++) {
        const struct box_test *t = &d->test[i];
        if (t->uniform && !f->memory[t->a])
            return false;
        if (t->uniform)
            continue;
        int32_t a = (int32_t)(*(const uint32_t *)frame_at(f, t->a) + (uint32_t)t->step[0] * x +
                              (uint32_t)t->step[1] * y);
        int32_t b = (int32_t)(*(const uint32_t *)frame_at(f, t->b) + (uint32_t)t->step_b[0] * x +
                              (uint32_t)t->step_b[1] * y);
        if (!(t->op == OP_LT ? a < b : t->op == OP_LE ? a <= b : t->op == OP_GT ? a > b : a >= b))
            return false;
    }
    return true;
}

/* Writes the lanes of a rectangle into a mask. */
static void mask_fill(struct frame *f, uint32_t mask, const int64_t low[2], const int64_t high[2])
{
    const struct cpu_program *p = f->program;
    uint8_t *lanes = mask_lanes(f, mask);
    struct mask_header header = {0};
    if (low[0] < high[0] && low[1] < high[1]) {
        header.running = (high[0] - low[0]) * (high[1] - low[1]);
        header.box = (struct lane_box){{(uint16_t)low[0], (uint16_t)low[1]},
                                       {(uint16_t)high[0], (uint16_t)high[1]}};
    }
    memset(lanes, header.running == (int64_t)p->lanes, p->lanes);
    if (header.running < (int64_t)p->lanes)
        for (uint32_t y = header.box.low[1]; y < header.box.high[1]; y++)
            memset(lanes + y * p->threads[0] + low[0], 1, (size_t)(high[0] - low[0]));
    memcpy(f->memory + mask, &header, sizeof header);
}

/* Removes from the mask the lanes that do not run in the outer mask. */
static void mask_within(struct frame *f, uint32_t mask, uint32_t outer)
{
    uint8_t *lanes = mask_lanes(f, mask);
    if (frame_mask(f, outer))
        mask_made(f, mask,
                  (int64_t)f->program->set->memory->mask_and(lanes, mask_lanes(f, outer), lanes,
                                                             f->program->lanes));
}

/* Computes mask = the lanes of the outer mask (NO_SLOT: all lanes) without those of `yes`. */
static void mask_rest(struct frame *f, uint32_t mask, uint32_t outer, uint32_t yes)
{
    const struct cpu_program *p = f->program;
    int64_t all = outer == NO_SLOT ? p->lanes : mask_running(f, outer), none[2] = {0};
    if (mask_running(f, yes) == all) {
        mask_fill(f, mask, none, none);
        return;
    }
    size_t running = p->set->memory->mask_and_not(mask_lanes(f, mask), frame_mask(f, outer),
                                                  mask_lanes(f, yes), p->lanes);
    mask_made(f, mask, (int64_t)running);
}

/* Computes dst: the lanes of instr.mask that pass the tests; and b: those that do not (NO_SLOT:
 * not wanted). */
void step_mask_box(struct frame *f, const struct instr *in)
{
    const struct cpu_program *p = f->program;
    const struct box_detail *d = in->detail;
    int64_t low[2] = {0, 0}, high[2] = {p->threads[0], p->threads[1]};
    if (test_box(f, d, low, high)) {
        mask_fill(f, in->dst, low, high);
    } else {
        uint8_t *lanes = mask_lanes(f, in->dst);
        int64_t running = 0;
        for (uint32_t lane = 0; lane < p->lanes; lane++) {
            lanes[lane] = test_lane(f, d, lane % p->threads[0], lane / p->threads[0]);
            running += lanes[lane];
        }
        mask_made(f, in->dst, running);
    }
    mask_within(f, in->dst, in->mask);
    if (in->b != NO_SLOT)
        mask_rest(f, in->b, in->mask, in->dst);
}

/* --- lanes that leave --- */

/* Removes the lanes of instr.mask from it and from the masks in the list. */
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

/* --- conditions that must hold --- */

/* Returns the first place, by row and lane, where the test is false and the mask runs; -1: there
 * is none. */
static int64_t first_false(const struct frame *f, const struct instr *in, size_t rows, size_t lanes)
{
    const uint8_t *x = frame_at(f, in->a), *mask = frame_mask(f, in->mask);
    for (size_t row = 0; row < rows; row++)
        for (size_t lane = 0; lane < lanes; lane++)
            if (!x[row * lanes + lane] && (lanes == 1 || !mask || mask[lane]))
                return (int64_t)(row * lanes + lane);
    return -1;
}

/* Writes ", element [3][5] of the divisor"; for a scalar it writes nothing. */
static void name_element(char *out, size_t size, const struct divisor_detail *d, int64_t element)
{
    int64_t at[MAX_RANK];
    size_t length = 0;
    for (int axis = d->rank - 1; axis >= 0; axis--) {
        at[axis] = element % d->extent[axis];
        element /= d->extent[axis];
    }
    out[0] = '\0';
    for (int axis = 0; axis < d->rank; axis++)
        length += (size_t)snprintf(out + length, size - length, "%s[%" PRId64 "]",
                                   axis ? "" : ", element ", at[axis]);
    if (d->rank)
        snprintf(out + length, size - length, " of the divisor");
}

/* Faults on division by zero. a: bytes, divisor != 0; in->n rows of in->c lanes; detail: the
 * divisor's axes. */
void step_divisor(struct frame *f, const struct instr *in)
{
    char where[MAX_RANK * 24 + 40];
    int64_t at = first_false(f, in, in->n, in->c);
    if (at < 0)
        return;
    name_element(where, sizeof where, in->detail, at / in->c);
    frame_fault(f, CPU_DIVIDE, in->loc, in->c > 1 ? (int)(at % in->c) : -1,
                "an integer is divided by zero%s", where);
    const struct divisor_detail *d = in->detail;
    if (d->rank)
        snprintf(f->fault.way_out, sizeof f->fault.way_out,
                 "elements of a slice that lie outside the array are 0, also if a store then drops "
                 "the result: `A[i +: %" PRId64 " else 1]` reads 1 there",
                 d->extent[d->rank - 1]);
}

/* Writes ": n = 70, i = 64", the values of one lane. */
static void write_values(const struct frame *f, char *out, size_t size,
                         const struct assume_detail *d, size_t lane)
{
    size_t length = 0;
    out[0] = '\0';
    for (int i = 0; i < d->count && length < size; i++) {
        const struct assume_value *v = &d->value[i];
        const unsigned char *at = frame_at(f, v->at);
        at += (v->lanes > 1 ? lane : 0) * dtype_size(v->dtype);
        const char *before = i ? ", " : ": ";
        if (dtype_is_float(v->dtype))
            length += (size_t)number_format(out + length, size - length, "%s%s = %g", before,
                                            v->name, dtype_load_f64(v->dtype, at));
        else
            length += (size_t)snprintf(out + length, size - length, "%s%s = %" PRId64, before,
                                       v->name, dtype_load_i64(v->dtype, at));
    }
}

/* Faults if an assumption does not hold. a: bytes, the condition; in->n rows of in->c lanes;
 * detail: its text and values. */
void step_assume(struct frame *f, const struct instr *in)
{
    const struct assume_detail *d = in->detail;
    char values[160];
    int64_t at = first_false(f, in, in->n, in->c);
    if (at < 0)
        return;
    write_values(f, values, sizeof values, d, (size_t)(at % in->c));
    frame_fault(f, CPU_ASSUME, in->loc, in->c > 1 ? (int)(at % in->c) : -1,
                "assume(%s) does not hold%s", d->text, values);
}
