/* A hash table of names in an arena. A name is any string of bytes. */
#ifndef TW_NAME_TABLE_H
#define TW_NAME_TABLE_H

#include "base/arena.h"

struct name_entry {
    const char *text; /* NULL: free place */
    uint32_t length, hash;
    int kind; /* of the user */
    uint32_t number;
    void *object;
};

struct name_table {
    struct arena *arena;
    struct name_entry *places;
    size_t count, capacity;
};

void name_table_init(struct name_table *names, struct arena *a);
/* Makes room for `count` names in all. */
void name_table_reserve(struct name_table *names, size_t count);
/* Returns NULL if the table has no such name. */
struct name_entry *name_table_find(const struct name_table *names, const char *text, size_t length);
/* Adds a name that the table does not have. The text must outlive the table. The entry stays in
 * place until the next name is added. */
struct name_entry *name_table_add(struct name_table *names, const char *text, size_t length);
/* Returns the entry of a name, which is added if the table does not have it. */
struct name_entry *name_table_entry(struct name_table *names, const char *text, size_t length);

#endif
