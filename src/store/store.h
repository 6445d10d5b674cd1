/* Results of tuning in an SQLite file that any number of processes share.
 *
 * Each measured configuration is one row. A transaction writes one row or several: a process that
 * is killed loses only the rows that it has not yet written. With write-ahead logging
 * (https://sqlite.org/wal.html) other processes can read meanwhile; a process that finds the
 * file locked waits. */
#ifndef TW_STORE_H
#define TW_STORE_H

#include "store/sqlite.h"

#include "base/text.h"

enum {
    STORE_VERSION = 1,              /* version of the tables: PRAGMA user_version */
    STORE_APPLICATION = 0x54574c54, /* PRAGMA application_id: "TWLT" */
    STORE_WAIT_MS = 20000           /* time to wait for locks of other processes */
};

/* The text columns in order: X(field). All except `why` and `version` identify the measured
 * configuration. */
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
    bool read_only;  /* the file could only be opened for reading */
};

enum store_status { STORE_OK, STORE_UNUSABLE, STORE_NO_LIBRARY, STORE_ABSENT };
/* Things that opening may make: nothing (STORE_ABSENT if there is no file), the file, or its
 * folders too. */
enum store_making { STORE_MAKES_NOTHING, STORE_MAKES_FILE, STORE_MAKES_FOLDERS };

/* Opens the store. `path` must outlive it. On any status but STORE_OK, s->why (in `a`) is a
 * message with the way out, except for STORE_ABSENT, which the caller explains. Call store_close
 * in either case. */
enum store_status store_open(struct store *s, struct arena *a, const char *path,
                             enum store_making making);
void store_close(struct store *s);
/* Adds rows in one transaction. A row replaces the row of the same configuration. If one cannot be
 * added, none is. */
enum store_status store_put(struct store *s, const struct store_row *rows, int count);
/* Gives the rows, in `a`, that match the filter's texts that are not NULL, the fastest first.
 * `status` -1 matches any status. */
enum store_status store_select(struct store *s, struct arena *a, const struct store_row *filter,
                               struct store_row **rows, int *count);
/* Deletes the rows that store_select would give. */
enum store_status store_forget(struct store *s, const struct store_row *filter, int *count);

#endif
