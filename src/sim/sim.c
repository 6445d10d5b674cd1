/* A machine: its observers and its launches. */
#include "sim/sim_machine.h"

#include "base/grid.h"
#include "target/targets.h"
#include <string.h>

struct sim *sim_new(struct arena *arena)
{
    struct sim *sim = arena_new(arena, struct sim);
    sim->arena = arena;
    for (int i = 0; i < SIM_FIRST_ALLOCATION; i++)
        vec_push(arena, &sim->allocations, (struct sim_allocation){0});
    text_init(&sim->output, arena);
    return sim;
}

void sim_free(struct sim *sim)
{
    const struct allocator *from = sim->arena->allocator;
    sim_later_end(sim);
    for (size_t i = 0; i < sim->allocations.count; i++) {
        struct sim_allocation *a = &sim->allocations.data[i];
        if (a->owned && a->host)
            from->resize(from->user, a->host, (size_t)a->size + 32, 0);
        *a = (struct sim_allocation){0};
    }
}

void sim_observe(struct sim *sim, struct sim_observer *observer)
{
    struct sim_observer **end = &sim->observers;
    while (*end)
        end = &(*end)->next;
    observer->next = NULL;
    *end = observer;
    for (size_t i = 0; i < sim->allocations.count; i++)
        sim->allocations.data[i].told = false;
}

const char *sim_why(const struct sim *sim)
{
    return sim->why ? sim->why : "";
}
const struct sim_place *sim_stopped_at(const struct sim *sim)
{
    return sim->stopped_at.ins ? &sim->stopped_at : NULL;
}
const struct sim_standstill *sim_standstill(const struct sim *sim)
{
    return sim->standstill;
}
int64_t sim_steps(const struct sim *sim)
{
    return sim->steps;
}

int64_t sim_unwatched(const struct sim *sim)
{
    return sim->unwatched;
}

int64_t sim_waits_ended(const struct sim *sim)
{
    return sim->waits_ended;
}
const char *sim_output(const struct sim *sim, size_t *length)
{
    if (length)
        *length = sim->output.length;
    return sim->output.data ? sim->output.data : "";
}

/* --- a launch --- */

static bool limits_hold(const struct sim_launch *l, struct diag *diag)
{
    uint64_t threads = (uint64_t)l->block[0] * l->block[1] * l->block[2];
    bool too_many = l->block[0] > BLOCK_THREADS || l->block[1] > BLOCK_THREADS ||
                    l->block[2] > BLOCK_DEPTH || threads > BLOCK_THREADS;
    if (!threads || (too_many && !l->options.any_threads)) {
        diag_error(diag, LOC_NONE, "a block has 1 to 1024 threads, not %u x %u x %u", l->block[0],
                   l->block[1], l->block[2]);
        return false;
    }
    for (int axis = 0; axis < 3; axis++)
        if (!l->grid[axis] || l->grid[axis] > grid_limits[axis]) {
            diag_error(diag, LOC_NONE, "a grid of %u x %u x %u blocks cannot be launched",
                       l->grid[0], l->grid[1], l->grid[2]);
            return false;
        }
    if (l->dynamic_shared < 0 || l->dynamic_shared > target_most_shared()) {
        diag_error(
            diag, LOC_NONE,
            "%lld bytes of dynamic shared memory are not available: no GPU gives a block more "
            "than %d",
            (long long)l->dynamic_shared, target_most_shared());
        return false;
    }
    return true;
}

static void refuse_block(const struct ptx_limit *limit, const struct sim_launch *l, uint64_t most,
                         struct diag *diag)
{
    bool exact = limit->directive == PTX_REQNTID;
    diag_error(diag, LOC_NONE,
               "the kernel does not take blocks of %u x %u x %u threads: it %s %llu (.%s; %s in "
               "CUDA C)",
               l->block[0], l->block[1], l->block[2], exact ? "has exactly" : "has at most",
               (unsigned long long)most, ptx_directives[limit->directive].name,
               exact ? "__block_size__" : "__launch_bounds__");
}

/* .reqntid and .maxntid */
static bool block_suits(const struct ptx_function *f, const struct sim_launch *l, struct diag *diag)
{
    uint64_t threads = (uint64_t)l->block[0] * l->block[1] * l->block[2];
    for (size_t i = 0; i < f->limits.count; i++) {
        const struct ptx_limit *limit = &f->limits.data[i];
        uint64_t most = 1;
        bool same = true;
        for (uint32_t k = 0; k < 3; k++) {
            uint32_t n = k < limit->count ? limit->values[k] : 1;
            most *= n;
            same = same && n == l->block[k];
        }
        if ((limit->directive == PTX_REQNTID && !same) ||
            (limit->directive == PTX_MAXNTID && threads > most)) {
            refuse_block(limit, l, most, diag);
            return false;
        }
    }
    return true;
}

