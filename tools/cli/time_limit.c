#define _XOPEN_SOURCE 700 /* setitimer */
#include "cli/time_limit.h"
#include "cli/doing.h"
#include "cli/leftovers.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

/* After the deadline, the library gets this much processor time to end by itself, even on a busy
 * machine. A waiting command uses no processor time, so the clock ends it. */
enum { TICK_MICROSECONDS = 100000, PROCESSOR_TICKS = 5, MOST_TICKS = 30 };

static struct {
    char message[64]; /* "time is up (--time-limit 2)" */
    double ends;      /* on the clock of seconds_now; 0: no limit */
    volatile int ticks;
    volatile double processor;                    /* its seconds at the deadline */
    const char *volatile before, *volatile after; /* of the JSON; NULL: none */
    char *first;                                  /* `before` of prepare_json, while in use */
} limit;
static const char head[] = "tilewright: ";

static void say(int to, const char *text)
{
    for (size_t left = strlen(text); left;) {
        ssize_t written = write(to, text, left);
        if (written <= 0)
            return;
        text += written;
        left -= (size_t)written;
    }
}

/* Writes "time is up (--time-limit 2): running clang", escaped for JSON if `quoted`. */
static void say_what(int to, bool quoted)
{
    static char shown[8192];
    const char *what = doing_what(), *of = doing_of();
    say(to, limit.message);
    if (!what)
        return;
    say(to, ": ");
    say(to, what);
    say(to, of ? " " : "");
    if (of && quoted)
        tw_text_shown(of, strlen(of), TW_SHOWN_JSON, shown, sizeof shown);
    say(to, !of ? "" : quoted ? shown : of);
}

static void say_json(void)
{
    if (!limit.before || json_begun())
        return;
    say(STDOUT_FILENO, limit.before);
    say(STDOUT_FILENO, "\"");
    say_what(STDOUT_FILENO, true);
    say(STDOUT_FILENO, "\"\n    }");
    say(STDOUT_FILENO, limit.after);
}

static void tick(int number)
{
    (void)number;
    if (limit.ticks++ == 0)
        limit.processor = processor_seconds();
    double used = processor_seconds() - limit.processor;
    if (limit.ticks <= MOST_TICKS && used * 1e6 < PROCESSOR_TICKS * TICK_MICROSECONDS)
        return;
    say(STDERR_FILENO, head);
    say_what(STDERR_FILENO, false);
    say(STDERR_FILENO, "\n");
    say_json();
    leftovers_remove();
    _exit(STATUS_FAILED);
}

bool time_limit_is_over(void)
{
    return limit.ends > 0 && seconds_now() >= limit.ends;
}

void time_limit_json(const char *before, const char *after)
{
    limit.before = NULL; /* the timer may read it at any time */
    limit.after = after;
    limit.before = before;
    free(limit.first);
    limit.first = NULL;
}

void time_limit_json_keys(struct json *j, const char *file)
{
    json_put_text(j, "severity", "error");
    json_put_text(j, "code", tw_code_name(TW_CODE_CANCELLED));
    json_put_text(j, "file", file);
    json_put_integer(j, "line", 0);
    json_put_integer(j, "column", 0);
    json_put_integer(j, "length", 0);
    json_open_list(j, "fix");
    json_close(j, ']');
    json_key(j, "text");
}

/* Prepares the command's JSON object for the time before any result is known. */
static void prepare_json(const struct options *given)
{
    struct json j;
    if (!options_has(given, "json"))
        return;
    json_hold(&j);
    json_open(&j, '{');
    json_put_text(&j, "file", given->word_count ? given->words[0] : NULL);
    json_put_text(&j, "kernel", NULL);
    json_put_bool(&j, "ok", false);
    json_put_text(&j, "status", tw_status_name(TW_CANCELLED));
    json_open_list(&j, "messages");
    json_open(&j, '{');
    time_limit_json_keys(&j, NULL);
    char *text = json_take(&j);
    time_limit_json(text, "\n  ]\n}\n");
    limit.first = text;
}

bool time_limit_begin(const struct options *given, double *seconds, double *ends)
{
    if (!options_has(given, "time-limit"))
        return true;
    if (!options_duration(given, "time-limit", seconds))
        return false;
    *ends = limit.ends = seconds_now() + *seconds;
    enum { LONGEST = 1000000 };
    double whole = *seconds < LONGEST ? *seconds : LONGEST;
    struct itimerval timer = {.it_interval = {.tv_usec = TICK_MICROSECONDS}};
    timer.it_value.tv_sec = (time_t)whole;
    timer.it_value.tv_usec = (suseconds_t)((whole - (double)timer.it_value.tv_sec) * 1e6);
    if (timer.it_value.tv_sec == 0 && timer.it_value.tv_usec == 0)
        timer.it_value.tv_usec = 1;
    snprintf(limit.message, sizeof limit.message, "time is up (--time-limit %g)", *seconds);
    prepare_json(given);
    sigaction(SIGALRM, &(struct sigaction){.sa_handler = tick, .sa_flags = SA_RESTART}, NULL);
    setitimer(ITIMER_REAL, &timer, NULL);
    return true;
}
