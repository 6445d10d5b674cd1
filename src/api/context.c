/* Contexts, their messages, and the guard around every public call that may allocate. */
#include "api/objects.h"

#include "base/platform.h"

#include <stdio.h>
#include <string.h>

static void clear_messages(tw_context *ctx)
{
    arena_free(&ctx->message_memory);
    diag_init(&ctx->diag, &ctx->message_memory);
    ctx->rendered = "";
    ctx->messages = NULL;
    ctx->message_count = 0;
}

static tw_severity public_severity(enum severity s)
{
    switch (s) {
    case SEV_ERROR: return TW_ERROR;
    case SEV_WARNING: return TW_WARNING;
    case SEV_NOTE: break;
    }
    return TW_NOTE;
}

static void add_fix(tw_context *ctx, struct line_starts *lines, const struct diagnostic *one,
                    tw_message *m)
{
    for (const struct edit *e = one->fix; e; e = e->next)
        if (e->at.source != one->loc.source)
            return; /* edits change the message's file */
    for (const struct edit *e = one->fix; e; e = e->next)
        m->edit_count++;
    const tw_edit **list = arena_array(&ctx->message_memory, const tw_edit *, m->edit_count);
    m->edits = m->edit_count ? list : NULL;
    for (const struct edit *e = one->fix; e; e = e->next) {
        tw_edit *edit = arena_new(&ctx->message_memory, tw_edit);
        *list++ = edit;
        *edit = (tw_edit){.remove = (int)e->at.length, .insert = e->insert};
        loc_line_starts_find(&ctx->message_memory, lines, e->at, &edit->line, &edit->column);
    }
}

static void add_accesses(tw_context *ctx, struct line_starts *lines, const struct diagnostic *one,
                         tw_message *m)
{
    for (const struct diag_access *a = one->accesses; a; a = a->next)
        m->access_count++;
    if (!m->access_count)
        return;
    const tw_access **list = arena_array(&ctx->message_memory, const tw_access *, m->access_count);
    m->accesses = list;
    for (const struct diag_access *a = one->accesses; a; a = a->next) {
        tw_access *access = arena_new(&ctx->message_memory, tw_access);
        *list++ = access;
        *access = (tw_access){
            .file = m->file,
            .length = (int)a->at.length,
            .what = a->what,
            .variable = arena_string(&ctx->message_memory, a->variable, strlen(a->variable)),
            .rank = a->rank,
            .thread = a->thread,
            .warp = a->thread >= 0 ? a->thread / 32 : -1,
            .block = -1,
            .space = "shared"};
        memcpy(access->index, a->index, sizeof access->index);
        loc_line_starts_find(&ctx->message_memory, lines, a->at, &access->line, &access->column);
    }
}

/* Makes a public message. Copies the file's name, which may be freed before the message. */
static tw_message public_message(tw_context *ctx, struct line_starts *lines,
                                 const struct diagnostic *one)
{
    tw_message m = {.severity = public_severity(one->severity),
                    .text = one->message,
                    .code = (tw_code)one->code,
                    .needs_sm = one->needs_sm};
    if (!one->loc.source)
        return m;
    const char *name = one->loc.source->name;
    m.file = arena_string(&ctx->message_memory, name, strlen(name));
    loc_line_starts_find(&ctx->message_memory, lines, one->loc, &m.line, &m.column);
    m.length = (int)one->loc.length;
    add_fix(ctx, lines, one, &m);
    add_accesses(ctx, lines, one, &m);
    return m;
}

/* Fills `shown` and `shown_notes`. `more`, the line after all messages, becomes a note of the
 * last message. */
static void show_message(tw_context *ctx, struct line_starts *lines, const struct diagnostic *one,
                         const char *more, tw_message *m)
{
    struct text shown;
    struct diagnostic head = *one;
    head.notes = NULL;
    text_init(&shown, &ctx->message_memory);
    diagnostic_render_at(&shown, lines, &head, ctx->config.colour);
    size_t notes = shown.length;
    for (const struct diagnostic *n = one->notes; n; n = n->next)
        diagnostic_render_at(&shown, lines, n, ctx->config.colour);
    if (more && !one->next)
        text_printf(&shown, "%s\n", more);
    m->shown = shown.data;
    m->shown_notes = shown.data + notes;
}

