/* Finds the shortest list of changed lines: E. W. Myers, An O(ND) Difference Algorithm and Its
 * Variations, 1986. */
#include "cli/line_diff.h"
#include "cli/tool.h"

#include <stdlib.h>
#include <string.h>

enum { AROUND = 3 };

struct text_line {
    const char *text;
    size_t length; /* with its newline */
};
struct text_lines {
    struct text_line *list;
    int count;
};
struct edit_line {
    char kind; /* ' ', '-', '+' */
    struct text_line line;
    int old, new; /* lines of each text before it */
};

static struct text_lines lines_of(const char *text)
{
    struct text_lines l = {0};
    int room = 0;
    while (*text) {
        size_t length = strcspn(text, "\n");
        length += text[length] == '\n';
        if (l.count == room)
            l.list = need_more_memory(l.list, (size_t)(room = 2 * room + 64) * sizeof *l.list);
        l.list[l.count++] = (struct text_line){text, length};
        text += length;
    }
    return l;
}

static bool same_line(struct text_line a, struct text_line b)
{
    return a.length == b.length && memcmp(a.text, b.text, a.length) == 0;
}

/* Furthest line of `a` on each diagonal, for each number d of changes; row d has 2d + 1 entries. */
struct furthest {
    int **rows;
    int count;
};

static int furthest_at(const int *row, int d, int k)
{
    return row[k + d];
}

/* Returns whether diagonal k, after d changes, is reached from k + 1, by adding a line of `b`. */
static bool comes_down(const int *before, int d, int k)
{
    return k == -d ||
           (k != d && furthest_at(before, d - 1, k - 1) < furthest_at(before, d - 1, k + 1));
}

static struct furthest search(struct text_lines a, struct text_lines b)
{
    struct furthest f = {.rows = need_memory((size_t)(a.count + b.count + 1) * sizeof *f.rows)};
    for (int d = 0;; d++) {
        int *row = need_memory((size_t)(2 * d + 1) * sizeof *row);
        const int *before = d ? f.rows[d - 1] : NULL;
        f.rows[f.count++] = row;
        for (int k = -d; k <= d; k += 2) {
            int x = 0;
            if (d)
                x = comes_down(before, d, k) ? furthest_at(before, d - 1, k + 1)
                                             : furthest_at(before, d - 1, k - 1) + 1;
            while (x < a.count && x - k < b.count && x - k >= 0 &&
                   same_line(a.list[x], b.list[x - k]))
                x++;
            row[k + d] = x;
            if (x >= a.count && x - k >= b.count)
                return f;
        }
    }
}

/* Returns the lines of both texts in one list of `count`, found from the end. */
static struct edit_line *edits_of(struct text_lines a, struct text_lines b, int *count)
{
    struct furthest f = search(a, b);
    int x = a.count, y = b.count, at = a.count + b.count;
    struct edit_line *list = need_memory((size_t)(at + 1) * sizeof *list);
    int end = at;
    for (int d = f.count - 1; d >= 0; d--) {
        int k = x - y, from = 0, from_k = 0;
        bool down = false;
        if (d) {
            down = comes_down(f.rows[d - 1], d, k);
            from_k = down ? k + 1 : k - 1;
            from = furthest_at(f.rows[d - 1], d - 1, from_k);
        }
        int start = d ? from + !down : 0; /* of the equal lines */
        for (; x > start; x--, y--)
            list[--at] = (struct edit_line){' ', a.list[x - 1], x - 1, y - 1};
        if (d && down)
            list[--at] = (struct edit_line){'+', b.list[y - 1], x, y - 1};
        else if (d)
            list[--at] = (struct edit_line){'-', a.list[x - 1], x - 1, y};
        x = from;
        y = from - from_k;
        free(f.rows[d]);
    }
    free(f.rows);
    *count = end - at;
    memmove(list, list + at, (size_t)*count * sizeof *list);
    return list;
}

/* Returns the end of the group of changes that begins at `from`, after which enough equal lines
 * follow. */
static int group_end(const struct edit_line *list, int count, int from)
{
    int last = from;
    for (int i = from; i < count && i - last <= 2 * AROUND; i++)
        if (list[i].kind != ' ')
            last = i;
    return last + 1 + AROUND < count ? last + 1 + AROUND : count;
}

static void print_group(FILE *out, const struct edit_line *list, int from, int end)
{
    int old = 0, new = 0;
    for (int i = from; i < end; i++) {
        old += list[i].kind != '+';
        new += list[i].kind != '-';
    }
    fprintf(out, "@@ -%d,%d +%d,%d @@\n", list[from].old + (old > 0), old,
            list[from].new + (new > 0), new);
    for (int i = from; i < end; i++) {
        struct text_line l = list[i].line;
        bool ends = l.length && l.text[l.length - 1] == '\n';
        fputc(list[i].kind, out);
        print_output(out, l.text, l.length);
        if (!ends)
            fputs("\n\\ No newline at end of file\n", out);
    }
}

void print_diff(FILE *out, const char *name, const char *old, const char *new)
{
    struct text_lines a = lines_of(old), b = lines_of(new);
    int count;
    struct edit_line *list = edits_of(a, b, &count);
    bool begun = false;
    for (int i = 0; i < count; i++) {
        if (list[i].kind == ' ')
            continue;
        if (!begun)
            print_text(out, "--- %s\n+++ %s\n", name, name);
        begun = true;
        int from = i > AROUND ? i - AROUND : 0, end = group_end(list, count, i);
        print_group(out, list, from, end);
        i = end - 1;
    }
    free(list);
    free(a.list);
    free(b.list);
}
