/* The second half of formatting: assigns columns to pieces. */
#include "lang/format_internal.h"

#include "base/text.h"

#include <string.h>

/* An open bracket of a statement. */
struct bracket {
    int inside; /* the column after the bracket */
    int indent; /* indentation of its line */
    bool last;  /* the last bracket of its line */
};
struct line {
    size_t begin, end; /* pieces */
    int width;         /* width of the line's code */
    int indent, shift; /* columns by which the line moved to the right */
};
struct layout {
    struct text *out;
    struct format_pieces *pieces;
    const char *ending;
    VEC(struct bracket) open;
    VEC(struct line) lines;
};

/* Returns the number of characters of a text. */
static int text_width(const char *text, size_t length)
{
    int width = 0;
    for (size_t i = 0; i < length; i++)
        width += ((unsigned char)text[i] & 0xC0) != 0x80;
    return width;
}

/* --- spaces --- */

static bool is_word(char c)
{
    return text_is_letter(c) || text_is_digit(c) || c == '_';
}

/* Returns true if two tokens without a space between them would be scanned as other tokens. */
static bool would_merge(const struct format_piece *p, const struct format_piece *q)
{
    char pair[2] = {p->text[p->length - 1], q->text[0]};
    if (is_word(pair[0]) && is_word(pair[1]))
        return true;
    for (int k = TOK_NAN + 1; k < TOK_COUNT; k++)
        if (strncmp(token_table[k].text, pair, 2) == 0)
            return true;
    return false;
}

static bool space_before_paren(const struct format_piece *p, const struct format_piece *paren)
{
    switch (p->kind) {
    case TOK_NAME:
    case TOK_TUNE: return paren->spaced;
    case TOK_RBRACKET:
    case TOK_TYPEOF:
    case TOK_ASYNC:
    case TOK_UNROLL:
    case TOK_PIPELINE:
    case TOK_REQUIRE:
    case TOK_STATIC_ASSERT: return false;
    default: return true;
    }
}

static bool wants_space(const struct format_piece *p, const struct format_piece *q)
{
    switch (q->kind) {
    case TOK_COMMA:
    case TOK_SEMICOLON:
    case TOK_RPAREN:
    case TOK_RBRACKET:
    case TOK_LBRACKET:
    case TOK_DOT: return false;
    case TOK_INCREMENT:
    case TOK_DECREMENT:
        if (!q->prefix)
            return false;
        break;
    case TOK_RBRACE: return p->kind != TOK_LBRACE && !q->list;
    case TOK_COLON:
        if (p->kind == TOK_STRING)
            return false; /* of a family's member */
        break;
    default: break;
    }
    if (p->kind == TOK_LPAREN || p->kind == TOK_LBRACKET || p->kind == TOK_DOT)
        return false;
    if (p->prefix || p->pointer || p->tight || q->tight || (p->list && p->kind == TOK_LBRACE))
        return false;
    return q->kind != TOK_LPAREN || space_before_paren(p, q);
}

static bool space_between(const struct format_piece *p, const struct format_piece *q)
{
    return is_comment(p) || is_comment(q) || wants_space(p, q) || would_merge(p, q);
}

/* --- comments of several lines --- */

/* Moves the further lines of a comment by as many columns as its first line moved. */
static void shift_comment(struct layout *l, struct format_piece *p)
{
    struct text t;
    int shift = p->column - p->old_column;
    const char *at = p->text, *end = p->text + p->length, *newline;
    if (p->line_comment || !(newline = memchr(at, '\n', p->length)))
        return;
    text_init(&t, l->out->arena);
    for (;;) {
        const char *stop = newline ? newline : end;
        while (stop > at && text_is_blank(stop[-1]))
            stop--;
        text_add_n(&t, at, (size_t)(stop - at));
        if (!newline)
            break;
        text_add(&t, l->ending);
        int blanks = 0;
        for (at = newline + 1; at < end && (*at == ' ' || *at == '\t'); at++)
            blanks += *at == '\t' ? 4 - blanks % 4 : 1;
        newline = memchr(at, '\n', (size_t)(end - at));
        const char *more = at;
        while (more < end && *more != '\n' && text_is_blank(*more))
            more++;
        if (more < end && *more != '\n')
            text_printf(&t, "%*s", blanks + shift > 0 ? blanks + shift : 0, "");
    }
    p->text = t.data;
    p->length = (uint32_t)t.length;
}

