/* What the files of the parser share.
 *
 * The parser is recursive descent over an array of tokens. After an error it is in *panic*: every
 * look at the current token gives TOK_END, so all loops end and all functions return, silently, to
 * a place that knows how to go on (a statement, a declaration, a bracket whose partner is known).
 * That place ends the panic. So no function needs to check for the failure of another, and one slip
 * gives one message.
 *
 * A slip whose meaning is plain (`int` for i32, A[i, j] for A[i][j]) is reported and read as what
 * was meant, without panic.
 */
#ifndef TW_PARSE_INTERNAL_H
#define TW_PARSE_INTERNAL_H

#include "base/name_table.h"
#include "lang/scan.h"
#include "lang/syntax.h"

enum {
    MAX_NESTING = 256, /* statements, brackets, prefix operators and `else if`s inside each other */
    MAX_HEIGHT = 12000 /* levels of an expression's tree: `a + b + c + …` makes one a term */
};

struct parser {
    struct arena *arena;
    struct diag *diag;
    const struct source *source;
    const struct token *tokens;
    uint32_t count, pos;
    const struct problem *problems; /* of the scanner; reported as they are passed */
    size_t problem_count, problems_told;
    struct token end; /* what is seen in panic */
    bool panic;
    bool stopped;       /* nothing more is to be read: nested too deeply, or too many errors */
    uint32_t error_pos; /* token of the latest error: the next one there would be its echo */
    uint32_t previous;  /* token that was passed last */
    int depth;          /* levels under way, up to MAX_NESTING */
    struct name_table type_names; /* `type` declarations of the whole module */
    struct name_table fn_names;   /* fns of the whole module */
    struct name_table fn_types;   /* types that the parameters of the fn being read bring */
    struct name_table told;       /* words reported once for the whole text */
};

/* --- parse.c: tokens --- */

const struct token *peek(const struct parser *p);
const struct token *peek_ahead(const struct parser *p, uint32_t n); /* n = 0: the current one */
bool at(const struct parser *p, enum token_kind kind);
bool at_word(const struct parser *p, const char *word); /* a name with that text */
bool token_is(const struct parser *p, const struct token *t, const char *word);
void advance(struct parser *p);
bool accept(struct parser *p, enum token_kind kind);
bool accept_word(struct parser *p, const char *word);
void go_to(struct parser *p, uint32_t pos);
const char *token_text(struct parser *p, const struct token *t);  /* as written */
const char *token_shown(struct parser *p, const struct token *t); /* "'x'", "a string", … */
struct loc token_loc(const struct parser *p, const struct token *t);
struct loc here(const struct parser *p); /* of the token where the parser is */
struct loc range_from(const struct parser *p,
                      uint32_t first); /* from token `first` to the one passed last */

/* --- parse.c: errors --- */

/* Reports, unless in panic or at the place of the latest error. Whether it did: notes follow only
 * then. */
bool complain(struct parser *p, struct loc where, const char *format, ...) DIAG_FORMAT(3, 4);
/* The same, and panic. */
bool fail(struct parser *p, struct loc where, const char *format, ...) DIAG_FORMAT(3, 4);
void note(struct parser *p, struct loc where, const char *format, ...) DIAG_FORMAT(3, 4);
/* The note "write `TEXT`", with that as the fix: it takes the place of the range. */
void note_write(struct parser *p, struct loc where, const char *text);
/* Returns the spelling here of a function of other languages, as a sentence. NULL: the name itself is
 * the spelling, or it is not known (check_help.c). */
const char *call_way_out(const char *name);
/* A change of the text as the fix of what was just reported. */
void fix(struct parser *p, struct loc where, const char *text);
/* The token with the blanks after it, as a range to be removed. */
struct loc with_blanks(const struct parser *p, struct loc token);
/* The report is of a word or form of another language. */
void is_foreign(struct parser *p);
/* "expected WHAT, saw …", at the current token. */
bool fail_expected(struct parser *p, const char *what);
/* The token, or "expected ';' AFTER, saw …". */
bool expect(struct parser *p, enum token_kind kind, const char *after);
/* The bracket that closes token `open`. If it is not here but somewhere ahead, the parser goes on
 * behind it, and a panic within the brackets ends. */
void expect_close(struct parser *p, uint32_t open, const char *after);
/* ';' at the end of a statement. A missing one is pointed at where it should stand, and taken as
 * read when the next token begins a line. */
void expect_semicolon(struct parser *p, const char *after);
const char *expect_name(struct parser *p, const char *what); /* "" in panic */
/* Passes the rest of a construct: through its `;` or its `{ … }`. */
void skip_construct(struct parser *p);
bool enter(struct parser *p); /* one level down; false: too deep, and the parser stops */
void leave(struct parser *p);

/* --- parse.c: words --- */

bool name_known(const struct name_table *names, const struct parser *p, const struct token *t);
/* A type variable of the module or of the fn at hand; such a name hides what it means in C. */
bool is_declared_type(const struct parser *p, const struct token *t);
/* At a word that means something in C, and here nothing that the program declares. */
bool at_foreign(const struct parser *p, const char *word);
/* A name that is a type wherever it stands: dtypes, type variables, C's types, types to come. */
bool is_type_name(const struct parser *p, const struct token *t);
/* The type to write for a type of C, NULL if it is none. */
const char *c_type(const struct parser *p, const struct token *t);
/* The keyword that a name is nearly, of `count` kinds; NULL: none. */
const char *near_keyword(struct parser *p, const struct token *t, const unsigned char *kinds,
                         size_t count);
/* A type that this version has not: what it is, or NULL. */
const char *future_type(const struct parser *p, const struct token *t);
bool is_future_word(const struct parser *p, const struct token *t);
/* "`mbarrier` belongs to Hopper kernels …", once for each word. */
void report_future(struct parser *p, const struct token *t);
void report_future_type(struct parser *p, const struct token *t, const char *what);
bool in_first_column(const struct parser *p, const struct token *t);

/* --- nodes --- */

struct node *node_new(struct parser *p, enum node_kind kind, struct loc loc);
struct node *node_int(struct parser *p, int64_t i, struct loc loc);
struct node *node_name(struct parser *p, const char *text, struct loc loc);
/* Notes that child stands below parent. */
void node_below(struct parser *p, struct node *parent, const struct node *child);

/* --- parse_expr.c --- */

struct node *parse_expr(struct parser *p);
/* Of if, while, for, require …: here `=` was meant as `==`. */
struct node *parse_condition(struct parser *p);
struct node *parse_tuple_or_expr(struct parser *p); /* (a, b) where several values may stand */
struct node *parse_call(struct parser *p);          /* NAME ( … ) */
struct node *
parse_access(struct parser *p); /* NAME { [ … ] }: N_NAME or N_ACCESS, without `else` */
struct node *parse_dims(struct parser *p); /* { "[" expr "]" } */
struct node *parse_list(struct parser *p,
                        enum token_kind close); /* expr { , expr }, before `close` */

/* --- parse_decl.c --- */

bool starts_declaration(struct parser *p);
struct node *parse_declaration(struct parser *p); /* without ';' : N_DECLS or N_DESTRUCT */
struct node *parse_type(struct parser *p);
struct node *parse_toplevel(struct parser *p); /* one or several linked nodes, or NULL */
struct node *parse_require(struct parser *p);
struct node *parse_static_assert(struct parser *p);

/* --- parse_stmt.c --- */

struct node *parse_block(struct parser *p, const char *of);

#endif
