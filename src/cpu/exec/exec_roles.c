/* Roles: several programs of one block that take turns in its frame.
 *
 * A role runs until it waits for a phase that is not complete. Then the frame keeps the place of its
 * step, and goes on with another role, whose step is executed again if it waited. If every role was
 * tried and none went on, none ever will. A tensor copy is executed as late as the program allows:
 * when a role waits for its phase and all arrivals of the phase have come. A role that forgets to
 * wait therefore touches a tile whose copy is under way. Each role has its own memory in the frame, and
 * shared tiles, mbarriers and variables that were declared before the roles belong to all. */
#include "cpu/program.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

static struct role_state *roles_of(const struct frame *f)
{
    return frame_at(f, f->program->roles->at);
}

/* Notes that the role goes on. */
static void moves(struct frame *f)
{
    f->tried = 0;
    f->moved = true;
}

/* --- names for messages --- */

struct words {
    size_t length;
    char text[480];
};

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static void
add(struct words *w, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int length = vsnprintf(w->text + w->length, sizeof w->text - w->length, format, args);
    va_end(args);
    w->length += length > 0 ? (size_t)length : 0;
    if (w->length >= sizeof w->text)
        w->length = sizeof w->text - 1;
}

/* Adds the way out to the fault of a frame. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static void
advise(struct frame *f, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(f->fault.way_out, sizeof f->fault.way_out, format, args);
    va_end(args);
}

static int line_of(struct loc loc)
{
    int line = 0, column;
    if (loc.source)
        loc_line_column(loc, &line, &column);
    return line;
}

/* An mbarrier that an instruction names. */
struct named {
    const struct mbarrier_detail *detail;
    struct mbarrier *barrier;
    uint32_t element;
    char text[96]; /* "full[2]"; a long name is cut */
};

static bool find(struct frame *f, const struct mbarrier_detail *d, struct loc loc, struct named *to)
{
    struct box box;
    struct words w = {.length = 0};
    if (!exec_access_box(f, d->access, loc, &box))
        return false;
    struct frame *of = clusters_frame(f, d->access, loc);
    to->detail = d;
    to->element = 0;
    add(&w, "%s", d->access->sym->name);
    for (int i = 0; i < d->access->rank; i++) {
        to->element += (uint32_t)(box.start[i] * d->access->stride[i]);
        add(&w, "[%" PRId64 "]", box.start[i]);
    }
    snprintf(to->text, sizeof to->text, "%.90s", w.text);
    to->barrier = (struct mbarrier *)frame_at(of, d->at) + to->element;
    return true;
}

/* --- copies of a phase --- */

static bool completes_on(const struct copy_under_way *copy, const struct named *n)
{
    const struct mbarrier_detail *d = copy->detail->barrier;
    return d && d->at == n->detail->at && copy->element == (int64_t)n->element;
}

/* Returns the bytes that a copy completes: those of the whole tile, zeros beyond an edge included. */
static int64_t bytes_of(const struct copy_under_way *copy)
{
    return copy->detail->to->elements * (int64_t)copy->detail->to->size;
}

static void next_phase(struct named *n)
{
    n->barrier->phases++;
    n->barrier->missing = n->detail->arrivals;
}

static void report_bytes(struct frame *f, const struct named *n, size_t index)
{
    int64_t announced = n->barrier->bytes, own = bytes_of(&f->copies[index]);
    frame_fault(f, CPU_MBARRIER, f->copies[index].loc, -1,
                "this copy brings %" PRId64 " bytes to %s, and its phase waits for only %" PRId64
                " more",
                own, n->text, announced);
    advise(f,
           "announce the bytes of all tiles: expect(%s, bytes(…) + bytes(…)); elements beyond "
           "an edge count, too",
           n->text);
}

