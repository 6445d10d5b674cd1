#include "run/run_probe.h"
#include "run/run_stops.h"
#include "cli/trace_file.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { DEFAULT_ROWS = 200, MOST_ROWS = 1000000, MOST_COUNTED = 2048 /* twice a block's threads */ };

/* --- options --- */

/* Reads "[0:4]" of each axis. Returns the text after them, or NULL if they are malformed. */
static const char *read_parts(tw_probe *p, const char *at)
{
    for (p->rank = 0; *at == '['; p->rank++) {
        char *end;
        if (p->rank == TW_MAX_RANK || !isdigit((unsigned char)at[1]))
            return NULL;
        int64_t first = strtoll(at + 1, &end, 10), past = first + 1;
        if (*end == ':')
            past = strtoll(end + 1, &end, 10);
        if (*end != ']' || past <= first)
            return NULL;
        p->first[p->rank] = first;
        p->extent[p->rank] = past - first;
        at = end + 1;
    }
    return at;
}

/* Returns the first name that is given twice; NULL: none. */
static const char *named_twice(const struct run_probe *p)
{
    for (int i = 0; i < p->options.count; i++)
        for (int j = 0; j < i; j++)
            if (strcmp(p->probes[i].name, p->probes[j].name) == 0)
                return p->probes[i].name;
    return NULL;
}

static bool read_probes(struct run_probe *p, const char *text)
{
    while (*text) {
        size_t length = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
                                     "0123456789");
        if (!length || isdigit((unsigned char)*text) || p->options.count == TW_MOST_PROBES)
            return false;
        tw_probe *one = &p->probes[p->options.count++];
        one->name = need_text("%.*s", (int)length, text);
        text = read_parts(one, text + length);
        if (!text || (*text && *text != ','))
            return false;
        text += *text == ',';
    }
    return true;
}

static bool read_line(struct run_probe *p, const char *text)
{
    char *end;
    long line = strtol(text, &end, 10);
    p->stops.wanted = 1;
    errno = 0;
    if (*end == ':' && isdigit((unsigned char)end[1]))
        p->stops.wanted = strtoll(end + 1, &end, 10);
    p->options.line = (int)line;
    return !*end && !errno && line > 0 && line < INT32_MAX && p->stops.wanted > 0;
}

int run_probe_read(struct run_probe *p, const struct options *o)
{
    static const char *const of_probes[] = {"in-thread", "probe-rows", NULL};
    const char *line = options_value(o, "break"), *thread = options_value(o, "in-thread");
    const char *block = options_value(o, "in-block"), *other = options_any(o, of_probes);
    int64_t at[3] = {0};
    p->most_rows = DEFAULT_ROWS;
    p->options.size = sizeof p->options;
    p->options.probes = p->probes;
    for (const struct option_use *u = NULL; (u = options_next(o, "probe", u));)
        if (!read_probes(p, u->values[0]))
            return usage_error(o->complaints, o->command,
                               "--probe %s: expected names, as acc,k or acc[0:4][0:4]",
                               u->values[0]);
    const char *twice = named_twice(p);
    if (twice)
        return usage_error(o->complaints, o->command,
                           "--probe %s is given twice: a run shows one part of a name", twice);
    p->asked = line || p->options.count;
    if (line && !read_line(p, line))
        return usage_error(o->complaints, o->command,
                           "--break %s: expected a line, or LINE:N for the N-th time", line);
    if (other && !p->asked)
        return usage_error(o->complaints, o->command, "--%s goes with --probe or --break", other);
    if (block && !p->asked && !options_has(o, "trace"))
        return usage_error(o->complaints, o->command,
                           "--in-block goes with --probe, --break or --trace");
    if (block && !read_block(block, p->options.block))
        return usage_error(o->complaints, o->command,
                           "--in-block %s: expected the block's index, X, X,Y or X,Y,Z", block);
    if (thread && !read_block(thread, at))
        return usage_error(o->complaints, o->command,
                           "--in-thread %s: expected the thread's index, X, X,Y or X,Y,Z", thread);
    for (int i = 0; i < 3; i++)
        p->options.thread[i] = at[i] < INT32_MAX ? (int)at[i] : INT32_MAX;
    p->options.all_threads = !thread && !line;
    p->stops.prompts =
        line && !options_has(o, "json") && !options_has(o, "watch") && run_stops_can_prompt();
    return options_integer(o, "probe-rows", 1, MOST_ROWS, &p->most_rows) ? STATUS_OK : STATUS_USAGE;
}

void run_probe_free(struct run_probe *p)
{
    for (int i = 0; i < p->options.count; i++)
        free((char *)p->probes[i].name);
    for (int64_t i = 0; i < p->row_count; i++)
        probe_row_free(&p->rows[i]);
    free(p->rows);
    for (int i = 0; p->threads && i < MOST_COUNTED; i++)
        free(p->threads[i].rows);
    free(p->threads);
    run_stops_free(&p->stops);
    free(p->line);
}

