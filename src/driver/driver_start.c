/* The start of the driver, its settings, and what it reports at the end. */
#include "driver/driver_graph.h"
#include "driver/driver_order.h"

#include "base/platform.h"
#include "driver/program_file.h"
#include "target/gpus.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- settings: the lines NAME=VALUE of the file that TILEWRIGHT_APP names --- */

static char *settings_text; /* NULL: there is no such file */

/* Returns the value of a setting; NULL: it is not set. */
static const char *setting(const char *name)
{
    size_t length = strlen(name);
    for (const char *at = settings_text; at && *at;) {
        const char *end = at + strcspn(at, "\n");
        if (strncmp(at, name, length) == 0 && at[length] == '=')
            return arena_string(&driver.arena, at + length + 1, (size_t)(end - at) - length - 1);
        at = *end ? end + 1 : end;
    }
    return NULL;
}

static int64_t number_setting(const char *name)
{
    const char *text = setting(name);
    return text ? strtoll(text, NULL, 10) : 0;
}

/* Returns the first GPU of that capability: "sm_90". */
static const struct gpu *gpu_of_target(const char *name)
{
    int number = strncmp(name, "sm_", 3) == 0 ? atoi(name + 3) : 0;
    for (int i = 0; number && target_gpu_at(i); i++)
        if (target_gpu_at(i)->capability == number)
            return target_gpu_at(i);
    return target_gpu_find(name);
}

static int read_settings(void *user)
{
    struct driver_settings *s = user;
    size_t length;
    const char *why, *path = getenv("TILEWRIGHT_APP");
    settings_text = path ? platform_read_file(&driver.arena, path, &length, &why) : NULL;
    const char *device = setting("device"), *checks = setting("checks");
    const char *findings = setting("findings");
    s->gpu = device ? gpu_of_target(device) : NULL;
    if (!s->gpu)
        s->gpu = gpu_of_target("sm_90");
    s->checks = !checks || strcmp(checks, "0") != 0;
    s->kernel = setting("kernel");
    s->launch = number_setting("launch");
    s->skipped = number_setting("skip");
    s->seed = (uint64_t)number_setting("seed");
    s->threads = (int)number_setting("threads");
    s->step_limit = number_setting("step-limit");
    s->suppress = setting("suppress");
    const char *limit = setting("limit");
    s->limit = limit && strcmp(limit, "0") == 0 ? -1 : number_setting("limit");
    s->keep_going = setting("keep-going");
    s->trace = setting("trace");
    s->stub = setting("stub");
    s->findings = findings ? fopen(findings, "a") : NULL;
    return DRIVER_SUCCESS;
}

static int report_unwatched(void *user)
{
    (void)user;
    const char *message = driver_machine_unwatched();
    if (message)
        driver_report_without_place("not-launched", true, message);
    return DRIVER_SUCCESS;
}

static int report_notes(void *user)
{
    (void)user;
    driver_report_unused_suppressions();
    if (program_file_problem())
        driver_report_without_place("no-lines", false, program_file_problem());
    return DRIVER_SUCCESS;
}

static int report_leaks(void *user)
{
    (void)user;
    for (const struct driver_memory *m = driver_memory_next(NULL); m; m = driver_memory_next(m)) {
        if (m->freed_by || m->condition || m->type == DRIVER_REGISTERED_MEMORY)
            continue;
        const struct driver_fault fault = {
            .kind = "leak",
            .message = arena_printf(&driver.arena, "%s was never freed", m->name),
            .memory = m};
        driver_report_fault(&fault);
    }
    driver_report_physical_leaks();
    return DRIVER_SUCCESS;
}

/* Writes the leaks and the number of launches, at the end of the process. */
static void report_exit(void)
{
    FILE *out = driver.settings.findings;
    if (!out)
        return;
    if (driver.settings.checks) {
        driver_guard(report_unwatched, NULL);
        driver_guard(report_leaks, NULL);
        driver_guard(report_notes, NULL);
    } else {
        driver_counters_report(out);
    }
    fprintf(out, "{\"kind\": \"end\", \"launches\": %lld, \"on_two_threads\": %d}\n",
            (long long)driver.launches, driver_machine_second_thread());
    fflush(out);
}

static void at_exit(void)
{
    if (!driver_is_ready())
        return;
    struct driver_entered entered = driver_enter("exit");
    report_exit();
    driver_leave(&entered);
}

/* Called when the program opens the driver. */
static void report_begin(void)
{
    FILE *out = driver.settings.findings;
    if (!out)
        return;
    fprintf(out, "{\"kind\": \"begin\"}\n");
    fflush(out);
}

static int prepare(void *user)
{
    (void)user;
    struct sim_observer *orders[2] = {driver_dependent_observer()}; /* the second asks the first */
    orders[1] = driver_work_observer();
    driver_machine_open(orders, 2);
    if (driver.settings.suppress)
        driver_read_suppressions(&driver.arena, driver.settings.suppress);
    report_begin();
    driver_trace_open();
    return DRIVER_SUCCESS;
}

int driver_prepare(void)
{
    if (driver.initialised)
        return driver_is_ready() ? DRIVER_SUCCESS : DRIVER_NOT_INITIALIZED;
    arena_init(&driver.arena, &allocator_libc, &driver.out_of_memory);
    driver.run_graph = driver_graph_run;
    int result = driver_guard(read_settings, &driver.settings);
    if (result == DRIVER_SUCCESS)
        result = driver_guard(prepare, NULL);
    driver.initialised = result == DRIVER_SUCCESS;
    driver.process = getpid();
    if (!driver.initialised)
        return result;
    atexit(at_exit);
    pthread_atfork(NULL, NULL,
                   driver_make_lock); /* a thread that the child lacks may hold the lock */
    return result;
}

ENTRY(cuInit, (unsigned flags), flags ? DRIVER_INVALID_VALUE : driver_prepare())
