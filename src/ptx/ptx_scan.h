/* PTX text as tokens. PTX ISA, lexical elements (syntax). */
#ifndef TW_PTX_SCAN_H
#define TW_PTX_SCAN_H

#include "base/diag.h"

enum ptx_token_kind {
    PTX_TOKEN_END,
    PTX_TOKEN_NAME,    /* identifier, $ and % included */
    PTX_TOKEN_DOT,     /* .word, with ::; text and length without the dot */
    PTX_TOKEN_INTEGER, /* bits */
    PTX_TOKEN_FLOAT,   /* bits of a float: 0f… */
    PTX_TOKEN_DOUBLE,  /* bits of a double: 0d…, 1.5 */
    PTX_TOKEN_STRING,  /* text and length between the quotes */
    PTX_TOKEN_PUNCTUATION,
    PTX_TOKEN_ERROR /* reported */
};

struct ptx_token {
    enum ptx_token_kind kind;
    const char *text;
    size_t length;
    uint64_t bits;
    bool is_unsigned; /* of an integer: 1U, or too large for a signed one */
    int punctuation;  /* the character; of << >> == != <= >= && ||: PTX_TWO */
    uint32_t offset;  /* in the source */
};
static inline bool ptx_token_is_number(const struct ptx_token *t)
{
    return t->kind == PTX_TOKEN_INTEGER || t->kind == PTX_TOKEN_FLOAT ||
           t->kind == PTX_TOKEN_DOUBLE;
}
#define PTX_TWO(a, b) ((a)*256 + (b)) /* of two characters */

struct ptx_scanner {
    const struct source *source;
    struct diag *diag;
    size_t position;
    bool after_value; /* the token before was a number or `)` */
};

void ptx_scan_start(struct ptx_scanner *s, const struct source *source, struct diag *diag);
void ptx_scan_next(struct ptx_scanner *s, struct ptx_token *token);
struct loc ptx_token_loc(const struct ptx_scanner *s, const struct ptx_token *token);

#endif
