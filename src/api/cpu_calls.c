/* Implements include/tilewright_cpu.h: launches of kernels that were compiled ahead of time. This
 * file is in libtilewright_cpu.a, not in the library with the compiler. */
#include "tilewright_cpu.h"

#include "base/diag.h"
#include "base/platform.h"
#include "cpu/image.h"
#include "tilewright.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tw_cpu {
    tw_cpu_options options;
    struct platform_pool *pool; /* NULL: the caller's threads, or its thread alone */
    struct parallel parallel;   /* without a pool */
    struct cpu_kept kept;
};

tw_cpu *tw_cpu_new(const tw_cpu_options *options)
{
    if (options && options->size < sizeof *options)
        return NULL;
    tw_cpu *cpu = calloc(1, sizeof *cpu);
    if (!cpu)
        return NULL;
    if (options)
        cpu->options = *options;
    int threads = cpu->options.threads;
    if (cpu->options.parallel || threads == 1) {
        int cores = threads == 1 ? 1 : platform_cores();
        cpu->parallel = (struct parallel){.run = cpu->options.parallel,
                                          .user = cpu->options.parallel_user,
                                          .threads = threads > 0 ? threads : cores,
                                          .cores = cores};
        return cpu;
    }
    cpu->pool = threads > 0 ? platform_pool_new(&allocator_libc, threads)
                            : platform_pool_new_soon(&allocator_libc, platform_cores);
    if (!cpu->pool) {
        free(cpu);
        return NULL;
    }
    return cpu;
}

void tw_cpu_free(tw_cpu *cpu)
{
    if (!cpu)
        return;
    platform_pool_free(cpu->pool);
    cpu_kept_free(&cpu->kept, &allocator_libc);
    free(cpu);
}

/* --- loading --- */

static const uint64_t *words_for(const tw_cpu_kernel *k, const struct routine_set *set)
{
    for (const tw_cpu_program *p = k->programs; p->set; p++)
        if (strcmp(p->set, set->name) == 0)
            return p->words;
    return NULL;
}

/* Returns the best set of this machine that the kernel was compiled for. */
static const struct routine_set *set_for(const tw_cpu_kernel *k)
{
    const struct routine_set *set = routine_set_choose(false);
    for (int i = 0; set && !words_for(k, set); i++)
        set = routine_set_at(i);
    if (!set || set == routine_set_choose(false))
        return set;
    for (int i = 0; routine_set_at(i); i++) /* the latest is the best */
        if (!routine_set_at(i)->dot_bf16 && words_for(k, routine_set_at(i)))
            set = routine_set_at(i);
    return set;
}

/* Loads the kernel. If several threads do it at once, one of the programs is kept. Kernels are
 * static, so a program stays until the process ends. */
static tw_cpu_status load(tw_cpu_kernel *k, const struct cpu_program **out, char *message,
                          size_t room)
{
    *out = __atomic_load_n(&k->loaded, __ATOMIC_ACQUIRE);
    if (*out)
        return TW_CPU_OK;
    const struct routine_set *set = strcmp(k->version, TW_VERSION) == 0 ? set_for(k) : NULL;
    if (!set) {
        snprintf(message, room,
                 "compiled by tilewright %s for processors of another kind, or not "
                 "for libtilewright_cpu %s",
                 k->version, TW_VERSION);
        return TW_CPU_NO_PROGRAM;
    }
    const uint64_t *words = words_for(k, set);
    void *memory = malloc(image_bytes(words)), *other = NULL;
    if (!memory) {
        snprintf(message, room, "out of memory");
        return TW_CPU_NO_MEMORY;
    }
    *out = image_load(words, set, memory);
    if (!*out) {
        free(memory);
        snprintf(message, room, "another build of tilewright %s compiled it", k->version);
        return TW_CPU_NO_PROGRAM;
    }
    if (!__atomic_compare_exchange_n(&k->loaded, &other, memory, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE)) {
        free(memory);
        *out = other;
    }
    return TW_CPU_OK;
}

/* --- arguments --- */

