#include "base/name_table.h"

#include <assert.h>
#include <string.h>

void name_table_init(struct name_table *names, struct arena *a)
{
    *names = (struct name_table){.arena = a};
}

/* FNV-1a. */
static uint32_t hash_of(const char *text, size_t length)
{
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)text[i]) * 16777619u;
    return hash;
}

/* Returns the entry of the name, or the free entry for it. The table is never full. */
static struct name_entry *place_of(const struct name_table *names, const char *text, size_t length,
                                   uint32_t hash)
{
    assert(names->count < names->capacity);
    size_t mask = names->capacity - 1;
    for (size_t i = hash & mask;; i = (i + 1) & mask) {
        struct name_entry *name = &names->places[i];
        if (!name->text ||
            (name->hash == hash && name->length == length && memcmp(name->text, text, length) == 0))
            return name;
    }
}

struct name_entry *name_table_find(const struct name_table *names, const char *text, size_t length)
{
    if (!names->count)
        return NULL;
    struct name_entry *name = place_of(names, text, length, hash_of(text, length));
    return name->text ? name : NULL;
}

static void make_room(struct name_table *names, size_t capacity)
{
    struct name_table larger = {.arena = names->arena, .count = names->count, .capacity = capacity};
    larger.places = arena_array(names->arena, struct name_entry, larger.capacity);
    for (size_t i = 0; i < names->capacity; i++) {
        const struct name_entry *old = &names->places[i];
        if (old->text)
            *place_of(&larger, old->text, old->length, old->hash) = *old;
    }
    *names = larger;
}

void name_table_reserve(struct name_table *names, size_t count)
{
    size_t capacity = names->capacity ? names->capacity : 16;
    while (capacity <= 2 * count)
        capacity *= 2;
    if (capacity > names->capacity)
        make_room(names, capacity);
}

struct name_entry *name_table_add(struct name_table *names, const char *text, size_t length)
{
    if (names->count * 2 >= names->capacity)
        make_room(names, names->capacity ? names->capacity * 2 : 16);
    uint32_t hash = hash_of(text, length);
    struct name_entry *name = place_of(names, text, length, hash);
    assert(!name->text); /* the caller looked for it */
    *name = (struct name_entry){.text = text, .length = (uint32_t)length, .hash = hash};
    names->count++;
    return name;
}

struct name_entry *name_table_entry(struct name_table *names, const char *text, size_t length)
{
    struct name_entry *name = name_table_find(names, text, length);
    return name ? name : name_table_add(names, text, length);
}
