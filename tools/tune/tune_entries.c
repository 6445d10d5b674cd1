#include "tune/tune_entries.h"

#include "cli/tensor.h"

#include <stdlib.h>
#include <string.h>

enum { PART = 4, MOST = 1000 }; /* of the GPU's memory: the workspace that is kept; entries */

void entries_open(struct entries *x, struct tuning *t, void *stream,
                  void (*drop)(void *user, const tw_entry *entry), void *user)
{
    *x = (struct entries){.tuning = t, .stream = stream, .drop = drop, .user = user};
    x->list = need_memory((size_t)(t->build_count + 1) * sizeof *x->list);
}

static tw_status say(const struct entries *x, tw_status s, char why[300])
{
    tw_message m = {.size = sizeof m, .text = tw_status_text(s)};
    tw_context_message(x->tuning->ctx, 0, &m);
    snprintf(why, 300, "%s", m.text);
    return s;
}

/* --- workspace --- */

static void free_entry(struct entries *x, struct entry_held *h)
{
    x->drop(x->user, h->entry);
    tw_entry_free(h->entry);
    x->workspace -= h->workspace;
    x->count--;
    *h = (struct entry_held){0};
}

/* Frees the entry that was used longest ago, except `kept`; with_workspace: of those that have
 * some. Returns false if there is none. */
static bool free_oldest(struct entries *x, const struct entry_held *kept, bool with_workspace)
{
    struct entry_held *oldest = NULL;
    for (int i = 0; i < x->tuning->build_count; i++) {
        struct entry_held *h = &x->list[i];
        if (h->entry && h != kept && (h->workspace > 0 || !with_workspace) &&
            (!oldest || h->used < oldest->used))
            oldest = h;
    }
    if (oldest)
        free_entry(x, oldest);
    return oldest != NULL;
}

/* Counts the workspace of an entry, which grows to a power of two and keeps the smaller ones. */
static void count_workspace(struct entries *x, struct entry_held *h, int64_t bytes)
{
    int64_t all = 2 * bytes > h->workspace ? 2 * bytes : h->workspace;
    x->workspace += all - h->workspace;
    h->workspace = all;
    while (x->workspace > x->tuning->memory_bytes / PART && free_oldest(x, h, true))
        ;
}

/* --- entries --- */

tw_status entries_get(struct entries *x, int build, tw_launch *l, const tw_value *arguments,
                      int count, struct entry_held **out, char why[300])
{
    struct entry_held *h = *out = &x->list[build];
    tw_error e = tw_error_init();
    int64_t workspace = 0;
    tw_status s = TW_OK;
    if (!h->entry) {
        s = tw_entry_new(l, &h->entry);
        if (s != TW_OK)
            return say(x, s, why);
        if (++x->count > MOST)
            free_oldest(x, h, false);
    }
    h->used = ++x->uses;
    h->occupancy = tw_occupancy_init();
    do
        s = tw_entry_occupancy(h->entry, arguments, count, x->stream, &h->occupancy, &workspace,
                               &e);
    while (s == TW_NO_MEMORY && free_oldest(x, h, true));
    if (s == TW_OK) {
        count_workspace(x, h, workspace);
        return s;
    }
    snprintf(why, 300, "%.299s", e.text);
    free_entry(x, h);
    return s;
}

/* --- runs that are judged --- */

/* Copies the arrays to the GPU, the first time the inputs, too. */
static tw_status place(const struct entries *x, struct judged *j)
{
    tw_context *ctx = x->tuning->ctx;
    bool first = !j->device;
    tw_status s = TW_OK;
    if (first)
        j->device = need_memory((size_t)(j->arrays.count + 1) * sizeof *j->device);
    for (int i = 0; i < j->arrays.count && s == TW_OK; i++) {
        const struct operand *o = &j->arrays.list[i];
        size_t bytes = tensor_bytes(&o->array);
        if (!j->device[i])
            s = tw_device_allocate(ctx, bytes ? bytes : 1, &j->device[i]);
        if (s == TW_OK && (first || !o->param.is_const))
            s = tw_device_copy_in(ctx, j->device[i], o->array.data, bytes, x->stream);
    }
    return s;
}

static tw_status fetch(const struct entries *x, const struct judged *j)
{
    tw_status s = tw_stream_wait(x->tuning->ctx, x->stream);
    for (int i = 0; i < j->arrays.count && s == TW_OK; i++) {
        const struct operand *o = &j->arrays.list[i];
        if (!o->param.is_const)
            s = tw_device_copy_out(x->tuning->ctx, o->array.data, j->device[i],
                                   tensor_bytes(&o->array), x->stream);
    }
    return s;
}

/* Writes the arguments of the run by position, and returns their number. */
static int write_arguments(const struct judged *j, tw_kernel *k, tw_value *to)
{
    tw_param p = tw_param_init();
    int count = 0, array = 0;
    for (int i = 0; tw_kernel_param(k, i, &p) == TW_OK; i++) {
        if (p.derived)
            continue;
        if (p.is_pointer)
            to[count] = tw_pointer(j->device[array++]);
        else
            tw_launch_value(j->launch, p.name, &to[count]);
        count++;
    }
    return count;
}

/* Runs twice: a kernel that leaves `clean` workspace dirty gives wrong values the second time. */
static tw_status run_twice(struct entries *x, struct judged *j, const struct entry_held *h,
                           const tw_value *values, int count, char why[300])
{
    tw_error e = tw_error_init();
    tw_status s = TW_OK;
    for (int i = 0; i < 2 && s == TW_OK; i++) {
        s = place(x, j);
        if (s != TW_OK)
            return say(x, s, why);
        s = tw_entry_start(h->entry, values, count, x->stream, &e);
    }
    if (s != TW_OK) {
        snprintf(why, 300, "%.299s", e.text);
        return s;
    }
    s = fetch(x, j);
    return s == TW_OK ? s : say(x, s, why);
}

tw_status entries_run(struct entries *x, int build, tw_launch *l, struct judged *j,
                      tw_occupancy *occupancy, char why[300])
{
    const struct tuning *t = x->tuning;
    tw_kernel *k = t->members[t->facts[j->facts].member].kernel;
    struct entry_held *h;
    tw_status s = place(x, j);
    if (s != TW_OK)
        return say(x, s, why);
    tw_value *values = need_memory((size_t)tw_kernel_param_count(k) * sizeof *values);
    int count = write_arguments(j, k, values);
    s = entries_get(x, build, l, values, count, &h, why);
    if (s == TW_OK)
        s = run_twice(x, j, h, values, count, why);
    if (s == TW_OK)
        *occupancy = h->occupancy;
    free(values);
    return s;
}
