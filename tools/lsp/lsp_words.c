#include "lsp/lsp.h"

const struct lsp_word lsp_words[] = {
#define LSP_WORD(kind, word, form, result, note) {word, LSP_##kind, form, result, note},
#include "lsp/lsp_words.def"
#undef LSP_WORD
    {NULL, LSP_KEYWORD, NULL, NULL, NULL},
};
