/* Faults: finds the nearest memory, asks observers whether to go on, and otherwise ends the
 * launch. */
#include "sim/sim_machine.h"

#include "base/shown.h"

#include <assert.h>
#include <stdio.h>

/* Notes the first byte that is not reached because of its page. */
static void name_page(const struct sim_allocation *a, struct sim_fault *fault)
{
    uint64_t end = (uint64_t)fault->offset + (uint64_t)fault->bytes;
    uint64_t at = sim_pages_end(a->pages, (uint64_t)fault->offset, end < a->size ? end : a->size);
    fault->paged = at < end && at < a->size;
    fault->page = fault->paged ? a->pages->access[at / SIM_PAGE_BYTES] : SIM_PAGE_OPEN;
    fault->page_offset = at;
}

/* Names the allocation that the address follows, or the next one if that is nearer. */
static void name_allocation(const struct sim *sim, struct sim_fault *fault)
{
    uint64_t number = sim_number_of(fault->address), offset = sim_offset_of(fault->address);
    const struct sim_allocation *all = sim->allocations.data, *a = NULL;
    if (number >= SIM_FIRST_ALLOCATION && number < sim->allocations.count) {
        a = &all[number];
        fault->offset = (int64_t)offset;
    }
    if (number + 1 >= SIM_FIRST_ALLOCATION && number + 1 < sim->allocations.count &&
        offset >> (SIM_OFFSET_BITS - 1)) {
        a = &all[number + 1];
        fault->offset = (int64_t)(fault->address - sim_address_of(number + 1, 0));
    }
    if (a) {
        fault->space = a->constant ? SIM_CONST : SIM_GLOBAL;
        fault->name = a->name;
        fault->size = a->size;
        fault->freed = a->freed;
        if (a->pages && fault->offset >= 0 && (uint64_t)fault->offset < a->size)
            name_page(a, fault);
    }
}

static void name_shared(const struct sim *sim, struct sim_fault *fault)
{
    const struct sim_program *p = sim->program;
    fault->name = "shared memory";
    fault->size = sim->shared_bytes;
    fault->offset = (int64_t)fault->address;
    for (size_t i = 0; i < p->shared.count; i++) {
        const struct sim_shared *s = &p->shared.data[i];
        uint64_t size = ptx_variable_size(s->variable);
        if (fault->address < s->offset)
            continue;
        fault->name = s->variable->name;
        fault->size = size ? size : sim->shared_bytes - s->offset;
        fault->offset = (int64_t)(fault->address - s->offset);
    }
}

/* Names the memory that is addressed by offsets: the kernel's parameters or the thread's own. */
static void name_own(const struct sim_warp *w, struct sim_fault *fault)
{
    bool local = fault->space == SIM_LOCAL;
    fault->name = local ? "the thread's local memory" : "the kernel's parameters";
    fault->size =
        local ? sim_stack_top_of(w->frame, fault->lane) : w->sim->program->parameter_bytes;
    fault->offset = (int64_t)fault->address;
}

static void fault_text(struct text *out, const struct sim_fault *f)
{
    static const char *const spaces[] = {"global", "shared", "local", "constant", "parameter"};
    static const char *const kinds[] = {"outside any allocation", "misaligned", "read-only",
                                        "trap"};
    text_printf(out, "%s of %d bytes of %s memory at 0x%llx: %s", f->write ? "write" : "read",
                f->bytes, spaces[f->space], (unsigned long long)f->address, kinds[f->kind]);
    if (f->name && f->offset < 0)
        text_printf(out, ", %llu bytes before `%s`", 0 - (unsigned long long)f->offset, f->name);
    else if (f->name)
        text_printf(out, ", %lld bytes after the start of `%s`, which has %llu",
                    (long long)f->offset, f->name, (unsigned long long)f->size);
}

static bool pardoned(struct sim *sim, const struct sim_fault *fault)
{
    bool go_on = false;
    for (struct sim_observer *o = sim->observers; o; o = o->next)
        if (o->fault && !o->fault(o->user, fault, &go_on)) {
            sim_over(sim, SIM_ASKED, "an observer asked to stop");
            return false;
        }
    return go_on;
}

static void end_with(struct sim_warp *w, const struct sim_op *op, int lane, struct text *out)
{
    text_printf(out, " (");
    sim_describe(out, w, op);
    text_printf(out, ", thread %d)", w->number * SIM_LANES + lane);
    sim_over(w->sim, SIM_FAULT, out->data);
    w->state = SIM_CHOOSES;
}

bool sim_fault_at(struct sim_warp *w, const struct sim_op *op, struct sim_fault *fault)
{
    uint64_t rank = fault->space == SIM_SHARED ? fault->address >> SIM_RANK_AT : 0;
    if (rank && rank <= (uint64_t)w->block->cluster->count &&
        !sim_cluster_block(w->block, (uint32_t)rank - 1))
        return sim_no_address(w, op, fault->lane, SIM_PEER_ENDED, (int)rank - 1);
    sim_place_of(w, op, &fault->at);
    if (fault->space == SIM_GLOBAL || fault->space == SIM_CONST)
        name_allocation(w->sim, fault);
    else if (fault->space == SIM_SHARED)
        name_shared(w->sim, fault);
    else
        name_own(w, fault);
    if (pardoned(w->sim, fault))
        return true;
    struct text out;
    text_init(&out, w->sim->arena);
    fault_text(&out, fault);
    end_with(w, op, fault->lane, &out);
    return false;
}

/* Handles a fault that has a text. An observer may let it pass, but never a trap. */
static bool fault_in_words(struct sim_warp *w, const struct sim_op *op, struct sim_fault *fault)
{
    struct text out;
    sim_place_of(w, op, &fault->at);
    if (pardoned(w->sim, fault) && !sim_fault_is_end(fault->kind))
        return true;
    text_init(&out, w->sim->arena);
    text_add(&out, fault->why);
    end_with(w, op, fault->lane, &out);
    return false;
}

bool sim_trap(struct sim_warp *w, const struct sim_op *op, int lane, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *why = arena_vprintf(w->sim->arena, format, args);
    va_end(args);
    return sim_end_by_program(w, op, lane, SIM_TRAP, why);
}

bool sim_end_by_program(struct sim_warp *w, const struct sim_op *op, int lane,
                        enum sim_fault_kind kind, const char *why)
{
    struct sim_fault fault = {.kind = kind, .lane = lane};
    fault.why = text_shown(w->sim->arena, why, SHOWN_LINE);
    return fault_in_words(w, op, &fault);
}

enum { NO_ADDRESS_LENGTH = 256 };

bool sim_no_address(struct sim_warp *w, const struct sim_op *op, int lane, const char *format, ...)
{
    char why[NO_ADDRESS_LENGTH]; /* not from the arena: a loop may come here a million times */
    struct sim_fault fault = {.kind = SIM_NO_ADDRESS, .lane = lane, .why = why};
    va_list args;
    va_start(args, format);
    int length = vsnprintf(why, sizeof why, format, args);
    va_end(args);
    assert(length >= 0 && (size_t)length < sizeof why);
    (void)length;
    return fault_in_words(w, op, &fault);
}
