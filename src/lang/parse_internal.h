/* Declarations that the files of the parser share.
 *
 * The parser is recursive descent over an array of tokens. After an error it is in *panic*: every
 * look at the current token gives TOK_END, so all loops end and all functions return, silently, to
 * a place that can continue (a statement, a declaration, a bracket whose partner is known). That
 * place ends the panic. So no function needs to check whether another failed, and each slip gives
 * one message.
 *
 * A slip with an obvious meaning (`int` for i32, A[i, j] for A[i][j]) is reported and read as
 * that meaning, without panic. */
#ifndef TW_PARSE_INTERNAL_H
#define TW_PARSE_INTERNAL_H

#include "base/name_table.h"
#include "lang/scan.h"
#include "lang/syntax.h"

enum {
    MAX_NESTING = 256, /* limit of nested statements, brackets, prefix operators and `else if`s */
    MAX_HEIGHT = 12000 /* limit of the levels of an expression's tree: `a + b + c + …` has a
                        * level for each term */
};

enum parse_words { WORDS_C_TYPES, WORDS_FUTURE_TYPES, WORDS_FUTURE, WORDS };

struct parser {
    /* An expression, and an operand of operators, have expressions in brackets: parse_expr and
     * parse_unary call these, which parse_tokens sets. */
    struct node *(*expr)(struct parser *p);
    struct node *(*unary)(struct parser *p);
    struct arena *arena;
    struct diag *diag;
    const struct source *source;
    const struct token *tokens;
    uint32_t count, pos;
    const struct scan_problem
        *problems; /* found by the scanner; reported when the parser passes them */
    size_t problem_count, problems_told;
    struct token end; /* the token that the parser sees in panic */
    bool panic;
    bool stopped;       /* nothing more is read: the text is nested too deeply, or has too many
                         * errors */
    uint32_t error_pos; /* token of the latest error: a second error at that token is not
                         * reported */
    uint32_t previous;  /* the token passed last */
    bool in_kernel;     /* and not in a fn */
    bool device[DEVICE_CLUSTERS + 1]; /* numbers of the device that the kernel has named */
    int depth;                        /* present nesting, up to MAX_NESTING */
    struct name_table type_names;     /* `type` declarations of the whole module */
    struct name_table fn_names;       /* fns of the whole module */
    struct name_table fn_types;       /* types that the parameters of the present fn bring */
    struct name_table told;           /* words that are reported once in a text */
    struct name_table *words; /* tables of words, by enum parse_words; made when asked for */
};

/* --- parse_token.c: tokens --- */

const struct token *parse_peek(const struct parser *p);
const struct token *parse_peek_ahead(const struct parser *p,
                                     uint32_t n); /* n = 0: the current token */
bool parse_at(const struct parser *p, enum token_kind kind);
bool parse_at_word(const struct parser *p, const char *word); /* true at a name with that text */
bool token_is(const struct parser *p, const struct token *t, const char *word);
void parse_advance(struct parser *p);
bool parse_accept(struct parser *p, enum token_kind kind);
bool parse_accept_word(struct parser *p, const char *word);
void parse_go_to(struct parser *p, uint32_t pos);
const char *token_text(struct parser *p, const struct token *t);  /* the token as written */
const char *token_shown(struct parser *p, const struct token *t); /* "'x'", "a string", … */
struct loc token_loc(const struct parser *p, const struct token *t);
struct loc parse_here(const struct parser *p); /* place of the current token */
struct loc parse_range_from(const struct parser *p,
                            uint32_t first); /* from token `first` to the token passed last */

/* --- parse_token.c: errors --- */

/* Reports the problems that the scanner found up to the current token. */
void parse_tell_problems(struct parser *p);
/* Reports an error, except in panic or at the place of the latest error. Returns true if it
 * reported; the caller adds notes only then. */
bool parse_complain(struct parser *p, struct loc where, const char *format, ...) DIAG_FORMAT(3, 4);
/* Reports an error as complain() does, and starts a panic. */
bool parse_fail(struct parser *p, struct loc where, const char *format, ...) DIAG_FORMAT(3, 4);
void parse_note(struct parser *p, struct loc where, const char *format, ...) DIAG_FORMAT(3, 4);
/* Adds the note "write `TEXT`", with a fix that replaces the range by the text. */
void parse_note_write(struct parser *p, struct loc where, const char *text);
/* Returns the spelling here of a function of other languages, as a sentence. NULL: the spelling
 * is the same, or the function is not known (check_help.c). */
