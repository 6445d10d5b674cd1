#include "store/store.h"

#include "base/platform.h"

#include <stdio.h>
#include <string.h>

/* --- what goes wrong --- */

#define ANOTHER "name another store with --store or TILEWRIGHT_STORE"

/* Returns the error as a format for the path and SQLite's message, with the way out. */
static const char *failure(int code)
{
    switch (code & 0xff) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return "%s is damaged, or not a store of tuned values (%s); move it away to start another, "
               "or " ANOTHER;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return "%s was locked by another process for too long (%s); try again when that process "
               "has ended, or " ANOTHER;
    case SQLITE_READONLY: return "%s cannot be written (%s); " ANOTHER;
    case SQLITE_CANTOPEN:
        return "%s cannot be opened or made (%s): its folder must be there, and this user may "
               "write in it; " ANOTHER;
    case SQLITE_FULL: return "%s cannot grow (%s): make room on its disk, or " ANOTHER;
    case SQLITE_IOERR: return "%s is not a file that can be read and written (%s); " ANOTHER;
    case SQLITE_NOMEM: return "%s: %s";
    default: return "%s: %s; " ANOTHER;
    }
}

static enum store_status fail_saying(struct store *s, int code, const char *message)
{
    s->why.length = 0;
    text_printf(&s->why, failure(code), s->path, message);
    return STORE_UNUSABLE;
}

static enum store_status fail(struct store *s, int code)
{
    return fail_saying(s, code, s->db ? s->sqlite.errmsg(s->db) : "out of memory");
}

static enum store_status refuse(struct store *s, const char *why)
{
    s->why.length = 0;
    text_printf(&s->why, "%s: %s", s->path, why);
    return STORE_UNUSABLE;
}

/* --- statements --- */

static int pragma(struct store *s, const char *name, int64_t *value)
{
    char sql[64];
    struct sqlite3_stmt *statement;
    snprintf(sql, sizeof sql, "PRAGMA %s", name);
    int code = s->sqlite.prepare_v2(s->db, sql, -1, &statement, NULL);
    if (code != SQLITE_OK)
        return code;
    code = s->sqlite.step(statement);
    *value = code == SQLITE_ROW ? s->sqlite.column_int64(statement, 0) : 0;
    s->sqlite.finalize(statement);
    return code == SQLITE_ROW || code == SQLITE_DONE ? SQLITE_OK : code;
}

static const char *const text_names[] = {
#define STORE_NAME(name) #name,
    STORE_TEXTS(STORE_NAME)
#undef STORE_NAME
};
enum { TEXTS = sizeof text_names / sizeof *text_names };

static const char **text_at(struct store_row *row, int index)
{
    const char **const members[] = {
#define STORE_ADDRESS(name) &row->name,
        STORE_TEXTS(STORE_ADDRESS)
#undef STORE_ADDRESS
    };
    return members[index];
}

/* --- tables --- */

/* The statements that bring the tables from each version to the next. */
static const char *const steps[STORE_VERSION] = {
    "CREATE TABLE result ("
    " device TEXT NOT NULL, kernel TEXT NOT NULL, program TEXT NOT NULL, types TEXT NOT NULL,"
    " shape TEXT NOT NULL, sizes TEXT NOT NULL, tune TEXT NOT NULL,"
    " why TEXT NOT NULL, version TEXT NOT NULL,"
    " status INTEGER NOT NULL, samples INTEGER NOT NULL, milliseconds REAL NOT NULL,"
    " measured INTEGER NOT NULL,"
    " PRIMARY KEY (device, kernel, program, types, sizes, tune)) WITHOUT ROWID;"
    "CREATE INDEX result_by_shape ON result (device, kernel, program, types, shape, status);"
    "PRAGMA application_id = 1415007316;",
};
_Static_assert(STORE_APPLICATION == 1415007316, "as the first step says");

static int exec(struct store *s, const char *sql)
{
    return s->sqlite.exec(s->db, sql, NULL, NULL, NULL);
}

