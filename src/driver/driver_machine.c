/* The simulator, with the checks that watch its launches. */
#include "driver/driver.h"

#include "driver/driver_order.h"
#include "sim/sim_barrier_check.h"
#include "sim/sim_faults.h"
#include "sim/sim_memcheck.h"
#include "sim/race/sim_race.h"
#include "target/gpus.h"

#include <string.h>

static struct {
    const struct driver_module *loaded;
    struct sim_report report;
    struct sim_barrier_check *barriers; /* NULL: nothing is checked */
    struct sim_observer asserts;
    bool asserted;      /* an assert() of the launch has failed */
    int64_t watched;    /* -1: all blocks of the launch are watched; INT64_MAX: none */
    uint64_t workspace; /* of cooperative launches; 0: none so far */
    struct arena later; /* of the report and of the observers that hear later */
} machine;

static void watch(struct sim_observer *o)
{
    o->only = &machine.watched;
    sim_observe(driver.sim, o);
}

static void add_checks(struct arena *a, struct sim_observer *const *orders, int count)
{
    machine.barriers = sim_barrier_check_new(a, &machine.report);
    watch(sim_races_observer(sim_races_new(&machine.later, &machine.report)));
    driver.memcheck = sim_memcheck_observer(sim_memcheck_new(a, &machine.report));
    watch(driver.memcheck);
    watch(sim_barrier_check_observer(machine.barriers));
    for (int i = 0; i < count; i++)
        watch(orders[i]);
}

/* The machine ends a launch in the same way after an assert() that fails, which is a call, and after the
 * instruction trap; a GPU has an error for each. */
static bool note_assert(void *user, const struct sim_fault *f, bool *go_on)
{
    (void)user, (void)go_on;
    machine.asserted = machine.asserted || (f->kind == SIM_TRAP && f->at.ins->op == PTX_CALL);
    return true;
}

void driver_machine_open(struct sim_observer *const *orders, int count)
{
    struct arena *a = &driver.arena;
    driver.report = &machine.report;
    driver.sim = sim_new(a);
    sim_skip(driver.sim, DRIVER_SHARED_NUMBERS);
    arena_init(&machine.later, a->allocator, a->out_of_memory);
    sim_hear_later(driver.sim, &machine.later, driver.settings.threads);
    sim_report_init(&machine.report, &machine.later, NULL);
    machine.report.machine = driver.sim;
    machine.report.plain = true;
    machine.report.source_only = true;
    if (driver.settings.checks) {
        add_checks(a, orders, count);
    } else {
        sim_faults_observe(driver.sim, &machine.report);
        sim_observe(driver.sim, driver_counters_observer(&machine.later));
    }
    machine.asserts = (struct sim_observer){.fault = note_assert};
    sim_observe(driver.sim, &machine.asserts);
}

int driver_machine_second_thread(void)
{
    return driver.sim ? sim_later_launches(driver.sim) : 0;
}

bool driver_machine_load(struct driver_module *m)
{
    if (machine.loaded == m)
        return true;
    machine.loaded = NULL;
    machine.report.module = m->module;
    if (!sim_load(driver_machine(), m->module, &m->source, &m->found))
        return false;
    for (size_t i = 0; i < m->sources.count; i++)
        sim_report_add_source(&machine.report, m->sources.data[i]);
    m->sources.count = 0;
    machine.loaded = m;
    return true;
}

/* --- a launch --- */

static bool is_watched(const struct driver_launched *l)
{
    const struct driver_settings *s = &driver.settings;
    const char *name = l->kernel->function->name, *shown = l->kernel->shown;
    return s->checks && (!s->launch || s->launch == l->number) && l->number > s->skipped &&
           (!s->kernel || strcmp(s->kernel, name) == 0 || strcmp(s->kernel, shown) == 0);
}

/* The kernels that were launched, for a program that never launches the one that --kernel names. */
static VEC(const struct driver_kernel *) launched;
static bool any_watched;

static void note_kernel(const struct driver_launched *l)
{
    any_watched = any_watched || is_watched(l);
    for (size_t i = 0; i < launched.count; i++)
        if (strcmp(launched.data[i]->function->name, l->kernel->function->name) == 0)
            return;
    vec_push(&driver.arena, &launched, l->kernel);
}

