#include "cli/wrong_values.h"
#include "cli/matrix.h"
#include "cli/tensor.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- what is as it was --- */

static struct untouched_array *find_untouched(const struct untouched *u, const char *name)
{
    for (int i = 0; i < u->count; i++)
        if (strcmp(u->list[i].name, name) == 0)
            return &u->list[i];
    return NULL;
}

static struct untouched_array *add_untouched(struct untouched *u, const char *name,
                                             const tw_array *now)
{
    int64_t count = tensor_elements(now);
    struct untouched_array *x = ADD_NEW(u->list, u->count);
    *x = (struct untouched_array){.name = need_text("%s", name),
                                  .count = count,
                                  .still = need_memory((size_t)count * sizeof *x->still)};
    if (now->dtype == TW_BOOL)
        x->began = need_memory((size_t)count);
    memset(x->still, 1, (size_t)count * sizeof *x->still);
    return x;
}

/* Records untouched elements after a run that began with `filled` (of the type and shape of
 * `now`) in the array. For one-byte types, only two runs with different fills give certainty. */
static void untouched_take(struct untouched *u, const char *name, const tw_array *now,
                           const tw_array *filled)
{
    size_t size = tw_dtype_size(now->dtype);
    int64_t count = tensor_elements(now);
    struct untouched_array *x = find_untouched(u, name);
    if (!x)
        x = add_untouched(u, name, now);
    for (int64_t i = 0; x->began && i < count && i < x->count; i++)
        x->began[i] |= ((const char *)filled->data)[i] ? 2 : 1;
    for (int64_t i = 0; i < count && i < x->count; i++)
        x->still[i] &= memcmp((const char *)now->data + (size_t)i * size,
                              (const char *)filled->data + (size_t)i * size, size) == 0;
}

static void take_filled(struct untouched *u, const char *name, const tw_array *now, bool zeros,
                        int turn)
{
    tw_array filled = *now;
    if (!tensor_allocate(&filled)) /* reports nothing about it then */
        return;
    if (!zeros)
        tensor_fill_unwritten(&filled, turn);
    untouched_take(u, name, now, &filled);
    free(filled.data);
}

void untouched_take_zeros(struct untouched *u, const char *name, const tw_array *now)
{
    take_filled(u, name, now, true, 0);
}

void untouched_take_unwritten(struct untouched *u, const char *name, const tw_array *now, int turn)
{
    take_filled(u, name, now, false, turn);
}

void untouched_free(struct untouched *u)
{
    for (int i = 0; i < u->count; i++) {
        free(u->list[i].name);
        free(u->list[i].still);
        free(u->list[i].began);
    }
    free(u->list);
    *u = (struct untouched){0};
}

/* --- what is wrong --- */

enum mark { WRONG = 1, UNWRITTEN = 2 };
enum { MATRIX_MOST = 144, MATRIX_COLUMNS = 120 }; /* elements, and characters of a line */

static struct wrong_view *view_at_hand(struct wrong_values *values, const tw_wrong *w)
{
    for (int i = values->count; i-- > 0;)
        if (strcmp(values->views[i].name, w->view) == 0)
            return &values->views[i];
    struct wrong_view *v = ADD_NEW(values->views, values->count);
    *v = (struct wrong_view){.name = need_text("%s", w->view), .rank = w->rank, .elements = 1};
    for (int i = 0; i < w->rank; i++)
        v->elements *= v->extent[i] = w->extent[i];
    v->marks = need_memory((size_t)v->elements);
    if (v->rank == 0 || v->rank > 2 || v->elements > MATRIX_MOST)
        return v;
    v->got = need_memory((size_t)v->elements * sizeof *v->got);
    v->want = need_memory((size_t)v->elements * sizeof *v->want);
    return v;
}

static bool is_unwritten(const struct wrong_values *values, const tw_wrong *w)
{
    const struct untouched_array *x =
        values->untouched ? find_untouched(values->untouched, w->param) : NULL;
    return x && w->element >= 0 && w->element < x->count && x->still[w->element] &&
           (!x->began || x->began[w->element] == 3);
}

