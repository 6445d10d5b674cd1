/* The public functions of the store of tuned values. */
#include "api/objects.h"
#include "base/number.h"
#include "base/platform.h"

#include "store/store.h"
#include "store/model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct tw_store {
    tw_context *ctx;
    tw_store *next;
    struct arena arena; /* the path, the latest message */
    struct arena found; /* of the latest tw_store_find, */
    struct arena taken; /* and of the latest search for tuned values */
    struct store store;
    const char *path;
    tw_tuned *rows;
    int count;
};

struct store_call {
    tw_store *store;
    const char *path;
    bool existing;
    const tw_tuned *row;         /* a filter */
    const tw_tuned *const *rows; /* `count` of them */
    int count;
    tw_launch *launch;
    const char *device;
    bool nearest;
    tw_tuned taken;
};

static tw_status report(tw_store *s, enum store_status status)
{
    if (status == STORE_OK)
        return TW_OK;
    diag_error(&s->ctx->diag, LOC_NONE, "%s", s->store.why.data);
    return status == STORE_NO_LIBRARY ? TW_UNSUPPORTED : TW_NO_FILE;
}

/* --- opening --- */

/* Returns NULL if no place is known: the caller named no store, and the user has no home. */
static const char *usual_path(struct arena *a)
{
    enum { MOST_PATH = 4096 };
    char path[MOST_PATH];
    const char *named = getenv("TILEWRIGHT_STORE");
    if (named && *named)
        return arena_string(a, named, strlen(named));
    return platform_user_path("XDG_DATA_HOME", ".local/share", "tilewright/tuned.db", path,
                              sizeof path)
               ? arena_string(a, path, strlen(path))
               : NULL;
}

/* Returns true for a path that SQLite does not keep: one without a name, or ":memory:". */
static bool keeps_nothing(const char *path)
{
    return !*path || strcmp(path, ":memory:") == 0;
}

static tw_status report_no_place(const struct store_call *call)
{
    struct diag *d = &call->store->ctx->diag;
    const char *path = call->store->path;
    if (path)
        diag_error(
            d, LOC_NONE,
            "\"%s\" names no file, so nothing would be kept there: name a store with --store "
            "or TILEWRIGHT_STORE",
            path);
    else
        diag_error(d, LOC_NONE,
                   "there is no place for a store: HOME is not set to an absolute path; name a "
                   "store with --store or TILEWRIGHT_STORE");
    return !path && call->existing ? TW_NOT_FOUND : TW_NO_FILE;
}

/* Reports a store that does not exist and must not be created. Look-ups then find nothing. */
static tw_status report_absent(const struct store_call *call)
{
    struct diag *d = &call->store->ctx->diag;
    const char *path = call->store->path;
    if (!call->path) {
        diag_error(d, LOC_NONE, "nothing is stored yet: there is no %s", path);
        return TW_NOT_FOUND;
    }
    diag_error(
        d, LOC_NONE,
        "there is no store %s: name another with --store, or let `tilewright tune` make this one",
        path);
    return TW_NO_FILE;
}

static tw_status open_call(void *user)
{
    struct store_call *call = user;
    tw_store *s = call->store;
    s->path = call->path ? arena_string(&s->arena, call->path, strlen(call->path))
                         : usual_path(&s->arena);
    if (!s->path || keeps_nothing(s->path))
        return report_no_place(call);
    enum store_making making = call->existing ? STORE_MAKES_NOTHING
                               : call->path   ? STORE_MAKES_FILE
                                              : STORE_MAKES_FOLDERS;
    enum store_status opened = store_open(&s->store, &s->arena, s->path, making);
    return opened == STORE_ABSENT ? report_absent(call) : report(s, opened);
}

static void store_destroy(tw_store *s)
{
    store_close(&s->store);
    arena_free(&s->arena);
    arena_free(&s->found);
    arena_free(&s->taken);
    context_object_free(s->ctx, s, sizeof *s);
}