/* Adds the kernels that were launched. The symbols distinguish kernels of the same name. */
static void add_launched(struct text *text, bool with_symbols)
{
    enum { SHOWN = 20 };
    for (size_t i = 0; i < launched.count && i < SHOWN; i++) {
        const struct driver_kernel *k = launched.data[i];
        text_printf(text, "%s%s", i ? ", " : "", k->shown);
        if (with_symbols && strcmp(k->shown, k->function->name) != 0)
            text_printf(text, " (%s)", k->function->name);
    }
    if (launched.count > SHOWN)
        text_printf(text, " and %zu more kernels", launched.count - SHOWN);
}

const char *driver_machine_unwatched(void)
{
    const struct driver_settings *s = &driver.settings;
    struct text text;
    if (any_watched || (!s->kernel && !s->launch && !s->skipped))
        return NULL;
    text_init(&text, &driver.arena);
    text_add(&text, "no launch ");
    if (s->launch)
        text_printf(&text, "has number %lld%s", (long long)s->launch, s->kernel ? " and " : "");
    if (s->kernel)
        text_printf(&text, "is of the kernel %s", s->kernel);
    if (s->skipped)
        text_printf(&text, "%scomes after the first %lld", s->launch || s->kernel ? " and " : "",
                    (long long)s->skipped);
    text_printf(&text, ", so nothing was checked; the program made %lld launch%s%s",
                (long long)driver.launches, driver.launches == 1 ? "" : "es",
                launched.count ? ", of " : "");
    bool in_full = s->kernel && (strchr(s->kernel, '<') || strchr(s->kernel, ':'));
    add_launched(&text, in_full);
    if (in_full)
        text_add(&text, "; --kernel takes a name without namespaces and template arguments, or a "
                        "symbol");
    return text.data;
}

/* After a launch that was not watched, it is not known which bytes were written. */
static void trust_memory(void)
{
    for (const struct driver_memory *m = driver_memory_next(NULL); m; m = driver_memory_next(m))
        if (!m->freed_by)
            sim_host(driver.sim, m->address, 0);
    sim_trust_heap(driver.sim);
}

static bool add_workspace(struct driver_launched *l)
{
    static const uint32_t content[2] = {sizeof content, 0}; /* its size, and a counter */
    struct sim *sim = driver.sim;
    l->launch.options.resident_blocks =
        (int)(l->launch.grid[0] * l->launch.grid[1] * l->launch.grid[2]);
    if (!machine.workspace)
        machine.workspace = sim_allocate(sim, sizeof content, content, "the grid's workspace");
    if (!machine.workspace)
        return false;
    memcpy(sim_host(sim, machine.workspace, sizeof content), content, sizeof content);
    l->launch.workspace = machine.workspace;
    return true;
}

struct end_kind {
    const char *kind;
    int result;
};

static struct end_kind kind_of_end(enum sim_end end)
{
    switch (end) {
    case SIM_FAULT: return (struct end_kind){"fault", DRIVER_LAUNCH_FAILED};
    case SIM_DEADLOCK: return (struct end_kind){"deadlock", DRIVER_LAUNCH_TIMEOUT};
    case SIM_ENDLESS: return (struct end_kind){"endless", DRIVER_LAUNCH_TIMEOUT};
    case SIM_UNKNOWN:
    case SIM_CUT_OFF: return (struct end_kind){"not-simulated", DRIVER_NOT_SUPPORTED};
    case SIM_STOPPED:
    case SIM_ASKED: break;
    case SIM_DONE: return (struct end_kind){NULL, DRIVER_SUCCESS};
    }
    return (struct end_kind){"stopped", DRIVER_LAUNCH_FAILED};
}

/* Returns the error of a GPU after the first bad access of a launch, which the checks let pass; success:
 * it had none. */
static int error_of_accesses(const struct sim_finding *before)
{
    const struct sim_finding *f = before ? before->next : machine.report.first;
    for (; f; f = f->next) {
        if (!f->suppressed && (f->kind == SIM_FOUND_OUTSIDE || f->kind == SIM_FOUND_READ_ONLY))
            return DRIVER_ILLEGAL_ADDRESS;
        if (!f->suppressed && f->kind == SIM_FOUND_MISALIGNED)
            return DRIVER_MISALIGNED_ADDRESS;
    }
    return DRIVER_SUCCESS;
}

