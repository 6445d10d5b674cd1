/* Readings of a GPU, and reasons for instructions without a reading. */
#ifndef READINGS_FILE_H
#define READINGS_FILE_H

#include "readings_program.h"

enum { READING_SHOWN = 32 }; /* threads whose values the file has */

uint64_t reading_hash(const void *data, size_t count); /* FNV-1a */

/* --- readings.bin --- */

/* Lines of text: "readings 1"; "operands HASH", of readings_operands in hexadecimal; for each
 * reading "BYTES KEY"; an empty one. Then for each reading, in this order: a hash of all
 * threads' values, 8 bytes, little-endian; the values of the first READING_SHOWN threads. */
struct taken {
    const char *key;
    int bytes;
    const uint8_t *data;
    bool used;
};
struct taken_file {
    uint64_t operands;
    VEC(struct taken) list; /* by key */
};
/* Reads a file; returns false, with the reason in `why`, if it is not such a file. */
bool taken_read(struct taken_file *f, struct arena *a, const char *path, const char **why);
/* Returns the reading with this key; NULL: none. */
struct taken *taken_find(struct taken_file *f, const char *key);

/* --- unread.txt --- */

/* Paragraphs: a line with a reason, ended by a colon, then patterns of the instructions that
 * have no reading for this reason. `*` matches anything. Lines that begin with # are comments. */
struct excuse {
    const char *reason, *pattern;
    size_t used;
};
struct excuses {
    VEC(struct excuse) list;
};
bool excuses_read(struct excuses *e, struct arena *a, const char *path, const char **why);
#define NOT_TAKEN "not taken yet" /* the reason for readings; the others are for instructions */
/* Returns the reason of the first pattern that matches the instruction; NULL: none. */
const char *excuse_of(struct excuses *e, const char *instruction);
/* Returns true if the reading with this key has not been taken yet. */
bool excuse_of_reading(struct excuses *e, const char *key);

#endif
