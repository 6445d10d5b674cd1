#include "learn/learn_report.h"
#include "cli/matrix.h"
#include "cli/page_link.h"
#include "cli/tensor.h"

#include <stdlib.h>
#include <string.h>

enum { WHOLE = 144 }; /* largest array that is printed whole */

static bool is_printed(const struct shown_array *a)
{
    return tensor_elements(&a->array) <= WHOLE;
}

/* Returns an element's text; a wrong one is marked: "*0.5". `wrong` may be NULL. The caller
 * frees. */
static char *element_text(const tw_array *a, const bool *wrong, int64_t index)
{
    char text[40];
    tensor_element_text(text, sizeof text, a, index);
    return need_text("%s%s", wrong && wrong[index] ? "*" : "", text);
}

/* Prints "out: [0.0, *0.0, 0.0, 0.0]". */
static void print_list(FILE *out, const tw_array *a, const bool *wrong)
{
    for (int64_t i = 0; i < tensor_elements(a); i++) {
        char *text = element_text(a, wrong, i);
        fprintf(out, "%s%s", i ? ", " : " [", text);
        free(text);
    }
    fputs("]\n", out);
}

/* Prints the matrix of the last two axes that begins at element `first`. */
static void print_matrix(FILE *out, const tw_array *a, const bool *wrong, int64_t first)
{
    struct matrix m;
    matrix_begin(&m, a->shape[a->rank - 2], a->shape[a->rank - 1]);
    for (int64_t i = 0; i < m.rows * m.columns; i++)
        m.cells[i] = element_text(a, wrong, first + i);
    char *text = matrix_text(&m);
    fputs(text, out);
    free(text);
    matrix_free(&m);
}

static bool any_wrong(const tw_array *a, const bool *wrong)
{
    for (int64_t i = 0; wrong && i < tensor_elements(a); i++)
        if (wrong[i])
            return true;
    return false;
}

/* Prints a vector as a list, and a matrix as rows; for more axes, one matrix for each index of
 * the others. */
static void print_array(FILE *out, const char *name, const tw_array *a, const bool *wrong)
{
    int axes = 0;
    for (int i = 0; i < a->rank; i++)
        axes += a->shape[i] > 1;
    const char *marks = any_wrong(a, wrong) ? " (* is wrong)" : "";
    if (axes < 2) {
        fprintf(out, "%s%s:", name, marks);
        print_list(out, a, wrong);
        return;
    }
    int64_t each = a->shape[a->rank - 2] * a->shape[a->rank - 1];
    for (int64_t first = 0; first < tensor_elements(a); first += each) {
        fputs(name, out);
        int64_t rest = first / each, below = tensor_elements(a) / each;
        for (int i = 0; i < a->rank - 2; i++) {
            below /= a->shape[i];
            fprintf(out, "[%lld]", (long long)(rest / below));
            rest %= below;
        }
        fprintf(out, "%s:\n", marks);
        print_matrix(out, a, wrong, first);
    }
}

static void print_arrays(FILE *out, const struct judged_case *c)
{
    int outputs = 0;
    for (int i = 0; i < c->array_count; i++)
        outputs += c->arrays[i].expected.rank >= 0;
    for (int pass = 0; pass < 2; pass++) /* inputs first */
        for (int i = 0; i < c->array_count; i++) {
            const struct shown_array *a = &c->arrays[i];
            bool is_output = a->expected.rank >= 0;
            if (is_output != (pass == 1) || !is_printed(a))
                continue;
            print_array(out, a->name, &a->array, a->wrong);
            if (!is_output)
                continue;
            char *name = outputs > 1 ? need_text("expected %s", a->name) : NULL;
            print_array(out, name ? name : "expected", &a->expected, NULL);
            free(name);
        }
}

static void print_lines(FILE *out, const char *text)
{
    size_t length = strlen(text);
    print_text(out, "%s%s", text, length && text[length - 1] != '\n' ? "\n" : "");
}

static const char *plural(int count)
{
    return count == 1 ? "" : "s";
}

/* Appends "&case=14:2&tune=SIZE:2,TPB:3", which makes the page run on the arrays of the case. */
static void append_case(char **state, const struct puzzle *p, const struct judgement *x)
{
    if (!x->tried)
        return;
    append_text(state, "&case=%d:%d", p->number, x->tried);
    const struct judged_case *c = judgement_case(x);
    for (int kind = SIZE_SET; kind <= SIZE_TYPE; kind++) {
        int count = 0;
        for (int i = 0; i < c->size_count; i++) {
            const struct case_size *s = &c->sizes[i];
            if ((int)s->kind != kind)
                continue;
            append_text(state, count++ ? "," : "&%s=", size_options[kind]);
            append_text(state, "%s:%s", s->name, s->value);
        }
    }
}