static tw_status open_store(tw_context *ctx, const char *path, bool existing, tw_store **out)
{
    if (out)
        *out = NULL;
    REFUSE_IF(ctx, ctx, !out,
              existing ? "tw_store_open_existing: `out` is NULL" : "tw_store_open: `out` is NULL");
    tw_store *s = context_object(ctx, sizeof *s);
    if (!s)
        return context_no_memory(ctx);
    s->ctx = ctx;
    context_arena(ctx, &s->arena);
    context_arena(ctx, &s->found);
    context_arena(ctx, &s->taken);
    struct store_call call = {.store = s, .path = path, .existing = existing};
    tw_status status = context_call(ctx, open_call, &call);
    if (status != TW_OK) {
        store_destroy(s);
        return status;
    }
    s->next = ctx->stores;
    ctx->stores = s;
    ctx->frees.store = tw_store_close;
    *out = s;
    return TW_OK;
}

tw_status tw_store_open(tw_context *ctx, const char *path, tw_store **out)
{
    return open_store(ctx, path, false, out);
}

tw_status tw_store_open_existing(tw_context *ctx, const char *path, tw_store **out)
{
    return open_store(ctx, path, true, out);
}

void tw_store_close(tw_store *s)
{
    if (!s)
        return;
    UNLINK(tw_store, s->ctx->stores, s);
    store_destroy(s);
}

const char *tw_store_path(const tw_store *s)
{
    return s ? s->path : NULL;
}

/* --- rows --- */

/* The members that a row of the store and a public row have under one name. */
#define ROW_MEMBERS(X)                                                                             \
    STORE_TEXTS(X)                                                                                 \
    X(samples)                                                                                     \
    X(milliseconds)                                                                                \
    X(measured)

static struct store_row inner_row(const tw_tuned *t)
{
    struct store_row row = {.status = (int)t->status};
#define TAKE(name) row.name = t->name;
    ROW_MEMBERS(TAKE)
#undef TAKE
    return row;
}

static tw_tuned public_row(const struct store_row *row)
{
    tw_tuned t = {.size = sizeof t, .status = (tw_status)row->status};
#define TAKE(name) t.name = row->name;
    ROW_MEMBERS(TAKE)
#undef TAKE
    return t;
}

/* Reads a caller's row, which was checked, and fills in what it leaves open. */
static struct store_row read_row(const tw_tuned *given)
{
    tw_tuned own = {0};
    READ_SIZED(NULL, tw_tuned, &own, given);
    struct store_row row = inner_row(&own);
    if (!row.version)
        row.version = TW_VERSION;
    if (!row.measured)
        row.measured = (int64_t)time(NULL);
    return row;
}

static tw_status put_call(void *user)
{
    struct store_call *call = user;
    tw_store *s = call->store;
    struct store_row *rows = arena_array(&s->ctx->scratch, struct store_row, call->count);
    for (int i = 0; i < call->count; i++)
        rows[i] = read_row(call->rows[i]);
    return report(s, store_put(&s->store, rows, call->count));
}

static tw_status put_rows(tw_store *s, const tw_tuned *const *rows, int count)
{
    struct store_call call = {.store = s, .rows = rows, .count = count};
    tw_tuned own;
    for (int i = 0; i < count; i++) {
        tw_status status = READ_SIZED(s->ctx, tw_tuned, &own, rows[i]);
        if (status != TW_OK)
            return status;
    }
    return context_call(s->ctx, put_call, &call);
}

tw_status tw_store_put(tw_store *s, const tw_tuned *row)
{
    if (!s)
        return TW_BAD_ARGUMENT;
    return row ? put_rows(s, &row, 1) : context_refuse(s->ctx, "tw_store_put: `row` is NULL");
}

tw_status tw_store_put_all(tw_store *s, const tw_tuned *const *rows, int count)
{
    if (!s)
        return TW_BAD_ARGUMENT;
    bool whole = count >= 0 && (rows || count == 0);
    for (int i = 0; whole && i < count; i++)
        whole = rows[i] != NULL;
    if (!whole)
        return context_refuse(s->ctx, "tw_store_put_all: `count` is below 0, or a row is NULL");
    return count > 0 ? put_rows(s, rows, count) : TW_OK;
}

