/* The race check on events made by hand, for its tests. */
#ifndef TW_TEST_RACE_CASE_H
#define TW_TEST_RACE_CASE_H

#include "sim/race/sim_race.h"
#include "sim_feed.h"

#include <setjmp.h>

struct race_case {
    jmp_buf failed;
    struct arena arena;
    struct sim_report report;
    struct sim_races *races;
    struct feed feed;
};

void race_case_open(struct race_case *c);
/* Checks that the race check has freed all of its memory. */
void race_case_close(struct race_case *c);
/* Starts a launch of `blocks` blocks, all begun. */
void race_case_start(struct race_case *c, int blocks, int threads);
/* Checks that the launch has `count` findings so far, repetitions included. */
void race_case_expect(struct race_case *c, int64_t count);
/* Checks that the launch has one finding so far, and the report one of that kind. */
void race_case_expect_kind(struct race_case *c, enum sim_found kind);

#endif
