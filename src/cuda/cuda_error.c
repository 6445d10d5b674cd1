/* The driver's errors in words: its own text, the meaning for the caller, and the way out.
 *
 * Some results say that a kernel failed and that the context is lost with it: each later call
 * would return the same. cuda.h marks them at the enum's entries ("the process must be
 * terminated and relaunched"). */
#include "cuda/cuda_own.h"

#include "base/number.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* CUresult */
enum {
    OUT_OF_MEMORY = 2,
    NO_BINARY_FOR_GPU = 209,
    UNSUPPORTED_PTX_VERSION = 222,
};

struct advice {
    int result;
    bool lost; /* the context */
    const char *text;
};

#define FIND_IT "`tilewright check` (PTX of any compiler, too) or compute-sanitizer finds where"

static const struct advice advices[] = {
    {1, false, "this GPU does not accept the address, the size or the setting"},
    {2, false, "free arrays, or let other processes on the GPU end (nvidia-smi lists them)"},
    {3, false,
     "a process forked after its parent opened a GPU cannot use one: fork before, or start a new "
     "program (in Python: spawn)"},
    {4, false, "the process is ending and the driver with it: free contexts before"},
    {34, false,
     "the CUDA toolkit's lib64/stubs/libcuda.so, which is only to link with, was loaded: take that "
     "folder off LD_LIBRARY_PATH"},
    {46, false, "another process has the GPU to itself (nvidia-smi -q -d COMPUTE shows the mode)"},
    {100, false, "see whether nvidia-smi lists a GPU, and whether CUDA_VISIBLE_DEVICES hides it"},
    {200, false, "it is neither PTX nor machine code that this driver reads"},
    {201, false,
     "the GPU's context was destroyed or reset by another part of the program: free "
     "this one and make a new one"},
    {209, false, "the program was assembled for another GPU"},
    {218, false, "the driver's assembler does not accept the program"},
    {221, false, "the driver is installed without its PTX compiler (libnvidia-ptxjitcompiler)"},
    {222, false, "the driver is too old for the program: update it"},
    {223, false, "unset CUDA_DISABLE_PTX_JIT"},
    {226, true, "an error of the GPU's memory, in what a kernel of this process used"},
    {400, false, "a stream, event or module is not of this GPU, or was freed"},
    {500, false, "the program has no such name"},
    {700, true,
     "a kernel accessed memory outside of its arrays: is one shorter than the launch "
     "says? " FIND_IT},
    {701, false,
     "a block takes more registers or shared memory than a multiprocessor has: take "
     "smaller tiles, or more warps for the same tiles"},
    {702, true,
     "a kernel ran longer than a GPU with a display allows: take smaller grids, or turn "
     "the limit off"},
    {709, false,
     "the GPU's context was destroyed or reset by another part of the program: free "
     "this one and make a new one"},
    {710, true, "an assertion in a kernel failed"},
    {714, true, "a kernel's stack overflowed or was overwritten: " FIND_IT},
    {715, true, "a kernel reached an instruction that does not exist, or a trap"},
    {716, true, "a kernel accessed an address that is not aligned to the access: " FIND_IT},
    {717, true,
     "a kernel accessed shared or local memory by an address of another space: " FIND_IT},
    {718, true, "a kernel jumped to an address without a program: " FIND_IT},
    {719, true, "a kernel failed: " FIND_IT},
    {720, false,
     "the GPU cannot run all blocks of this cooperative grid at the same time: take "
     "fewer or smaller blocks"},
    {721, true, "a kernel ended without freeing its tensor memory"},
    {800, false, "the driver forbids it to this process"},
    {802, false,
     "the driver's services are not up (on systems with NVSwitch: nvidia-fabricmanager)"},
    {803, false,
     "the driver's library and its kernel module are of different versions: reboot, or "
     "install the driver again"},
    {804, false,
     "the compatibility libraries of CUDA do not serve this GPU: take them off "
     "LD_LIBRARY_PATH, or update the driver"},
    {900, false,
     "it cannot be done while a stream is captured: do it before the capture (of a "
     "launch: tw_launch_ready)"},
    {901, false, "an earlier error in this capture: end it, and capture again"},
    {905, false, "the capture would wait for work outside of it: record the event in the capture"},
    {906, false,
     "the default stream would wait for the one that is captured: pass the stream that "
     "is captured"},
    {907, false, "the event was recorded in a capture, where it has no time"},
    {908, false, "the capture belongs to another thread"},
    {911, true, "another device that the GPU works with failed"},
    {912, false, "the GPU has no clusters of this number of blocks of this size"},
    {999, false, "the system's log may say more (dmesg, lines with Xid)"},
};

