/* Formatting: arranges the tokens and comments of a text in one style (docs/editor.md).
 *
 * The text must follow the grammar, so its brackets pair and its statements end where they seem to.
 * The formatter then works on tokens. It takes from the syntax tree what tokens alone do not show:
 * `(T) -x` is a cast, `(a) - x` is a difference.
 *
 * Statements and braces begin lines. Within a statement the line breaks of the text stay,
 * because they show which parts belong together; a line that is too long gets more of them. So
 * formatting the result again does not change it. */
#include "lang/format_internal.h"

#include "lang/check_internal.h"
#include "lang/lang.h"
#include "lang/syntax.h"

#include <assert.h>
#include <string.h>

enum { TAB = 4 };

struct formatter {
    struct arena *arena;
    const struct source *source;
    struct token_list scanned;
    struct format_pieces pieces;
    uint32_t *piece_of; /* by token */
    uint32_t at;        /* the token being placed */
};

/* --- pieces --- */

struct place {
    uint32_t offset;
    int column, breaks;
    bool start; /* only blanks come before it on its line */
};

static void pass_bytes(struct formatter *f, struct place *p, uint32_t end)
{
    const char *text = f->source->text;
    while (p->offset < end) {
        char c = text[p->offset++];
        if (c == '\n') {
            p->column = 0;
            p->breaks++;
            p->start = true;
        } else if (c == '\t')
            p->column += TAB - p->column % TAB;
        else if (((unsigned char)c & 0xC0) != 0x80) /* counts the first byte of each UTF-8
                                                     * character */
            p->column += c != '\r';
    }
}

/* Adds the bytes up to `end` as a piece. */
static struct format_piece *add_piece(struct formatter *f, struct place *p, uint32_t end,
                                      enum token_kind kind)
{
    const char *text = f->source->text + p->offset;
    uint32_t length = end - p->offset;
    while (kind == TOK_END && length > 0 && text_is_blank(text[length - 1]))
        length--;
    struct format_piece one = {.text = text,
                               .length = length,
                               .kind = kind,
                               .breaks = p->breaks < 2 ? p->breaks : 2,
                               .old_column = p->column,
                               .old_start = p->start};
    vec_push(f->arena, &f->pieces, one);
    pass_bytes(f, p, end);
    p->breaks = 0;
    p->start = false;
    return &f->pieces.data[f->pieces.count - 1];
}

/* Adds the comments between p and `end`, where the next token begins. */
static void add_comments(struct formatter *f, struct place *p, uint32_t end)
{
    const char *text = f->source->text;
    while (p->offset < end) {
        if (text[p->offset] != '/') {
            pass_bytes(f, p, p->offset + 1);
            continue;
        }
        uint32_t stop = p->offset + 2;
        bool line = text[p->offset + 1] == '/';
        while (stop < end && (line ? text[stop] != '\n'
                                   : memcmp(text + stop - 2, "*/", 2) != 0 || stop < p->offset + 4))
            stop++;
        add_piece(f, p, stop, TOK_END)->line_comment = line;
    }
}

static void make_pieces(struct formatter *f)
{
    struct place p = {.start = true};
    if (f->scanned.count > 0 && f->source->length >= 3 &&
        memcmp(f->source->text, "\xEF\xBB\xBF", 3) == 0)
        p.offset = 3;
    f->piece_of = arena_array(f->arena, uint32_t, f->scanned.count);
    for (uint32_t i = 0; i < f->scanned.count; i++) {
        const struct token *t = &f->scanned.tokens[i];
        add_comments(f, &p, t->offset);
        f->piece_of[i] = (uint32_t)f->pieces.count;
        if (t->kind != TOK_END)
            add_piece(f, &p, t->offset + t->length, t->kind);
    }
}

/* --- facts from the syntax tree --- */

static struct format_piece *piece_at(const struct formatter *f, uint32_t token)
{
    return &f->pieces.data[f->piece_of[token]];
}

