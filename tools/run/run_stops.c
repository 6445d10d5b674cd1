#include "run/run_stops.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_KEPT = 2000 }; /* stops of a prompt */

/* --- rows --- */

static tw_probe_site site_at(const tw_launch *l, int index)
{
    tw_probe_site site = tw_probe_site_init();
    tw_launch_probe_site(l, index, &site);
    return site;
}

/* Returns the first site of the group, which has no name. */
static int group_of(const tw_launch *l, int site)
{
    while (site > 0 && site_at(l, site).name)
        site--;
    return site;
}

static int group_size(const tw_launch *l, int group)
{
    int last = group;
    while (!site_at(l, last).last)
        last++;
    return last - group + 1;
}

static bool has_site(const struct probe_stop *stop, int site)
{
    for (int i = 0; i < stop->count; i++)
        if (stop->rows[i].site == site)
            return true;
    return false;
}

/* Returns the first visit of the group without a row of the site. Each site of a group prints once
 * a visit, so the row belongs to it. */
static struct probe_stop *stop_of(struct run_stops *s, int group, int site)
{
    int found = s->count;
    for (int i = s->count; i-- > 0;) {
        const struct probe_stop *stop = &s->list[i];
        if (stop->group != group)
            continue;
        if (stop->complete || has_site(stop, site))
            break;
        found = i;
    }
    if (found < s->count)
        return &s->list[found];
    NEED_ROOM(s->list, s->count);
    s->list[s->count] = (struct probe_stop){.group = group};
    return &s->list[s->count++];
}

static void drop_rows(struct probe_stop *stop)
{
    for (int i = 0; i < stop->count; i++)
        probe_row_free(&stop->rows[i]);
    free(stop->rows);
    stop->rows = NULL;
    stop->count = 0;
}

static int by_site(const void *a, const void *b)
{
    const struct probe_row *x = a, *y = b;
    return x->site - y->site;
}

bool run_stops_take(struct run_stops *s, const tw_launch *l, struct probe_row row)
{
    int group = group_of(l, row.site);
    if (s->reached) {
        probe_row_free(&row);
        return true;
    }
    struct probe_stop *stop = stop_of(s, group, row.site);
    if (!row.value)
        stop->visit = ++s->visits;
    ADD_TO(stop->rows, stop->count, row);
    stop->complete = stop->count == group_size(l, group);
    if (!stop->complete)
        return false;
    qsort(stop->rows, (size_t)stop->count, sizeof *stop->rows, by_site);
    if (stop->visit == s->wanted) {
        if (!s->prompts)
            s->reached = stop;
    } else if (!s->prompts || s->count > MOST_KEPT) {
        drop_rows(stop);
    }
    return s->reached != NULL;
}

/* Sorts the stops by their visits; those without rows come last. */
static int by_visit(const void *a, const void *b)
{
    const struct probe_stop *x = a, *y = b;
    bool known_x = x->visit && x->count, known_y = y->visit && y->count;
    if (known_x != known_y)
        return known_x ? -1 : 1;
    return (x->visit > y->visit) - (x->visit < y->visit);
}

void run_stops_end(struct run_stops *s)
{
    if (!s->prompts || !s->count)
        return;
    qsort(s->list, (size_t)s->count, sizeof *s->list, by_visit);
    for (s->kept = 0; s->kept < s->count && s->list[s->kept].visit && s->list[s->kept].count;
         s->kept++) {
        struct probe_stop *stop = &s->list[s->kept];
        if (!stop->complete)
            qsort(stop->rows, (size_t)stop->count, sizeof *stop->rows, by_site);
        if (stop->visit == s->wanted)
            s->reached = stop;
    }
}

void run_stops_free(struct run_stops *s)
{
    for (int i = 0; i < s->count; i++)
        drop_rows(&s->list[i]);
    free(s->list);
}

/* --- reports --- */

static void print_place(const struct run_probe *p, const struct probe_stop *stop)
{
    tw_probe_site site = site_at(p->launch, stop->group);
    print_text(stdout, "%s:%d", site.file, site.line);
    probe_row_print_place(p, &stop->rows[0]);
    if (site.line != p->options.line)
        printf(" (line %d has no statement)", p->options.line);
    putchar('\n');
}