/* Executes the copies under way that the phase still waits for. */
static void take_copies(struct frame *f, struct named *n)
{
    int64_t phases = n->barrier->phases;
    for (size_t i = 0; i < f->copy_count && n->barrier->missing == 0;) {
        if (!completes_on(&f->copies[i], n)) {
            i++;
            continue;
        }
        int64_t bytes = bytes_of(&f->copies[i]);
        if (bytes > n->barrier->bytes) {
            report_bytes(f, n, i);
            return;
        }
        n->barrier->bytes -= bytes;
        exec_async_complete(f, i);
        if (n->barrier->bytes == 0)
            next_phase(n);
        if (n->barrier->phases > phases)
            return;
    }
}

/* --- when no role can go on --- */

/* Adds what the phase lacks for which the role waits. */
static void add_lacking(struct frame *f, struct words *w, const struct named *n)
{
    int64_t bytes = n->barrier->bytes;
    for (size_t i = 0; i < f->copy_count; i++)
        bytes -= completes_on(&f->copies[i], n) ? bytes_of(&f->copies[i]) : 0;
    if (n->barrier->missing > 0)
        add(w, "%" PRId64 " arrival%s", n->barrier->missing, n->barrier->missing > 1 ? "s" : "");
    if (n->barrier->missing > 0 && bytes > 0)
        add(w, " and ");
    if (bytes > 0)
        add(w, "%" PRId64 " bytes of copies", bytes);
    if (n->barrier->missing == 0 && bytes <= 0)
        add(w, "a phase of the other parity");
    if (n->barrier->last)
        add(w, " (line %d arrived last)", line_of(n->barrier->last->loc));
}

void exec_roles_deadlock(struct frame *f)
{
    const struct roles_detail *roles = f->program->roles;
    struct loc first = LOC_NONE;
    struct words w = {.length = 0};
    for (int i = 0; i < roles->count; i++) {
        struct named n;
        const struct instr *in = &f->program->code[roles_of(f)[i].pc];
        if (!roles_of(f)[i].live || !find(f, in->detail, in->loc, &n))
            continue;
        if (!first.source)
            first = in->loc;
        add(&w, "%s%s waits in line %d for %s, which lacks ", w.length ? "; " : "",
            roles->role[i].name, line_of(in->loc), n.text);
        add_lacking(f, &w, &n);
    }
    frame_fault(f, CPU_DEADLOCK, first, -1, "%s go on: %s",
                roles_of(f)[0].live ? "the block cannot" : "no role can", w.text);
    advise(f, "a phase needs all arrivals that its mbarrier counts, and all bytes that expect() "
              "announced: look for one that is missing, or for a wait too many");
}

/* --- turns --- */

static void switch_to(struct frame *f, int role)
{
    f->role = role;
    f->pc = roles_of(f)[role].pc;
    f->group = roles_of(f)[role].group;
}

/* Ends the turns of a frame in which no role went on. If one of them waits for a lock, another block
 * may free it; another block of the cluster may arrive at its mbarriers. */
static void stop(struct frame *f)
{
    for (int i = 0; i < f->program->roles->count; i++)
        if (roles_of(f)[i].live && (roles_of(f)[i].locks || f->cluster)) {
            switch_to(f, i);
            f->tried = 0;
            f->stuck = !f->moved;
            f->moved = false;
            f->state = FRAME_WAITING;
            return;
        }
    exec_roles_deadlock(f);
}

/* Goes on with the next role that was not tried since any role went on. */
static void go_on(struct frame *f)
{
    int count = f->program->roles->count, first = f->launch->options->first_role;
    while (f->tried < count) {
        int role = (first + f->tried++) % count;
        if (!roles_of(f)[role].live)
            continue;
        switch_to(f, role);
        return;
    }
    stop(f);
}

/* Suspends the role at the step that runs. */
static void suspend(struct frame *f, bool locks)
{
    struct role_state *state = &roles_of(f)[f->role];
    state->pc = f->pc - 1;
    state->locks = locks;
    state->group = f->group;
    go_on(f);
}