/* In `by(ld.128)`, `.128` is a number. */
static void mark_by(const struct formatter *f, const struct by *by)
{
    const struct token *t = f->scanned.tokens;
    uint32_t end = by->loc.offset + by->loc.length;
    for (uint32_t i = scan_token_at(&f->scanned, by->loc.offset);
         t[i].offset < end && t[i].kind != TOK_END; i++)
        if (t[i].kind == TOK_FLOAT && t[i].offset == t[i - 1].offset + t[i - 1].length)
            piece_at(f, i)->tight = true;
}

static void mark_node(void *user, const struct node *n)
{
    struct formatter *f = user;
    if (n->by)
        mark_by(f, n->by);
    uint32_t first = scan_token_at(&f->scanned, n->loc.offset);
    const struct token *t = f->scanned.tokens;
    if (n->kind == N_CAST)
        piece_at(f, t[first].match)->cast_end = true;
    else if (n->kind == N_PARAM && n->is_pointer)
        piece_at(f, first - 1)->pointer = true;
    else if (n->kind == N_BITS) {
        piece_at(f, first + 1)->tight = true;
        piece_at(f, t[first + 2].kind == TOK_TYPEOF ? t[first + 3].match + 1 : first + 3)->tight =
            true;
    } else if (n->kind == N_DESTRUCT) /* the place of an N_DESTRUCT is that of its type */
        piece_at(f, t[first].kind == TOK_TYPEOF ? t[first + 1].match + 1 : first + 1)->spaced =
            true;
    else if (n->kind == N_TUNE && n->names->next)
        piece_at(f, scan_token_at(&f->scanned, n->names->loc.offset) - 1)->spaced = true;
    module_visit_children(n, mark_node, user);
}

/* --- statements --- */

static enum token_kind kind_here(const struct formatter *f)
{
    return f->scanned.tokens[f->at].kind;
}

static struct format_piece *piece_here(const struct formatter *f)
{
    return piece_at(f, f->at);
}

/* Passes a token, or a bracket and everything in it, as part of a statement. */
static void pass(struct formatter *f, int level)
{
    const struct token *t = &f->scanned.tokens[f->at];
    uint32_t end = t->match != NO_MATCH && t->match > f->at ? t->match : f->at;
    int open = 0;
    for (; f->at <= end; f->at++) {
        struct format_piece *p = piece_here(f);
        t = &f->scanned.tokens[f->at];
        int weight = t->match == NO_MATCH                                 ? 0
                     : p->kind == TOK_LBRACKET || p->kind == TOK_RBRACKET ? 4
                                                                          : 1;
        p->level = level;
        p->list = t->kind == TOK_LBRACE || t->kind == TOK_RBRACE;
        p->open = open;
        open += t->match < f->at ? -weight : weight;
    }
}

static void pass_through(struct formatter *f, int level, enum token_kind last)
{
    while (kind_here(f) != last && kind_here(f) != TOK_END)
        pass(f, level);
    if (kind_here(f) == last)
        pass(f, level);
}

/* Passes a brace of a body. */
static void pass_brace(struct formatter *f, int level)
{
    struct format_piece *p = piece_here(f);
    p->level = level;
    p->body = true;
    f->at++;
}

static void place_statement(struct formatter *f, int level);

static void place_block(struct formatter *f, int level)
{
    pass_brace(f, level);
    while (kind_here(f) != TOK_RBRACE)
        place_statement(f, level + 1);
    piece_here(f)->first = true;
    pass_brace(f, level);
}

/* Places the body of an `if` or a loop. */
static void place_body(struct formatter *f, int level)
{
    if (kind_here(f) != TOK_LBRACE) {
        place_statement(f, level + 1);
        return;
    }
    piece_here(f)->joined = true;
    place_block(f, level);
}

/* Places `else` and `while` after a body: they follow its '}' on the same line. */
static void place_after_body(struct formatter *f, int level)
{
    struct format_piece *p = piece_here(f);
    p->joined = f->scanned.tokens[f->at - 1].kind == TOK_RBRACE;
    p->first = !p->joined;
    pass(f, level);
}