/* Migrates in one transaction, because another process may migrate too. */
static int migrate(struct store *s)
{
    int64_t version;
    char sql[64];
    int code = exec(s, "BEGIN IMMEDIATE");
    if (code != SQLITE_OK)
        return code;
    code = pragma(s, "user_version", &version);
    for (; code == SQLITE_OK && version < STORE_VERSION; version++)
        code = exec(s, steps[version]);
    snprintf(sql, sizeof sql, "PRAGMA user_version = %d", (int)version); /* or a newer one */
    if (code == SQLITE_OK)
        code = exec(s, sql);
    if (code == SQLITE_OK)
        return exec(s, "COMMIT");
    exec(s, "ROLLBACK");
    return code;
}

/* The marks that identify a file as a store. */
struct label {
    int64_t application, version, tables;
};

static int read_label(struct store *s, struct label *out)
{
    int code = exec(s, "BEGIN"); /* in a transaction, so that all three are read at the same
                                  * moment */
    if (code == SQLITE_OK)
        code = pragma(s, "application_id", &out->application);
    if (code == SQLITE_OK)
        code = pragma(s, "user_version", &out->version);
    if (code == SQLITE_OK)
        code = pragma(s, "schema_version", &out->tables);
    return code == SQLITE_OK ? exec(s, "COMMIT") : code;
}

static bool is_foreign(const struct label *l)
{
    return l->application != STORE_APPLICATION && l->tables > 0;
}

static enum store_status refuse_foreign(struct store *s)
{
    return refuse(s, "an SQLite file, but not a store of tuned values; " ANOTHER);
}

/* Checks that the file is a store of a known version. */
static enum store_status check_version(struct store *s)
{
    struct label l;
    int code = read_label(s, &l);
    if (code != SQLITE_OK)
        return fail(s, code);
    if (is_foreign(&l))
        return refuse_foreign(s);
    if (l.version > STORE_VERSION)
        return refuse(s, "a store of a newer tilewright, which this one cannot read; use that one, "
                         "or " ANOTHER);
    if (l.version == STORE_VERSION)
        return STORE_OK;
    if (s->read_only)
        return refuse(s, "a store without tables, which cannot be written; " ANOTHER);
    code = migrate(s);
    return code == SQLITE_OK ? STORE_OK : fail(s, code);
}

/* --- opening --- */

static int connect(struct store *s, const char *path, int flags)
{
    if (s->db)
        s->sqlite.close_v2(s->db);
    s->db = NULL;
    int code = s->sqlite.open_v2(path, &s->db, flags, NULL);
    if (code == SQLITE_OK)
        s->sqlite.busy_timeout(s->db, STORE_WAIT_MS);
    int64_t ignored; /* SQLite reads the file only when the first statement runs */
    return code == SQLITE_OK ? pragma(s, "schema_version", &ignored) : code;
}

/* Changes to write-ahead logging. This is the one statement that does not wait for other
 * processes by itself. */
static int use_log(struct store *s)
{
    double until = platform_seconds() + STORE_WAIT_MS / 1000.0;
    int code;
    do {
        code = exec(s, "PRAGMA journal_mode = WAL");
        platform_yield();
    } while ((code & 0xff) == SQLITE_BUSY && platform_seconds() < until);
    return code;
}

/* Opens a file in a read-only folder, which has no room for a log, without one
 * (https://sqlite.org/wal.html#read_only_databases). */
static int connect_to_read(struct store *s, struct arena *a)
{
    s->read_only = true;
    struct text uri;
    text_init(&uri, a);
    text_add(&uri, "file:");
    for (const char *c = s->path; *c; c++)
        if (strchr("?#%", *c))
            text_printf(&uri, "%%%02x", (unsigned)*c);
        else
            text_add_char(&uri, *c);
    text_add(&uri, "?immutable=1");
    return connect(s, uri.data, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI);
}

