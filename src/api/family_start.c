/* Starts of a family. The entry of the sizes is found in a cache without a lock; all else is the
 * entry's start. The first start of some sizes chooses a variant under the lock, makes its entry
 * ready without it, and puts it into the cache. A variant that the target or the driver refuses is left out
 * from then on, and the next best one takes its place. */
#include "api/family_cache.h"
#include "api/family.h"

#include <stdio.h>
#include <string.h>

/* Reads the sizes of a start. Returns false if an argument is not an integer, or the number of
 * arguments is wrong. */
static inline bool take_sizes(const tw_family *f, const tw_value *arguments, int count,
                              int64_t *sizes)
{
    if (count < f->least_arguments || count > f->argument_count)
        return false;
    for (int i = 0; i < f->size_count; i++) {
        int at = f->size_argument[i];
        if (at < count && arguments[at].kind != TW_INTEGER)
            return false;
        sizes[i] = at < count ? arguments[at].i : f->preset[i];
    }
    return true;
}

static struct family_cache *cache_of(tw_family *f)
{
    return atomic_load_explicit(&f->cache, memory_order_acquire);
}

/* --- the slow path --- */

struct entry_call {
    tw_family *family;
    const struct family_variant *variant;
    tw_launch *launch;
};

static tw_status set_up(void *user)
{
    const struct entry_call *c = user;
    return family_set_up(c->family, c->launch, c->variant->tune);
}

static tw_status make_cache(tw_family *f)
{
    size_t bytes = family_cache_bytes(f->size_count);
    struct family_cache *c = cache_of(f) ? NULL : context_object(f->own, bytes);
    if (!c)
        return cache_of(f) ? TW_OK : context_no_memory(f->own);
    c->size_count = f->size_count;
    c->bytes = bytes;
    atomic_store_explicit(&f->cache, c, memory_order_release);
    return TW_OK;
}

/* Makes the entry of a variant, once. */
static tw_status make_entry(tw_family *f, struct family_variant *v)
{
    struct entry_call call = {.family = f, .variant = v};
    if (v->entry)
        return TW_OK;
    tw_status status = tw_launch_new(f->members[v->member].own, &call.launch);
    if (status == TW_OK)
        status = context_call(f->own, set_up, &call);
    if (status == TW_OK)
        status = tw_entry_new(call.launch, &v->entry);
    tw_launch_free(call.launch);
    if (status == TW_OK)
        entry_made_ready_by(v->entry, "tw_family_ready");
    return status;
}

struct start {
    tw_family *family;
    const tw_value *arguments;
    int count;
    void *stream;
    struct family_sizes sizes;
};

/* Begins a start under the lock. *out: the entry, if another thread has made it meanwhile. */
static tw_status begin(struct start *s, tw_entry **out, tw_error *error)
{
    tw_family *f = s->family;
    tw_status status = family_open_own(f);
    if (status == TW_OK)
        status = family_take(f, s->arguments, s->count, &s->sizes);
    if (status == TW_OK)
        status = make_cache(f);
    if (status != TW_OK) {
        family_fill_error(f, status, error);
        return status;
    }
    f->started = true;
    *out = family_cache_find(cache_of(f), s->sizes.size);
    return TW_OK;
}

/* Chooses a variant and makes its entry, under the lock. *variant: NULL if there is no choice. */
static tw_status choose_entry(const struct start *s, struct family_variant **variant,
                              tw_error *error)
{
    tw_family *f = s->family;
    tw_choice choice = {0};
    *variant = NULL;
    tw_status status = family_choose(f, &s->sizes, &choice, variant);
    if (status == TW_OK)
        status = make_entry(f, *variant);
    if (status != TW_OK)
        family_fill_error(f, status, error);
    return status;
}

/* Makes the entry ready without the lock, so that starts of other sizes need not wait for the
 * compilation. The entry has a lock of its own. */
static tw_status unlocked_ready(const struct start *s, tw_entry *entry, tw_error *error)
{
    platform_unlock(s->family->lock);
    tw_status status = tw_entry_ready(entry, s->arguments, s->count, s->stream, error);
    platform_lock(s->family->lock);
    return status;
}

/* Leaves refused variants out until one is ready. Called, and returns, under the lock. */
static tw_status choose_ready(const struct start *s, tw_entry **out, tw_error *error)
{
    tw_family *f = s->family;
    for (;;) {
        struct family_variant *v;
        tw_status status = choose_entry(s, &v, error);
        if (status == TW_OK)
            status = unlocked_ready(s, v->entry, error);
        *out = status == TW_OK ? v->entry : NULL;
        if (*out && !family_cache_find(cache_of(f), s->sizes.size))
            family_cache_put(cache_of(f), s->sizes.size, *out);
        if (!v || !family_is_refusal(status))
            return status;
        v->refused = true;
        family_note_refusal(f, error);
    }
}

/* Finds the entry for these arguments and makes it ready. */
static tw_status find_ready(struct start *s, tw_error *error, tw_entry **out)
{
    tw_error found = tw_error_init();
    platform_lock(s->family->lock);
    tw_status status = begin(s, out, &found);
    if (status == TW_OK && !*out) {
        family_forget_refusals(s->family);
        status = choose_ready(s, out, &found);
    }
    platform_unlock(s->family->lock);
    if (status != TW_OK && error)
        FILL_SIZED(error, found);
    return status;
}

/* --- the calls --- */

tw_status tw_family_start(tw_family *f, const tw_value *arguments, int count, void *stream,
                          tw_error *error)
{
    struct start s = {.family = f, .arguments = arguments, .count = count, .stream = stream};
    int64_t sizes[ENTRY_PARAMS];
    tw_entry *entry = NULL;
    if (f && arguments && cache_of(f) && take_sizes(f, arguments, count, sizes))
        entry = family_cache_find(cache_of(f), sizes);
    if (entry)
        return tw_entry_start(entry, arguments, count, stream, error);
    error = sized_error_to_fill(error);
    tw_status status = family_check_call(f, arguments, count, error, "tw_family_start");
    if (status == TW_OK)
        status = find_ready(&s, error, &entry);
    return status == TW_OK ? tw_entry_start(entry, arguments, count, stream, error) : status;
}

tw_status tw_family_ready(tw_family *f, const tw_value *arguments, int count, void *stream,
                          tw_error *error)
{
    struct start s = {.family = f, .arguments = arguments, .count = count, .stream = stream};
    tw_entry *entry = NULL;
    error = sized_error_to_fill(error);
    tw_status status = family_check_call(f, arguments, count, error, "tw_family_ready");
    if (status == TW_OK)
        status = find_ready(&s, error, &entry);
    /* The entry may be that of other addresses, with a variant of its own for these. */
    return status == TW_OK ? tw_entry_ready(entry, arguments, count, stream, error) : status;
}
