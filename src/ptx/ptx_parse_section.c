/* Sections of debug information. PTX ISA, debugging-directives-section.
 *
 *   section = .section .NAME "{" { NAME ":" | .bN value { "," value } } "}"
 *   value   = N | name [ "-" name ] [ "+" N ]          name = NAME | .NAME
 */
#include "ptx/ptx_parser.h"

#include <string.h>

static bool read_symbol(struct ptx_parser *p, const char **name)
{
    if (p->token.kind == PTX_TOKEN_DOT) {
        *name = arena_printf(p->arena, ".%s", ptx_token_text(p));
        ptx_advance(p);
        return true;
    }
    return ptx_read_name(p, "a number or a name", name);
}

static bool read_value(struct ptx_parser *p, struct ptx_datum_value *v)
{
    int64_t offset;
    if (p->token.kind == PTX_TOKEN_INTEGER || ptx_is_at(p, '-')) {
        struct ptx_constant c;
        if (!ptx_read_constant(p, &c))
            return false;
        v->number = c.bits;
        return true;
    }
    if (!read_symbol(p, &v->symbol))
        return false;
    if (ptx_is_at(p, '-') && p->ahead.kind != PTX_TOKEN_INTEGER) {
        ptx_advance(p);
        if (!read_symbol(p, &v->minus))
            return false;
    }
    if (!ptx_read_offset(p, &offset))
        return false;
    v->number = (uint64_t)offset;
    return true;
}

static bool read_values(struct ptx_parser *p, struct ptx_datum *d)
{
    VEC(struct ptx_datum_value) values = {0};
    do {
        struct ptx_datum_value v = {0};
        if (!read_value(p, &v))
            return false;
        vec_push(p->arena, &values, v);
    } while (ptx_accept(p, ','));
    d->values = values.data;
    d->count = values.count;
    return true;
}

static bool read_datum(struct ptx_parser *p, struct ptx_section *s)
{
    static const struct {
        const char *word;
        uint8_t bytes;
    } widths[] = {{"b8", 1}, {"b16", 2}, {"b32", 4}, {"b64", 8}};
    struct ptx_datum d = {0};
    if (p->token.kind == PTX_TOKEN_NAME) {
        if (!ptx_read_name(p, "a label", &d.label) || !ptx_expect(p, ':', "after a label"))
            return false;
        vec_push(p->arena, &s->data, d);
        return true;
    }
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++)
        if (ptx_accept_dot(p, widths[i].word)) {
            d.bytes = widths[i].bytes;
            if (!read_values(p, &d))
                return false;
            vec_push(p->arena, &s->data, d);
            return true;
        }
    return ptx_expected(p, "a label or data");
}

bool ptx_read_section(struct ptx_parser *p)
{
    struct ptx_section *s = arena_new(p->arena, struct ptx_section);
    if (!read_symbol(p, &s->name) || !ptx_expect(p, '{', "after the name of a section"))
        return false;
    while (!ptx_is_at(p, '}'))
        if (!read_datum(p, s))
            return false;
    ptx_advance(p);
    struct ptx_item item = {.kind = PTX_ITEM_SECTION, .section = s};
    vec_push(p->arena, &p->module->items, item);
    return true;
}
