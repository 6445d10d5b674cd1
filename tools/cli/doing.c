#include "cli/doing.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static const char *volatile present, *volatile object;
static _Atomic int64_t begun, blocks; /* of that work; 0: not counted */
static double since, drawn;
static bool visible;
static atomic_flag drawing = ATOMIC_FLAG_INIT;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void doing(const char *what, const char *of)
{
    doing_hide();
    present = NULL;
    object = of;
    since = now();
    present = what;
    blocks = 0;
}

void doing_told(void *user, const char *what, int64_t done, int64_t total)
{
    (void)user, (void)what;
    begun = done;
    blocks = total;
}

const char *doing_what(void)
{
    return present;
}

const char *doing_of(void)
{
    return object;
}

/* Returns whether a terminal only prints the characters; it would obey others. */
static bool is_plain(const char *text)
{
    for (; *text; text++)
        if (*text < ' ' || *text > '~')
            return false;
    return true;
}

void doing_show(void)
{
    const char *what = present, *of = object;
    if (!what || atomic_flag_test_and_set(&drawing))
        return;
    double at = now();
    if (at - since >= 1 && at - drawn >= 0.5) {
        bool named = of && is_plain(of);
        fprintf(stderr, "\r\033[K%s%s%s: %.0f s", what, named ? " " : "", named ? of : "",
                at - since);
        int64_t all = blocks;
        if (all > 0)
            fprintf(stderr, ", block %lld of %lld", (long long)begun, (long long)all);
        fflush(stderr);
        drawn = at;
        visible = true;
    }
    atomic_flag_clear(&drawing);
}

void doing_hide(void)
{
    while (atomic_flag_test_and_set(&drawing))
        ;
    if (visible) {
        fputs("\r\033[K", stderr);
        fflush(stderr);
    }
    visible = false;
    atomic_flag_clear(&drawing);
}
