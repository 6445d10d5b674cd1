#include "cli/table.h"
#include "cli/tool.h"

#include <string.h>
#include <unistd.h>

/* Returns the columns that the text needs. Continuation bytes of a UTF-8 character take no
 * column. */
static int shown_width(const char *text)
{
    int n = 0;
    for (; *text; text++)
        n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}

static int column_width(const struct column *c)
{
    int title = shown_width(c->title);
    return title > c->width ? title : c->width;
}

static void table_row(FILE *out, const struct column *columns, int count, const char *const *cells)
{
    while (count > 1 && !*cells[count - 1]) /* no blanks at the end of the line */
        count--;
    for (int i = 0; i < count; i++) {
        int gap = column_width(&columns[i]) - shown_width(cells[i]);
        bool last = i == count - 1;
        if (!columns[i].left)
            fprintf(out, "%*s", gap > 0 ? gap : 0, "");
        print_as(out, cells[i], strlen(cells[i]), TW_SHOWN_LINE);
        if (columns[i].left && !last)
            fprintf(out, "%*s", gap > 0 ? gap : 0, "");
        fputs(last ? "\n" : "  ", out);
    }
}

static void table_header(FILE *out, const struct column *columns, int count)
{
    const char *titles[CELLS_MOST];
    for (int i = 0; i < count && i < CELLS_MOST; i++)
        titles[i] = columns[i].title;
    table_row(out, columns, count, titles);
}

/* --- paragraphs --- */

/* Returns the bytes of the leading words that fit into `width` columns; takes at least one word. */
static size_t fitting(const char *text, int width)
{
    size_t taken = 0;
    for (size_t at = 0; text[at];) {
        size_t end = at + strcspn(text + at, " ");
        int shown = 0;
        for (size_t i = 0; i < end; i++)
            shown += ((unsigned char)text[i] & 0xc0) != 0x80;
        if (taken && shown > width)
            break;
        taken = end;
        at = end + strspn(text + end, " ");
    }
    return taken;
}

void table_paragraph(FILE *out, const char *label, int indent, const char *text)
{
    enum { WIDTH = 110 };
    bool wraps = isatty(fileno(out));
    fprintf(out, "%-*s", indent, label);
    for (bool first = true; *text; first = false) {
        size_t length = wraps ? fitting(text, WIDTH - indent) : strlen(text);
        fprintf(out, "%*s%.*s\n", first ? 0 : indent, "", (int)length, text);
        text += length;
        text += strspn(text, " ");
    }
}

/* --- cell by cell --- */

void cells_add(struct cells *c, const char *title, int width, bool left, const char *text)
{
    c->columns[c->count] = (struct column){title, width, left};
    snprintf(c->texts[c->count++], CELL_BYTES, "%s", text);
}

void cells_add_number(struct cells *c, const char *title, int width, int digits, double v)
{
    char text[32];
    snprintf(text, sizeof text, v > 0 ? "%.*f" : "-", digits, v);
    cells_add(c, title, width, false, text);
}

void cells_header(FILE *out, const struct cells *c)
{
    table_header(out, c->columns, c->count);
}

void cells_row(FILE *out, const struct cells *c)
{
    const char *texts[CELLS_MOST];
    for (int i = 0; i < c->count; i++)
        texts[i] = c->texts[i];
    table_row(out, c->columns, c->count, texts);
}
