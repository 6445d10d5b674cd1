#define _XOPEN_SOURCE 700 /* setitimer */
#include "time_limit.h"
#include "doing.h"
#include "leftovers.h"

#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

/* The library gets this much of the processor after the deadline to end by itself, on a busy machine
 * too. A command that waits gets none of it, so the clock ends it. */
enum { TICK_MICROSECONDS = 100000, PROCESSOR_TICKS = 5, MOST_TICKS = 30 };

static struct {
    char message[64]; /* "tilewright: time is up (--time-limit 2)" */
    double ends;      /* on the clock of seconds_now; 0: no limit */
    volatile int ticks;
    volatile double processor; /* seconds of it at the deadline */
} limit;

static double processor_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void say(const char *text)
{
    for (size_t left = strlen(text); left;) {
        ssize_t written = write(STDERR_FILENO, text, left);
        if (written <= 0)
            return;
        text += written;
        left -= (size_t)written;
    }
}

static void tick(int number)
{
    (void)number;
    if (limit.ticks++ == 0)
        limit.processor = processor_seconds();
    double used = processor_seconds() - limit.processor;
    if (limit.ticks <= MOST_TICKS && used * 1e6 < PROCESSOR_TICKS * TICK_MICROSECONDS)
        return;
    const char *what = doing_what(), *of = doing_of();
    say(limit.message);
    if (what) {
        say(": ");
        say(what);
        say(of ? " " : "");
        say(of ? of : "");
    }
    say("\n");
    leftovers_remove();
    _exit(STATUS_FAILED);
}

bool time_limit_is_over(void)
{
    return limit.ends > 0 && seconds_now() >= limit.ends;
}

bool time_limit_begin(const struct options *given, double *seconds, double *ends)
{
    if (!options_has(given, "time-limit"))
        return true;
    if (!options_seconds(given, "time-limit", seconds))
        return false;
    *ends = limit.ends = seconds_now() + *seconds;
    enum { LONGEST = 1000000 };
    double whole = *seconds < LONGEST ? *seconds : LONGEST;
    struct itimerval timer = {.it_interval = {.tv_usec = TICK_MICROSECONDS}};
    timer.it_value.tv_sec = (time_t)whole;
    timer.it_value.tv_usec = (suseconds_t)((whole - (double)timer.it_value.tv_sec) * 1e6);
    if (timer.it_value.tv_sec == 0 && timer.it_value.tv_usec == 0)
        timer.it_value.tv_usec = 1;
    snprintf(limit.message, sizeof limit.message, "tilewright: time is up (--time-limit %g)",
             *seconds);
    sigaction(SIGALRM, &(struct sigaction){.sa_handler = tick, .sa_flags = SA_RESTART}, NULL);
    setitimer(ITIMER_REAL, &timer, NULL);
    return true;
}
