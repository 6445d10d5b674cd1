/* What GPUs have, by architecture.
 *
 * CUDA C++ Programming Guide, "Compute Capabilities", table "Technical Specifications per Compute
 * Capability": shared memory of a multiprocessor and of a block (opted in; the system keeps 1 KB of
 * each block for itself), registers, threads.
 */
#include "lower/lower.h"

enum { KB = 1024, REGISTERS = 65536, MOST_REGISTERS = 255 };

#define TARGET(number, suffix, shared, threads) OWN_TARGET(number, suffix, "", shared, threads)
#define OWN_TARGET(number, suffix, text, shared, threads)                                          \
    {                                                                                              \
        {number, suffix}, ((shared)-1) * KB, (shared)*KB, threads, REGISTERS, MOST_REGISTERS,      \
            "sm_" #number text                                                                     \
    }

static const struct lower_target targets[] = {
    TARGET(80, 0, 164, 2048),
    TARGET(86, 0, 100, 1536),
    TARGET(87, 0, 164, 1536),
    TARGET(88, 0, 164, 1536),
    TARGET(89, 0, 100, 1536),
    TARGET(90, 0, 228, 2048),
    OWN_TARGET(90, 'a', "a", 228, 2048),
    TARGET(100, 0, 228, 2048),
    OWN_TARGET(100, 'a', "a", 228, 2048),
    OWN_TARGET(100, 'f', "f", 228, 2048),
    TARGET(103, 0, 228, 2048),
    OWN_TARGET(103, 'a', "a", 228, 2048),
    OWN_TARGET(103, 'f', "f", 228, 2048),
    TARGET(110, 0, 228, 1536),
    OWN_TARGET(110, 'a', "a", 228, 1536),
    OWN_TARGET(110, 'f', "f", 228, 1536),
    TARGET(120, 0, 100, 1536),
    OWN_TARGET(120, 'a', "a", 100, 1536),
    OWN_TARGET(120, 'f', "f", 100, 1536),
    TARGET(121, 0, 100, 1536),
    OWN_TARGET(121, 'a', "a", 100, 1536),
    OWN_TARGET(121, 'f', "f", 100, 1536),
};

const struct lower_target *lower_target_find(struct ptx_target t)
{
    for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++)
        if (targets[i].ptx.number == t.number && targets[i].ptx.suffix == t.suffix)
            return &targets[i];
    return NULL;
}

const struct lower_target *lower_target_at(int index)
{
    int count = (int)(sizeof targets / sizeof targets[0]);
    return index >= 0 && index < count ? &targets[index] : NULL;
}