/* Completes the messages while the sources that they point into still exist. */
static void finish_messages(tw_context *ctx)
{
    const char *more = diag_more(&ctx->diag, &ctx->message_memory);
    int count = more != NULL;
    for (const struct diagnostic *d = ctx->diag.first; d; d = d->next) {
        count++;
        for (const struct diagnostic *n = d->notes; n; n = n->next)
            count++;
    }
    if (count == 0)
        return;
    tw_message *list = arena_array(&ctx->message_memory, tw_message, count);
    struct line_starts lines = {0};
    int at = 0;
    tw_message *head = NULL;
    for (const struct diagnostic *d = ctx->diag.first; d; d = d->next) {
        head = &list[at++];
        *head = public_message(ctx, &lines, d);
        show_message(ctx, &lines, d, more, head);
        for (const struct diagnostic *n = d->notes; n; n = n->next)
            list[at++] = public_message(ctx, &lines, n);
    }
    if (more)
        list[at] = (tw_message){
            .severity = TW_NOTE, .text = more, .code = head ? head->code : TW_CODE_OTHER};
    struct text text;
    text_init(&text, &ctx->message_memory);
    diag_render(&text, &ctx->diag, ctx->config.colour);
    ctx->rendered = text.data;
    ctx->messages = list;
    ctx->message_count = count;
}

static const tw_message no_memory_message = {.severity = TW_ERROR,
                                             .text = "out of memory",
                                             .shown = "error: out of memory\n",
                                             .shown_notes = ""};

tw_status context_no_memory(tw_context *ctx)
{
    clear_messages(ctx);
    ctx->rendered = "error: out of memory\n";
    ctx->messages = &no_memory_message;
    ctx->message_count = 1;
    return TW_NO_MEMORY;
}

/* Returns the status of a call that ended because `cancelled` returned true. */
static tw_status stopped(tw_context *ctx)
{
    const char *doing = ctx->poll.doing;
    clear_messages(ctx);
    if (setjmp(ctx->recovery))
        return context_no_memory(ctx);
    diag_error(&ctx->diag, LOC_NONE, "cancelled%s%s", doing ? " while " : "", doing ? doing : "");
    diag_code(&ctx->diag, CODE_CANCELLED);
    finish_messages(ctx);
    return TW_CANCELLED;
}

/* The work of a call, with the only setjmp, on the stack of the context. */
struct guarded {
    tw_context *ctx;
    tw_status (*body)(void *call);
    void *call;
    tw_status status;
};

static void run_guarded(void *user)
{
    struct guarded *g = user;
    tw_context *ctx = g->ctx;
    if (setjmp(ctx->recovery) == 0) {
        g->status = g->body(g->call);
        if (g->status != TW_OK && g->status != TW_NO_MEMORY && !ctx->diag.first)
            diag_error(&ctx->diag, LOC_NONE, "%s", tw_status_text(g->status));
        finish_messages(ctx);
        if (g->status == TW_NO_MEMORY && ctx->message_count == 0) /* a GPU's memory has its own
                                                                   * message */
            context_no_memory(ctx);
    } else {
        g->status = ctx->poll.stopped ? stopped(ctx) : context_no_memory(ctx);
    }
}

tw_status context_call(tw_context *ctx, tw_status (*body)(void *call), void *call)
{
    struct guarded g = {.ctx = ctx, .body = body, .call = call};
    clear_messages(ctx);
    ctx->poll.stopped = false;
    ctx->poll.doing = NULL;
    if (!platform_stack_call(ctx->stack, run_guarded, &g))
        g.status = context_no_memory(ctx);
    arena_free(&ctx->scratch);
    arena_free(&ctx->probe);
    return g.status;
}

void context_outside(tw_context *ctx, void (*body)(void *call), void *call)
{
    platform_stack_leave(ctx->stack, body, call);
}

struct refusal {
    tw_context *ctx;
    const char *why;
};

static tw_status refuse(void *user)
{
    const struct refusal *r = user;
    diag_error(&r->ctx->diag, LOC_NONE, "%s", r->why);
    return TW_BAD_ARGUMENT;
}

tw_status context_refuse(tw_context *ctx, const char *why)
{
    return context_call(ctx, refuse, &(struct refusal){ctx, why});
}

void *context_object(tw_context *ctx, size_t size)
{
    void *object = ctx->allocator.resize(ctx->allocator.user, NULL, 0, size);
    if (object)
        memset(object, 0, size);
    return object;
}

void context_object_free(tw_context *ctx, void *object, size_t size)
{
    if (object)
        ctx->allocator.resize(ctx->allocator.user, object, size, 0);
}

