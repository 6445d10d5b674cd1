/* The findings of a program as files for others: SARIF for hosts of code, JUnit for servers that run
 * tests. */
#include "app/app_files.h"

#include "cli/json.h"
#include "cli/json_read.h"
#include "cli/part_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- the findings --- */

struct finding {
    const struct json_value *value;
    const char *kind, *message, *text;
    const char *level; /* "error", "warning", "note" */
};

/* Reads a line. Returns false if it is not a finding. */
static bool read_finding(const struct json_value *v, struct finding *f)
{
    f->value = v;
    f->kind = json_member_text(v, "kind");
    f->message = json_member_text(v, "message");
    f->text = json_member_text(v, "text");
    f->level = json_member_is_true(v, "fails")   ? "error"
               : json_member_is_true(v, "warns") ? "warning"
                                                 : "note";
    return f->kind && f->message && f->text;
}

/* Calls a function for each finding; the value lives until it returns. */
static void each(const char *lines, void (*take)(const struct finding *f, void *user), void *user)
{
    for (const char *at = lines; at && *at;) {
        size_t length = strcspn(at, "\n");
        struct json_value *v = json_read(at, length);
        struct finding f;
        if (v && read_finding(v, &f))
            take(&f, user);
        json_free(v);
        at += length + (at[length] == '\n');
    }
}

static bool write_file(const char *option, const char *path, const char *text)
{
    struct part_file part = part_file_open(path, "wb");
    bool good = part.file && fputs(text, part.file) >= 0;
    if (part_file_close(&part, good))
        return true;
    complain(NULL, "--%s %s: %s", option, path, strerror(errno));
    return false;
}

/* --- SARIF (OASIS, version 2.1.0) --- */

/* Returns the part of a path that is relative to the present folder, if it is below that; otherwise all
 * of it. */
static const char *relative(const char *path)
{
    char *here = getcwd(NULL, 0);
    size_t length = here ? strlen(here) : 0;
    bool below = here && strncmp(path, here, length) == 0 && path[length] == '/';
    free(here);
    return below ? path + length + 1 : strncmp(path, "./", 2) == 0 ? path + 2 : path;
}

/* Adds a relative path as a URI. */
static void put_uri(struct json *j, const char *path)
{
    char *uri = NULL;
    const char *rest = relative(path);
    append_text(&uri, "%s", *rest == '/' ? "file://" : "");
    for (const char *at = rest; *at; at++) {
        bool plain = strchr("-._~/+@", *at) || (*at >= '0' && *at <= '9') ||
                     ((*at | 32) >= 'a' && (*at | 32) <= 'z');
        append_text(&uri, plain ? "%c" : "%%%02X", (unsigned char)*at);
    }
    json_put_text(j, "uri", uri);
    free(uri);
}

/* A place in a source; file NULL: not known. */
struct place {
    char *file;
    int line, column;
};

/* Reads "FILE:LINE:COLUMN" or, with one number, "FILE:LINE". */
static struct place place_of_text(const char *text, int numbers)
{
    struct place p = {NULL, 0, 0};
    size_t end = text ? strlen(text) : 0;
    for (int colons = 0; end && colons < numbers;)
        colons += text[--end] == ':';
    if (end && sscanf(text + end, ":%d:%d", &p.line, &p.column) == numbers)
        p.file = need_text("%.*s", (int)end, text);
    return p;
}

/* Reads the place of an access: members file, line and column, or the text `line`; of a copy or fill, the
 * line of the call. */
static struct place read_place(const struct json_value *access)
{
    struct place p = {NULL, 0, 0};
    const char *file = json_member_text(access, "file"), *text = json_member_text(access, "line");
    if (file && json_member_count(access, "line", &p.line) && p.line > 0) {
        json_member_count(access, "column", &p.column);
        p.file = need_text("%s", file);
        return p;
    }
    p = place_of_text(text, 2);
    return p.file ? p : place_of_text(json_member_text(access, "site_line"), 1);
}

/* Adds a location: a place, and that of a call in the program (NULL: none). Hosts of code refuse the
 * whole file if one result lacks the place. */
static void put_location(struct json *j, const struct place *p, const char *site)
{
    json_open(j, '{');
    json_open_object(j, "physicalLocation");
    json_open_object(j, "artifactLocation");
    put_uri(j, p->file);
    json_close(j, '}');
    json_open_object(j, "region");
    json_put_integer(j, "startLine", p->line);
    if (p->column > 0)
        json_put_integer(j, "startColumn", p->column);
    json_close(j, '}');
    json_close(j, '}');
    if (site) {
        json_open_list(j, "logicalLocations");
        json_open(j, '{');
        json_put_text(j, "fullyQualifiedName", site);
        json_close(j, '}');
        json_close(j, ']');
    }
    json_close(j, '}');
}

/* The locations of a finding that were added so far. */
struct locations {
    struct json *json;
    int count;
};