/* Returns the column after a piece. */
static int end_of(const struct format_piece *p)
{
    for (size_t i = p->length; is_comment(p) && i-- > 0;)
        if (p->text[i] == '\n')
            return text_width(p->text + i + 1, p->length - i - 1);
    return p->column + text_width(p->text, p->length);
}

/* --- lines --- */

/* Returns true for a comment with code to its left and nothing to its right. */
static bool is_trailing(const struct format_pieces *all, size_t i)
{
    const struct format_piece *p = &all->data[i];
    bool ends_line = i + 1 == all->count || all->data[i + 1].breaks > 0;
    return is_comment(p) && i > 0 && p->breaks == 0 && ends_line &&
           !memchr(p->text, '\n', p->length);
}

/* Marks comments to the right of code. A comment alone on a line continues such a comment above
 * it if it begins in the same column. */
static void find_trailing(struct format_pieces *all)
{
    for (size_t i = 1; i < all->count; i++) {
        struct format_piece *p = &all->data[i], *before = p - 1;
        bool below = is_comment(p) && p->line_comment && p->breaks == 1 && before->trails &&
                     before->line_comment && before->old_column == p->old_column;
        p->trails = below || is_trailing(all, i);
    }
}

static int indent_of(const struct layout *l, const struct format_piece *p)
{
    int level = FORMAT_INDENT * p->level;
    if (p->first)
        return level + (p->inside ? FORMAT_INDENT : 0);
    if (l->open.count == 0)
        return level + FORMAT_INDENT;
    const struct bracket *b = &l->open.data[l->open.count - 1];
    bool closes = p->kind == TOK_RPAREN || p->kind == TOK_RBRACKET || p->kind == TOK_RBRACE;
    if (closes)
        return b->indent;
    return b->last ? b->indent + FORMAT_INDENT : b->inside;
}

/* Sets the columns of the pieces from `begin` on; returns the width of the code. */
static int set_columns(struct layout *l, size_t begin, size_t end)
{
    struct format_piece *all = l->pieces->data;
    int width = 0, column = indent_of(l, &all[begin]);
    for (size_t i = begin; i < end && !all[i].trails; i++) {
        if (i > begin)
            column += space_between(&all[i - 1], &all[i]);
        all[i].column = column;
        shift_comment(l, &all[i]);
        column = width = end_of(&all[i]);
    }
    return width;
}

/* --- long lines --- */

static bool is_infix(const struct format_piece *p)
{
    return !p->prefix && !p->pointer && !p->tight && !is_comment(p) &&
           token_table[p->kind].infix != OP_COUNT;
}

static bool assigns(const struct format_piece *p)
{
    return p->kind == TOK_ASSIGN || p->kind == TOK_EQ ||
           (!is_comment(p) && token_table[p->kind].compound != OP_COUNT);
}

/* Returns the cost of a line break between two pieces, when the first line then ends at `end`;
 * -1: no break is allowed. A break costs more deep within brackets, far from the limit, or if it
 * leaves little for the next line. */
static int break_cost(const struct format_piece *p, const struct format_piece *q, int end)
{
    int unused = FORMAT_COLUMNS - end_of(p), rest = end - end_of(p);
    bool here = p->kind == TOK_COMMA || p->kind == TOK_SEMICOLON || is_infix(p) || assigns(p) ||
                q->kind == TOK_QUESTION || (q->kind == TOK_COLON && p->kind != TOK_LBRACKET) ||
                (p->kind == TOK_RPAREN && q->kind == TOK_NAME && q->open == 0);
    if (!here || unused < 0 || is_comment(p) || is_comment(q))
        return -1;
    return 25 * q->open + unused + (assigns(p) ? 30 : 0) + (rest < 12 ? 20 : 0);
}