/* --- rows --- */

/* Returns the counters of the thread. An open hash table keeps them. */
static int64_t *counters_of(struct run_probe *p, const int thread[3])
{
    if (!p->threads)
        p->threads = need_memory(MOST_COUNTED * sizeof *p->threads);
    unsigned at = (unsigned)(thread[0] + thread[1] * 37 + thread[2] * 1009);
    struct probe_thread *t;
    for (;; at++) {
        t = &p->threads[at % MOST_COUNTED];
        if (!t->rows || memcmp(t->thread, thread, sizeof t->thread) == 0)
            break;
    }
    if (!t->rows)
        t->rows = need_memory((size_t)(p->options.count + 1) * sizeof *t->rows);
    memcpy(t->thread, thread, sizeof t->thread);
    return t->rows;
}

/* Assigns the row its number within its thread, and its step. */
static void number_row(struct run_probe *p, struct probe_row *row)
{
    int64_t *rows = counters_of(p, row->thread);
    int name = 0;
    while (name < p->options.count - 1 && strcmp(p->probes[name].name, row->name) != 0)
        name++;
    row->number = ++rows[p->options.count];
    row->step = ++rows[name];
}

static int by_number(const void *a, const void *b)
{
    const struct probe_row *x = a, *y = b;
    if (x->number != y->number)
        return x->number < y->number ? -1 : 1;
    for (int axis = 2; axis >= 0; axis--)
        if (x->thread[axis] != y->thread[axis])
            return x->thread[axis] < y->thread[axis] ? -1 : 1;
    return 0;
}

/* Sorts the rows by their number and thread, and drops those past the limit. */
static void sort_rows(struct run_probe *p)
{
    if (p->row_count)
        qsort(p->rows, (size_t)p->row_count, sizeof *p->rows, by_number);
    while (p->row_count > p->most_rows) {
        probe_row_free(&p->rows[--p->row_count]);
        p->left_out++;
    }
}

/* Keeps the row, and about twice as many as are shown: those of other threads that have smaller
 * numbers may arrive later. */
static void add_row(struct run_probe *p, struct probe_row row)
{
    number_row(p, &row);
    if (p->row_count == p->row_room) {
        if (p->row_room >= 2 * p->most_rows)
            sort_rows(p);
        else
            p->row_room = p->row_room ? 2 * p->row_room : 256;
        p->rows = need_more_memory(p->rows, (size_t)p->row_room * sizeof *p->rows);
    }
    p->rows[p->row_count++] = row;
}

static void take_row(struct run_probe *p, int site_index, const int thread[3], const char *values)
{
    tw_probe_site site = tw_probe_site_init();
    struct probe_row row = {.site = site_index, .counters = need_text("%s", "")};
    if (!tw_launch_probe_site(p->launch, site_index, &site)) {
        probe_row_free(&row);
        return;
    }
    memcpy(row.thread, thread, sizeof row.thread);
    row.name = site.name;
    for (int i = 0; i < site.counter_count; i++) {
        size_t length = strcspn(values, ",");
        append_text(&row.counters, "%s%s = %.*s", i ? ", " : "", site.counters[i], (int)length,
                    values);
        values += length;
        values += strspn(values, ", ");
    }
    if (site.name)
        row.value = need_text("%s", values);
    if (site.stops) {
        if (run_stops_take(&p->stops, p->launch, row))
            p->deadline->at = 1e-9; /* past: the library ends the run */
    } else if (p->stops.reached) {
        probe_row_free(&row);
    } else {
        add_row(p, row);
    }
}

/* Parses "block (0,0) thread (3,0) $2 = 32, [1.0, 2.0]". Returns false for other lines. */
static bool read_row(struct run_probe *p, const char *line)
{
    int thread[3] = {-1, -1, -1}, site; /* of no thread: of the block */
    const char *at = strstr(line, " $"), *by = strstr(line, " thread (");
    char *end;
    if (strncmp(line, "block (", 7) != 0 || !at || !isdigit((unsigned char)at[2]))
        return false;
    if (by && by < at) {
        thread[2] = 0;
        sscanf(by, " thread (%d,%d,%d)", &thread[0], &thread[1], &thread[2]);
    }
    site = (int)strtol(at + 2, &end, 10);
    if (*end && strncmp(end, " = ", 3) != 0)
        return false;
    if (p->recording)
        take_row(p, site, thread, *end ? end + 3 : end);
    return true;
}

void run_probe_take(void *user, const char *text, size_t length)
{
    struct run_probe *p = user;
    while (length) {
        const char *end = memchr(text, '\n', length);
        size_t part = end ? (size_t)(end - text) : length;
        append_text(&p->line, "%.*s", (int)part, text);
        if (end) {
            if (!(p->asked && read_row(p, p->line)) && *p->print) {
                print_output(*p->print, p->line, strlen(p->line));
                fputc('\n', *p->print);
            }
            *p->line = '\0';
        }
        part += end != NULL;
        text += part;
        length -= part;
    }
}

