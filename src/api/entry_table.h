/* The variants of an entry (entry.c), found by their keys: an open-addressing table. Any number of
 * threads look variants up while one thread adds one.
 *
 * A variant is complete before it is published (release) and lives as long as the table, so a
 * look-up (acquire) needs no lock and its result needs no reference count. A thread that adds a
 * variant holds the entry's lock. */
#ifndef TW_ENTRY_TABLE_H
#define TW_ENTRY_TABLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    ENTRY_PARAMS = 64,    /* of a kernel: one bit each in a key's first two words */
    ENTRY_VARIANTS = 512, /* that a table holds at most */
    ENTRY_SLOTS = 1024,   /* a power of two: half of them stay free */
    ENTRY_FACTS = 2,      /* words of facts */
    ENTRY_WORDS = ENTRY_FACTS + ENTRY_PARAMS,
};

/* The facts that a variant was compiled for. word[0] has a bit for each parameter: its integer,
 * or its address, is a multiple of 16; word[1]: its integer is a multiple of 8. The other words
 * are the values of statics, in order. */
struct entry_key {
    int words; /* in use */
    uint64_t word[ENTRY_WORDS];
};

struct entry_item {
    uint64_t hash;
    const uint64_t *word; /* words of its key; all keys of a table have equally many */
};

struct entry_table {
    _Atomic(const struct entry_item *) slots[ENTRY_SLOTS];
    int count;
};

/* Hashes a key. Every bit of every word affects the upper bits, which choose the slot. */
static inline uint64_t entry_hash(const struct entry_key *key)
{
    uint64_t h = 0;
    for (int i = 0; i < key->words; i++) {
        h = (h ^ key->word[i]) * 0x9E3779B97F4A7C15u; /* 2^64 over the golden ratio */
        h ^= h >> 32;
    }
    return h * 0x9E3779B97F4A7C15u;
}

static inline bool entry_matches(const struct entry_item *item, const struct entry_key *key,
                                 uint64_t hash)
{
    if (item->hash != hash)
        return false;
    for (int i = 0; i < key->words; i++)
        if (item->word[i] != key->word[i])
            return false;
    return true;
}

/* Looks a variant up. Returns NULL if the table does not have it (yet). */
static inline const struct entry_item *entry_find(struct entry_table *t,
                                                  const struct entry_key *key)
{
    uint64_t hash = entry_hash(key);
    for (uint64_t at = hash >> 54;; at++) {
        const struct entry_item *item =
            atomic_load_explicit(&t->slots[at % ENTRY_SLOTS], memory_order_acquire);
        if (!item || entry_matches(item, key, hash))
            return item;
    }
}

/* Adds a variant. item->word is set and never changes; the table does not have the key yet.
 * Returns false if the table is full. */
static inline bool entry_put(struct entry_table *t, struct entry_item *item,
                             const struct entry_key *key)
{
    if (t->count >= ENTRY_VARIANTS)
        return false;
    item->hash = entry_hash(key);
    uint64_t at = item->hash >> 54;
    while (atomic_load_explicit(&t->slots[at % ENTRY_SLOTS], memory_order_relaxed))
        at++;
    atomic_store_explicit(&t->slots[at % ENTRY_SLOTS], item, memory_order_release);
    t->count++;
    return true;
}

#endif