static void place_if(struct formatter *f, int level)
{
    for (;;) {
        pass(f, level); /* if */
        pass(f, level); /* ( … ) */
        place_body(f, level);
        if (kind_here(f) != TOK_ELSE)
            return;
        place_after_body(f, level);
        if (kind_here(f) != TOK_IF)
            break;
        piece_here(f)->joined = true;
    }
    place_body(f, level);
}

static void place_do(struct formatter *f, int level)
{
    pass(f, level);
    place_body(f, level);
    place_after_body(f, level);
    pass_through(f, level, TOK_SEMICOLON);
}

static bool is_word(const struct formatter *f, const struct token *t, const char *word)
{
    return t->kind == TOK_NAME && t->length == strlen(word) &&
           memcmp(f->source->text + t->offset, word, t->length) == 0;
}

/* Returns true at `warps (` or `one_thread {`. */
static bool at_role(const struct formatter *f)
{
    const struct token *t = &f->scanned.tokens[f->at];
    return (is_word(f, t, "warps") && t[1].kind == TOK_LPAREN) ||
           (is_word(f, t, "one_thread") && t[1].kind == TOK_LBRACE);
}

static void place_role(struct formatter *f, int level)
{
    while (kind_here(f) != TOK_LBRACE)
        pass(f, level);
    place_body(f, level);
}

static void place_statement(struct formatter *f, int level)
{
    piece_here(f)->first = true;
    switch (kind_here(f)) {
    case TOK_LBRACE: place_block(f, level); return;
    case TOK_IF: place_if(f, level); return;
    case TOK_DO: place_do(f, level); return;
    case TOK_UNROLL:
    case TOK_PIPELINE:
    case TOK_FOR:
    case TOK_WHILE:
        while (kind_here(f) != TOK_FOR && kind_here(f) != TOK_WHILE)
            pass(f, level);
        pass(f, level);
        pass(f, level);
        place_body(f, level);
        return;
    default:
        if (at_role(f))
            place_role(f, level);
        else
            pass_through(f, level, TOK_SEMICOLON);
    }
}

/* Returns true at `family NAME {`. */
static bool at_family_here(const struct formatter *f)
{
    const struct token *t = &f->scanned.tokens[f->at];
    return t->kind == TOK_NAME && t[1].kind == TOK_NAME && t[2].kind == TOK_LBRACE;
}

static void place_family(struct formatter *f)
{
    pass(f, 0); /* family */
    pass(f, 0); /* its name */
    piece_here(f)->joined = true;
    place_block(f, 0);
}

static void place_declaration(struct formatter *f)
{
    bool function = kind_here(f) == TOK_KERNEL || kind_here(f) == TOK_FN;
    piece_here(f)->first = true;
    if (at_family_here(f)) {
        place_family(f);
        return;
    }
    if (!function) {
        pass_through(f, 0, TOK_SEMICOLON);
        return;
    }
    while (kind_here(f) != TOK_LBRACE)
        pass(f, 0);
    piece_here(f)->first = true;
    place_block(f, 0);
}

/* --- breaks --- */

static bool ends_operand(const struct format_piece *p)
{
    switch (p->kind) {
    case TOK_NAME:
    case TOK_INT:
    case TOK_FLOAT:
    case TOK_STRING:
    case TOK_TRUE:
    case TOK_FALSE:
    case TOK_INF:
    case TOK_NAN:
    case TOK_RBRACKET: return true;
    case TOK_RPAREN: return !p->cast_end;
    default: return false;
    }
}

static void find_prefixes(struct format_pieces *pieces)
{
    const struct format_piece *before = NULL;
    for (size_t i = 0; i < pieces->count; i++) {
        struct format_piece *p = &pieces->data[i];
        if (is_comment(p))
            continue;
        bool operand_before = before && ends_operand(before) && !p->first;
        bool sign = p->kind == TOK_MINUS || p->kind == TOK_INCREMENT || p->kind == TOK_DECREMENT;
        p->prefix = p->kind == TOK_BANG || p->kind == TOK_TILDE || (sign && !operand_before);
        before = p;
    }
}

