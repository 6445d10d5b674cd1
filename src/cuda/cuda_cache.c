#include "cuda/cuda_cache.h"

#include "base/platform.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    NAME_LENGTH = 2 * BLAKE2S_BYTES, /* hexadecimal digits */
    MOST_TROUBLE = 256,
    USUAL_MIB = 1024,
    STALE_SECONDS = 3600, /* age at which a half-written file is taken to be of a killed process */
};
static const char ending[] = ".cubin";

struct cuda_cache {
    const struct allocator *allocator;
    size_t size; /* of this struct with the folder's name */
    int64_t limit;
    int64_t room;               /* bytes that may be stored before the folder is listed again */
    char setting[MOST_TROUBLE]; /* error in the environment's settings; "": none */
    char trouble[MOST_TROUBLE]; /* error of the latest store; "": none */
    bool on;
    char folder[];
};

/* --- where, and how much --- */

enum { MOST_FOLDER = 4096 };

static const char *folder_of(const char *given, char usual[MOST_FOLDER])
{
    const char *named = given ? given : getenv("TILEWRIGHT_CACHE");
    if (named)
        return named;
    return platform_cache_folder("tilewright", usual, MOST_FOLDER) ? usual : "";
}

/* Returns the limit in bytes. A setting that is not a number is reported, and the default stays. */
static int64_t limit_of(char trouble[MOST_TROUBLE])
{
    const char *text = getenv("TILEWRIGHT_CACHE_MIB");
    const int64_t mib = 1024 * 1024;
    trouble[0] = '\0';
    if (!text || !text[0])
        return USUAL_MIB * mib;
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (*end == '\0' && errno == 0 && value >= 0 && value <= INT64_MAX / mib)
        return (int64_t)value * mib;
    snprintf(trouble, MOST_TROUBLE,
             "TILEWRIGHT_CACHE_MIB is `%.40s`, not a number of MiB: %d is used", text, USUAL_MIB);
    return USUAL_MIB * mib;
}

struct cuda_cache *cuda_cache_open(const struct allocator *allocator, const char *folder)
{
    char usual[MOST_FOLDER];
    folder = folder_of(folder, usual);
    size_t length = strlen(folder), size = sizeof(struct cuda_cache) + length + 1;
    struct cuda_cache *c = allocator->resize(allocator->user, NULL, 0, size);
    if (!c)
        return NULL;
    *c = (struct cuda_cache){.allocator = allocator, .size = size};
    memcpy(c->folder, folder, length + 1);
    c->limit = limit_of(c->setting);
    c->on = length > 0 && c->limit > 0;
    return c;
}

void cuda_cache_close(struct cuda_cache *c)
{
    if (c)
        c->allocator->resize(c->allocator->user, c, c->size, 0);
}

bool cuda_cache_on(const struct cuda_cache *c)
{
    return c && c->on;
}

const char *cuda_cache_folder(const struct cuda_cache *c)
{
    return cuda_cache_on(c) ? c->folder : "";
}

/* --- keys and files --- */

struct cuda_cache_key cuda_cache_key(const struct cuda_cache_source *from)
{
    const char *const texts[] = {from->compiler, from->assembler, from->target};
    struct cuda_cache_key key;
    struct blake2s h;
    blake2s_begin(&h);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        blake2s_field(&h, texts[i], strlen(texts[i]));
    blake2s_field(&h, from->ptx, from->ptx_length);
    blake2s_end(&h, key.digest);
    return key;
}

static const char *path_of(const struct cuda_cache *c, struct arena *scratch,
                           const struct cuda_cache_key *key)
{
    char name[NAME_LENGTH + 1];
    for (int i = 0; i < BLAKE2S_BYTES; i++)
        snprintf(name + 2 * i, 3, "%02x", key->digest[i]);
    return arena_printf(scratch, "%s/%s%s", c->folder, name, ending);
}

/* The header before the cubin. It consists of bytes, so it is the same on every machine. */
struct header {
    unsigned char magic[8];
    unsigned char key[BLAKE2S_BYTES];
    unsigned char length[8]; /* length of the cubin, least significant byte first */
    unsigned char digest[BLAKE2S_BYTES];
};
_Static_assert(sizeof(struct header) % 16 == 0, "the cubin after it is aligned");

static struct header header_for(const struct cuda_cache_key *key, const void *cubin, size_t length)
{
    struct header h;
    memcpy(h.magic, "TWCUBIN1", sizeof h.magic);
    memcpy(h.key, key->digest, sizeof h.key);
    for (int i = 0; i < 8; i++)
        h.length[i] = (unsigned char)((uint64_t)length >> 8 * i);
    blake2s_of(cubin, length, h.digest);
    return h;
}

