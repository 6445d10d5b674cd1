/* The roofs of this machine, measured. */
#ifndef TW_PEAKS_H
#define TW_PEAKS_H

#include "base/platform.h"
#include "cpu/cpu.h"
#include "cpu/routines/routines.h"

/* The types of multiply-adds that a set has instructions for. */
enum cpu_peak { PEAK_F32, PEAK_F64, PEAK_BF16, PEAK_I8, PEAK_COUNT };

/* Routines that use a set's instructions as often as possible (routines_peak.c). */
struct peak_routine {
    void (*run)(size_t turns); /* NULL: the set has no such instruction */
    double work;               /* operations of a turn; a multiply-add is two */
};
struct peak_routines {
    struct peak_routine of[PEAK_COUNT];
    void (*read)(const void *memory, size_t bytes); /* aligned to a line of the cache */
};

enum { MOST_PEAK_THREADS = 256, CPU_LEVELS = 4 };

struct cpu_peaks {
    int threads;
    double rate[PEAK_COUNT]; /* FLOPs a second (i8: operations); 0: no such instruction */
    double cache[3];         /* bytes of the first-, second- and third-level cache; 0: unknown */
    double bandwidth[CPU_LEVELS]; /* bytes a second read from L1, L2, L3, memory; 0: not measured */
};
const char *cpu_peak_name(enum cpu_peak peak);
/* Returns the type that a step multiplies in, by name: "f32"; of other types "i32", "". */
const char *cpu_product_type(const struct cpu_program *p, size_t step);
/* Measures with all threads of `parallel`. false: no memory. */
bool cpu_measure_peaks(const struct allocator *a, const struct parallel *parallel,
                       struct cpu_peaks *p);

#endif