static struct cpu_argument scalar_of(enum dtype t, const void *at)
{
    struct literal v = {.is_float = dtype_is_float(t)};
    if (v.is_float)
        v.f = dtype_load_f64(t, at);
    else
        v.i = dtype_load_i64(t, at);
    return (struct cpu_argument){.scalar = v};
}

static struct cpu_argument array_of(const void *at)
{
    struct cpu_argument a = {.data = NULL};
    memcpy(&a.data, at, sizeof a.data);
    a.bytes = a.data ? SIZE_MAX / 2 : 0; /* a pointer of C has no length */
    return a;
}

static void take_arguments(const struct kernel *k, void *const *arguments, struct cpu_argument *to)
{
    for (const struct param *p = k->params; p; p = p->next, to++) {
        if (p->sym->is_static)
            *to = (struct cpu_argument){.scalar = p->sym->value};
        else if (p->sym->is_pointer)
            *to = array_of(*arguments++);
        else
            *to = scalar_of(p->sym->type.dtype, *arguments++);
    }
}

/* --- launching --- */

static tw_cpu_status status_of(enum cpu_fault_kind kind)
{
    switch (kind) {
    case CPU_OK: return TW_CPU_OK;
    case CPU_BAD_ARGUMENT: return TW_CPU_BAD_ARGUMENT;
    case CPU_ASSUME: return TW_CPU_NOT_ASSUMED;
    case CPU_CANCELLED: return TW_CPU_CANCELLED;
    case CPU_NO_MEMORY: return TW_CPU_NO_MEMORY;
    default: return TW_CPU_FAULT;
    }
}

/* Adds to a message what still fits. */
#define ADD(...)                                                                                   \
    do {                                                                                           \
        size_t used_ = strlen(message);                                                            \
        snprintf(message + used_, room - used_, __VA_ARGS__);                                      \
    } while (0)

/* Writes the fault as the engine's diagnostics do: its place, the way out, and the block. */
static void describe(const struct cpu_fault *f, char *message, size_t room)
{
    int line, column;
    message[0] = '\0';
    if (f->loc.source) {
        loc_line_column(f->loc, &line, &column);
        ADD("%s:%d:%d: ", f->loc.source->name, line, column);
    }
    ADD("%s", f->message);
    if (f->way_out[0])
        ADD("; %s", f->way_out);
    if (f->block[0] < 0 || f->kind == CPU_BAD_ARGUMENT || f->kind == CPU_DIRTY)
        return;
    ADD("; in block (%" PRId64 ", %" PRId64 ", %" PRId64 ")", f->block[0], f->block[1],
        f->block[2]);
    if (f->thread[0] >= 0)
        ADD(", thread (%d, %d, %d)", f->thread[0], f->thread[1], f->thread[2]);
}

static struct cpu_options options_of(tw_cpu *cpu)
{
    const tw_cpu_options *o = &cpu->options;
    return (struct cpu_options){
        .kept = &cpu->kept,
        .parallel = cpu->pool ? platform_pool_parallel(cpu->pool) : cpu->parallel,
        .print = o->print,
        .print_user = o->print_user,
        .cancelled = o->cancelled,
        .cancelled_user = o->cancelled_user,
    };
}

tw_cpu_status tw_cpu_launch(tw_cpu *cpu, tw_cpu_kernel *kernel, void *const *arguments,
                            char *message, size_t room)
{
    enum { USUAL = 32 };
    const struct cpu_program *p;
    struct cpu_argument usual[USUAL], *args = usual;
    struct cpu_fault fault;
    tw_cpu_status status = load(kernel, &p, message, room);
    if (status != TW_CPU_OK)
        return status;
    if (p->kernel->param_count > USUAL)
        args = malloc((size_t)p->kernel->param_count * sizeof *args);
    if (!args) {
        snprintf(message, room, "out of memory");
        return TW_CPU_NO_MEMORY;
    }
    take_arguments(p->kernel, arguments, args);
    struct cpu_options options = options_of(cpu);
    enum cpu_fault_kind kind = cpu_launch(p, args, &options, &fault);
    if (args != usual)
        free(args);
    if (kind == CPU_CANCELLED)
        snprintf(message, room, "cancelled");
    else if (kind != CPU_OK)
        describe(&fault, message, room);
    return status_of(kind);
}
