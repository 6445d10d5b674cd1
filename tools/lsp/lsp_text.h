/* Text as an editor counts it: lines, and positions in units of UTF-16. */
#ifndef TW_LSP_TEXT_H
#define TW_LSP_TEXT_H

#include "tilewright_look.h"

#include <stdbool.h>
#include <stddef.h>

struct lsp_text {
    char *bytes; /* UTF-8, with a 0 at its end */
    size_t length;
    size_t *lines; /* start of each line; at least one */
    int line_count;
};

/* Takes ownership of `bytes`. */
struct lsp_text lsp_text_of(char *bytes, size_t length);
void lsp_text_free(struct lsp_text *t);
/* Replaces the bytes from `from` to `to`. */
void lsp_text_replace(struct lsp_text *t, size_t from, size_t to, const char *by, size_t length);

/* Returns the offset of a position of the protocol: line and UTF-16 units, both from 0. A
 * position past the end of a line or the text means that end. */
size_t lsp_offset(const struct lsp_text *t, int line, int character);
/* Converts an offset to a position. */
void lsp_position(const struct lsp_text *t, size_t offset, int *line, int *character);
/* Returns the offset of a place of the library: line and bytes, both from 1. */
size_t lsp_offset_of_place(const struct lsp_text *t, int line, int column);

struct lsp_span {
    size_t begin, end; /* bytes of the text */
};
/* Returns the bytes of a part. */
struct lsp_span lsp_span_of_part(const struct lsp_text *t, const tw_part *part);
/* Returns whether the offset is in the part or at its end. */
bool lsp_part_has(const struct lsp_text *t, const tw_part *part, size_t offset);

/* Finds the name that contains the offset or ends there. Returns its length, or 0 if there is
 * none. */
size_t lsp_word_at(const struct lsp_text *t, size_t offset, size_t *begin);

#endif