void context_arena(tw_context *ctx, struct arena *a)
{
    arena_init(a, &ctx->allocator, &ctx->recovery);
    a->poll = &ctx->poll;
}

enum { MOST_BOUND = 256 };

/* The processors of tw_config.bind; count 0: none were given. */
struct bound {
    int count;
    int processors[MOST_BOUND];
};

/* Returns the status for a result of platform_processors. */
static tw_status bound_status(int count)
{
    return count > 0 ? TW_OK : count == PROCESSORS_NONE ? TW_UNSUPPORTED : TW_BAD_ARGUMENT;
}

static tw_status read_bound(const tw_config *config, struct bound *b)
{
    b->count = 0;
    if (!config->bind)
        return TW_OK;
    if (config->parallel)
        return TW_BAD_ARGUMENT;
    b->count = platform_processors(config->bind, b->processors, MOST_BOUND);
    return bound_status(b->count);
}

/* Prints the processors that this thread may use: "0-3,8". */
static void print_allowed(char *out, size_t room)
{
    int list[MOST_BOUND], count = platform_processors("all", list, MOST_BOUND);
    size_t used = 0;
    for (int i = 0, end; i < count && used < room; i = end) {
        for (end = i + 1; end < count && list[end] == list[end - 1] + 1;)
            end++;
        int first = list[i], last = list[end - 1];
        used += (size_t)snprintf(out + used, room - used, "%s%d", i ? "," : "", first);
        if (last > first && used < room)
            used += (size_t)snprintf(out + used, room - used, "-%d", last);
    }
}

tw_status tw_bind_check(const char *list, char *why, size_t room)
{
    struct bound b;
    char allowed[1024] = "";
    if (!list || (!why && room))
        return TW_BAD_ARGUMENT;
    b.count = platform_processors(list, b.processors, MOST_BOUND);
    if (b.count < 0)
        print_allowed(allowed, sizeof allowed);
    if (!room)
        return bound_status(b.count);
    *why = '\0';
    if (b.count == PROCESSORS_NONE)
        snprintf(why, room, "this system cannot bind threads to processors");
    else if (b.count == PROCESSORS_TOO_MANY)
        snprintf(why, room, "more than %d processors", MOST_BOUND);
    else if (b.count == PROCESSORS_NOT_ALLOWED)
        snprintf(why, room, "it names a processor that this process may not use; it may use %s",
                 allowed);
    else if (b.count == PROCESSORS_MALFORMED)
        snprintf(why, room, "expected `all`, or processors such as 0-7,16; this process may use %s",
                 allowed);
    return bound_status(b.count);
}

/* Takes the caller's threads, or makes a pool. */
static bool find_threads(tw_context *ctx, const struct bound *bound)
{
    const tw_config *config = &ctx->config;
    if (config->parallel) {
        int cores = platform_cores(), threads = config->threads > 0 ? config->threads : cores;
        ctx->parallel =
            (struct parallel){config->parallel, config->parallel_user, threads, cores, NULL};
        return true;
    }
    ctx->pool =
        platform_pool_new(&ctx->allocator, config->threads > 0 ? config->threads : bound->count);
    if (!ctx->pool)
        return false;
    platform_pool_bind(ctx->pool, bound->processors, bound->count);
    ctx->parallel = platform_pool_parallel(ctx->pool);
    return true;
}

bool tw_flag_is_set(void *flag)
{
    return flag && *(const volatile bool *)flag;
}

static void free_text(const struct allocator *allocator, char *text)
{
    if (text)
        allocator->resize(allocator->user, text, strlen(text) + 1, 0);
}