/* Makes the folder of the file. If that fails, opening the file reports it. */
static void make_folder(struct arena *a, const char *path)
{
    const char *why, *slash = strrchr(path, '/');
    if (slash && slash > path)
        platform_make_folder(a, arena_string(a, path, (size_t)(slash - path)), &why);
}

enum store_status store_open(struct store *s, struct arena *a, const char *path,
                             enum store_making making)
{
    *s = (struct store){.path = path};
    text_init(&s->why, a);
    const char *missing = sqlite_find(&s->sqlite);
    if (missing) {
        text_add(&s->why, missing);
        return STORE_NO_LIBRARY;
    }
    if (making == STORE_MAKES_NOTHING && !platform_file_exists(path))
        return STORE_ABSENT;
    if (making == STORE_MAKES_FOLDERS)
        make_folder(a, path);
    struct label label;
    int create = making == STORE_MAKES_NOTHING ? 0 : SQLITE_OPEN_CREATE;
    /* SQLite may take "file:…" for a URI, and reserves names that begin with ':'. */
    const char *file = path[0] == '/' ? path : arena_printf(a, "./%s", path);
    int code = connect(s, file, SQLITE_OPEN_READWRITE | create);
    if (code == SQLITE_OK)
        code = read_label(s, &label);
    if (code == SQLITE_OK && is_foreign(&label)) /* checked before anything in the file is
                                                  * changed */
        return refuse_foreign(s);
    if (code == SQLITE_OK)
        code = use_log(s);
    if (((code & 0xff) == SQLITE_CANTOPEN || (code & 0xff) == SQLITE_READONLY) &&
        platform_file_exists(path))
        code = connect_to_read(s, a);
    if (code == SQLITE_OK && !s->read_only)
        code = exec(s, "PRAGMA synchronous = NORMAL");
    return code == SQLITE_OK ? check_version(s) : fail(s, code);
}

void store_close(struct store *s)
{
    if (s->db)
        s->sqlite.close_v2(s->db);
    s->db = NULL;
}

/* --- rows --- */

static enum store_status finish(struct store *s, struct sqlite3_stmt *statement, int code)
{
    s->sqlite.finalize(statement); /* first, because memory may run out while the message is made */
    return code == SQLITE_DONE ? STORE_OK : fail(s, code);
}

/* Writes one row with a prepared statement. Returns SQLite's code. */
static int put_row(struct store *s, struct sqlite3_stmt *statement, const struct store_row *row)
{
    struct store_row copy = *row;
    for (int i = 0; i < TEXTS; i++) {
        const char *text = *text_at(&copy, i);
        s->sqlite.bind_text(statement, i + 1, text ? text : "", -1, NULL);
    }
    s->sqlite.bind_int64(statement, TEXTS + 1, row->status);
    s->sqlite.bind_int64(statement, TEXTS + 2, row->samples);
    s->sqlite.bind_double(statement, TEXTS + 3, row->milliseconds);
    s->sqlite.bind_int64(statement, TEXTS + 4, row->measured);
    int code = s->sqlite.step(statement);
    s->sqlite.reset(statement);
    return code == SQLITE_DONE ? SQLITE_OK : code;
}

enum store_status store_put(struct store *s, const struct store_row *rows, int count)
{
    struct sqlite3_stmt *statement;
    int code = s->sqlite.prepare_v2(s->db,
                                    "INSERT OR REPLACE INTO result (device, kernel, program, "
                                    "types, shape, sizes, tune, why, version, status, samples, "
                                    "milliseconds, measured) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)",
                                    -1, &statement, NULL);
    if (code != SQLITE_OK)
        return fail(s, code);
    code = exec(s, "BEGIN IMMEDIATE");
    for (int i = 0; i < count && code == SQLITE_OK; i++)
        code = put_row(s, statement, &rows[i]);
    if (code == SQLITE_OK)
        code = exec(s, "COMMIT");
    if (code == SQLITE_OK) {
        s->sqlite.finalize(statement);
        return STORE_OK;
    }
    char message[200]; /* memory may run out when the text is made: first, the transaction ends */
    snprintf(message, sizeof message, "%s", s->sqlite.errmsg(s->db));
    s->sqlite.finalize(statement);
    exec(s, "ROLLBACK");
    return fail_saying(s, code, message);
}

