/* Writes a judgement as JSON (docs/learn.md). */
#include "learn/learn_judged.h"
#include "learn/learn_report.h"
#include "cli/tensor.h"
#include "cli/tool.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Adds a text as lines, without the newline at the end. */
static void json_put_lines(struct json *j, const char *key, const char *text)
{
    size_t length = text ? strlen(text) : 0;
    while (length > 0 && text[length - 1] == '\n')
        length--;
    char *lines = text ? need_text("%.*s", (int)length, text) : NULL;
    json_put_text(j, key, lines);
    free(lines);
}

static void json_problem(struct json *j, const struct judgement *x)
{
    const struct problem *p = problems_first(&x->problems);
    json_put_text(j, "reason", p ? problem_reason(p) : NULL);
    json_put_text(j, "file", p ? p->file : NULL);
    json_put_integer(j, "line", p ? p->line : 0);
    json_put_integer(j, "column", p ? p->column : 0);
    json_put_integer(j, "other_line", p ? p->other_line : 0);
    json_put_bool(j, "same_value", p && p->same_value);
    json_put_lines(j, "message", p ? p->text : NULL);
    json_put_lines(j, "words", p ? problem_words(p) : NULL);
    static const struct message_parts none = {.code = TW_CODE_OTHER};
    message_parts_json(p ? &p->parts : &none, j);
    json_key(j, "accesses");
    accesses_json(p ? p->parts.accesses : NULL, p ? p->parts.access_count : 0, j);
    json_put_lines(j, "wrong_values", x->wrong_values);
    json_key(j, "values_right");
    if (x->ran)
        json_bool(j, x->right);
    else
        json_string(j, NULL);
}

static void put_marks(struct json *j, const char *key, const bool *marks, int64_t n)
{
    json_open_numbers(j, key);
    for (int64_t i = 0; i < n; i++)
        if (marks[i])
            json_integer(j, i);
    json_close(j, ']');
}

/* Adds the elements, or null if the answer did not run or if there are too many to read. */
static void put_values(struct json *j, const char *key, const tw_array *a, bool known)
{
    enum { MOST = 1024 };
    json_key(j, key);
    if (known && tensor_elements(a) <= MOST)
        tensor_json(j, a);
    else
        json_string(j, NULL);
}

static void put_array(struct json *j, const struct shown_array *a)
{
    int64_t n = tensor_elements(&a->array);
    json_open(j, '{');
    json_put_text(j, "name", a->name);
    json_put_text(j, "type", tw_dtype_name(a->array.dtype));
    json_put_integers(j, "shape", a->array.rank, a->array.shape);
    put_values(j, "values", &a->array, a->known);
    if (a->expected.rank >= 0) {
        put_values(j, "expected", &a->expected, true);
        put_marks(j, "wrong", a->wrong, n);
        put_marks(j, "unwritten", a->unwritten, n);
    }
    json_close(j, '}');
}

/* Adds the cases. Leaves out the arrays of hidden cases unless the learner requests them. */
static void put_cases(struct json *j, const struct report_of *r, const struct judgement *x)
{
    static const char *const states[] = {
        [CASE_NOT_TRIED] = "not tried", [CASE_PASSED] = "passed", [CASE_FAILED] = "failed"};
    json_open_list(j, "case_list");
    for (int i = 0; i < x->cases && x->judged; i++) {
        const struct judged_case *c = &x->judged[i];
        json_open(j, '{');
        json_put_bool(j, "shown", c->shown);
        json_put_text(j, "state", states[c->state]);
        judged_case_sizes_json(c, j);
        json_open_list(j, "arrays");
        for (int k = 0; k < c->array_count && (c->shown || r->open); k++)
            put_array(j, &c->arrays[k]);
        json_close(j, ']');
        json_close(j, '}');
    }
    json_close(j, ']');
}

static void put_lamps(struct json *j, const struct judgement *x)
{
    /* of lamps that are on */
    static const char *const says[LAMPS] = {
        "it compiles", "every access stays inside its array, and nothing unwritten is read",
        "no accesses race, and all threads meet at every barrier", "all values are right",
        "the counters keep their limits"};
    const struct problem *p = problems_first(&x->problems);
    int failed = p ? (int)problem_lamp(p) : LAMPS;
    json_open_list(j, "lamps");
    for (int i = 0; i < LAMPS; i++) {
        json_open(j, '{');
        json_put_text(j, "lamp", lamp_names[i]);
        json_put_text(j, "state", i < failed ? "on" : i == failed ? "failed" : "not reached");
        json_put_lines(j, "says", i < failed ? says[i] : i == failed ? problem_words(p) : NULL);
        json_close(j, '}');
    }
    json_close(j, ']');
}