tw_status tw_context_new(const tw_config *config, tw_context **out)
{
    if (!out)
        return TW_BAD_ARGUMENT;
    *out = NULL;
    tw_config own = tw_config_init();
    tw_status status = config ? READ_SIZED(NULL, tw_config, &own, config) : TW_OK;
    if (status == TW_OK && own.threads < 0)
        status = TW_BAD_ARGUMENT;
    struct bound bound;
    if (status == TW_OK)
        status = read_bound(&own, &bound);
    if (status != TW_OK)
        return status;
    struct allocator allocator = allocator_libc;
    if (own.resize)
        allocator = (struct allocator){own.resize, own.resize_user, NULL};
    tw_context *ctx = allocator.resize(allocator.user, NULL, 0, sizeof *ctx);
    if (!ctx)
        return TW_NO_MEMORY;
    memset(ctx, 0, sizeof *ctx);
    ctx->allocator = allocator;
    ctx->config = own;
    if (!ctx->config.check_steps)
        ctx->config.check_steps = INT64_MAX;
    ctx->cache = cuda_cache_open(&ctx->allocator, ctx->config.cache);
    ctx->config.cache = NULL; /* the caller's text */
    ctx->import_path = import_folders_path_new(&ctx->allocator, ctx->config.import_path);
    ctx->config.import_path = NULL;
    ctx->config.bind = NULL;
    ctx->stack = platform_stack_new(&ctx->allocator, STACK_BYTES);
    if (!ctx->cache || !ctx->import_path || !ctx->stack || !find_threads(ctx, &bound)) {
        cuda_cache_close(ctx->cache);
        free_text(&ctx->allocator, ctx->import_path);
        platform_stack_free(ctx->stack);
        context_object_free(ctx, ctx, sizeof *ctx);
        return TW_NO_MEMORY;
    }
    ctx->poll = (struct poll){.cancelled = ctx->config.cancelled,
                              .user = ctx->config.cancelled_user,
                              .progress = ctx->config.progress,
                              .progress_user = ctx->config.progress_user};
    arena_init(&ctx->message_memory, &ctx->allocator, &ctx->recovery); /* the messages are
                                                                        * complete */
    context_arena(ctx, &ctx->scratch);
    context_arena(ctx, &ctx->probe);
    clear_messages(ctx);
    *out = ctx;
    return TW_OK;
}

tw_status context_again(const tw_context *owner, tw_context **out)
{
    tw_config config = owner->config;
    config.cache = cuda_cache_folder(owner->cache);
    config.import_path = owner->import_path;
    config.parallel = owner->parallel.run;
    config.parallel_user = owner->parallel.user;
    config.threads = owner->parallel.threads;
    return tw_context_new(&config, out);
}

void tw_context_free(tw_context *ctx)
{
    if (!ctx)
        return;
    while (ctx->families)
        ctx->frees.family(ctx->families);
    while (ctx->entries)
        ctx->frees.entry(ctx->entries);
    while (ctx->builds)
        ctx->frees.build(ctx->builds);
    while (ctx->launches)
        ctx->frees.launch(ctx->launches);
    while (ctx->modules)
        ctx->frees.module(ctx->modules);
    while (ctx->programs)
        ctx->frees.ptx(ctx->programs);
    while (ctx->expected)
        ctx->frees.expected(ctx->expected);
    while (ctx->stores)
        ctx->frees.store(ctx->stores);
    platform_queue_free(ctx->queue);
    platform_pool_free(ctx->pool);
    platform_stack_free(ctx->stack);
    cpu_kept_free(&ctx->kept, &ctx->allocator);
    cuda_close(ctx->cuda);
    cuda_cache_close(ctx->cache);
    free_text(&ctx->allocator, ctx->import_path);
    arena_free(&ctx->message_memory);
    arena_free(&ctx->scratch);
    arena_free(&ctx->probe);
    struct allocator allocator = ctx->allocator;
    allocator.resize(allocator.user, ctx, sizeof *ctx, 0);
}

const char *tw_context_messages(const tw_context *ctx)
{
    return ctx ? ctx->rendered : "";
}

bool tw_context_message(const tw_context *ctx, int index, tw_message *out)
{
    if (!ctx || !out || index < 0 || index >= ctx->message_count ||
        !SIZED_FITS(NULL, tw_message, out))
        return false;
    FILL_SIZED(out, ctx->messages[index]);
    return true;
}

int context_name_find(const char *name, const char *const *names, int count)
{
    for (int i = 0; i < count; i++)
        if (strcmp(name, names[i]) == 0)
            return i;
    return -1;
}

void context_suggest(struct diag *d, struct arena *a, const char *name, const char *const *names,
                     int count)
{
    const char *near = text_nearest(name, names, (size_t)count);
    if (near) {
        diag_note(d, LOC_NONE, "did you mean `%s`?", near);
        return;
    }
    if (count == 0)
        return;
    struct text list;
    text_init(&list, a);
    for (int i = 0; i < count; i++)
        text_printf(&list, "%s`%s`", i ? ", " : "", names[i]);
    diag_note(d, LOC_NONE, "there %s %s", count == 1 ? "is" : "are", list.data);
}
