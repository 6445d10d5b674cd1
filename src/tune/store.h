/* Results of tuning in an SQLite file, shared by any number of processes.
 *
 * One row a measured configuration, written in a transaction of its own: a process that is killed
 * loses the measurement it was at. Write-ahead logging (https://sqlite.org/wal.html) lets others
 * read meanwhile; who finds the file locked waits.
 */
#ifndef TW_STORE_H
#define TW_STORE_H

#include "tune/sqlite.h"

#include "base/text.h"

enum {
    STORE_VERSION = 1,              /* of the tables: PRAGMA user_version */
    STORE_APPLICATION = 0x54574c54, /* PRAGMA application_id: "TWLT" */
    STORE_WAIT_MS = 20000           /* for a lock of other processes */
};

/* The columns of text in order: X(field). All but `why` and `version` say what was measured. */
#define STORE_TEXTS(X)                                                                             \
    X(device)                                                                                      \
    X(kernel)                                                                                      \
    X(program)                                                                                     \
    X(types)                                                                                       \
    X(shape)                                                                                       \
    X(sizes)                                                                                       \
    X(tune)                                                                                        \
    X(why)                                                                                         \
    X(version)

struct store_row {
#define STORE_MEMBER(name) const char *name;
    STORE_TEXTS(STORE_MEMBER)
#undef STORE_MEMBER
    int status;
    int samples;
    double milliseconds;
    int64_t measured; /* seconds since 1970 */
};

struct store {
    struct sqlite sqlite;
    struct sqlite3 *db;
    const char *path;
    struct text why; /* of the last failure */
    bool read_only;  /* it could be opened in no other way */
};

enum store_status { STORE_OK, STORE_UNUSABLE, STORE_NO_LIBRARY, STORE_ABSENT };
/* What may be made: nothing (STORE_ABSENT if there is no file), the file, its folders too. */
enum store_making { STORE_MAKES_NOTHING, STORE_MAKES_FILE, STORE_MAKES_FOLDERS };

/* `path` must stay. Not STORE_OK: s->why, in `a`, says it with the way out, but of STORE_ABSENT,
 * which is the caller's to explain; store_close in either case. */
enum store_status store_open(struct store *s, struct arena *a, const char *path,
                             enum store_making making);
void store_close(struct store *s);
/* Adds a row, or replaces the one of the same configuration. */
enum store_status store_put(struct store *s, const struct store_row *row);
/* The rows that have the texts of the filter that are not NULL, the fastest first, in `a`. `status`
 * -1: any. */
enum store_status store_select(struct store *s, struct arena *a, const struct store_row *filter,
                               struct store_row **rows, int *count);
/* Deletes those that store_select would find. */
enum store_status store_forget(struct store *s, const struct store_row *filter, int *count);

#endif