/* Adds a place, if it is known, and frees it: the first one as the location, the others as related ones. */
static void add_location(struct locations *l, struct place p, const char *site)
{
    if (!p.file)
        return;
    if (l->count < 2)
        json_open_list(l->json, l->count ? "relatedLocations" : "locations");
    put_location(l->json, &p, l->count ? NULL : site);
    if (!l->count++)
        json_close(l->json, ']');
    free(p.file);
}

enum { ACCESSES = 2, SIDES = 2, PARTS = ACCESSES + SIDES };

/* Lists the parts of a finding that may have places: its accesses, then the sides of a race of streams or
 * of the host. NULL: the finding has no such part. */
static void list_parts(const struct finding *f, const struct json_value *parts[PARTS])
{
    const struct json_value *accesses = json_member(json_member(f->value, "finding"), "accesses");
    parts[0] = accesses ? accesses->first : NULL;
    parts[1] = parts[0] ? parts[0]->next : NULL;
    parts[ACCESSES] = json_member(f->value, "first");
    parts[ACCESSES + 1] = json_member(f->value, "second");
}

/* Adds the locations of a finding: the lines of its accesses, then those of its calls. If no line is
 * known, the place is the program. */
static void put_locations(struct json *j, const struct finding *f, const char *program)
{
    const struct json_value *parts[PARTS], **sides = parts + ACCESSES;
    list_parts(f, parts);
    const char *site = json_member_text(f->value, "site");
    const char *of_side = json_member_text(sides[0], "site");
    struct locations l = {j, 0};
    for (int i = 0; i < PARTS; i++)
        add_location(&l, read_place(parts[i]), site ? site : json_member_text(parts[i], "site"));
    for (int i = 0; i < SIDES; i++) /* the launches of kernels */
        if (json_member_text(sides[i], "line"))
            add_location(&l, place_of_text(json_member_text(sides[i], "site_line"), 1), NULL);
    add_location(&l, place_of_text(json_member_text(f->value, "site_line"), 1), site);
    if (!l.count)
        add_location(&l, (struct place){need_text("%s", program), 1, 0}, site ? site : of_side);
    if (l.count > 1)
        json_close(j, ']');
}

struct results {
    struct json *json;
    const struct app_report *report;
    char **rules; /* kinds of findings, in the order of their first ones */
    int rule_count;
};

static bool is_left_out(const struct finding *f, const struct results *r)
{
    return strcmp(f->level, "note") == 0 && !r->report->verbose;
}

/* Returns the number of the kind among the rules; their count: it is not among them. */
static int rule_of(const struct results *r, const char *kind)
{
    int i = 0;
    while (i < r->rule_count && strcmp(r->rules[i], kind) != 0)
        i++;
    return i;
}

/* Adds an object with a text. */
static void put_text_object(struct json *j, const char *key, const char *text)
{
    json_open_object(j, key);
    json_key(j, "text");
    json_exact(j, text, strlen(text));
    json_close(j, '}');
}

/* Adds the rule of a kind that has none so far. */
static void put_rule(const struct finding *f, void *user)
{
    struct results *r = user;
    struct json *j = r->json;
    const char *about = json_member_text(f->value, "about");
    if (is_left_out(f, r) || rule_of(r, f->kind) < r->rule_count)
        return;
    ADD_TO(r->rules, r->rule_count, need_text("%s", f->kind));
    json_open(j, '{');
    json_put_text(j, "id", f->kind);
    put_text_object(j, "shortDescription", about ? about : f->kind);
    json_open_object(j, "defaultConfiguration");
    json_put_text(j, "level", f->level);
    json_close(j, '}');
    json_close(j, '}');
}

static void put_result(const struct finding *f, void *user)
{
    const struct results *r = user;
    struct json *j = r->json;
    if (is_left_out(f, r))
        return;
    json_open(j, '{');
    json_put_text(j, "ruleId", f->kind);
    json_put_integer(j, "ruleIndex", rule_of(r, f->kind));
    json_put_text(j, "level", f->level);
    put_text_object(j, "message", f->text);
    put_locations(j, f, r->report->program);
    int times;
    const struct json_value *finding = json_member(f->value, "finding");
    if (finding && (json_member_count(finding, "threads", &times) ||
                    json_member_count(finding, "count", &times)))
        json_put_integer(j, "occurrenceCount", times);
    json_close(j, '}');
}

/* Returns the program and its arguments as a line of a shell. The caller frees. */
static char *command_line(const struct app_report *r)
{
    char *line = shell_word(r->program);
    for (int i = 0; i < r->argument_count; i++) {
        char *word = shell_word(r->arguments[i]);
        append_text(&line, " %s", word);
        free(word);
    }
    return line;
}

/* Returns whether the libraries wrote a line: otherwise the program never opened them. */
static bool was_checked(const char *lines)
{
    return lines && *lines;
}