const char *check_call_way_out(const char *name);
/* Adds a change of the text as the fix of the latest report. */
void parse_fix(struct parser *p, struct loc where, const char *text);
/* Returns the range of a token and the blanks after it, to be removed. */
struct loc parse_with_blanks(const struct parser *p, struct loc token);
/* Marks the latest report as being about a word or form of another language. */
void parse_is_foreign(struct parser *p);
/* Reports "expected WHAT, saw …" at the current token. */
bool parse_fail_expected(struct parser *p, const char *what);
/* Passes the token, or reports "expected ';' AFTER, saw …". */
bool parse_expect(struct parser *p, enum token_kind kind, const char *after);
/* Passes the bracket that closes token `open`. If it is not here but ahead, the parser continues
 * after it, and a panic within the brackets ends. */
void parse_expect_close(struct parser *p, uint32_t open, const char *after);
/* Passes the ';' at the end of a statement. Points at the place of a missing one; if the next
 * token begins a line, the parser continues as if it had read the ';'. */
void parse_expect_semicolon(struct parser *p, const char *after);
const char *parse_expect_name(struct parser *p, const char *what); /* returns "" in panic */
/* Returns whether `<<<` follows the next token: a launch as in CUDA. */
bool parse_at_launch(const struct parser *p);
/* Passes the rest of a construct: through its `;` or its `{ … }`. */
void parse_skip_construct(struct parser *p);
bool parse_enter(struct parser *p); /* enters a nested construct; false: nested too deeply, and the
                               * parser stops */
void parse_leave(struct parser *p);

/* --- parse_token.c: words --- */

bool parse_name_known(const struct name_table *names, const struct parser *p,
                      const struct token *t);
/* Returns true for a type variable of the module or of the present fn. Such a name hides its
 * meaning in C. */
bool parse_is_declared_type(const struct parser *p, const struct token *t);
/* Returns true at a word of C that the program does not declare. */
bool parse_at_foreign(const struct parser *p, const char *word);
/* Returns true for a name that is a type at any place: dtypes, type variables, types of C,
 * future types. */
bool parse_is_type_name(const struct parser *p, const struct token *t);
/* Returns the type to write instead of a type of C; NULL if it is not one. */
const char *parse_c_type(const struct parser *p, const struct token *t);
/* Returns the keyword, of `count` kinds, that a name nearly is; NULL: none. */
const char *parse_near_keyword(struct parser *p, const struct token *t, const unsigned char *kinds,
                               size_t count);
/* Returns the description of a type that this version does not have; NULL: not such a type. */
const char *parse_future_type(const struct parser *p, const struct token *t);
bool parse_is_future_word(const struct parser *p, const struct token *t);
/* Reports "`mbarrier` belongs to Hopper kernels …", once for each word. */
void parse_report_future(struct parser *p, const struct token *t);
void parse_report_future_type(struct parser *p, const struct token *t, const char *what);
bool parse_in_first_column(const struct parser *p, const struct token *t);

/* --- parse_token.c: nodes --- */

struct node *node_new(struct parser *p, enum node_kind kind, struct loc loc);
struct node *node_int(struct parser *p, int64_t i, struct loc loc);
struct node *node_name(struct parser *p, const char *text, struct loc loc);
/* Records in parent that child is below it. */
void node_below(struct parser *p, struct node *parent, const struct node *child);
/* Makes a node with one operand, of the text from token `first` on. */
static inline struct node *node_unary(struct parser *p, enum node_kind kind, uint32_t first,
                                      struct node *a)
{
    struct node *n = node_new(p, kind, parse_range_from(p, first));
    n->a = a;
    node_below(p, n, a);
    return n;
}
/* Makes a node in place of text that could not be parsed. */
static inline struct node *node_hole(struct parser *p)
{
    return node_int(p, 0, parse_here(p));
}
/* Appends `more` at *tail. Returns the new end of the list. */
static inline struct node **append_nodes(struct node **tail, struct node *more)
{
    *tail = more;
    while (*tail)
        tail = &(*tail)->next;
    return tail;
}

/* --- parse_operator.c --- */

struct node *parse_operators(struct parser *p); /* parser.expr */
struct node *parse_prefixed(struct parser *p);  /* parser.unary */
static inline struct node *parse_expr(struct parser *p)
{
    return p->expr(p);
}
/* Parses an operand of the operators between two values. */
static inline struct node *parse_unary(struct parser *p)
{
    return p->unary(p);
}
/* Parses the condition of if, while, for, require …. It reads `=` as `==`, and reports it. */
struct node *parse_condition(struct parser *p);

/* --- parse_expr.c --- */