static const struct advice *advice_for(int result)
{
    for (size_t i = 0; i < sizeof advices / sizeof *advices; i++)
        if (advices[i].result == result)
            return &advices[i];
    return NULL;
}

void cuda_say_more(char why[CUDA_WHY], const char *between, const char *text)
{
    size_t used = strlen(why);
    snprintf(why + used, CUDA_WHY - used, "%s%s", between, text);
}

static void say_lost(char why[CUDA_WHY])
{
    cuda_say_more(why, "; ", "the GPU's context of this process is lost: start a new process");
}

bool cuda_good(struct cuda *c, int result, const char *what, char why[CUDA_WHY])
{
    if (result == 0)
        return true;
    const char *name = NULL, *text = NULL;
    const struct advice *advice = advice_for(result);
    c->result = result;
    c->driver.error_name(result, &name);
    c->driver.error_text(result, &text);
    snprintf(why, CUDA_WHY, "%.200s: %s (%.300s)", what, name ? name : "unknown error",
             text ? text : "no description");
    if (advice)
        cuda_say_more(why, ": ", advice->text);
    if (!advice || !advice->lost)
        return false;
    c->lost = result;
    if (c->started)
        cuda_say_more(why, "; the kernel started last is ", c->started->name);
    say_lost(why);
    return false;
}

void cuda_say_lost(struct cuda *c, char why[CUDA_WHY])
{
    const char *name = NULL;
    c->result = c->lost;
    c->driver.error_name(c->lost, &name);
    snprintf(why, CUDA_WHY, "an earlier call ended with %s", name ? name : "a kernel's failure");
    say_lost(why);
}

enum cuda_failure cuda_failure(const struct cuda *c)
{
    if (!c->result)
        return CUDA_MISUSED;
    if (c->lost)
        return CUDA_LOST;
    return c->result == OUT_OF_MEMORY ? CUDA_NO_ROOM : CUDA_REFUSED;
}

/* --- programs --- */

/* The first version of CUDA that reads each version of PTX, both times ten (PTX ISA, "PTX ISA
 * Version History"); between 8.0 and 8.5 they agree. */
static const struct {
    int ptx, cuda;
} versions[] = {{70, 110}, {71, 111}, {72, 112}, {73, 113}, {74, 114}, {75, 115}, {76, 116},
                {77, 117}, {78, 118}, {80, 120}, {81, 121}, {82, 122}, {83, 123}, {84, 124},
                {85, 125}, {86, 127}, {87, 128}, {88, 129}, {90, 130}, {91, 131}};
enum { VERSIONS = sizeof versions / sizeof *versions };

/* Gives the word after a directive of a PTX text, or "". */
static void directive(const char *ptx, const char *name, char out[24])
{
    const char *at = strstr(ptx, name);
    out[0] = '\0';
    if (at)
        sscanf(at + strlen(name), " %23[^ ,\r\n]", out);
}

static void say_version(const struct cuda *c, const char *written, char why[CUDA_WHY])
{
    char text[160];
    int reads = 0, needs = 0, driver = c->device.driver / 1000 * 10 + c->device.driver % 1000 / 10;
    int wanted = (int)(10 * number_read(written, NULL) + 0.5);
    for (int i = 0; i < VERSIONS; i++) {
        if (versions[i].cuda <= driver)
            reads = versions[i].ptx;
        if (!needs && versions[i].ptx >= wanted)
            needs = versions[i].cuda;
    }
    snprintf(text, sizeof text, "it is PTX %s; this driver (CUDA %d.%d) reads up to %d.%d", written,
             driver / 10, driver % 10, reads / 10, reads % 10);
    cuda_say_more(why, "; ", text);
    snprintf(text, sizeof text, "needed is one for CUDA %d.%d", needs / 10, needs % 10);
    if (needs)
        cuda_say_more(why, ", ", text);
}

void cuda_say_image(const struct cuda *c, const char *image, char why[CUDA_WHY])
{
    char version[24], target[24], text[120];
    if (!strstr(image, ".version"))
        return; /* machine code */
    directive(image, ".version", version);
    directive(image, ".target", target);
    if (c->result == UNSUPPORTED_PTX_VERSION)
        say_version(c, version, why);
    if (c->result != NO_BINARY_FOR_GPU)
        return;
    snprintf(text, sizeof text, "it is for %s, and the GPU is of compute capability %d.%d", target,
             c->device.capability / 10, c->device.capability % 10);
    cuda_say_more(why, "; ", text);
}
