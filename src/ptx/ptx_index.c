#include "ptx/ptx_index.h"

#include "ptx/ptx_table.h"

#include <string.h>

void ptx_index_init(struct ptx_index *index, struct arena *a)
{
    name_table_init(&index->ops, a);
    name_table_init(&index->mods, a);
    name_table_init(&index->specials, a);
    name_table_reserve(&index->ops, PTX_OP_COUNT);
    name_table_reserve(&index->mods, MOD_COUNT);
    name_table_reserve(&index->specials, PTX_SPECIAL_COUNT);
    for (uint32_t i = 0; i < PTX_OP_COUNT; i++)
        name_table_add(&index->ops, ptx_ops[i].name, strlen(ptx_ops[i].name))->number = i;
    for (uint32_t i = MOD_NONE + 1; i < MOD_COUNT; i++)
        name_table_add(&index->mods, ptx_mods[i].text, strlen(ptx_mods[i].text))->number = i;
    for (uint32_t i = 0; i < PTX_SPECIAL_COUNT; i++)
        name_table_add(&index->specials, ptx_specials[i].name, strlen(ptx_specials[i].name))
            ->number = i;
}

enum { MOST_WORDS = 5, MOST_LENGTH = 64 };

int ptx_index_op(const struct ptx_index *index, const struct ptx_word *words, size_t count,
                 size_t *used)
{
    char name[MOST_LENGTH];
    size_t length = 0;
    int op = PTX_OP_COUNT;
    *used = 0;
    for (size_t i = 0; i < count && i < MOST_WORDS; i++) {
        if (length + words[i].length + 1 > sizeof name)
            break;
        if (i)
            name[length++] = '.';
        memcpy(name + length, words[i].text, words[i].length);
        length += words[i].length;
        const struct name_entry *found = name_table_find(&index->ops, name, length);
        if (found) {
            op = (int)found->number;
            *used = i + 1;
        }
    }
    return op;
}
