/* SQLite, found at run time: builds do not need it, and only the store of tuned values loads it.
 *
 * The declarations are from https://sqlite.org/c3ref/intro.html; the interface is stable since
 * 3.0, and sqlite3_open_v2 and prepare_v2 exist since 2007. */
#ifndef TW_SQLITE_H
#define TW_SQLITE_H
#include <stdint.h>

struct sqlite3;      /* a connection, */
struct sqlite3_stmt; /* a prepared statement */

/* Result codes and flags: https://sqlite.org/rescode.html,
 * https://sqlite.org/c3ref/c_open_autoproxy.html */
enum {
    SQLITE_OK = 0,
    SQLITE_BUSY = 5,
    SQLITE_LOCKED = 6,
    SQLITE_NOMEM = 7,
    SQLITE_READONLY = 8,
    SQLITE_IOERR = 10,
    SQLITE_CORRUPT = 11,
    SQLITE_FULL = 13,
    SQLITE_CANTOPEN = 14,
    SQLITE_NOTADB = 26,
    SQLITE_ROW = 100,
    SQLITE_DONE = 101,
    SQLITE_OPEN_READONLY = 1,
    SQLITE_OPEN_READWRITE = 2,
    SQLITE_OPEN_CREATE = 4,
    SQLITE_OPEN_URI = 0x40
};

/* X(result, name, arguments) */
#define SQLITE_FUNCTIONS(X)                                                                        \
    X(int, open_v2, (const char *path, struct sqlite3 **db, int flags, const char *vfs))           \
    X(int, close_v2, (struct sqlite3 * db))                                                        \
    X(int, exec, (struct sqlite3 * db, const char *sql, void *, void *, char **))                  \
    X(int, prepare_v2,                                                                             \
      (struct sqlite3 * db, const char *sql, int length, struct sqlite3_stmt **statement,          \
       const char **rest))                                                                         \
    X(int, finalize, (struct sqlite3_stmt * s))                                                    \
    X(int, step, (struct sqlite3_stmt * s))                                                        \
    X(int, reset, (struct sqlite3_stmt * s))                                                       \
    X(int, bind_text,                                                                              \
      (struct sqlite3_stmt * s, int index, const char *text, int length, void (*release)(void *))) \
    X(int, bind_int64, (struct sqlite3_stmt * s, int index, int64_t value))                        \
    X(int, bind_double, (struct sqlite3_stmt * s, int index, double value))                        \
    X(const unsigned char *, column_text, (struct sqlite3_stmt * s, int column))                   \
    X(int64_t, column_int64, (struct sqlite3_stmt * s, int column))                                \
    X(double, column_double, (struct sqlite3_stmt * s, int column))                                \
    X(int, changes, (struct sqlite3 * db))                                                         \
    X(int, busy_timeout, (struct sqlite3 * db, int milliseconds))                                  \
    X(const char *, errmsg, (struct sqlite3 * db))

struct sqlite {
#define SQLITE_MEMBER(result, name, arguments) result(*name) arguments;
    SQLITE_FUNCTIONS(SQLITE_MEMBER)
#undef SQLITE_MEMBER
};

/* Loads $TILEWRIGHT_SQLITE, or the system's library. Returns NULL on success, otherwise the way
 * out (static text). */
const char *sqlite_find(struct sqlite *out);

#endif
