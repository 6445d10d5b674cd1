#include "ptx/ptx_names.h"

#include "ptx/ptx_table.h"

#include <string.h>

void ptx_names_init(struct ptx_names *names, struct arena *a)
{
    *names = (struct ptx_names){.arena = a};
}

/* FNV-1a. */
static uint32_t hash_of(const char *text, size_t length)
{
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)text[i]) * 16777619u;
    return hash;
}

/* The place of the name, or the free one where it would go. The table is never full. */
static struct ptx_name *place_of(const struct ptx_names *names, const char *text, size_t length,
                                 uint32_t hash)
{
    size_t mask = names->capacity - 1;
    for (size_t i = hash & mask;; i = (i + 1) & mask) {
        struct ptx_name *name = &names->places[i];
        if (!name->text ||
            (name->hash == hash && name->length == length && memcmp(name->text, text, length) == 0))
            return name;
    }
}

struct ptx_name *ptx_names_find(const struct ptx_names *names, const char *text, size_t length)
{
    if (!names->count)
        return NULL;
    struct ptx_name *name = place_of(names, text, length, hash_of(text, length));
    return name->text ? name : NULL;
}

static void grow(struct ptx_names *names)
{
    struct ptx_names larger = {.arena = names->arena,
                               .count = names->count,
                               .capacity = names->capacity ? names->capacity * 2 : 16};
    larger.places = arena_array(names->arena, struct ptx_name, larger.capacity);
    for (size_t i = 0; i < names->capacity; i++) {
        const struct ptx_name *old = &names->places[i];
        if (old->text)
            *place_of(&larger, old->text, old->length, old->hash) = *old;
    }
    *names = larger;
}

struct ptx_name *ptx_names_add(struct ptx_names *names, const char *text, size_t length)
{
    if (names->count * 2 >= names->capacity)
        grow(names);
    uint32_t hash = hash_of(text, length);
    struct ptx_name *name = place_of(names, text, length, hash);
    *name = (struct ptx_name){.text = text, .length = (uint32_t)length, .hash = hash};
    names->count++;
    return name;
}

/* --- the tables --- */

void ptx_index_init(struct ptx_index *index, struct arena *a)
{
    ptx_names_init(&index->ops, a);
    ptx_names_init(&index->mods, a);
    ptx_names_init(&index->specials, a);
    for (uint32_t i = 0; i < PTX_OP_COUNT; i++)
        ptx_names_add(&index->ops, ptx_ops[i].name, strlen(ptx_ops[i].name))->number = i;
    for (uint32_t i = MOD_NONE + 1; i < MOD_COUNT; i++)
        ptx_names_add(&index->mods, ptx_mods[i].text, strlen(ptx_mods[i].text))->number = i;
    for (uint32_t i = 0; i < PTX_SPECIAL_COUNT; i++)
        ptx_names_add(&index->specials, ptx_specials[i].name, strlen(ptx_specials[i].name))
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
        const struct ptx_name *found = ptx_names_find(&index->ops, name, length);
        if (found) {
            op = (int)found->number;
            *used = i + 1;
        }
    }
    return op;
}