void step_roles_open(struct frame *f, const struct instr *in)
{
    (void)in;
    memset(roles_of(f), 0, (size_t)f->program->roles->count * sizeof *roles_of(f));
    roles_of(f)[0].live = true;
    f->role = f->tried = 0;
    f->moved = f->stuck = false;
}

void step_roles_start(struct frame *f, const struct instr *in)
{
    const struct roles_detail *roles = f->program->roles;
    (void)in;
    roles_of(f)[0].live = false;
    for (int i = 1; i < roles->count; i++)
        roles_of(f)[i] = (struct role_state){.pc = roles->role[i].pc, .live = true};
    moves(f);
    go_on(f);
}

/* Ends a role; the last one ends the block. */
void step_role_end(struct frame *f, const struct instr *in)
{
    const struct roles_detail *roles = f->program->roles;
    bool live = false;
    for (size_t i = 0; i < f->copy_count; i++)
        if (f->copies[i].role == f->role && !f->copies[i].detail->barrier) {
            frame_fault(f, CPU_ASYNC, f->copies[i].loc, -1,
                        "the role %s of line %d ends while this copy into %s is under way; "
                        "async_wait(0) must come first",
                        roles->role[f->role].name, line_of(in->loc),
                        f->copies[i].detail->to->sym->name);
            return;
        }
    roles_of(f)[f->role].live = false;
    for (int i = 0; i < roles->count; i++)
        live |= roles_of(f)[i].live;
    moves(f);
    if (live)
        go_on(f);
    else
        f->pc = roles->end;
}

/* --- mbarriers --- */

void step_mbarrier(struct frame *f, const struct instr *in)
{
    const struct mbarrier_detail *d = in->detail;
    struct mbarrier *barrier = frame_at(f, d->at);
    for (uint32_t i = 0; i < d->elements; i++)
        barrier[i] = (struct mbarrier){.phases = d->ready, .missing = d->arrivals};
    memset(frame_at(f, d->waited), 0,
           (size_t)f->program->roles->count * d->elements * sizeof(uint32_t));
}

/* Returns whether the phase of that parity is complete; so PTX has it for mbarrier.try_wait.parity. */
static bool is_complete(const struct mbarrier *b, int32_t parity)
{
    return (b->phases & 1) != parity;
}

static void wait_for_parity(struct frame *f, const struct instr *in, struct named *n)
{
    int32_t parity = *(const int32_t *)frame_at(f, n->detail->value);
    if (parity != 0 && parity != 1) {
        frame_fault(f, CPU_MBARRIER, in->loc, -1,
                    "the parity of a phase of %s is 0 or 1, and this is %" PRId32, n->text, parity);
        advise(f, "write the number of the phase modulo 2, or leave it to the role: wait(%s)",
               n->text);
        return;
    }
    if (!is_complete(n->barrier, parity))
        take_copies(f, n);
    if (f->state != FRAME_READY)
        return;
    if (is_complete(n->barrier, parity))
        moves(f);
    else
        suspend(f, false);
}

/* Returns the number of phases that the role has waited for. */
static uint32_t *waited(const struct frame *f, const struct named *n)
{
    uint32_t *all = frame_at(f, n->detail->waited);
    return &all[(uint32_t)f->role * n->detail->elements + n->element];
}

/* Counts a wait. One before the roles is a wait of every role; in one_thread, it is a wait of the
 * role that has this thread. */
static void count_wait(const struct frame *f, const struct named *n)
{
    const struct roles_detail *roles = f->program->roles;
    uint32_t *all = waited(f, n);
    ++*all;
    for (int i = 1; f->role == 0 && i < roles->count; i++)
        if (!n->detail->one_thread || i == roles->with_thread)
            ++all[(uint32_t)i * n->detail->elements];
}

