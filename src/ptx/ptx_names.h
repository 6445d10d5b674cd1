/* Names and what they stand for: a hash table in an arena. */
#ifndef TW_PTX_NAMES_H
#define TW_PTX_NAMES_H

#include "base/arena.h"

struct ptx_name {
    const char *text; /* NULL: free place */
    uint32_t length, hash;
    int kind; /* the user's */
    uint32_t number;
    void *object;
};

struct ptx_names {
    struct arena *arena;
    struct ptx_name *places;
    size_t count, capacity;
};

void ptx_names_init(struct ptx_names *names, struct arena *a);
/* NULL if it is not there. */
struct ptx_name *ptx_names_find(const struct ptx_names *names, const char *text, size_t length);
/* A new name; the text must outlive the table and end with '\0'. The caller has seen that it is not
 * there. */
struct ptx_name *ptx_names_add(struct ptx_names *names, const char *text, size_t length);

/* Instructions and modifiers by name, for reading text. */
struct ptx_index {
    struct ptx_names ops, mods, specials;
};
void ptx_index_init(struct ptx_index *index, struct arena *a);
/* The instruction whose name is the longest start of the `count` words (parts between dots); *used
 * says how many words it is. PTX_OP_COUNT if there is none. */
struct ptx_word {
    const char *text;
    size_t length;
};
int ptx_index_op(const struct ptx_index *index, const struct ptx_word *words, size_t count,
                 size_t *used);

#endif