static void take_wrong(void *user, const tw_wrong *w)
{
    struct wrong_values *values = user;
    struct wrong_view *v = view_at_hand(values, w);
    int64_t number = 0;
    for (int i = 0; i < v->rank; i++)
        number = number * v->extent[i] + w->at[i];
    if (v->marks[number])
        return;
    bool unwritten = is_unwritten(values, w);
    v->marks[number] = WRONG | (unwritten ? UNWRITTEN : 0);
    v->wrong++;
    v->unwritten += unwritten;
    if (v->got) {
        v->got[number] = w->got;
        v->want[number] = w->want;
    }
    if (v->cell_count == MOST_WRONG_CELLS)
        return;
    if (v->cell_count % 64 == 0)
        v->cells = need_more_memory(v->cells, (size_t)(v->cell_count + 64) * sizeof *v->cells);
    v->cells[v->cell_count++] = (struct wrong_cell){number, w->got, w->want};
}

void wrong_values_take(struct wrong_values *w, tw_launch *l, const struct untouched *untouched)
{
    wrong_values_free(w);
    w->untouched = untouched;
    tw_launch_each_wrong(l, take_wrong, w);
    w->untouched = NULL;
}

void wrong_values_free(struct wrong_values *w)
{
    for (int i = 0; i < w->count; i++) {
        free(w->views[i].name);
        free(w->views[i].marks);
        free(w->views[i].got);
        free(w->views[i].want);
        free(w->views[i].cells);
    }
    free(w->views);
    *w = (struct wrong_values){0};
}

/* --- where --- */

/* Indices of marked elements along an axis. */
struct along {
    int64_t low, high, count;
    int64_t step; /* distance of neighbours; 0: varies */
};

/* Region of the marked elements: the indices of each axis, and whether every combination of them
 * is marked. */
struct region {
    struct along axis[TW_MAX_RANK];
    bool whole;
};

static int64_t index_along(const struct wrong_view *v, int64_t number, int axis)
{
    for (int i = v->rank - 1; i > axis; i--)
        number /= v->extent[i];
    return number % v->extent[axis];
}

static struct along find_along(const struct wrong_view *v, enum mark mark, int axis)
{
    struct along a = {.low = -1};
    bool *held = need_memory((size_t)v->extent[axis] * sizeof *held);
    for (int64_t i = 0; i < v->elements; i++)
        if (v->marks[i] & mark)
            held[index_along(v, i, axis)] = true;
    for (int64_t i = 0; i < v->extent[axis]; i++) {
        if (!held[i])
            continue;
        if (a.low < 0)
            a.low = i;
        else if (a.count == 1)
            a.step = i - a.high;
        else if (a.step != i - a.high)
            a.step = 0;
        a.high = i;
        a.count++;
    }
    free(held);
    return a;
}

static struct region find_region(const struct wrong_view *v, enum mark mark)
{
    struct region r = {.whole = false};
    int64_t places = 1;
    for (int i = 0; i < v->rank; i++) {
        r.axis[i] = find_along(v, mark, i);
        places *= r.axis[i].count;
    }
    r.whole = places == (mark == WRONG ? v->wrong : v->unwritten);
    return r;
}

static bool is_run(const struct along *a)
{
    return a->high - a->low + 1 == a->count;
}

static bool is_full(const struct along *a, int64_t extent)
{
    return a->count == extent;
}

/* Returns whether the text lists the axis's indices, "3", "3 to 7" or "1, 3, … 63", rather than
 * its range. */
static bool is_regular(const struct along *a)
{
    return is_run(a) || (a->step && a->count > 2);
}

static void append_along(char **text, const struct along *a)
{
    if (a->count == 1)
        append_text(text, "%lld", (long long)a->low);
    else if (is_run(a) || !is_regular(a))
        append_text(text, "%lld to %lld", (long long)a->low, (long long)a->high);
    else
        append_text(text, "%lld, %lld, … %lld", (long long)a->low, (long long)(a->low + a->step),
                    (long long)a->high);
}

static bool is_told_whole(const struct wrong_view *v, const struct region *r)
{
    bool regular = r->whole;
    for (int i = 0; i < v->rank; i++)
        regular = regular && is_regular(&r->axis[i]);
    return regular;
}

