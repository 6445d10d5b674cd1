/* Implements bench sim: measures how fast the simulator runs a kernel's PTX on one core, first
 * without checks, then with each of its checks. */
#include "bench/bench.h"
#include "cli/commands.h"
#include "cli/operands.h"
#include "cli/progress.h"
#include "cli/settings.h"
#include "tilewright_sim.h"

#include <stdlib.h>
#include <string.h>

enum { SIZE = 256, SIZE_LEAST = 32, SIZE_MOST = 2048, REPEAT = 5 };

static const char kernel_path[] = "kernels/sgemm/tiled.tile", target[] = "sm_80";

static const struct watch {
    const char *name, *what;
    unsigned watch;
} watches[] = {
    {"plain", "nothing watched", 0},
    {"races", "races", TW_WATCH_RACES},
    {"barriers", "barriers", TW_WATCH_BARRIERS},
    {"memory", "bounds and bytes that were never written", TW_WATCH_MEMORY},
    {"counters", "counters", TW_WATCH_COUNTERS},
    {"all", "all of these", TW_WATCH_ALL},
};
enum { WATCHES = sizeof watches / sizeof *watches };

struct speed {
    double seconds; /* processor time, least of all runs */
    int64_t warp_instructions;
};

struct simulated {
    struct program program;
    tw_kernel *kernel;
    tw_launch *launch;
    struct operands arrays;
    int64_t size, repeat;
    struct progress progress;
    struct speed speed[WATCHES];
};

static int complain_of(const struct simulated *b, tw_status s)
{
    tw_message m = {.size = sizeof m, .text = tw_status_text(s)};
    tw_context_message(b->program.ctx, 0, &m);
    complain(NULL, "%s: %s", b->program.path, m.text);
    return STATUS_FAILED;
}

static int prepare(struct simulated *b, const struct command *self, const struct options *given)
{
    tw_kernel *k = program_kernel(&b->program, self);
    if (!k)
        return STATUS_USAGE;
    tw_status s = tw_kernel_for_target(k, target, &b->kernel);
    if (s == TW_OK)
        s = tw_launch_new(b->kernel, &b->launch);
    if (s != TW_OK)
        return complain_of(b, s);
    static const char *const names[] = {"m", "n", "k"};
    for (int i = 0; i < 3; i++)
        tw_launch_set(b->launch, names[i], tw_int(b->size));
    int status = apply_settings(b->launch, b->kernel, &b->program, given, false);
    if (status != STATUS_OK)
        return status;
    s = tw_launch_prepare(b->launch);
    if (s == TW_OK)
        s = operands_make(&b->arrays, b->launch, b->kernel, 1, 1);
    if (s == TW_OK)
        operands_start(&b->arrays, given);
    return s == TW_OK ? STATUS_OK : complain_of(b, s);
}

static tw_status time_once(struct simulated *b, int which)
{
    tw_sim_options options = {.size = sizeof options, .watch = watches[which].watch};
    tw_sim_result result = tw_sim_result_init();
    struct speed *speed = &b->speed[which];
    double from = processor_seconds();
    tw_status s = tw_launch_simulate(b->launch, &options, &result);
    double taken = processor_seconds() - from;
    speed->warp_instructions = result.warp_instructions;
    if (speed->seconds <= 0 || taken < speed->seconds)
        speed->seconds = taken;
    return s;
}

/* Times the variants in turn, so that all see the machine in the same states. Keeps the least
 * time of each, so a slow first run does no harm. Compares the values with `ensures` at the end. */
static int time_all(struct simulated *b)
{
    tw_verdict verdict = tw_verdict_init();
    tw_status s = TW_OK;
    progress_start(&b->progress);
    for (int64_t run = 0; run < b->repeat && s == TW_OK; run++)
        for (int i = 0; i < WATCHES && s == TW_OK; i++) {
            progress_step(&b->progress, "run %lld, %s", (long long)run + 1, watches[i].name);
            s = time_once(b, i);
        }
    progress_clear(&b->progress);
    if (s == TW_OK && tw_kernel_has_ensures(b->kernel))
        s = tw_launch_verify(b->launch, &verdict);
    return s == TW_OK ? STATUS_OK : complain_of(b, s);
}

static double millions(const struct speed *s)
{
    return s->seconds > 0 ? 1e-6 * (double)s->warp_instructions / s->seconds : 0;
}

static void print_json(const struct simulated *b, const char *cpu)
{
    struct json j = {.out = stdout};
    json_open(&j, '{');
    json_put_text(&j, "cpu", cpu);
    json_put_text(&j, "kernel", tw_kernel_name(b->kernel));
    json_put_text(&j, "target", target);
    json_put_integer(&j, "size", b->size);
    json_put_integer(&j, "repeat", b->repeat);
    json_open_list(&j, "rows");
    for (int i = 0; i < WATCHES; i++) {
        json_open(&j, '{');
        json_put_text(&j, "watch", watches[i].name);
        json_put_integer(&j, "warp_instructions", b->speed[i].warp_instructions);
        json_put_real(&j, "cpu_seconds", b->speed[i].seconds);
        json_put_real(&j, "million_warp_instructions_per_second", millions(&b->speed[i]));
        json_close(&j, '}');
    }
    json_close(&j, ']');
    json_close(&j, '}');
    json_end(&j);
}

static void print_table(const struct simulated *b, const char *cpu)
{
    printf("%s\n", cpu);
    printf("%s for %s, m = n = k = %lld: least time of the processor in %lld runs\n\n",
           tw_kernel_name(b->kernel), target, (long long)b->size, (long long)b->repeat);
    printf("%-9s %10s %26s  %s\n", "watch", "ms", "million warp instructions/s", "");
    for (int i = 0; i < WATCHES; i++)
        printf("%-9s %10.1f %27.1f  %s\n", watches[i].name, 1e3 * b->speed[i].seconds,
               millions(&b->speed[i]), watches[i].what);
}

int bench_simulator(const struct command *self, const struct options *given, int word)
{
    static const char *const others[] = {"dims",   "all-sizes",    "warmup",
                                         "budget", "timeout",      "threads",
                                         "bind",   "machine-bits", NULL};
    struct simulated b = {.size = SIZE, .repeat = REPEAT};
    tw_device d = {.size = sizeof d, .description = "unknown"};
    const char *other = options_any(given, others);
    if (other)
        return usage_error(NULL, self, "--%s is not for --device sim", other);
    if (given->word_count > word + 1)
        return usage_error(NULL, self, "bench of the simulator takes one FILE");
    if (!options_integer(given, "size", SIZE_LEAST, SIZE_MOST, &b.size) ||
        !options_integer(given, "repeat", 1, 1000, &b.repeat))
        return STATUS_USAGE;
    char *path =
        given->word_count > word ? need_text("%s", given->words[word]) : source_path(kernel_path);
    int status = program_open(
        &b.program, path, &(struct program_config){.threads = 1, .colour = on_terminal(stderr)});
    if (status == STATUS_OK)
        status = prepare(&b, self, given);
    if (status == STATUS_OK)
        status = time_all(&b);
    tw_device_at(0, &d);
    if (status == STATUS_OK && options_has(given, "json"))
        print_json(&b, d.description);
    else if (status == STATUS_OK)
        print_table(&b, d.description);
    operands_free(&b.arrays);
    tw_launch_free(b.launch);
    program_close(&b.program);
    free(path);
    return status;
}