/* Returns the line breaks before a token. */
static int token_breaks(const struct format_piece *p, const struct format_piece *before)
{
    bool after_comment = before && is_comment(before);
    bool comment_line = after_comment && (before->breaks > 0 || before->line_comment);
    if (!before)
        return 0;
    if (p->joined)
        return comment_line;
    if (p->first) {
        if (after_comment && !before->line_comment && before->old_start && p->breaks == 0)
            return 0; /* a comment before the statement, on its line */
        if (before->body && before->kind == TOK_LBRACE)
            return 1;
        if (before->body && before->level == 0)
            return 2;
        return p->body || p->breaks == 0 ? 1 : p->breaks;
    }
    return p->breaks > 0 || (after_comment && before->line_comment);
}

static int comment_breaks(const struct format_piece *p, const struct format_piece *before)
{
    if (!before)
        return 0;
    bool in_body = before->body && before->kind == TOK_LBRACE;
    if (p->breaks > 0 && before->body && before->kind == TOK_RBRACE && before->level == 0)
        return 2;
    if (p->breaks == 0 && is_comment(before) && before->line_comment)
        return 1;
    return in_body && p->breaks > 1 ? 1 : p->breaks;
}

/* Gives a comment the level of the statement below it. */
static void place_comment(struct format_piece *p, const struct format_piece *next)
{
    p->first = next ? next->first || next->joined : true;
    p->level = next ? next->level : 0;
    p->open = next ? next->open : 0;
    p->inside = next && next->body && next->kind == TOK_RBRACE;
}

static void set_breaks(struct format_pieces *pieces)
{
    const struct format_piece *next = NULL;
    for (size_t i = pieces->count; i-- > 0;) {
        struct format_piece *p = &pieces->data[i];
        if (is_comment(p))
            place_comment(p, next);
        else
            next = p;
    }
    for (size_t i = 0; i < pieces->count; i++) {
        struct format_piece *p = &pieces->data[i], *before = i > 0 ? p - 1 : NULL;
        p->breaks = is_comment(p) ? comment_breaks(p, before) : token_breaks(p, before);
    }
}

/* --- the whole --- */

#ifndef NDEBUG
/* Returns true if both texts have the same tokens and comments, so that only blanks differ. */
static bool same_text(struct arena *a, const struct source *old, const struct text *new)
{
    struct source made = {old->name, new->data, new->length};
    struct token_list x = scan_text(a, old), y = scan_text(a, &made);
    bool same = x.count == y.count;
    for (uint32_t i = 0; same && i < x.count; i++)
        same = x.tokens[i].kind == y.tokens[i].kind && x.tokens[i].length == y.tokens[i].length;
    const char *p = old->text, *q = made.text;
    const char *p_end = p + old->length, *q_end = q + made.length;
    if (old->length >= 3 && memcmp(p, "\xEF\xBB\xBF", 3) == 0)
        p += 3;
    while (same) {
        while (p < p_end && text_is_blank(*p))
            p++;
        while (q < q_end && text_is_blank(*q))
            q++;
        if (p == p_end || q == q_end)
            return p == p_end && q == q_end;
        same = *p++ == *q++;
    }
    return same;
}
#endif

bool lang_format(struct arena *a, struct diag *d, const struct source *source, struct text *out)
{
    struct formatter f = {.arena = a, .source = source};
    struct node *tree = parse_module(a, d, source);
    if (d->errors)
        return false;
    f.scanned = scan_text(a, source);
    make_pieces(&f);
    for (const struct node *n = tree; n; n = n->next)
        mark_node(&f, n);
    while (kind_here(&f) != TOK_END)
        place_declaration(&f);
    find_prefixes(&f.pieces);
    set_breaks(&f.pieces);
    const char *newline = memchr(source->text, '\n', source->length);
    bool returns = newline && newline > source->text && newline[-1] == '\r';
    format_lines(out, &f.pieces, returns ? "\r\n" : "\n");
    assert(same_text(a, source, out));
    return true;
}