/* Returns "rows 96 to 126, columns 3 to 7", or "[0 to 2][96 to 126][3 to 7]" for more than two
 * axes. Returns NULL if the places are all over the view. */
static char *places_text(const struct wrong_view *v, const struct region *r)
{
    static const char *const names[3][2] = {{""}, {"element"}, {"row", "column"}};
    char *text = NULL;
    bool all_over = true;
    for (int i = 0; i < v->rank; i++)
        all_over = all_over && r->axis[i].low == 0 && r->axis[i].high == v->extent[i] - 1 &&
                   (is_full(&r->axis[i], v->extent[i]) || !is_regular(&r->axis[i]));
    if (all_over)
        return NULL;
    for (int i = 0; i < v->rank; i++) {
        const struct along *a = &r->axis[i];
        if (v->rank > 2)
            append_text(&text, "[");
        else if (is_full(a, v->extent[i]))
            continue;
        else
            append_text(&text, "%s%s%s ", text ? ", " : "", names[v->rank][i],
                        a->count == 1 ? "" : "s");
        append_along(&text, a);
        append_text(&text, "%s", v->rank > 2 ? "]" : "");
    }
    return text;
}

/* Appends ": rows 96 to 126", ", within rows 96 to 126" or ", all over it"; appends nothing if
 * the whole view is marked. */
static void append_places(char **text, const struct wrong_view *v, enum mark mark)
{
    struct region r = find_region(v, mark);
    bool whole = is_told_whole(v, &r);
    char *places = places_text(v, &r);
    if (places)
        append_text(text, "%s%s%s", whole ? ": " : ", within ", v->rank > 2 ? v->name : "", places);
    else if (!whole)
        append_text(text, ", all over it");
    free(places);
}

static const char *are(int64_t count)
{
    return count == 1 ? "is" : "are";
}

/* Appends "992 of 8710 elements of `C` are wrong" or "none of the 12 elements of `C` is
 * written". */
static void append_count(char **text, const struct wrong_view *v, int64_t count, bool unwritten)
{
    if (count == v->elements && unwritten)
        append_text(text, "no element of `%s` is ever written", v->name);
    else if (count == v->elements)
        append_text(text, "all %lld elements of `%s` are wrong", (long long)count, v->name);
    else
        append_text(text, "%lld of %lld elements of `%s` %s %s", (long long)count,
                    (long long)v->elements, v->name, are(count),
                    unwritten ? "never written" : "wrong");
}

/* Returns whether a part of the view is unwritten and has a border, as when blocks are missing. */
static bool is_part_unwritten(const struct wrong_view *v)
{
    struct region r = find_region(v, UNWRITTEN);
    return v->unwritten && v->unwritten < v->elements && is_told_whole(v, &r);
}

static void append_view(char **text, const struct wrong_view *v, bool unwritten_only)
{
    bool only = unwritten_only || v->unwritten == v->wrong;
    if (only ? !v->unwritten : v->elements == 1)
        return;
    append_text(text, "%s", *text ? "\n" : "");
    append_count(text, v, only ? v->unwritten : v->wrong, only);
    if (v->wrong > 1) /* a single one was reported before */
        append_places(text, v, only ? UNWRITTEN : WRONG);
    if (!only && v->unwritten) {
        append_text(text, "\n%lld of these %s never written", (long long)v->unwritten,
                    are(v->unwritten));
        append_places(text, v, UNWRITTEN);
    }
}

char *wrong_values_text(const struct wrong_values *w, bool unwritten_only)
{
    char *text = NULL;
    bool unwritten = false;
    for (int i = 0; i < w->count; i++) {
        append_view(&text, &w->views[i], unwritten_only);
        unwritten = unwritten || is_part_unwritten(&w->views[i]);
    }
    if (unwritten && !unwritten_only)
        append_text(&text, "\nare there enough blocks in `grid`, and does each begin where the one "
                           "before it ends?");
    return text;
}

/* --- as matrices --- */

static char *value_text(double v)
{
    return isnan(v) ? need_text("nan") : need_text("%.6g", v);
}

