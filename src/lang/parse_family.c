/* `family NAME { "FILE"; "FILE": KERNEL; }`: kernels that compute the same, by their files.
 *
 * The declaration names files and does not read them: each file is a program of its own, with its
 * own tuned names. So a program with a family compiles as it would without, and a file that has a
 * family may be a member's file, too. */
#include "lang/check_internal.h"
#include "lang/parse_internal.h"

#include "base/platform.h"

/* --- the grammar --- */

bool parse_at_family(const struct parser *p)
{
    enum token_kind next = parse_peek_ahead(p, 1)->kind;
    return parse_at_word(p, "family") && !parse_is_declared_type(p, parse_peek(p)) &&
           (next == TOK_NAME || next == TOK_LBRACE || next == TOK_STRING);
}

/* member = STRING [ ":" NAME ] ";" */
static struct node *parse_member(struct parser *p)
{
    struct node *n = node_new(p, N_STRING, parse_here(p));
    n->text = parse_peek(p)->text;
    if (!*n->text && parse_complain(p, n->loc, "this member names no file"))
        parse_note(p, n->loc, "write `\"FILE.tile\";`");
    parse_advance(p);
    if (parse_accept(p, TOK_COLON)) {
        struct loc where = parse_here(p);
        n->a = node_name(p, parse_expect_name(p, "the kernel's name"), where);
    }
    parse_expect_semicolon(p, "after the member");
    return n;
}

/* family = "family" NAME "{" member { member } "}" */
struct node *parse_family(struct parser *p)
{
    struct node *n = node_new(p, N_FAMILY, parse_here(p)), **tail = &n->list;
    parse_advance(p);
    n->loc = parse_here(p);
    n->text = parse_expect_name(p, "the family's name");
    uint32_t open = p->pos;
    if (!parse_expect(p, TOK_LBRACE, "before the family's files"))
        return NULL;
    while (!parse_at(p, TOK_RBRACE) && !parse_at(p, TOK_END)) {
        if (parse_at(p, TOK_STRING)) {
            *tail = parse_member(p);
            tail = &(*tail)->next;
        } else if (parse_fail_expected(p, "the file of a kernel, a string")) {
            parse_note(p, parse_here(p), "write `\"FILE.tile\";`, or `\"FILE.tile\": KERNEL;`");
        }
    }
    if (parse_at(p, TOK_RBRACE) && !n->list &&
        parse_complain(p, n->loc, "the family `%s` has no kernel", n->text))
        parse_note(p, n->loc, "name the file of each kernel: `\"FILE.tile\";`");
    parse_expect_close(p, open, "after the family's files");
    return n;
}

/* --- queries --- */

int lang_family_count(const struct module *m)
{
    return (int)m->families.count;
}

struct lang_family lang_family(struct arena *a, const struct module *m, int index)
{
    const struct node *n = m->families.data[index];
    struct lang_family f = {.name = n->text, .loc = n->loc};
    for (const struct node *file = n->list; file; file = file->next) {
        struct lang_member one = {.at = file->loc, .file = file->text};
        if (file->a) {
            one.kernel = file->a->text;
            one.kernel_at = file->a->loc;
        }
        vec_push(a, &f.members, one);
    }
    return f;
}
