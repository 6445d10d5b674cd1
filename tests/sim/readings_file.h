/* What a GPU gave, and what there is no reading of. */
#ifndef READINGS_FILE_H
#define READINGS_FILE_H

#include "readings_program.h"

enum { READING_SHOWN = 32 }; /* threads whose values are there */

uint64_t reading_hash(const void *data, size_t count); /* FNV-1a */

/* --- readings.bin --- */

/* Lines of text: "readings 1"; "operands HASH", of readings_operands in hexadecimal; for each
 * reading "BYTES KEY"; an empty one. Then for each reading, in this order: a hash of all threads'
 * values, 8 bytes, little-endian; the values of the first READING_SHOWN threads. */
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
/* False: it is not such a file; `why` says more. */
bool taken_read(struct taken_file *f, struct arena *a, const char *path, const char **why);
/* NULL: there is none. */
struct taken *taken_find(struct taken_file *f, const char *key);

/* --- unread.txt --- */

/* Paragraphs: what has no reading for the reason of the line that ends with a colon, patterns in
 * the lines below it. `*` stands for anything. Lines that begin with # are comments. */
struct excuse {
    const char *reason, *pattern;
    size_t used;
};
struct excuses {
    VEC(struct excuse) list;
};
bool excuses_read(struct excuses *e, struct arena *a, const char *path, const char **why);
#define NOT_TAKEN "not taken yet" /* the reason for readings; the others are for instructions */
/* Of an instruction: the reason of the first pattern that fits. NULL: none does. */
const char *excuse_of(struct excuses *e, const char *instruction);
/* Is the reading with this key not taken yet? */
bool excuse_of_reading(struct excuses *e, const char *key);

#endif
