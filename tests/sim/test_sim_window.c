/* The order of the pixels of a copy of windows: sim_window_place, which finds each pixel at once, is compared with
 * loops that go through the box one pixel after the other, for random arrays of 3 to 5 axes. */
#include "sim/sim_bulk.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

static uint64_t random_state = 11;

/* Returns a number from `low` to `high`. */
static int draw(int low, int high)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return low + (int)((random_state >> 33) % (uint64_t)(high - low + 1));
}

/* Makes a copy from the first place of the box on. */
static struct sim_bulk random_copy(void)
{
    struct sim_bulk c = {.tensor = true};
    c.map.rank = draw(3, TENSOR_MAP_AXES);
    for (int axis = 0; axis < c.map.rank; axis++) {
        c.map.extents[axis] = (uint64_t)draw(1, 6);
        c.map.steps[axis] = 1;
    }
    for (int i = 0; i < c.map.rank - 2; i++) {
        int extent = (int)c.map.extents[i + 1];
        c.map.steps[i + 1] = (uint32_t)draw(1, 3);
        c.window.lower[i] = (int16_t)draw(-3, 2);
        c.window.upper[i] = (int16_t)draw(c.window.lower[i] - extent + 1, 3); /* not empty */
        c.offset[i] = (uint16_t)draw(0, 4);
        c.start[i + 1] = c.window.lower[i];
    }
    return c;
}

/* Goes to the next pixel of the box. */
static void go_on(const struct sim_bulk *c, int64_t place[TENSOR_MAP_AXES])
{
    for (int axis = 1; axis < c->map.rank - 1; axis++) {
        int64_t last = (int64_t)c->map.extents[axis] - 1 + c->window.upper[axis - 1];
        place[axis] += c->map.steps[axis];
        if (place[axis] <= last)
            return;
        place[axis] = c->window.lower[axis - 1];
    }
    place[c->map.rank - 1]++;
}

static void compare(const struct sim_bulk *c, int pixels)
{
    int64_t place[TENSOR_MAP_AXES], found[TENSOR_MAP_AXES];
    memcpy(place, c->start, sizeof place);
    for (int pixel = 0; pixel < pixels; pixel++, go_on(c, place)) {
        sim_window_place(c, (uint64_t)pixel, found);
        for (int axis = 1; axis < c->map.rank; axis++) {
            int64_t offset = axis < c->map.rank - 1 ? c->offset[axis - 1] : 0;
            if (found[axis] != place[axis] + offset)
                fail_msg("pixel %d, axis %d of %d: %lld, not %lld", pixel, axis, c->map.rank,
                         (long long)found[axis], (long long)(place[axis] + offset));
        }
    }
}

static void pixels_follow_each_other(void **state)
{
    enum { COPIES = 2000, PIXELS = 300 };
    (void)state;
    for (int i = 0; i < COPIES; i++) {
        struct sim_bulk c = random_copy();
        int skipped = draw(0, PIXELS);
        compare(&c, PIXELS);
        for (int k = 0; k < skipped; k++) /* and from any pixel of the box on */
            go_on(&c, c.start);
        compare(&c, PIXELS);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pixels_follow_each_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
