/* Measures the roofs of this machine: the rates of multiply-adds by type, and the bandwidths of
 * the caches and of memory, of all threads together. It takes about a second. */
#include "cpu/peaks.h"

#include "base/platform_caches.h"
#include "cpu/program.h"

#include <math.h>
#include <string.h>

/* Seconds that a measurement takes at least, and how often it is repeated. The best of each thread
 * counts: short measurements are seldom interrupted by other work of the machine. */
static const double long_enough = 0.002;
enum { REPEATS = 20 };

const char *cpu_peak_name(enum cpu_peak peak)
{
    static const char *const names[PEAK_COUNT] = {"f32", "f64", "bf16", "i8"};
    return names[peak];
}

const char *cpu_product_type(const struct cpu_program *p, size_t step)
{
    const struct instr *in = &p->code[step];
    if (in->step != step_dot)
        return "";
    const struct dot_detail *d = in->detail;
    if (d->group > 1)
        return d->dot == p->set->dot_bf16 ? "bf16" : d->dot == p->set->dot_i16 ? "i16" : "i8";
    for (int c = 0; c < COMPUTE_COUNT; c++)
        if (p->set->dot->dot[c] == d->dot)
            return dtype_table[routine_compute_dtype((enum compute)c)].name;
    return "";
}

#define PEAKS_OF(own_set, peak)                                                                    \
    do {                                                                                           \
        extern const struct routine_set routine_set_##own_set;                                     \
        extern const struct peak_routines routines_peak_##peak;                                    \
        if (set == &routine_set_##own_set)                                                         \
            return &routines_peak_##peak;                                                          \
    } while (0)

/* Returns the routines that measure the peaks of a set. They are not in the set, because
 * libtilewright_cpu.a has the sets and measures nothing. */
static const struct peak_routines *peaks_of(const struct routine_set *set)
{
    extern const struct peak_routines routines_peak_any;
#if defined(TILEWRIGHT_HAVE_NEON)
    PEAKS_OF(neon, neon);
#endif
#if defined(TILEWRIGHT_HAVE_DOTPROD)
    PEAKS_OF(bytes_neon, bytes_neon);
#endif
#if defined(TILEWRIGHT_HAVE_V3)
    PEAKS_OF(v3, v3);
#endif
#if defined(TILEWRIGHT_HAVE_AVX_VNNI)
    PEAKS_OF(bytes_v3, bytes_v3);
#endif
#if defined(TILEWRIGHT_HAVE_V4)
    PEAKS_OF(v4, v4);
#endif
#if defined(TILEWRIGHT_HAVE_VNNI)
    PEAKS_OF(bytes_v4, bytes_v4);
#endif
#if defined(TILEWRIGHT_HAVE_BF16)
    PEAKS_OF(bf16, bf16);
#endif
#if defined(TILEWRIGHT_HAVE_AMX) /* no instruction on tiles is measured */
    PEAKS_OF(amx, v4);
    PEAKS_OF(amx_bf16, v4);
#endif
    return &routines_peak_any;
}

/* A measurement: each thread runs a multiply-add, or reads memory of its own. */
struct measuring {
    const struct peak_routines *routines;
    const struct peak_routine *peak; /* NULL: reads */
    unsigned char *memory;           /* `bytes` for each thread */
    size_t bytes;
    double rate[MOST_PEAK_THREADS];
};

static double rate_of(const struct measuring *m, int thread)
{
    enum { TURNS = 20000 };
    double begin = platform_seconds(), now, done = 0;
    do {
        if (m->peak) {
            m->peak->run(TURNS);
            done += TURNS * m->peak->work;
        } else {
            m->routines->read(m->memory + (size_t)thread * m->bytes, m->bytes);
            done += (double)m->bytes;
        }
        now = platform_seconds();
    } while (now - begin < long_enough);
    return done / (now - begin);
}

static void measure_one(void *user, int thread)
{
    struct measuring *m = user;
    double rate = rate_of(m, thread);
    m->rate[thread] = rate > m->rate[thread] ? rate : m->rate[thread];
}

/* Returns the rate of all threads together. */
static double measure(struct measuring *m, const struct parallel *parallel, int threads)
{
    double sum = 0;
    memset(m->rate, 0, sizeof m->rate);
    for (int repeat = 0; repeat < REPEATS; repeat++)
        if (threads > 1)
            parallel->run(parallel->user, threads, measure_one, m);
        else
            measure_one(m, 0);
    for (int i = 0; i < threads; i++)
        sum += m->rate[i];
    return sum;
}

/* Returns the bytes that each thread reads so that they come from the level: half of a core's own
 * cache, less than its share of the last one, and much more than that from memory. A processor may
 * have several last caches, each for a few cores, so from memory a thread reads half of one. */
static size_t bytes_of_level(const struct cpu_peaks *p, int level)
{
    const size_t line = 8 * CACHE_LINE, most = (size_t)64 << 20, many = (size_t)16 << 20;
    double bytes, last = p->cache[2] > 0 ? p->cache[2] : p->cache[1];
    if (level < 2)
        bytes = p->cache[level] / 2;
    else if (level == 2)
        bytes = fmin(p->cache[2] / (2.0 * p->threads), 4 * p->cache[1]);
    else
        bytes = fmax(4 * last / p->threads, fmin(last / 2, (double)many));
    if (level == 2 && bytes < 2 * p->cache[1])
        return 0; /* what a core keeps in its own cache would be measured */
    if (bytes > (double)most)
        bytes = (double)most;
    return (size_t)bytes / line * line;
}

bool cpu_measure_peaks(const struct allocator *a, const struct parallel *parallel,
                       struct cpu_peaks *p)
{
    struct measuring m = {.routines = peaks_of(routine_set_choose(false))};
    *p = (struct cpu_peaks){.threads = parallel->run ? parallel->threads : 1};
    if (p->threads > MOST_PEAK_THREADS)
        p->threads = MOST_PEAK_THREADS;
    for (int level = 0; level < 3; level++)
        p->cache[level] = (double)platform_cache_bytes(level + 1);
    for (int i = 0; i < PEAK_COUNT; i++) {
        m.peak = &m.routines->of[i];
        p->rate[i] = m.peak->run ? measure(&m, parallel, p->threads) : 0;
    }
    m.peak = NULL;
    for (int level = 0; level < CPU_LEVELS; level++) {
        m.bytes = bytes_of_level(p, level);
        size_t all = m.bytes * (size_t)p->threads + CACHE_LINE;
        if (m.bytes == 0)
            continue;
        unsigned char *memory = a->resize(a->user, NULL, 0, all);
        if (!memory)
            return false;
        memset(memory, 1, all);
        m.memory = memory + (CACHE_LINE - (uintptr_t)memory % CACHE_LINE) % CACHE_LINE;
        p->bandwidth[level] = measure(&m, parallel, p->threads);
        a->resize(a->user, memory, all, 0);
    }
    return true;
}
