/* Instructions and modifiers of PTX by name, for the parser. */
#ifndef TW_PTX_INDEX_H
#define TW_PTX_INDEX_H

#include "base/name_table.h"

struct ptx_index {
    struct name_table ops, mods, specials;
};
void ptx_index_init(struct ptx_index *index, struct arena *a);
/* Finds the instruction whose name is the longest prefix of the `count` words (parts between
 * dots), and sets *used to the number of words in that name. Returns PTX_OP_COUNT if there is
 * none. */
struct ptx_word {
    const char *text;
    size_t length;
};
int ptx_index_op(const struct ptx_index *index, const struct ptx_word *words, size_t count,
                 size_t *used);

#endif
