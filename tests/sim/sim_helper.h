/* Small PTX programs on the simulator, for its tests. Failures end the test (cmocka). */
#ifndef SIM_HELPER_H
#define SIM_HELPER_H

#include "sim/sim.h"

#include <setjmp.h>

struct sim_case {
    struct arena arena;
    jmp_buf out_of_memory;
    struct diag diag;
    struct source source;
    struct ptx_module *module;
    struct sim *sim;
    /* of launches; grid and block are 1 x 1 x 1 at first. sim_case_run fills in kernel and
     * arguments. */
    struct sim_launch launch;
    enum sim_end end; /* outcome of the last launch */
    int buffers;      /* allocated so far */
};

/* Reads and loads a program. If it has no .version, it gets the head .version 8.4, .target
 * sm_90, .address_size 64. */
void sim_case_open(struct sim_case *c, const char *ptx);
void sim_case_open_file(struct sim_case *c, const char *path);
void sim_case_close(struct sim_case *c);
/* Launches a kernel; values of the parameters by number, each of up to 8 bytes. */
enum sim_end sim_case_run(struct sim_case *c, const char *kernel, int count,
                          const uint64_t *values);
/* Launches a kernel with parameters of any size, such as tensor maps. */
enum sim_end sim_case_launch(struct sim_case *c, const char *kernel, int count,
                             const void *const *arguments);
/* As sim_case_run, and checks that the launch ends without a fault. */
void sim_case_done(struct sim_case *c, const char *kernel, int count, const uint64_t *values);
/* Calls sim_allocate with the names b0, b1, … in order. */
uint64_t sim_case_buffer(struct sim_case *c, size_t bytes, const void *data);
uint32_t *sim_case_words(struct sim_case *c, uint64_t address, size_t count);

/* Runs one kernel `k` with the given body and one parameter, `.param .u64 out`, which is in %out
 * as a global address. Registers %r<64> %rd<32> %f<32> %fd<8> %rs<16> %p<8> are declared; %r0 is
 * the thread. It runs on `threads` threads; returns `words` words of output, which start as 0. */
const uint32_t *sim_case_body(struct sim_case *c, const char *body, unsigned threads, size_t words);

#endif