/* Returns "1.5 (2)"; "- (2)" if the element is never written; "." if it is right. */
static char *cell_text(const struct wrong_view *v, int64_t number)
{
    if (!v->marks[number])
        return need_text(".");
    char *got = v->marks[number] & UNWRITTEN ? need_text("-") : value_text(v->got[number]);
    char *want = value_text(v->want[number]), *text = need_text("%s (%s)", got, want);
    free(want);
    free(got);
    return text;
}

/* Returns the text with four blanks before each line, or NULL if a line would be too long. */
static char *indented(const char *text)
{
    char *all = NULL;
    if (strcspn(text, "\n") + 4 > MATRIX_COLUMNS)
        return NULL;
    for (const char *at = text; *at; at += strcspn(at, "\n") + 1)
        append_text(&all, "    %.*s\n", (int)strcspn(at, "\n"), at);
    return all;
}

static void append_matrix(char **all, const struct wrong_view *v)
{
    struct matrix m;
    if (!v->got || v->elements == 1 || v->unwritten == v->elements)
        return;
    matrix_begin(&m, v->rank == 2 ? v->extent[0] : 1, v->extent[v->rank - 1]);
    for (int64_t i = 0; i < v->elements; i++)
        m.cells[i] = cell_text(v, i);
    char *text = matrix_text(&m), *lines = indented(text);
    if (lines)
        append_text(all, "    `%s`, wrong elements as: what it is (what it should be)%s\n%s",
                    v->name, v->unwritten ? "; -: it is never written" : "", lines);
    free(lines);
    free(text);
    matrix_free(&m);
}

char *wrong_values_matrices(const struct wrong_values *w)
{
    char *all = NULL;
    for (int i = 0; i < w->count; i++)
        append_matrix(&all, &w->views[i]);
    return all;
}

/* --- in JSON --- */

static void json_place_of(struct json *j, const char *key, const struct region *r, int rank,
                          bool high)
{
    json_open_numbers(j, key);
    for (int i = 0; i < rank; i++)
        json_integer(j, high ? r->axis[i].high : r->axis[i].low);
    json_close(j, ']');
}

static void json_region(const struct wrong_view *v, enum mark mark, const char *key, struct json *j)
{
    struct region r = find_region(v, mark);
    bool whole = r.whole;
    for (int i = 0; i < v->rank; i++)
        whole = whole && is_run(&r.axis[i]);
    json_open_object(j, key);
    json_place_of(j, "low", &r, v->rank, false);
    json_place_of(j, "high", &r, v->rank, true);
    json_put_bool(j, "whole", whole);
    json_close(j, '}');
}

static void json_cell(const struct wrong_view *v, const struct wrong_cell *c, struct json *j)
{
    int64_t at[TW_MAX_RANK], left = c->number;
    for (int i = v->rank; i-- > 0; left /= v->extent[i])
        at[i] = left % v->extent[i];
    json_open(j, '{');
    json_put_integers(j, "at", v->rank, at);
    json_put_real(j, "got", c->got);
    json_put_real(j, "want", c->want);
    json_put_bool(j, "written", !(v->marks[c->number] & UNWRITTEN));
    json_close(j, '}');
}

void wrong_values_json(const struct wrong_values *w, struct json *j)
{
    json_open(j, '[');
    for (int i = 0; i < w->count; i++) {
        const struct wrong_view *v = &w->views[i];
        json_open(j, '{');
        json_put_text(j, "view", v->name);
        json_put_integers(j, "shape", v->rank, v->extent);
        json_put_integer(j, "elements", v->elements);
        json_put_integer(j, "wrong", v->wrong);
        json_region(v, WRONG, "wrong_region", j);
        json_put_integer(j, "never_written", v->unwritten);
        if (v->unwritten)
            json_region(v, UNWRITTEN, "never_written_region", j);
        json_open_list(j, "cells");
        for (int k = 0; k < v->cell_count; k++)
            json_cell(v, &v->cells[k], j);
        json_close(j, ']');
        json_close(j, '}');
    }
    json_close(j, ']');
}
