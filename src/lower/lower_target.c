/* What GPUs have, by architecture.
 *
 * CUDA C++ Programming Guide, "Compute Capabilities", table "Technical Specifications per Compute
 * Capability": shared memory of a multiprocessor and of a block (opted in; the system keeps 1 KB of
 * each block for itself), registers, threads.
 */
#include "lower/lower.h"

enum { KB = 1024, REGISTERS = 65536, MOST_REGISTERS = 255 };

#define TARGET(number, suffix, shared)                                                             \
    {                                                                                              \
        {number, suffix}, ((shared)-1) * KB, (shared)*KB, REGISTERS, MOST_REGISTERS, MAX_THREADS   \
    }

static const struct lower_target targets[] = {
    TARGET(80, 0, 164),    TARGET(86, 0, 100),    TARGET(87, 0, 164),    TARGET(88, 0, 164),
    TARGET(89, 0, 100),    TARGET(90, 0, 228),    TARGET(90, 'a', 228),  TARGET(100, 0, 228),
    TARGET(100, 'a', 228), TARGET(100, 'f', 228), TARGET(103, 0, 228),   TARGET(103, 'a', 228),
    TARGET(103, 'f', 228), TARGET(110, 0, 228),   TARGET(110, 'a', 228), TARGET(110, 'f', 228),
    TARGET(120, 0, 100),   TARGET(120, 'a', 100), TARGET(120, 'f', 100), TARGET(121, 0, 100),
    TARGET(121, 'a', 100), TARGET(121, 'f', 100),
};

const struct lower_target *lower_target_find(struct ptx_target t)
{
    for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++)
        if (targets[i].ptx.number == t.number && targets[i].ptx.suffix == t.suffix)
            return &targets[i];
    return NULL;
}
