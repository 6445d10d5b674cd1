#include "warp_program.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants these first */
#include <cmocka.h>

enum { MOST_ARRAYS = 6 };

enum sim_end warp_launch(struct sim_case *c, int threads, const struct warp_array *arrays,
                         int count)
{
    uint64_t address[MOST_ARRAYS];
    assert_true(count <= MOST_ARRAYS);
    for (int i = 0; i < count; i++) {
        address[i] = sim_attach(c->sim, arrays[i].data, arrays[i].bytes, "array");
        assert_int_not_equal(address[i], 0);
    }
    c->launch.block[0] = (unsigned)threads;
    return sim_case_run(c, "k", count, address);
}

void warp_run(const char *program, int threads, const struct warp_array *arrays, int count)
{
    struct sim_case c;
    sim_case_open(&c, program);
    if (warp_launch(&c, threads, arrays, count) != SIM_DONE) {
        print_error("%s\n", program);
        fail_msg("%s", sim_why(c.sim));
    }
    sim_case_close(&c);
}

static uint64_t state = 1;
uint32_t warp_bits(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 32);
}

uint32_t warp_draw(uint32_t below)
{
    return (uint32_t)((uint64_t)warp_bits() * below >> 32);
}