/* Prepares `what` for the rows that match the filter. */
static int prepare_filtered(struct store *s, const char *what, const struct store_row *filter,
                            const char *behind, struct sqlite3_stmt **statement)
{
    char sql[1024];
    struct store_row copy = *filter;
    int at = snprintf(sql, sizeof sql, "%s FROM result WHERE 1", what), bound = 0;
    for (int i = 0; i < TEXTS; i++)
        if (*text_at(&copy, i))
            at += snprintf(sql + at, sizeof sql - (size_t)at, " AND %s = ?", text_names[i]);
    if (filter->status >= 0)
        at += snprintf(sql + at, sizeof sql - (size_t)at, " AND status = %d", filter->status);
    snprintf(sql + at, sizeof sql - (size_t)at, "%s", behind);
    int code = s->sqlite.prepare_v2(s->db, sql, -1, statement, NULL);
    for (int i = 0; i < TEXTS && code == SQLITE_OK; i++)
        if (*text_at(&copy, i))
            s->sqlite.bind_text(*statement, ++bound, *text_at(&copy, i), -1, NULL);
    return code;
}

static struct store_row read_row(struct store *s, struct arena *a, struct sqlite3_stmt *statement)
{
    struct store_row row = {0};
    for (int i = 0; i < TEXTS; i++) {
        const char *text = (const char *)s->sqlite.column_text(statement, i);
        *text_at(&row, i) = arena_string(a, text ? text : "", text ? strlen(text) : 0);
    }
    row.status = (int)s->sqlite.column_int64(statement, TEXTS);
    row.samples = (int)s->sqlite.column_int64(statement, TEXTS + 1);
    row.milliseconds = s->sqlite.column_double(statement, TEXTS + 2);
    row.measured = s->sqlite.column_int64(statement, TEXTS + 3);
    return row;
}

struct row_list {
    VEC(struct store_row) rows;
};

/* Reads all rows. The statement's memory is freed even if memory runs out. */
static int read_rows(struct store *s, struct arena *a, struct sqlite3_stmt *statement,
                     struct row_list *out)
{
    jmp_buf *volatile outer = a->out_of_memory;
    int code;
    jmp_buf here;
    a->out_of_memory = &here;
    if (setjmp(here)) {
        s->sqlite.finalize(statement);
        a->out_of_memory = outer;
        longjmp(*outer, 1);
    }
    while ((code = s->sqlite.step(statement)) == SQLITE_ROW)
        vec_push(a, &out->rows, read_row(s, a, statement));
    a->out_of_memory = outer;
    return code;
}

enum store_status store_select(struct store *s, struct arena *a, const struct store_row *filter,
                               struct store_row **rows, int *count)
{
    struct sqlite3_stmt *statement;
    struct row_list found = {{0}};
    int code = prepare_filtered(
        s,
        "SELECT device, kernel, program, types, shape, sizes, tune, why, version, status, "
        "samples, milliseconds, measured",
        filter, " ORDER BY device, kernel, program, types, shape, sizes, status, milliseconds",
        &statement);
    if (code != SQLITE_OK)
        return fail(s, code);
    code = read_rows(s, a, statement, &found);
    *rows = found.rows.data;
    *count = (int)found.rows.count;
    return finish(s, statement, code);
}

enum store_status store_forget(struct store *s, const struct store_row *filter, int *count)
{
    struct sqlite3_stmt *statement;
    int code = prepare_filtered(s, "DELETE", filter, "", &statement);
    if (code != SQLITE_OK)
        return fail(s, code);
    code = s->sqlite.step(statement);
    *count = s->sqlite.changes(s->db);
    return finish(s, statement, code);
}