static void print_value(const struct run_probe *p, const struct probe_row *row)
{
    tw_probe_site site = site_at(p->launch, row->site);
    print_text(stdout, "  %s = ", site.name);
    probe_row_print_type(&site);
    probe_row_print_value(row, site.rank, 6);
}

void run_stops_print(const struct run_probe *p)
{
    const struct probe_stop *stop = p->stops.reached;
    fputs("stopped before ", stdout);
    print_place(p, stop);
    for (int i = 1; i < stop->count; i++)
        print_value(p, &stop->rows[i]);
}

/* --- the prompt --- */

struct prompt {
    const struct run_probe *p;
    const struct probe_stop *at;
    bool ended;
};

static const char *const prompt_help = "  next, n       the next stop, also an empty line\n"
                                       "  previous, p   the stop before\n"
                                       "  NUMBER        the stop of that number\n"
                                       "  print NAME    a value; without NAME all of them\n"
                                       "  list, l       the names that have a value here\n"
                                       "  quit, q       ends\n";

static void list_names(const struct prompt *q)
{
    for (int i = 1; i < q->at->count; i++) {
        const struct probe_row *row = &q->at->rows[i];
        tw_probe_site site = site_at(q->p->launch, row->site);
        if (site.rank == 0) {
            print_value(q->p, row);
            continue;
        }
        print_text(stdout, "  %s: ", site.name);
        probe_row_print_type(&site);
        putchar('\n');
    }
}

static void show_stop(const struct prompt *q)
{
    const struct run_stops *s = &q->p->stops;
    printf("stop %lld of %lld, before ", (long long)q->at->visit, (long long)s->visits);
    print_place(q->p, q->at);
    list_names(q);
}

static void go_to(struct prompt *q, int64_t visit)
{
    const struct run_stops *s = &q->p->stops;
    for (int i = 0; i < s->kept; i++)
        if (s->list[i].visit == visit) {
            q->at = &s->list[i];
            show_stop(q);
            return;
        }
    if (visit >= 1 && visit <= s->visits)
        printf("stop %lld is not recorded, as the first %d are; `--break %d:%lld < /dev/null` "
               "shows it\n",
               (long long)visit, MOST_KEPT, q->p->options.line, (long long)visit);
    else
        printf("the stops are 1 to %lld\n", (long long)s->visits);
}

static void print_name(const struct prompt *q, const char *name)
{
    int count = q->at->count, found = 0;
    const char **names = need_memory((size_t)(count + 1) * sizeof *names);
    for (int i = 1; i < count; i++) {
        names[i - 1] = site_at(q->p->launch, q->at->rows[i].site).name;
        if (*name && strcmp(names[i - 1], name) != 0)
            continue;
        print_value(q->p, &q->at->rows[i]);
        found++;
    }
    if (!found) {
        char *hint = name_hint(name, names);
        print_text(stdout, "no '%s' has a value here%s\n", name, hint);
        free(hint);
    }
    free(names);
}

static bool is(const char *word, const char *name)
{
    return strcmp(word, name) == 0 || (strlen(word) == 1 && word[0] == name[0]);
}

static void obey(struct prompt *q, char *line)
{
    const char *word = strtok(line, " \t\r\n"), *name = word ? strtok(NULL, " \t\r\n") : NULL;
    if (!word || is(word, "next"))
        go_to(q, q->at->visit + 1);
    else if (isdigit((unsigned char)*word))
        go_to(q, strtoll(word, NULL, 10));
    else if (strcmp(word, "print") == 0)
        print_name(q, name ? name : "");
    else if (is(word, "previous"))
        go_to(q, q->at->visit - 1);
    else if (is(word, "list"))
        list_names(q);
    else if (is(word, "quit"))
        q->ended = true;
    else if (is(word, "help"))
        fputs(prompt_help, stdout);
    else
        print_text(stdout, "no command '%s'; there are\n%s", word, prompt_help);
}

void run_stops_prompt(const struct run_probe *p)
{
    struct prompt q = {.p = p, .at = p->stops.reached};
    char line[256];
    printf("The run is over; this prompt walks the stops that it recorded. `help` lists the "
           "commands.\n");
    show_stop(&q);
    while (!q.ended) {
        fputs("> ", stdout);
        fflush(stdout);
        if (!fgets(line, sizeof line, stdin)) {
            putchar('\n');
            break;
        }
        obey(&q, line);
    }
}

bool run_stops_can_prompt(void)
{
    return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && isatty(STDERR_FILENO);
}
