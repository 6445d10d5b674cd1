/* Declarations that the files of the formatter share.
 *
 *   format.c        the pieces of a text, which of them begin a line, and the levels of statements
 *   format_lines.c  columns: spaces between pieces, continued lines, long lines, comments at the end */
#ifndef TW_FORMAT_INTERNAL_H
#define TW_FORMAT_INTERNAL_H

#include "lang/scan.h"

enum { FORMAT_COLUMNS = 100, FORMAT_INDENT = 4 };

/* A token or a comment. */
struct format_piece {
    const char *text;
    uint32_t length;
    enum token_kind kind; /* TOK_END: a comment */
    bool line_comment;    /* a comment that ends its line */
    int breaks;           /* line breaks before it: 0, 1, or 2 for an empty line between */
    int old_column;       /* its column in the old text, from 0 */
    bool old_start;       /* it was the first piece of its line */

    /* Facts from the syntax tree. */
    bool cast_end; /* the ')' of a cast */
    bool pointer;  /* the '*' of a pointer parameter */
    bool tight;    /* '<' or '>' of bits<T>, `.128` of by(ld.128): no spaces */
    bool spaced;   /* a '(' that does not belong to a call: a space before it */
    bool list;     /* a brace around values */
    bool body;     /* a brace around statements */

    /* Its place in the output. */
    bool first;  /* a token that begins a statement, or a brace on a line of its own */
    bool joined; /* a token that stays on the line of the previous token: `{`, `else` */
    bool prefix; /* an operator before its only operand */
    bool inside; /* a comment before the '}' of a block: it belongs to the block */
    bool trails; /* a comment to the right of code, or below such a comment in the same column */
    int level;   /* level of its statement */
    int open;    /* brackets of its statement that are open before it; a '[' counts as four */
    int column;  /* its column in the output, from 0 */
};
struct format_pieces {
    struct format_piece *data;
    size_t count, capacity;
};

static inline bool is_comment(const struct format_piece *p)
{
    return p->kind == TOK_END;
}

/* Writes the pieces, whose breaks and levels are set. `ending`: the end of each line. */
void format_lines(struct text *out, struct format_pieces *pieces, const char *ending);

#endif