/* Checks static and dynamic shared memory together, on the GPUs that the program is for. */
static bool all_shared_suits(const struct sim *sim, const struct sim_launch *l, struct diag *diag)
{
    const struct ptx_target *t = &sim->module->target;
    int64_t most = l->shared_most ? l->shared_most : target_most_shared();
    int64_t fixed = (int64_t)(sim->program->dynamic_at - sim->program->reserved_shared);
    if (!l->dynamic_shared || fixed + l->dynamic_shared <= most)
        return true;
    diag_error(
        diag, LOC_NONE,
        "%s has %lld bytes of static and %lld of dynamic shared memory, and a block on sm_%d "
        "has %lld at most",
        l->kernel, (long long)fixed, (long long)l->dynamic_shared, t->number, (long long)most);
    return false;
}

/* Checks the limit of ptxas on static shared memory. A larger array has to be dynamic: CUDA C++
 * Programming Guide, "Technical Specifications per Compute Capability". But if the target is one
 * GPU alone, such as sm_90a, ptxas 13.0 accepts all the shared memory that a block may have. */
static bool shared_suits(const struct sim *sim, struct diag *diag)
{
    int most = sim->module->target.suffix == 'a' ? target_most_shared() : GPU_STATIC_SHARED;
    if (sim->program->static_shared <= (uint64_t)most)
        return true;
    diag_error(diag, LOC_NONE,
               "the kernel has %llu bytes of static shared memory, and a block may have at most "
               "%d: no GPU "
               "takes it; a larger array has to be `extern __shared__`, its size given by --shared "
               "or by the launch",
               (unsigned long long)sim->program->static_shared, most);
    diag_code(diag, CODE_TARGET);
    return false;
}

static bool copy_arguments(struct sim *sim, const struct sim_launch *l, struct diag *diag)
{
    const struct ptx_function *f = sim->program->kernel;
    size_t count = f->signature.parameters.count;
    if ((size_t)l->argument_count != count) {
        diag_error(diag, LOC_NONE, "%s takes %zu arguments, not %d", f->name, count,
                   l->argument_count);
        return false;
    }
    sim->parameters = arena_alloc(sim->arena, (size_t)sim->program->parameter_bytes + 32);
    uint32_t *at = arena_array(sim->arena, uint32_t, count + 1);
    sim_layout(&f->signature, at);
    for (size_t i = 0; i < count; i++)
        memcpy(sim->parameters + at[i], l->arguments[i],
               (size_t)ptx_variable_size(f->signature.parameters.data[i]));
    return true;
}

static bool prepare(struct sim *sim, const struct sim_launch *l, struct diag *diag)
{
    if (!sim->module) {
        diag_error(diag, LOC_NONE, "no module was loaded");
        return false;
    }
    const struct ptx_function *f = ptx_find_function(sim->module, l->kernel);
    if (!f || !f->entry || !f->defined) {
        diag_error(diag, LOC_NONE, "there is no kernel `%s`", l->kernel);
        return false;
    }
    if (!limits_hold(l, diag) || !block_suits(f, l, diag))
        return false;
    int target = l->options.sm ? l->options.sm : sim->module->target.number;
    sim->program = sim_program_of(sim, f, target);
    if (sim->program->elsewhere) {
        diag_error(diag, sim->program->elsewhere->where, "`%s` is defined in another module",
                   sim->program->elsewhere->name);
        return false;
    }
    if (sim->program->kernel_code->refused) {
        diag_error(diag, f->where, "%s has %s", f->name, sim->program->kernel_code->refused);
        return false;
    }
    if (!sim_cluster_suits(sim, l, diag) || !shared_suits(sim, diag) ||
        !all_shared_suits(sim, l, diag))
        return false;
    sim->launch = l;
    sim->shared_bytes = sim->program->reserved_shared + sim->program->static_shared;
    if (l->dynamic_shared)
        sim->shared_bytes = sim->program->dynamic_at + (uint64_t)l->dynamic_shared;
    return copy_arguments(sim, l, diag);
}

static void add_listener(struct sim *sim, struct sim_listeners *list, struct sim_observer *o)
{
    if (o->later)
        vec_push(sim->arena, &list->later, o);
    else
        vec_push(sim->arena, &list->now, o);
}

static void find_listeners(struct sim *sim)
{
    sim->told = sim->counted = sim->traces = false;
    sim->alike = true;
    sim->on_access.later.count = sim->on_sync.later.count = sim->on_async.later.count = 0;
    sim->on_access.now.count = sim->on_sync.now.count = sim->on_async.now.count = 0;
    for (struct sim_observer *o = sim->observers; o; o = o->next) {
        sim->alike &= o->only == sim->observers->only;
        sim->told |= o->step != NULL;
        sim->counted |= o->executed != NULL;
        sim->traces |= o->used != NULL;
        if (o->access)
            add_listener(sim, &sim->on_access, o);
        if (o->sync)
            add_listener(sim, &sim->on_sync, o);
        if (o->async)
            add_listener(sim, &sim->on_async, o);
    }
}

