/* Makes text from files fit to be shown. This is the one place that decides which characters a
 * terminal, or a reader of JSON, gets. */
#ifndef TW_SHOWN_H
#define TW_SHOWN_H

#include "base/text.h"

/* SHOWN_LINE spells out control characters of ASCII and C1, marks that change the direction of text
 * or end a line, and broken UTF-8: \x1b, \u202e. SHOWN_LINES keeps tab and newline. SHOWN_JSON
 * gives the text between the quotes of a JSON string (RFC 8259, section 7); broken UTF-8 becomes
 * \ufffd. */
enum shown { SHOWN_LINE, SHOWN_LINES, SHOWN_JSON };

/* Returns the bytes of the character at p if it is shown as it is, or 0 if it is spelled out. */
size_t shown_character(const char *p, const char *end, enum shown how);

/* Writes the shown form of the character at *at into `piece`, moves *at past the character, and
 * returns the length of the form. */
enum { SHOWN_PIECE = 8 };
size_t shown_piece(const char **at, const char *end, enum shown how, char piece[SHOWN_PIECE]);

/* Returns the shown form as a string; `s` itself if all of it is shown as it is. */
const char *text_shown(struct arena *a, const char *s, enum shown how);

#endif