/* Waits for the role's next phase; or for the phase of a parity, if the detail has one. */
void step_wait(struct frame *f, const struct instr *in)
{
    const struct mbarrier_detail *d = in->detail;
    struct named n;
    if (!find(f, d, in->loc, &n))
        return;
    if (d->value != NO_SLOT) {
        wait_for_parity(f, in, &n);
        return;
    }
    int64_t phase = (int64_t)*waited(f, &n) + 1;
    if (n.barrier->phases < phase)
        take_copies(f, &n);
    if (f->state != FRAME_READY)
        return;
    if (n.barrier->phases < phase) {
        suspend(f, false);
        return;
    }
    if (n.barrier->phases > phase) {
        frame_fault(
            f, CPU_MBARRIER, in->loc, -1,
            "%s waits for phase %" PRId64 " of %s, and phase %" PRId64
            " is complete, too: a GPU keeps only the parity of a phase, so it would wait forever",
            f->program->roles->role[f->role].name, phase, n.text, n.barrier->phases);
        advise(f, "let the roles that arrive wait until this one has seen the phase before");
        return;
    }
    count_wait(f, &n);
    moves(f);
}

static void arrive(struct frame *f, const struct instr *in, int64_t count, int64_t bytes)
{
    struct named n;
    if (!find(f, in->detail, in->loc, &n))
        return;
    if (count > n.barrier->missing) {
        frame_fault(f, CPU_MBARRIER, in->loc, -1,
                    "%s gets %" PRId64 " arrival%s too many: a phase counts %d, and line %d "
                    "arrived before in the same one",
                    n.text, count - n.barrier->missing, count - n.barrier->missing > 1 ? "s" : "",
                    n.detail->arrivals,
                    n.barrier->last ? line_of(n.barrier->last->loc) : line_of(in->loc));
        advise(f, "wait until a phase is complete before you arrive for the next one; arrive() "
                  "counts 1 for each warpgroup of a role, and 1 in one_thread");
        return;
    }
    n.barrier->missing -= count;
    n.barrier->bytes += bytes;
    n.barrier->last = in;
    if (n.barrier->missing == 0 && n.barrier->bytes == 0)
        next_phase(&n);
    moves(f);
}

/* Arrives in->n times. */
void step_arrive(struct frame *f, const struct instr *in)
{
    arrive(f, in, in->n, 0);
}

void step_expect(struct frame *f, const struct instr *in)
{
    enum { MOST_BYTES = (1 << 20) - 1 }; /* PTX ISA, "Contents of the mbarrier object" */
    const struct mbarrier_detail *d = in->detail;
    int32_t bytes = *(const int32_t *)frame_at(f, d->value);
    if (bytes >= 0 && bytes <= MOST_BYTES) {
        arrive(f, in, 1, bytes);
        return;
    }
    frame_fault(f, CPU_MBARRIER, in->loc, -1,
                "an mbarrier counts 0 to %d bytes, and this is %" PRId32, MOST_BYTES, bytes);
    advise(f, "copy less in one phase: smaller tiles, or an mbarrier for each");
}

void step_tensor_copy(struct frame *f, const struct instr *in)
{
    const struct async_detail *d = in->detail;
    struct named n;
    if (!find(f, d->barrier, in->loc, &n))
        return;
    int32_t own = 1 << f->rank, blocks = d->barrier->value == NO_SLOT
                                             ? own
                                             : *(const int32_t *)frame_at(f, d->barrier->value);
    for (int rank = 0; blocks >> rank && rank < 31; rank++) {
        struct frame *to = f;
        if (!(blocks >> rank & 1))
            continue;
        if (rank != f->rank && !(to = clusters_block(f, rank, d->to->sym, in->loc)))
            return;
        struct copy_under_way *copy = exec_async_begin(f, to, in);
        if (!copy)
            return;
        copy->element = n.element;
        copy->group = INT64_MAX; /* no async_wait ends it */
    }
    moves(f);
}

/* --- locks --- */

void step_role_lock(struct frame *f, const struct instr *in)
{
    step_lock(f, in);
    if (f->state == FRAME_READY) {
        moves(f);
    } else if (f->state == FRAME_WAITING) {
        f->state = FRAME_READY;
        f->pc++;
        suspend(f, true);
    }
}