struct node *parse_postfix(struct parser *p); /* a value, with what follows it */
struct node *parse_literal(struct parser *p);
bool parse_at_cast(const struct parser *p);         /* true at `(TYPE)` before a value */
struct node *parse_tuple_or_expr(struct parser *p); /* (a, b) where several values are allowed */
struct node *parse_call(struct parser *p);          /* NAME ( … ) */
struct node *parse_owned_call(struct parser *p);    /* parse_slip_owned_call, and the call */
struct node *
parse_access(struct parser *p); /* NAME { [ … ] } [ by ]: N_NAME or N_ACCESS, without `else` */
bool parse_at_peer(const struct parser *p); /* peer(…): a place in the memory of another block */
struct node *parse_dims(struct parser *p);  /* { "[" expr "]" } */
struct node *parse_list(struct parser *p,
                        enum token_kind close); /* expr { , expr }, before `close` */

/* --- parse_by.c --- */

bool parse_at_by(const struct parser *p); /* true at `by (`, not on a line of its own */
const struct by *parse_by(struct parser *p);

/* --- parse_type.c --- */

struct node *parse_type(struct parser *p);

/* --- parse_decl.c --- */

struct node *parse_braces(struct parser *p, int depth); /* values of a table */
bool parse_starts_declaration(struct parser *p);
struct node *parse_mbarriers(struct parser *p);
struct node *parse_declaration(struct parser *p); /* without ';': N_DECLS or N_DESTRUCT */
struct node *parse_require(struct parser *p);
struct node *parse_static_assert(struct parser *p);
enum decl_storage parse_storage(struct parser *p); /* DECL_PLAIN: no word of storage is here */

/* --- parse_kernel.c --- */

struct node *parse_fn(struct parser *p);
struct node *parse_kernel(struct parser *p);
/* Counts the tokens before the name of a kernel of CUDA C: [ "extern" STRING | "static" ]
 * "__global__" "void" [ "__launch_bounds__" "(" … ")" ], the last three in any order. 0: no such
 * kernel is here. */
uint32_t parse_cuda_words(const struct parser *p);
/* Reports a kernel of CUDA C and reads it as a kernel. */
struct node *parse_slip_cuda_kernel(struct parser *p);
/* Returns the `>` that ends the list of a kernel's template, counted from the current token; 0: no
 * such template is here. */
uint32_t parse_template_close(struct parser *p);
/* Reports the template whose list ends there, and passes it. */
struct node *parse_slip_template(struct parser *p, uint32_t close);

/* --- parse_foreign.c: text of other languages --- */

/* Returns true at v.max(), np.max(v), std::exp(v): a call after a name and a separator. */
bool parse_at_owned_call(const struct parser *p);
/* Reports a call at which parse_at_owned_call is true, and passes what is before its name. Returns
 * true if it is a function of a module, which is read as the function here with that meaning. */
bool parse_slip_owned_call(struct parser *p);
/* Reports `.T`, `.to(f32)` … after the value that began at token `first`, and passes them. */
void parse_slip_methods(struct parser *p, uint32_t first);
/* Returns true after `np.`, at inf or nan. */
bool parse_at_number_of_module(const struct parser *p);
struct node *parse_slip_number_of_module(struct parser *p);
/* Reports float('inf') and returns the number; NULL: it is not at such text. */
struct node *parse_slip_number_as_text(struct parser *p);
/* Returns true at std::numeric_limits<T>::…. */
bool parse_at_numeric_limits(const struct parser *p);
struct node *parse_slip_numeric_limits(struct parser *p);
/* Returns true at static_cast<T>(x) and its like. */
bool parse_at_cpp_cast(const struct parser *p);
struct node *parse_slip_cpp_cast(struct parser *p);
/* Returns true at a function of C, `float relu(float x) {`, with or without `__device__`. */
bool parse_at_c_function(const struct parser *p);
/* Reports it, and passes the words before the type of the result. */
void parse_slip_c_function(struct parser *p);
/* Reports a text that is wholly CUDA C or Python, once: the later errors of the parser only add
 * to its fix. Python is not read further. */
void parse_report_other_language(struct parser *p);

/* --- parse_family.c --- */

/* Returns true at the word `family` of a declaration; it is a name elsewhere. */
bool parse_at_family(const struct parser *p);
struct node *parse_family(struct parser *p);

/* --- parse_top.c --- */

struct node *parse_toplevel(struct parser *p); /* one or several linked nodes, or NULL */

/* --- parse_stmt.c --- */

struct node *parse_block(struct parser *p, const char *of);

/* parse.c: parses the tokens of one of several texts. type_names and fn_names hold the names that
 * earlier texts declare with `type` and `fn`, and get those of this text. */
struct node *parse_tokens(struct arena *a, struct diag *d, const struct source *source,
                          struct token_list list, struct name_table *type_names,
                          struct name_table *fn_names);

#endif
