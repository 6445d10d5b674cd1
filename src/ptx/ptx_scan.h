/* PTX text as tokens. PTX ISA, lexical elements (syntax). */
#ifndef TW_PTX_SCAN_H
#define TW_PTX_SCAN_H

#include "base/diag.h"

enum ptx_token_kind {
    PTX_TOKEN_END,
    PTX_TOKEN_NAME,    /* identifier, with its $ and % */
    PTX_TOKEN_DOT,     /* .word, may have ::; the text lacks the dot */
    PTX_TOKEN_INTEGER, /* bits */
    PTX_TOKEN_FLOAT,   /* a float's bits: 0f… */
    PTX_TOKEN_DOUBLE,  /* a double's bits: 0d…, 1.5 */
    PTX_TOKEN_STRING,  /* the text between the quotes */
    PTX_TOKEN_PUNCTUATION,
    PTX_TOKEN_ERROR /* reported */
};

struct ptx_token {
    enum ptx_token_kind kind;
    const char *text;
    size_t length;
    uint64_t bits;
    bool is_unsigned; /* integer: 1U, or too large to be signed */
    int punctuation;  /* the character; PTX_TWO of << >> == != <= >= && || */
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
    bool after_value; /* the last token is a number or `)` */
};

void ptx_scan_start(struct ptx_scanner *s, const struct source *source, struct diag *diag);
void ptx_scan_next(struct ptx_scanner *s, struct ptx_token *token);
struct loc ptx_token_loc(const struct ptx_scanner *s, const struct ptx_token *token);

#endif
