#include "lsp/lsp_text.h"
#include "cli/tool.h"

#include <stdlib.h>
#include <string.h>

static void find_lines(struct lsp_text *t)
{
    int room = 0;
    free(t->lines);
    t->lines = NULL;
    t->line_count = 0;
    const char *at = t->bytes, *end = t->bytes + t->length;
    for (;;) {
        if (t->line_count == room)
            t->lines =
                need_more_memory(t->lines, (size_t)(room = 2 * room + 64) * sizeof *t->lines);
        t->lines[t->line_count++] = (size_t)(at - t->bytes);
        at = memchr(at, '\n', (size_t)(end - at));
        if (!at)
            return;
        at++;
    }
}

struct lsp_text lsp_text_of(char *bytes, size_t length)
{
    struct lsp_text t = {.bytes = bytes, .length = length};
    find_lines(&t);
    return t;
}

void lsp_text_free(struct lsp_text *t)
{
    free(t->bytes);
    free(t->lines);
    *t = (struct lsp_text){0};
}

void lsp_text_replace(struct lsp_text *t, size_t from, size_t to, const char *by, size_t length)
{
    size_t rest = t->length - to;
    char *bytes = need_memory(from + length + rest + 1);
    memcpy(bytes, t->bytes, from);
    memcpy(bytes + from, by, length);
    memcpy(bytes + from + length, t->bytes + to, rest);
    free(t->bytes);
    t->bytes = bytes;
    t->length = from + length + rest;
    find_lines(t);
}

/* Returns the bytes of the character at `at`; each byte of malformed UTF-8 counts as one. */
static size_t character_bytes(const char *at, const char *end)
{
    unsigned char c = (unsigned char)*at;
    size_t length = c < 0xC0 ? 1 : c < 0xE0 ? 2 : c < 0xF0 ? 3 : c < 0xF8 ? 4 : 1;
    for (size_t i = 1; i < length; i++)
        if (at + i >= end || ((unsigned char)at[i] & 0xC0) != 0x80)
            return 1;
    return length;
}

/* Returns the end of a line, before its newline. */
static size_t line_end(const struct lsp_text *t, int line)
{
    size_t end = line + 1 < t->line_count ? t->lines[line + 1] - 1 : t->length;
    if (line + 1 < t->line_count && end > t->lines[line] && t->bytes[end - 1] == '\r')
        end--;
    return end;
}

size_t lsp_offset(const struct lsp_text *t, int line, int character)
{
    if (line >= t->line_count)
        return t->length;
    const char *at = t->bytes + t->lines[line], *end = t->bytes + line_end(t, line);
    for (int units = 0; at < end;) {
        size_t bytes = character_bytes(at, end);
        units += bytes == 4 ? 2 : 1;
        if (units > character)
            break;
        at += bytes;
    }
    return (size_t)(at - t->bytes);
}

void lsp_position(const struct lsp_text *t, size_t offset, int *line, int *character)
{
    int low = 0, high = t->line_count - 1;
    while (low < high) {
        int middle = low + (high - low + 1) / 2;
        if (t->lines[middle] <= offset)
            low = middle;
        else
            high = middle - 1;
    }
    size_t end = line_end(t, low);
    const char *at = t->bytes + t->lines[low];
    const char *stop = t->bytes + (offset < end ? offset : end);
    *line = low;
    *character = 0;
    while (at < stop) {
        size_t bytes = character_bytes(at, t->bytes + end);
        *character += bytes == 4 ? 2 : 1;
        at += bytes;
    }
}

size_t lsp_offset_of_place(const struct lsp_text *t, int line, int column)
{
    if (line < 1)
        return 0;
    if (line > t->line_count)
        return t->length;
    size_t offset = t->lines[line - 1] + (size_t)(column > 0 ? column - 1 : 0);
    return offset < t->length ? offset : t->length;
}

static int is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

size_t lsp_word_at(const struct lsp_text *t, size_t offset, size_t *begin)
{
    size_t from = offset, to = offset;
    while (from > 0 && is_word(t->bytes[from - 1]))
        from--;
    while (to < t->length && is_word(t->bytes[to]))
        to++;
    *begin = from;
    return from < to && (t->bytes[from] < '0' || t->bytes[from] > '9') ? to - from : 0;
}

struct lsp_span lsp_span_of_part(const struct lsp_text *t, const tw_part *part)
{
    return (struct lsp_span){lsp_offset_of_place(t, part->line, part->column),
                             lsp_offset_of_place(t, part->end_line, part->end_column)};
}

bool lsp_part_has(const struct lsp_text *t, const tw_part *part, size_t offset)
{
    return offset >= lsp_offset_of_place(t, part->line, part->column) &&
           offset <= lsp_offset_of_place(t, part->end_line, part->end_column);
}