const void *cuda_cache_find(const struct cuda_cache *c, struct arena *scratch,
                            const struct cuda_cache_key *key, size_t *length)
{
    const char *why;
    size_t size = 0;
    if (!cuda_cache_on(c))
        return NULL;
    const char *path = path_of(c, scratch, key);
    const char *file = platform_read_file(scratch, path, &size, &why);
    if (file && size > sizeof(struct header)) {
        const char *cubin = file + sizeof(struct header);
        *length = size - sizeof(struct header);
        struct header expected = header_for(key, cubin, *length);
        if (memcmp(file, &expected, sizeof expected) == 0) {
            platform_touch_file(path);
            return cubin;
        }
    }
    return NULL;
}

/* --- what is too much --- */

/* Returns the part of a file's name after its key, or NULL if the cache did not make the file. */
static const char *after_key(const char *name)
{
    size_t digits = strspn(name, "0123456789abcdef");
    return digits == NAME_LENGTH && strncmp(name + digits, ending, strlen(ending)) == 0
               ? name + digits + strlen(ending)
               : NULL;
}

static bool is_cubin(const struct platform_file *f)
{
    const char *rest = after_key(f->name);
    return rest && rest[0] == '\0';
}

static int by_use(const void *left, const void *right)
{
    const struct platform_file *a = left, *b = right;
    return (a->used > b->used) - (a->used < b->used);
}

static void drop(const struct cuda_cache *c, struct arena *scratch, const struct platform_file *f)
{
    platform_remove_file(arena_printf(scratch, "%s/%s", c->folder, f->name));
}

/* Frees a sixteenth of the limit, so that not every store has to list the folder. */
static void make_room(struct cuda_cache *c, struct arena *scratch)
{
    struct platform_files files = platform_list_files(scratch, c->folder);
    const struct platform_file *all = files.list.data;
    int64_t bytes = 0, share = c->limit / 16;
    double stale = platform_date() - STALE_SECONDS;
    if (files.list.count > 0)
        qsort(files.list.data, files.list.count, sizeof *all, by_use);
    for (size_t i = 0; i < files.list.count; i++)
        bytes += is_cubin(&all[i]) ? all[i].bytes : 0;
    for (size_t i = 0; i < files.list.count; i++) {
        const char *rest = after_key(all[i].name);
        if (is_cubin(&all[i]) && bytes > c->limit - share) {
            bytes -= all[i].bytes;
            drop(c, scratch, &all[i]);
        } else if (rest && rest[0] == '.' && all[i].used < stale) {
            drop(c, scratch, &all[i]);
        }
    }
    c->room = share;
}

void cuda_cache_store(struct cuda_cache *c, struct arena *scratch, const struct cuda_cache_key *key,
                      const void *cubin, size_t length)
{
    const char *why = "";
    if (!cuda_cache_on(c) || length == 0)
        return;
    struct header header = header_for(key, cubin, length);
    size_t size = sizeof header + length;
    char *file = arena_room(scratch, size);
    memcpy(file, &header, sizeof header);
    memcpy(file + sizeof header, cubin, length);
    bool stored = platform_make_folder(scratch, c->folder, &why) &&
                  platform_store_file(scratch, path_of(c, scratch, key), file, size, &why);
    snprintf(c->trouble, sizeof c->trouble, "%s", stored ? "" : why);
    c->room -= (int64_t)size;
    if (stored && c->room < 0)
        make_room(c, scratch);
}

struct cuda_cache_state cuda_cache_look(const struct cuda_cache *c, struct arena *scratch)
{
    struct cuda_cache_state state = {.limit = c->limit};
    const char *why;
    if (c->setting[0])
        state.trouble = arena_string(scratch, c->setting, strlen(c->setting));
    if (!c->on)
        return state;
    state.folder = arena_string(scratch, c->folder, strlen(c->folder));
    struct platform_files files = platform_list_files(scratch, c->folder);
    for (size_t i = 0; i < files.list.count; i++)
        if (is_cubin(&files.list.data[i])) {
            state.files++;
            state.bytes += files.list.data[i].bytes;
        }
    if (c->trouble[0])
        state.trouble = arena_string(scratch, c->trouble, strlen(c->trouble));
    else if (!platform_make_folder(scratch, c->folder, &why) ||
             !platform_may_write(scratch, c->folder, &why))
        state.trouble = why;
    return state;
}