/* Returns the rows that match the filter, in `a`. */
static tw_status select_rows(tw_store *s, struct arena *a, struct store_row filter, tw_tuned **out,
                             int *count)
{
    struct store_row *rows = NULL;
    arena_free(a);
    tw_status status = report(s, store_select(&s->store, a, &filter, &rows, count));
    if (status != TW_OK)
        return status;
    *out = arena_array(a, tw_tuned, *count);
    for (int i = 0; i < *count; i++)
        (*out)[i] = public_row(&rows[i]);
    return TW_OK;
}

static struct store_row filter_of(const tw_tuned *t)
{
    struct store_row filter = t ? inner_row(t) : (struct store_row){0};
    filter.status = -1;
    return filter;
}

const tw_context *tuning_store_context(const tw_store *s)
{
    return s->ctx;
}

tw_status tuning_store_rows(tw_store *s, struct arena *a, const tw_tuned *filter, tw_tuned **rows,
                            int *count)
{
    return select_rows(s, a, filter_of(filter), rows, count);
}

static tw_status find_call(void *user)
{
    struct store_call *call = user;
    tw_store *s = call->store;
    s->rows = NULL;
    s->count = 0;
    return select_rows(s, &s->found, filter_of(call->row), &s->rows, &s->count);
}

tw_status tw_store_find(tw_store *s, const tw_tuned *filter, int *count)
{
    REFUSE_IF(s, s->ctx, !count, "tw_store_find: `count` is NULL");
    tw_tuned own;
    tw_status status = filter ? READ_SIZED(s->ctx, tw_tuned, &own, filter) : TW_OK;
    struct store_call call = {.store = s, .row = filter ? &own : NULL};
    if (status == TW_OK)
        status = context_call(s->ctx, find_call, &call);
    *count = status == TW_OK ? s->count : 0;
    return status;
}

const tw_tuned *tw_store_at(const tw_store *s, int index)
{
    return s && index >= 0 && index < s->count ? &s->rows[index] : NULL;
}

static tw_status forget_call(void *user)
{
    struct store_call *call = user;
    struct store_row filter = filter_of(call->row);
    return report(call->store, store_forget(&call->store->store, &filter, &call->count));
}

tw_status tw_store_forget(tw_store *s, const tw_tuned *filter, int *count)
{
    if (!s)
        return TW_BAD_ARGUMENT;
    tw_tuned own;
    tw_status status = filter ? READ_SIZED(s->ctx, tw_tuned, &own, filter) : TW_OK;
    struct store_call call = {.store = s, .row = filter ? &own : NULL};
    if (status == TW_OK)
        status = context_call(s->ctx, forget_call, &call);
    if (count)
        *count = call.count;
    return status;
}

/* --- the winner --- */

/* Returns true if b tells more about this launch than a. */
static bool serves_better(const tw_tuned *key, const tw_tuned *a, const tw_tuned *b)
{
    double to_a = tune_shape_distance(key->shape, a->shape),
           to_b = tune_shape_distance(key->shape, b->shape);
    if (to_a != to_b)
        return to_b < to_a;
    /* Times of another version's code tell little about this version. */
    bool own_a = strcmp(key->version, a->version) == 0,
         own_b = strcmp(key->version, b->version) == 0;
    if (own_a != own_b)
        return own_b;
    bool same_a = strcmp(key->sizes, a->sizes) == 0, same_b = strcmp(key->sizes, b->sizes) == 0;
    if (same_a != same_b)
        return same_b;
    if (strcmp(a->sizes, b->sizes) != 0)
        return b->measured > a->measured;
    return b->milliseconds < a->milliseconds;
}

/* Reads the "128" or "0.5" of a tuned name, up to a ',' or the end. */
static bool read_value(const struct lang_tune *tune, const char **at, struct literal *out)
{
    char *end;
    *out = (struct literal){.is_float = dtype_is_float(tune->dtype)};
    errno = 0;
    if (out->is_float)
        out->f = number_read(*at, &end);
    else
        out->i = strtoll(*at, &end, 10);
    bool whole = end > *at && (*end == '\0' || (*end == ',' && end[1])) && errno == 0;
    *at = *end ? end + 1 : end;
    return whole;
}

static int tune_named(const struct lang_kernel *info, const char *name, size_t length)
{
    for (int t = 0; t < info->tune_count; t++)
        if (strlen(info->tunes[t].name) == length && memcmp(info->tunes[t].name, name, length) == 0)
            return t;
    return -1;
}

