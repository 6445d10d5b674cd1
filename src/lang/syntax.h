/* The syntax tree: the structure of the text, before names and types are resolved.
 *
 * One node type, `struct node`, serves expressions, statements and declarations; `kind` decides
 * which fields are used. Lists are linked through `next`. Every node has its range in the
 * source. */
#ifndef TW_SYNTAX_H
#define TW_SYNTAX_H

#include "base/arena.h"
#include "base/diag.h"
#include "base/dtype.h"
#include "tile/ops.h"

enum node_kind {
    /* expressions */
    N_INT,    /* integer literal: i */
    N_FLOAT,  /* f; also inf, nan */
    N_BOOL,   /* i: 0 or 1 */
    N_STRING, /* text; an argument of print and static_assert, a file of a family */
    N_NAME,   /* text */
    N_MEMBER, /* a.text with a an N_NAME: block.x, device.sms */
    N_ACCESS, /* a an N_NAME; list = indices (N_INDEX); b = `else` value or NULL; by, as N_NAME */
    N_INDEX, /* one [ … ]: i = enum index_form; a = element/start/index tile; b = extent; inside */
    N_UNARY,  /* op a */
    N_BINARY, /* a op b */
    N_SELECT, /* a ? b : c */
    N_CAST,   /* (type) a */
    N_BITS,   /* bits<type>(a) */
    N_CALL, /* text(list); arguments may be N_NAMED; by(…) after it, or NULL. dot_async: c is the k of
               * `sum(promoted k)`, or the N_INT of `sum(unit)` (in_unit), or NULL */
    N_NAMED,  /* a named argument, text = a: axis = 1 */
    N_BRACES, /* {list}: the values of a table; N_BRACES within: rows */
    N_TUPLE,  /* (list): only in tune values and `return (a, b)` */
    N_ELSE,   /* f(x) else v where f(x) is not an access, parsed so that the checker can report
               * it; a, b */
    /* types */
    N_TYPE,   /* text: i32, T, …; or typeof(a): text NULL */
    N_RESULT, /* fn result: i = enum decl_storage, a = type, list = dims; or several: list of
               * N_RESULT, a NULL */
    /* statements */
    N_DECL,     /* one declared name: text; i = enum decl_storage; type; dims; init; see fields */
    N_DECLS,    /* list of the N_DECLs of one statement */
    N_DESTRUCT, /* type (a, b) = f(t): type, list of N_NAME, a = call */
    N_ASSIGN,   /* a = b, or compound: op (OP_COUNT: plain); x++ is x += 1 */
    N_ASYNC,    /* async a = b; text = hint or NULL; c = the mbarrier of async(c), or NULL */
    N_EXPR,     /* a call as a statement: a; is_added: `added` follows it */
    N_IF,       /* a, body, otherwise */
    N_FOR, /* init (N_DECLS or N_ASSIGN list), a = condition or NULL, step (list), body; unroll, stages */
    N_WHILE, /* a, body; is_do */
    N_BLOCK, /* body: list */
    N_ROLE, /* warps(a +: b); over: the N_DECL of the replica or NULL; c = registers or NULL; body */
    N_ONE_THREAD, /* body */
    N_BREAK,
    N_CONTINUE,
    N_RETURN,  /* a or NULL; several: N_TUPLE */
    N_ENSURES, /* over: list of N_DECL (init = bound); a == b */
    N_EMPTY,
    /* module */
    N_IMPORT, /* text: the file name as written */
    N_FAMILY, /* text; list of N_STRING, the files; a of each: the kernel, an N_NAME, or NULL */
    N_CONST,  /* type, text, dims (of a table, whose init is N_BRACES), init */
    N_TUNE, /* names: list of N_NAME; values: list (expressions or N_TUPLE); text = target or NULL */
    N_TYPEVAR,       /* text; list of N_TYPE */
    N_REQUIRE,       /* a */
    N_STATIC_ASSERT, /* a; text = message or NULL */
    N_FN,            /* text; result; params (N_PARAM list); body (N_BLOCK) */
    N_KERNEL,        /* text; params; attributes (N_CALL list: grid, warps, …); body (N_BLOCK) */
    N_PARAM          /* text; type; i = enum decl_storage; is_pointer is_const is_static; dims;
                      * init: the only value (static i32 n = 64), the default (i32 n = 64), or an
                      * expression over earlier parameters that each launch computes: 2 * m */
};

enum index_form { INDEX_VALUE, INDEX_SLICE, INDEX_ALL, INDEX_GATHER /* [t[:]] */ };
enum decl_storage { DECL_PLAIN, DECL_GLOBAL, DECL_SHARED, DECL_REG, DECL_MBARRIER };

struct by; /* tile/tile.h */

struct node {
    enum node_kind kind;
    struct loc loc; /* the whole construct; for declarations: the name */
    struct node *next;
    const char *text;
    int64_t i;
    double f;
    enum op op;
    struct node *a, *b, *c;
    struct node *list;
    struct node *type; /* N_TYPE */
    struct node *dims; /* list of expressions (N_NAME for inferred fn extents) */
    struct node *init;
    struct node *step;
    struct node *body, *otherwise;
    struct node *names;
    struct node *strides; /* N_DECL global: list, or NULL */
    struct node *at;      /* N_DECL shared: the e of at(e), or NULL */
    struct node *result;
    struct node *params;
    struct node *attributes;
    struct node *unroll; /* N_FOR: factor; has_unroll with NULL: unroll fully */
    struct node *stages; /* N_FOR: pipeline(n) */
    struct node *over;   /* N_ENSURES: list of N_DECL, init = bound */
    /* N_NAME N_ACCESS in peer(…, rank): the rank; N_ASYNC: the mask of multicast(…) */
    struct node *peer;
    const struct by *by; /* N_CALL N_NAME N_ACCESS */
    uint32_t start;      /* statements in a body: offset of the first byte */
    int height; /* levels of the expression below; the parser limits it so that recursion is safe */
    enum device_number device; /* N_PARAM whose value the launch asks its device for */
    bool above_i64;            /* N_INT above INT64_MAX: i holds the bits of the u64 */
    bool has_unroll, is_do, inside;
    bool is_ready; /* N_DECL mbarrier, whose `a` is the number of arrivals */
    bool is_clean; /* N_DECL global: `= 0 clean` */
    bool in_unit;  /* N_CALL: `sum(unit)` */
    bool is_added; /* N_EXPR: `sync() added` */
    bool is_pointer, is_const, is_static;
};

/* parse.c: parses the whole text into a list of module-level nodes. It reports text that it
 * cannot read, skips to the next statement or declaration and continues; after an error the list
 * is only useful for finding further errors. */
struct node *parse_module(struct arena *a, struct diag *d, const struct source *source);
#endif