bool app_write_sarif(const struct app_report *r, const char *lines, const char *path)
{
    struct json j = {.out = stdout};
    struct results results = {.json = &j, .report = r};
    json_hold(&j);
    json_open(&j, '{');
    json_put_text(&j, "$schema", "https://json.schemastore.org/sarif-2.1.0.json");
    json_put_text(&j, "version", "2.1.0");
    json_open_list(&j, "runs");
    json_open(&j, '{');
    json_open_object(&j, "tool");
    json_open_object(&j, "driver");
    json_put_text(&j, "name", "tilewright");
    json_put_text(&j, "version", tw_version());
    json_open_list(&j, "rules");
    each(lines, put_rule, &results);
    json_close(&j, ']');
    json_close(&j, '}');
    json_close(&j, '}');
    json_open_list(&j, "invocations");
    json_open(&j, '{');
    char *command = command_line(r);
    json_put_text(&j, "commandLine", command);
    free(command);
    json_put_integer(&j, "exitCode", r->end.status);
    json_put_bool(&j, "executionSuccessful", r->end.signal == 0 && was_checked(lines));
    json_close(&j, '}');
    json_close(&j, ']');
    json_open_list(&j, "results");
    each(lines, put_result, &results);
    json_close(&j, ']');
    json_close(&j, '}');
    json_close(&j, ']');
    json_close(&j, '}');
    char *text = json_take(&j);
    bool good = write_file("sarif", path, text);
    for (int i = 0; i < results.rule_count; i++)
        free(results.rules[i]);
    free(results.rules);
    free(text);
    return good;
}

/* --- JUnit --- */

/* Writes text for XML, without the characters that XML cannot have. */
static void put_xml(FILE *out, const char *text)
{
    for (const char *at = text; *at; at++) {
        unsigned char c = (unsigned char)*at;
        switch (c) {
        case '&': fputs("&amp;", out); break;
        case '<': fputs("&lt;", out); break;
        case '>': fputs("&gt;", out); break;
        case '"': fputs("&quot;", out); break;
        default: fputc(c < ' ' && c != '\n' ? ' ' : c, out); break;
        }
    }
}

struct cases {
    FILE *out;
    int count, failed;
    bool strict;
    const char *program;
};

/* Returns the first place of a finding that is known. The caller frees its file. */
static struct place first_place(const struct finding *f)
{
    const struct json_value *parts[PARTS];
    struct place p = {NULL, 0, 0};
    list_parts(f, parts);
    for (int i = 0; i < PARTS && !p.file; i++)
        p = read_place(parts[i]);
    return p.file ? p : read_place(f->value);
}

/* Begins a test case; its place may be unknown. */
static void begin_case(struct cases *c, const char *name, const struct place *place)
{
    fputs("  <testcase classname=\"", c->out);
    put_xml(c->out, c->program);
    fputs("\" name=\"", c->out);
    put_xml(c->out, name);
    if (place->file) {
        fputs("\" file=\"", c->out);
        put_xml(c->out, relative(place->file));
        fprintf(c->out, "\" line=\"%d", place->line);
    }
    fputs("\">\n", c->out);
    c->count++;
}

static void fail_case(struct cases *c, const char *message, const char *text)
{
    fputs("    <failure message=\"", c->out);
    put_xml(c->out, message);
    fputs("\">", c->out);
    put_xml(c->out, text);
    fputs("</failure>\n", c->out);
    c->failed++;
}

static void add_case(const struct finding *f, void *user)
{
    struct cases *c = user;
    if (strcmp(f->level, "error") != 0 && !(c->strict && strcmp(f->level, "warning") == 0))
        return;
    struct place place = first_place(f);
    begin_case(c, f->kind, &place);
    fail_case(c, f->message, f->text);
    fputs("  </testcase>\n", c->out);
    free(place.file);
}

bool app_write_junit(const struct app_report *r, const char *lines, const char *path)
{
    char *text = NULL;
    size_t bytes;
    struct cases c = {
        .out = checked(open_memstream(&text, &bytes)), .strict = r->strict, .program = r->program};
    begin_case(&c, "ends with status 0", &(struct place){NULL, 0, 0});
    if (r->end.status) {
        char *status = need_text("the status is %d", r->end.status);
        fail_case(&c, status, "");
        free(status);
    }
    fputs("  </testcase>\n", c.out);
    if (!was_checked(lines)) {
        begin_case(&c, "opens the CUDA libraries", &(struct place){NULL, 0, 0});
        fail_case(&c, "nothing was checked: it never opened the CUDA libraries", "");
        fputs("  </testcase>\n", c.out);
    }
    each(lines, add_case, &c);
    checked(fclose(c.out) == 0 ? text : NULL);
    char *whole =
        need_text("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"tilewright "
                  "check\" tests=\"%d\" failures=\"%d\">\n%s</testsuite>\n",
                  c.count, c.failed, text);
    bool good = write_file("junit", path, whole);
    free(text);
    free(whole);
    return good;
}