static void print_rejected(FILE *out, const struct report_of *r, const struct judgement *x)
{
    const struct problem *p = problems_first(&x->problems);
    if (x->tried)
        print_text(out, "puzzle %d, %s: case %d of %d, %s%s%s\n", r->puzzle->number, r->path,
                   x->tried, x->cases, x->shown ? "shown" : "hidden", *x->sizes ? ": " : "",
                   x->sizes);
    else
        print_text(out, "puzzle %d, %s\n", r->puzzle->number, r->path);
    if (x->printed)
        print_lines(out, x->printed);
    if ((x->shown || r->open) && x->ran)
        print_arrays(out, judgement_case(x));
    if (*p->text && p->reason != REASON_VALUES)
        print_lines(out, p->text);
    fprintf(out, "\nNot yet: %s\n", problem_words(p));
    if (x->wrong_values)
        fprintf(out, "%s%s.\n",
                p->reason == REASON_VALUES ? "" : "The values are wrong, too: ", x->wrong_values);
    else if (x->ran && x->right && p->reason < REASON_VALUES && !p->same_value &&
             p->reason != REASON_ENDLESS)
        fputs("The values came out right all the same, by luck: nothing makes sure of it.\n", out);
    if (x->prints_count && p->reason == REASON_LIMIT)
        fputs("`print` uses memory, too, which is counted: remove it first.\n", out);
    if (x->is_starter)
        fputs("The file is the starter: you have not changed it yet.\n", out);
    if (p->reason == REASON_SIGNATURE && r->named)
        print_text(out,
                   "To begin again: `%s` writes the starter to %s%s, unless that file is there.\n",
                   r->again, r->puzzle->folder, language_endings[r->language]);
    else if (p->reason == REASON_SIGNATURE)
        print_text(out, "To begin again, move the file away: `%s` then writes the starter.\n",
                   r->again);
    if (*p->text && p->line) {
        char *state = need_text("line=%d", p->line);
        append_case(&state, r->puzzle, x);
        page_link_print(out, r->path, state);
        free(state);
    }
    if (x->tried && !x->shown && !r->open && x->ran)
        fprintf(out, "`tilewright learn %d --open` shows the arrays of this case.\n",
                r->puzzle->number);
    if (r->hints_left)
        fprintf(out, "`tilewright learn %d --hint` gives a hint (there %s %d%s).\n",
                r->puzzle->number, r->hints_left == 1 ? "is" : "are", r->hints_left,
                r->hints_left < r->puzzle->hint_count ? " more" : "");
}

static void print_passed(FILE *out, const struct report_of *r, const struct judgement *x)
{
    int width = 0;
    for (int i = 0; i < x->counter_count; i++) {
        int length = (int)strlen(x->counters[i].counter);
        width = length > width ? length : width;
    }
    if (x->printed)
        print_lines(out, x->printed);
    print_text(out,
               "puzzle %d, %s: passed. Right in all %d case%s, in every order that was tried.\n",
               r->puzzle->number, r->path, x->cases, plural(x->cases));
    if (x->own_ensures)
        fputs(
            "Your `ensures` is not the starter's; the values were held against the puzzle's own.\n",
            out);
    if (width)
        fprintf(out, "\n%-*s  %10s  %10s\n", width, "in all cases", "yours", "solution's");
    for (int i = 0; i < x->counter_count; i++)
        if (!x->counters[i].by_default || x->counters[i].all.answer || x->counters[i].all.solution)
            fprintf(out, "%-*s  %10lld  %10lld\n", width, x->counters[i].counter,
                    (long long)x->counters[i].all.answer, (long long)x->counters[i].all.solution);
    fprintf(out, "\n`tilewright learn %d --solution` explains ours.", r->puzzle->number);
    if (r->next)
        fprintf(out, " Next: %d, %s: `tilewright learn %d`", r->next->number, r->next->title,
                r->next->number);
    else
        fputs(" That was the last of them: all are passed.", out);
    fputc('\n', out);
}

void report_judgement(const struct report_of *r, const struct judgement *x, FILE *out)
{
    if (x->warnings)
        print_lines(out, x->warnings);
    if (x->passed)
        print_passed(out, r, x);
    else
        print_rejected(out, r, x);
}
