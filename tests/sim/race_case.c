#include "race_case.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

void race_case_open(struct race_case *c)
{
    arena_init(&c->arena, &allocator_libc, &c->failed);
    sim_report_init(&c->report, &c->arena, NULL);
    c->races = sim_races_new(&c->arena, &c->report);
}

void race_case_close(struct race_case *c)
{
    sim_races_free(c->races);
    assert_int_equal(sim_races_memory(c->races), 0);
    arena_free(&c->arena);
}

void race_case_start(struct race_case *c, int blocks, int threads)
{
    feed_start(&c->feed, sim_races_observer(c->races), &c->report, blocks, threads);
}

void race_case_expect(struct race_case *c, int64_t count)
{
    if (feed_found(&c->feed) != count) {
        struct text t;
        text_init(&t, &c->arena);
        sim_report_text(&t, &c->report, false);
        print_message("%s", t.data);
    }
    assert_int_equal(feed_found(&c->feed), count);
}

void race_case_expect_kind(struct race_case *c, enum sim_found kind)
{
    race_case_expect(c, 1);
    assert_non_null(sim_report_find(&c->report, kind));
}
