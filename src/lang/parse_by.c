/* by(…): the unit or copier of an operation, and its options. The names of units and copiers are the target's, so the parser
 * takes any. */
#include "lang/parse_internal.h"
#include "tile/tile.h"

#include <string.h>

bool parse_at_by(const struct parser *p)
{
    return parse_at_word(p, "by") && parse_peek_ahead(p, 1)->kind == TOK_LPAREN;
}

/* Returns true at a token that names and words are made of: `cp.async.16` has three, one of which is a
 * keyword, and `.16`. */
static bool at_part(const struct parser *p)
{
    const struct token *t = parse_peek(p);
    return t->kind == TOK_NAME || t->kind == TOK_INT || t->kind == TOK_FLOAT ||
           t->kind == TOK_DOT || token_table[t->kind].keyword;
}

static bool is_after_blank(const struct parser *p, const struct token *t)
{
    return t > p->tokens && t[-1].offset + t[-1].length < t->offset;
}

/* Parses the parts up to ',' or ')'; one blank remains between two that are apart. */
static const char *parse_parts(struct parser *p, bool blanks, const char *what)
{
    struct text t;
    const char *source = p->source->text;
    text_init(&t, p->arena);
    text_add(&t, "");
    while (at_part(p)) {
        const struct token *part = parse_peek(p);
        if (t.length > 0 && is_after_blank(p, part)) {
            if (!blanks || part->kind == TOK_DOT || t.data[t.length - 1] == '.')
                break;
            text_add_char(&t, ' ');
        }
        text_add_n(&t, source + part->offset, part->length);
        parse_advance(p);
    }
    if (t.length == 0)
        parse_fail_expected(p, what);
    return t.data;
}

/* by = "by" "(" name { "," word } ")" */
const struct by *parse_by(struct parser *p)
{
    VEC(const char *) words = {0};
    struct by *by = arena_new(p->arena, struct by);
    uint32_t first = p->pos, open = first + 1;
    parse_advance(p);
    parse_advance(p);
    by->name = parse_parts(p, false, "the name of a unit, as in `by(fma)`");
    while (parse_accept(p, TOK_COMMA))
        vec_push(p->arena, &words, parse_parts(p, true, "a word about the unit"));
    by->words = words.data;
    by->count = (int)words.count;
    parse_expect_close(p, open, "after the unit");
    by->loc = parse_range_from(p, first);
    return by;
}