/* Returns the piece before which to break a line that is too long; `end`: none. */
static size_t best_break(const struct layout *l, size_t begin, size_t end, int width)
{
    size_t best = end;
    int least = 0;
    for (size_t i = begin + 1; i < end && !l->pieces->data[i].trails; i++) {
        int cost = break_cost(&l->pieces->data[i - 1], &l->pieces->data[i], width);
        if (cost >= 0 && (best == end || cost <= least)) {
            best = i;
            least = cost;
        }
    }
    return best;
}

/* Records the brackets that the line opens and closes. */
static void follow_brackets(struct layout *l, const struct line *line)
{
    for (size_t i = line->begin; i < line->end; i++) {
        const struct format_piece *p = &l->pieces->data[i];
        bool opens = p->kind == TOK_LPAREN || p->kind == TOK_LBRACKET || p->kind == TOK_LBRACE;
        bool closes = p->kind == TOK_RPAREN || p->kind == TOK_RBRACKET || p->kind == TOK_RBRACE;
        bool last = i + 1 == line->end || is_comment(p + 1);
        if (p->body || is_comment(p))
            continue;
        if (opens)
            vec_push(l->out->arena, &l->open,
                     ((struct bracket){p->column + 1, line->indent, last}));
        l->open.count -= closes;
    }
}

static void make_lines(struct layout *l)
{
    struct format_piece *all = l->pieces->data;
    for (size_t begin = 0, end; begin < l->pieces->count; begin = end) {
        end = begin + 1;
        while (end < l->pieces->count && all[end].breaks == 0)
            end++;
        int width = all[begin].trails ? 0 : set_columns(l, begin, end);
        size_t at = width > FORMAT_COLUMNS ? best_break(l, begin, end, width) : end;
        if (at < end) {
            all[at].breaks = 1;
            end = at;
            width = end_of(&all[end - 1]);
        }
        int indent = all[begin].trails ? 0 : all[begin].column;
        int shift = all[begin].trails || !all[begin].old_start ? 0 : indent - all[begin].old_column;
        struct line line = {begin, end, width, indent, shift};
        vec_push(l->out->arena, &l->lines, line);
        follow_brackets(l, &line);
    }
}

/* --- comments at the end --- */

static struct format_piece *trailing_of(struct layout *l, const struct line *line)
{
    struct format_piece *p = &l->pieces->data[line->end - 1];
    return p->trails ? p : NULL;
}

/* Keeps comments of neighbouring lines that were in one column in one column: the old one, if
 * the code leaves it free. */
static void align_comments(struct layout *l)
{
    for (size_t i = 0, k; i < l->lines.count; i = k) {
        struct line *first = &l->lines.data[i];
        struct format_piece *p = trailing_of(l, first), *q;
        k = i + 1;
        if (!p)
            continue;
        int column = p->old_column + first->shift, least = first->width + 1;
        for (; k < l->lines.count && (q = trailing_of(l, &l->lines.data[k])) &&
               q->old_column == p->old_column;
             k++)
            if (l->lines.data[k].width >= least)
                least = l->lines.data[k].width + 1;
        for (size_t n = i; n < k; n++)
            trailing_of(l, &l->lines.data[n])->column = column > least ? column : least;
    }
}

static void write_line(struct layout *l, const struct line *line)
{
    int column = 0;
    if (l->pieces->data[line->begin].breaks == 2)
        text_add(l->out, l->ending);
    for (size_t i = line->begin; i < line->end; i++) {
        const struct format_piece *p = &l->pieces->data[i];
        text_printf(l->out, "%*s", p->column > column ? p->column - column : 0, "");
        text_add_n(l->out, p->text, p->length);
        column = end_of(p);
    }
    text_add(l->out, l->ending);
}

void format_lines(struct text *out, struct format_pieces *pieces, const char *ending)
{
    struct layout l = {.out = out, .pieces = pieces, .ending = ending};
    find_trailing(pieces);
    make_lines(&l);
    align_comments(&l);
    text_add(out, "");
    for (size_t i = 0; i < l.lines.count; i++)
        write_line(&l, &l.lines.data[i]);
}