bool tunes_read(const struct lang_kernel *info, const char *text, struct stored_value *values)
{
    for (int t = 0; t < info->tune_count; t++)
        values[t].given = false;
    for (const char *at = text; *at;) {
        size_t length = strcspn(at, "=,");
        int t = tune_named(info, at, length);
        if (t < 0 || at[length] != '=' || values[t].given)
            return false;
        at += length + 1;
        values[t].given = true;
        if (!read_value(&info->tunes[t], &at, &values[t].value))
            return false;
    }
    return true;
}

/* Returns true if the row can be used. Reports a row that is damaged, or written by another
 * program. */
static bool is_whole(const struct store_call *call, const tw_tuned *row,
                     struct stored_value *values)
{
    if (tunes_read(call->launch->kernel->info, row->tune, values))
        return true;
    struct diag *d = &call->store->ctx->diag;
    diag_warning(d, LOC_NONE,
                 "a result stored for %s is ignored: its tuned values \"%s\" are not those of "
                 "`%s`",
                 row->sizes, row->tune, row->kernel);
    diag_note(d, LOC_NONE, "`tilewright tune --forget` removes a kernel's stored results");
    return false;
}

static const tw_tuned *best_row(const struct store_call *call, const tw_tuned *key,
                                const tw_tuned *rows, int count, struct stored_value *values)
{
    const tw_tuned *best = NULL;
    for (int i = 0; i < count; i++) {
        double distance = tune_shape_distance(key->shape, rows[i].shape);
        if (distance < 0 || (distance > 0 && !call->nearest) || !is_whole(call, &rows[i], values))
            continue;
        if (!best || serves_better(key, best, &rows[i]))
            best = &rows[i];
    }
    return best;
}

void tunes_take(tw_launch *l, const struct stored_value *values)
{
    for (int t = 0; t < l->kernel->info->tune_count; t++) {
        if (l->tune_set[t] || !values[t].given)
            continue;
        l->tunes[t] = values[t].value;
        l->tune_set[t] = true;
        l->prepared = l->resolved = false;
    }
}

static tw_status tuned_call(void *user)
{
    struct store_call *call = user;
    tw_store *s = call->store;
    tw_tuned key, *rows;
    int count;
    tw_status status = launch_key(call->launch, call->device, &key);
    if (status != TW_OK)
        return status;
    struct store_row filter = {.device = key.device,
                               .kernel = key.kernel,
                               .program = key.program,
                               .types = key.types,
                               .status = TW_OK};
    status = select_rows(s, &s->taken, filter, &rows, &count);
    const struct lang_kernel *info = call->launch->kernel->info;
    struct stored_value *values = arena_array(&s->taken, struct stored_value, info->tune_count);
    const tw_tuned *best = status == TW_OK ? best_row(call, &key, rows, count, values) : NULL;
    if (best && tunes_read(info, best->tune, values)) {
        tunes_take(call->launch, values);
        call->taken = *best;
        return TW_OK;
    }
    if (status != TW_OK)
        return status;
    diag_error(&s->ctx->diag, LOC_NONE, "no tuned values are stored for `%s` with %s%s%s on %s",
               key.kernel, key.types, *key.types ? ", " : "", key.sizes, key.device);
    diag_note(&s->ctx->diag, LOC_NONE, "`tilewright tune` finds and stores them in %s", s->path);
    return TW_NOT_FOUND;
}

tw_status tw_launch_tuned(tw_launch *l, tw_store *s, const char *device, bool nearest,
                          tw_tuned *taken)
{
    REFUSE_IF(l, l->ctx, !s || s->ctx != l->ctx,
              "tw_launch_tuned: `s` is NULL, or another context's");
    if (taken && !SIZED_FITS(l->ctx, tw_tuned, taken))
        return TW_BAD_ARGUMENT;
    struct store_call call = {.launch = l, .store = s, .device = device, .nearest = nearest};
    tw_status status = context_call(l->ctx, tuned_call, &call);
    if (status == TW_OK && taken)
        FILL_SIZED(taken, call.taken);
    return status;
}