/* Returns the error that a launch leaves. After bad accesses there is none with --keep-going: `run` ends
 * the launch at the first one, `check` lets them pass. */
static int error_of_launch(enum sim_end end, int result, const struct sim_finding *before)
{
    int accesses = error_of_accesses(before);
    if (accesses != DRIVER_SUCCESS && !driver.settings.keep_going)
        return accesses;
    if (machine.asserted)
        return DRIVER_ASSERT;
    return accesses != DRIVER_SUCCESS && end == SIM_FAULT ? DRIVER_SUCCESS : result;
}

/* Reports what the launch found, and makes its failure permanent. */
static int judge(const struct driver_launched *l, enum sim_end end,
                 const struct sim_finding *before)
{
    struct end_kind k = kind_of_end(end);
    if (end == SIM_DEADLOCK && machine.barriers)
        sim_barrier_check_deadlock(machine.barriers, sim_standstill(driver.sim));
    bool explained = machine.report.last != before;
    driver_report_launch(&machine.report, before, l);
    if (k.kind && (!explained || end == SIM_UNKNOWN))
        driver_report_end(k.kind, sim_why(driver.sim), l);
    int result = error_of_launch(end, k.result, before);
    if (result != DRIVER_SUCCESS)
        driver_fail(result);
    return result;
}

static void print_output(void)
{
    size_t length;
    const char *text = sim_output(driver.sim, &length);
    if (length)
        fwrite(text, 1, length, stdout);
}

/* After many instructions only a sample of the blocks is watched, if no instruction of the kernel
 * orders blocks: then each block is checked alone, and none of them explains another. */
static void sample(struct driver_launched *l)
{
    enum { USUAL = 20000000, EVERY = 64 };
    const struct driver_settings *s = &driver.settings;
    if (!s->checks || s->limit < 0 || l->cooperative || l->kernel->orders_blocks)
        return;
    l->launch.options.watch_steps = s->limit ? s->limit : USUAL;
    l->launch.options.watch_every = EVERY;
}

int driver_machine_run(struct driver_launched *l)
{
    enum { STEPS_A_MICROSECOND = 1000, OVERHEAD = 2 };
    struct diag diag;
    diag_init(&diag, &driver.arena);
    if (!driver_machine_load(l->kernel->from))
        return DRIVER_OUT_OF_MEMORY;
    if (l->kernel->refused) {
        driver_report_end("not-simulated", l->kernel->refused, l);
        return DRIVER_NOT_SUPPORTED;
    }
    if (l->cooperative && !add_workspace(l))
        return DRIVER_OUT_OF_MEMORY;
    l->launch.kernel = l->kernel->function->name;
    l->launch.shared_most = target_of_gpu(driver.settings.gpu)->shared_bytes;
    l->launch.options.heap = driver_heap_bytes();
    l->launch.options.seed = driver.settings.seed;
    l->launch.options.step_limit = driver.settings.step_limit;
    machine.watched = is_watched(l) ? -1 : INT64_MAX;
    note_kernel(l);
    const struct sim_finding *before = machine.report.last;
    driver_dependent_begin(l, machine.watched < 0);
    driver_trace_launch(l);
    sample(l);
    sim_report_launch(&machine.report, l->launch.grid, l->launch.block);
    machine.asserted = false;
    enum sim_end end = sim_run(driver.sim, &l->launch, &diag);
    driver_dependent_end(l);
    if (machine.watched >= 0 || sim_unwatched(driver.sim))
        trust_memory();
    if (driver.settings.checks && machine.watched < 0 && sim_unwatched(driver.sim))
        driver_report_sampled(l, sim_unwatched(driver.sim));
    if (diag.errors) { /* it could not be launched */
        driver_report_end("launch", sim_why(driver.sim), l);
        return DRIVER_INVALID_VALUE;
    }
    print_output();
    driver_counters_add(l->kernel);
    driver_clock += OVERHEAD + (double)sim_steps(driver.sim) / STEPS_A_MICROSECOND;
    return judge(l, end, before);
}