tw_status run_probe_begin(struct run_probe *p, tw_launch *l)
{
    p->launch = l;
    p->recording = true;
    return tw_launch_probe(l, &p->options);
}

void run_probe_end(struct run_probe *p)
{
    p->recording = false;
    p->ran = true;
    sort_rows(p);
    run_stops_end(&p->stops);
}

/* --- reports --- */

static void print_row(const struct run_probe *p, const struct probe_row *row)
{
    tw_probe_site site = tw_probe_site_init();
    tw_launch_probe_site(p->launch, row->site, &site);
    print_text(stdout, "%s:%d", site.file, site.line);
    probe_row_print_place(p, row);
    print_text(stdout, " step %lld: %s = ", (long long)row->step, site.name);
    probe_row_print_type(&site);
    probe_row_print_value(row, site.rank, 4);
}

void run_probe_report(const struct run_probe *p)
{
    for (int64_t i = 0; i < p->row_count; i++)
        print_row(p, &p->rows[i]);
    if (p->ran && p->options.count && !p->row_count && !p->stops.reached) {
        const int64_t *b = p->options.block;
        printf("block (%lld,%lld,%lld) assigned none of these names (--in-block names another "
               "block, --in-thread another thread)\n",
               (long long)b[0], (long long)b[1], (long long)b[2]);
    }
    if (p->left_out)
        printf("… %lld more (--probe-rows N shows N of them)\n", (long long)p->left_out);
    if (p->stops.reached && p->stops.prompts)
        run_stops_prompt(p);
    else if (p->stops.reached)
        run_stops_print(p);
}

/* Writes a value as JSON. Numbers stay numbers; "…" and nan become strings. */
static void json_value(struct json *j, const char *text)
{
    char *out = need_text("%s", "");
    while (*text) {
        size_t word = strcspn(text, "[], ");
        bool bare = word && (strncmp(text, "nan", 3) == 0 || strncmp(text, "inf", 3) == 0 ||
                             strncmp(text, "-inf", 4) == 0 || (unsigned char)*text >= 0x80);
        append_text(&out, bare ? "\"%.*s\"" : "%.*s", (int)word, text);
        text += word;
        if (*text)
            append_text(&out, "%c", *text++);
    }
    json_number(j, out);
    free(out);
}

static void json_counters(struct json *j, const char *text)
{
    json_open_object(j, "counters");
    while (*text) {
        size_t name = strcspn(text, " "), number;
        char *key = need_text("%.*s", (int)name, text);
        text += name + strspn(text + name, " =");
        number = strcspn(text, ",");
        json_put_integer(j, key, strtoll(text, NULL, 10));
        free(key);
        text += number + strspn(text + number, ", ");
    }
    json_close(j, '}');
}

static void json_row(const struct run_probe *p, const struct probe_row *row, struct json *j)
{
    tw_probe_site site = tw_probe_site_init();
    tw_launch_probe_site(p->launch, row->site, &site);
    json_open(j, '{');
    json_put_text(j, "name", site.name);
    json_put_text(j, "file", site.file);
    json_put_integer(j, "line", site.line);
    json_put_integers(j, "block", 3, p->options.block);
    if (row->thread[0] >= 0)
        json_put_axes(j, "thread", row->thread[0], row->thread[1], row->thread[2]);
    json_counters(j, row->counters);
    if (!site.stops)
        json_put_integer(j, "step", row->step);
    if (row->value) {
        json_put_text(j, "type", tw_dtype_name(site.type));
        json_put_integers(j, "shape", site.rank, site.shape);
        json_key(j, "value");
        json_value(j, row->value);
    }
    json_close(j, '}');
}

void run_probe_json(const struct run_probe *p, struct json *j)
{
    json_open_list(j, "probes");
    for (int64_t i = 0; i < p->row_count; i++)
        json_row(p, &p->rows[i], j);
    json_close(j, ']');
    json_put_integer(j, "probes_left_out", p->left_out);
    if (!p->options.line)
        return;
    json_open_list(j, "stop");
    const struct probe_stop *stop = p->stops.reached;
    for (int i = 0; stop && i < stop->count; i++)
        json_row(p, &stop->rows[i], j);
    json_close(j, ']');
}

int run_probe_status(const struct run_probe *p, struct complaints *c)
{
    const int64_t *b = p->options.block;
    if (!p->options.line || p->stops.reached)
        return STATUS_OK;
    complain(c,
             "--break %d:%lld: block %lld,%lld,%lld came to it %lld time%s (--in-block names "
             "another block, --in-thread another thread)",
             p->options.line, (long long)p->stops.wanted, (long long)b[0], (long long)b[1],
             (long long)b[2], (long long)p->stops.visits, p->stops.visits == 1 ? "" : "s");
    return STATUS_FAILED;
}
