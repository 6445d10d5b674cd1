/* Text that came from files, made fit to be shown: this one place decides what a terminal, or a reader
 * of JSON, gets of it. */
#ifndef TW_SHOWN_H
#define TW_SHOWN_H

#include "base/text.h"

/* SHOWN_LINE: control characters of ASCII and C1, marks that turn the direction of text or end a line,
 * and broken UTF-8 are spelled out, \x1b and \u202e. SHOWN_LINES: tab and newline stay. SHOWN_JSON:
 * what stands between the quotes of a string (RFC 8259, section 7); broken UTF-8 is \ufffd. */
enum shown { SHOWN_LINE, SHOWN_LINES, SHOWN_JSON };

/* Bytes of the character at p where it is shown as it is; 0: it is spelled out. */
size_t shown_character(const char *p, const char *end, enum shown how);

/* Writes the shown form of the character at *at into `piece`, moves *at past the character, and
 * returns the length of the form. */
enum { SHOWN_PIECE = 8 };
size_t shown_piece(const char **at, const char *end, enum shown how, char piece[SHOWN_PIECE]);

void text_add_shown(struct text *t, const char *s, size_t length, enum shown how);

/* The same as a string; `s` itself where all of it is shown as it is. */
const char *text_shown(struct arena *a, const char *s, enum shown how);

#endif
