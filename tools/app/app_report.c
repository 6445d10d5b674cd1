/* The report of a program's findings. */
#include "app/app.h"

#include "cli/json.h"
#include "cli/json_read.h"

#include <stdlib.h>
#include <string.h>

/* A line of the libraries. */
struct line {
    const char *text;
    size_t length;
    struct json_value *value; /* NULL: it is not JSON */
};

/* Reads the next line. Returns false at the end. */
static bool next_line(const char **at, struct line *l)
{
    if (!*at || !**at)
        return false;
    const char *end = strchr(*at, '\n');
    l->text = *at;
    l->length = end ? (size_t)(end - *at) : strlen(*at);
    l->value = json_read(l->text, l->length);
    *at = end ? end + 1 : l->text + l->length;
    return true;
}

/* The columns of `run -- PROGRAM`, by their names in JSON. */
static const char *const columns[][2] = {{"launches", "launches"},
                                         {"warp_instructions", "instructions"},
                                         {"shared_wavefronts", "wavefronts"},
                                         {"bank_conflicts", "conflicts"},
                                         {"global_requests", "requests"},
                                         {"global_sectors", "sectors"}};
enum { COLUMNS = sizeof columns / sizeof columns[0] };

static void print_head(void)
{
    print_text(stdout, "%-32s", "kernel");
    for (int i = 0; i < COLUMNS; i++)
        print_text(stdout, " %14s", columns[i][1]);
    print_text(stdout, "\n");
}

static void print_counters(const struct json_value *v)
{
    print_text(stdout, "%-32s", json_member_text(v, "kernel"));
    for (int i = 0; i < COLUMNS; i++) {
        const struct json_value *m = json_member(v, columns[i][0]);
        print_text(stdout, " %14.0f", m ? m->number : 0);
    }
    print_text(stdout, "\n");
}

struct totals {
    int found, notes, launches;
    int on_two_threads; /* launches */
    int counted;        /* kernels */
    int broken;         /* lines that cannot be read, because the program died while it wrote */
    bool in_ptx;        /* a finding is at a line of PTX */
    bool opened, ended; /* the libraries were loaded; the program came to its end */
};

/* Counts a line. Returns whether it is a finding to show. */
static bool count_line(const struct app_report *r, const struct line *l, struct totals *t)
{
    const char *kind = json_member_text(l->value, "kind");
    int launches = 0;
    t->opened = true;
    t->broken += !kind;
    if (!kind)
        return false;
    if (strcmp(kind, "begin") == 0)
        return false;
    if (strcmp(kind, "end") == 0) {
        t->ended = true;
        json_member_count(l->value, "launches", &launches);
        t->launches += launches; /* of each process */
        if (json_member_count(l->value, "on_two_threads", &launches))
            t->on_two_threads += launches;
        return false;
    }
    if (strcmp(kind, "counters") == 0) {
        if (!t->counted++ && !r->to_json)
            print_head();
        if (!r->to_json)
            print_counters(l->value);
        return r->to_json;
    }
    bool fails = json_member_is_true(l->value, "fails"),
         warns = json_member_is_true(l->value, "warns");
    t->found += fails || (r->strict && warns);
    t->notes += !fails && !warns;
    return fails || warns || r->verbose || r->to_json;
}

static void print_line(const struct line *l, struct totals *t)
{
    const char *text = json_member_text(l->value, "text");
    if (text)
        print_text(stderr, "%s", text);
    t->in_ptx = t->in_ptx || (text && strstr(text, "module.ptx:"));
}

/* Says how a program that was built without lines gets them. */
static void say_ptx(const struct totals *t)
{
    if (t->in_ptx)
        print_text(stderr, "note: module.ptx is PTX that does not name the lines of its source: "
                           "`nvcc -lineinfo` adds them; --trace FOLDER writes the PTX\n");
}

static int status_of(const struct app_report *r, const struct totals *t)
{
    if (t->found || t->broken)
        return STATUS_FAILED;
    if (!t->opened)
        return STATUS_USAGE;
    return r->end.status;
}

static void say_ok(const struct app_report *r, const struct totals *t)
{
    char *threads = t->on_two_threads
                        ? need_text("; a second thread looked for races in %d", t->on_two_threads)
                        : need_text("%s", "");
    print_text(stderr, "%s: ok (%d launch%s%s)\n", r->program, t->launches,
               t->launches == 1 ? "" : "es", threads);
    free(threads);
}

/* Says what a reader of the findings must know: the program was not watched, or died. */
static void say_end(const struct app_report *r, const struct totals *t)
{
    if (t->broken)
        complain(NULL, "%d finding%s of %s could not be read", t->broken, t->broken == 1 ? "" : "s",
                 r->program);
    if (!t->opened)
        complain(NULL,
                 "%s never opened the CUDA libraries, so nothing was checked: it calls no CUDA, or "
                 "it is linked with -static; link it without -static",
                 r->program);
    else if (r->end.signal)
        complain(NULL, "%s was ended by signal %d (%s)", r->program, r->end.signal,
                 strsignal(r->end.signal));
    else if (r->verbose && !t->found)
        say_ok(r, t);
}

/* Adds the lines of one sort to an open list: counters, or findings. */
static void add_lines(const struct app_report *r, const char *lines, bool counters, struct json *j,
                      struct totals *t)
{
    struct line l;
    while (next_line(&lines, &l)) {
        const char *kind = json_member_text(l.value, "kind");
        bool counted = kind && strcmp(kind, "counters") == 0;
        if (counted == counters && count_line(r, &l, t)) {
            char *object = need_text("%.*s", (int)l.length, l.text);
            json_open(j, '{');
            json_members(j, object);
            json_close(j, '}');
            free(object);
        }
        json_free(l.value);
    }
}

static int print_json(const struct app_report *r, const char *lines)
{
    struct totals t = {.found = 0}, unused = {.found = 0};
    struct json j = {.out = stdout};
    json_hold(&j);
    json_open(&j, '{');
    json_put_text(&j, "program", r->program);
    json_open_list(&j, "findings");
    add_lines(r, lines, false, &j, &t);
    json_close(&j, ']');
    if (!r->checks) {
        json_open_list(&j, "kernels");
        add_lines(r, lines, true, &j, &unused);
        json_close(&j, ']');
    }
    say_end(r, &t);
    json_put_integer(&j, "launches", t.launches);
    json_put_bool(&j, "ended", t.ended);
    json_put_integer(&j, "program_status", r->end.status);
    json_put_bool(&j, "ok", status_of(r, &t) == STATUS_OK);
    json_close(&j, '}');
    json_end(&j);
    return status_of(r, &t);
}

int app_print(const struct app_report *r, const char *lines)
{
    struct totals t = {.found = 0};
    struct line l;
    if (r->to_json)
        return print_json(r, lines);
    while (next_line(&lines, &l)) {
        if (count_line(r, &l, &t))
            print_line(&l, &t);
        json_free(l.value);
    }
    say_ptx(&t);
    say_end(r, &t);
    return status_of(r, &t);
}