static bool tell_launch(struct sim *sim)
{
    for (struct sim_observer *o = sim->observers; o; o = o->next)
        if (o->launch &&
            !o->launch(o->user, sim->program->kernel, sim->launch->grid, sim->launch->block)) {
            sim_over(sim, SIM_ASKED, "an observer asked to stop");
            return false;
        }
    return true;
}

static bool tell_allocated(struct sim *sim, const struct sim_allocation_event *event)
{
    for (struct sim_observer *o = sim->observers; o; o = o->next)
        if (o->allocated && !o->allocated(o->user, event)) {
            sim_over(sim, SIM_ASKED, "an observer asked to stop");
            return false;
        }
    return true;
}

static bool tell_allocations(struct sim *sim)
{
    const struct sim_program *p = sim->program;
    for (size_t i = SIM_FIRST_ALLOCATION; i < sim->allocations.count; i++) {
        if (i == sim->skipped && i < sim->skipped_end)
            i = sim->skipped_end;
        if (i == sim->allocations.count)
            break;
        struct sim_allocation *a = &sim->allocations.data[i];
        if (a->told || !a->host || a->freed)
            continue;
        struct sim_allocation_event event = {.space = a->constant ? SIM_CONST : SIM_GLOBAL,
                                             .address = sim_address_of(i, 0),
                                             .bytes = a->size,
                                             .name = a->name,
                                             .initialised = a->initialised,
                                             .written = a->written,
                                             .structs = a->structs};
        if (!tell_allocated(sim, &event))
            return false;
        a->told = true;
    }
    struct sim_allocation_event reserved = {.space = SIM_SHARED,
                                            .bytes = p->reserved_shared,
                                            .name = "reserved shared memory",
                                            .initialised = true};
    if (p->reserved_shared && !tell_allocated(sim, &reserved))
        return false;
    for (size_t i = 0; i < p->shared.count; i++) {
        const struct sim_shared *s = &p->shared.data[i];
        uint64_t size = ptx_variable_size(s->variable);
        struct sim_allocation_event event = {.space = SIM_SHARED,
                                             .address = s->offset,
                                             .bytes = size ? size : sim->shared_bytes - s->offset,
                                             .name = s->variable->name};
        if (!tell_allocated(sim, &event))
            return false;
    }
    return true;
}

static bool tell_partial(struct sim *sim)
{
    const struct ptx_signature *s = &sim->program->kernel->signature;
    uint32_t *at = arena_array(sim->arena, uint32_t, s->parameters.count + 1);
    sim_layout(s, at);
    for (int i = 0; i < sim->launch->partial_count; i++) {
        const struct sim_partial *p = &sim->launch->partial[i];
        struct sim_allocation_event event = {
            .space = SIM_PARAM,
            .address = at[p->parameter],
            .bytes = ptx_variable_size(s->parameters.data[p->parameter]),
            .name = p->name,
            .missing = p->missing};
        if (!tell_allocated(sim, &event))
            return false;
    }
    return true;
}

static void tell_ended(struct sim *sim)
{
    for (struct sim_observer *o = sim->observers; o; o = o->next)
        if (o->ended && !o->ended(o->user))
            sim_over(sim, SIM_ASKED, "an observer asked to stop");
}

/* Gives back the memory that the program's `free` has freed: its use is found all the same. */
static void give_back_freed(struct sim *sim)
{
    for (size_t i = SIM_FIRST_ALLOCATION; sim->heap_bytes && i < sim->allocations.count; i++)
        if (sim->allocations.data[i].freed && sim->allocations.data[i].owned)
            sim_release(sim, sim_address_of(i, 0));
    sim->heap_bytes = sim->heap_used;
}

enum sim_end sim_run(struct sim *sim, const struct sim_launch *launch, struct diag *diag)
{
    sim_later_end(sim);
    sim->over = false;
    sim->end = SIM_DONE;
    sim->why = NULL;
    sim->stopped_at = (struct sim_place){0};
    sim->standstill = NULL;
    sim->steps = sim->asked_at = sim->waits_ended = sim->unwatched = 0;
    sim->copies = 0;
    sim->stack_bytes = 0;
    sim->heap = launch->options.heap ? launch->options.heap : SIM_HEAP;
    give_back_freed(sim);
    text_init(&sim->output, sim->arena);
    if (!prepare(sim, launch, diag)) {
        const struct diagnostic *last = diag->last;
        sim_over(sim, SIM_STOPPED, last ? last->message : "the launch is wrong");
        return sim->end;
    }
    sim->step_limit = launch->options.step_limit ? launch->options.step_limit : (int64_t)1 << 40;
    sim->random = launch->options.seed * UINT64_C(0x9E3779B97F4A7C15) + 1;
    if (!sim->random)
        sim->random = 1;
    sim->late = launch->options.async_late;
    sim->land_after = sim->late ? launch->options.async_after : 0;
    find_listeners(sim);
    if (tell_allocations(sim) && tell_partial(sim) && tell_launch(sim))
        sim_run_blocks(sim);
    sim_settle(sim);
    sim_later_end(sim);
    sim_notify_executed(sim);
    tell_ended(sim);
    return sim->end;
}