static void put_counts(struct json *j, const struct counted *c, const struct counts *n)
{
    const double values[] = {(double)n->answer, (double)n->solution,
                             c->at_least ? ceil(n->limit) : floor(n->limit)};
    static const char *const keys[] = {"answer", "solution", "limit"};
    for (int i = 0; i < 3; i++) {
        json_key(j, keys[i]);
        if (c->known && values[i] < HUGE_VAL)
            json_integer(j, (int64_t)values[i]);
        else
            json_string(j, NULL);
    }
}

/* Adds each counter's total over all counted cases, and as `here` its value in the latest one. */
static void put_counters(struct json *j, const struct judgement *x)
{
    json_open_list(j, "counters");
    for (int i = 0; i < x->counter_count; i++) {
        const struct counted *c = &x->counters[i];
        json_open(j, '{');
        json_put_text(j, "counter", c->counter);
        json_put_text(j, "relation", c->at_least ? ">=" : "<=");
        json_put_text(j, "why", c->why);
        json_put_bool(j, "default", c->by_default);
        json_put_bool(j, "beyond", c->beyond);
        put_counts(j, c, &c->all);
        json_open_object(j, "here");
        put_counts(j, c, &c->here);
        json_close(j, '}');
        json_close(j, '}');
    }
    json_close(j, ']');
}

void report_text_json(const struct puzzle *p, FILE *out)
{
    struct json j = {.out = out};
    json_open(&j, '{');
    json_put_integer(&j, "puzzle", p->number);
    json_put_text(&j, "name", p->name);
    json_put_text(&j, "title", p->title);
    json_put_text(&j, "text", p->statement);
    json_put_text(&j, "starter", p->starter[LANGUAGE_TILE]);
    json_put_text(&j, "starter_cuda", p->starter[LANGUAGE_CUDA]);
    json_put_integer(&j, "hints", p->hint_count);
    json_close(&j, '}');
    json_end(&j);
}

void report_hint_json(const struct puzzle *p, int number, FILE *out)
{
    struct json j = {.out = out};
    json_open(&j, '{');
    json_put_integer(&j, "puzzle", p->number);
    json_put_integer(&j, "hint", number);
    json_put_integer(&j, "hints", p->hint_count);
    json_put_text(&j, "text", number ? p->hints[number - 1] : NULL);
    json_close(&j, '}');
    json_end(&j);
}

void report_solution_json(const struct puzzle *p, FILE *out)
{
    struct json j = {.out = out};
    json_open(&j, '{');
    json_put_integer(&j, "puzzle", p->number);
    json_put_text(&j, "solution", p->answer[LANGUAGE_TILE]);
    json_put_text(&j, "solution_cuda", p->answer[LANGUAGE_CUDA]);
    json_put_text(&j, "text", p->solution);
    json_close(&j, '}');
    json_end(&j);
}

void report_judgement_json(const struct report_of *r, const struct judgement *x, FILE *out)
{
    struct json j = {.out = out};
    json_open(&j, '{');
    json_put_integer(&j, "puzzle", r->puzzle->number);
    json_put_text(&j, "name", r->puzzle->name);
    json_put_text(&j, "title", r->puzzle->title);
    json_put_text(&j, "answer", r->path);
    json_put_text(&j, "language", r->language == LANGUAGE_CUDA ? "cuda" : "tile");
    json_put_bool(&j, "written", r->written);
    json_put_bool(&j, "passed", x->passed);
    json_put_bool(&j, "at_solution", judgement_at_solution(x));
    json_put_bool(&j, "is_starter", x->is_starter);
    json_put_integer(&j, "cases", x->cases);
    json_put_integer(&j, "case", x->tried);
    json_put_text(&j, "case_is", !x->tried ? NULL : x->shown ? "shown" : "hidden");
    json_put_text(&j, "sizes", x->sizes);
    json_problem(&j, x);
    put_lamps(&j, x);
    put_cases(&j, r, x);
    put_counters(&j, x);
    json_put_lines(&j, "warnings", x->warnings);
    json_put_lines(&j, "printed", x->printed);
    if (r->next)
        json_put_integer(&j, "next", r->next->number);
    json_close(&j, '}');
    json_end(&j);
}
