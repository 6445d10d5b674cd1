/* Assembled kernels on disk. A cubin is found again by everything that it depends on, from any
 * process of the user, until the folder is larger than its limit.
 *
 * Each cubin is one file, named by its key. It is written under another name and renamed. A
 * reader checks the whole file; a damaged one counts as absent and is replaced. If nothing can
 * be written, kernels are assembled every time, and cuda_cache_look gives the reason. */
#ifndef TW_CUDA_CACHE_H
#define TW_CUDA_CACHE_H

#include "base/arena.h"
#include "base/blake2s.h"

struct cuda_cache;

/* Opens the cache. folder NULL: $TILEWRIGHT_CACHE, or `tilewright` in the user's cache folder;
 * "": nothing is stored. $TILEWRIGHT_CACHE_MIB is the largest size of the folder (1024; 0:
 * nothing is stored). Does not touch files. Returns NULL if there is no memory. */
struct cuda_cache *cuda_cache_open(const struct allocator *allocator, const char *folder);
void cuda_cache_close(struct cuda_cache *c); /* NULL is fine */
bool cuda_cache_on(const struct cuda_cache *c);
const char *cuda_cache_folder(const struct cuda_cache *c); /* "": off */

/* Everything that a cubin depends on. */
struct cuda_cache_source {
    const char *compiler; /* version of this program */
    const char *ptx;
    size_t ptx_length;
    const char *assembler; /* version of ptxas and of the driver */
    const char *target;    /* "sm_90": the GPU that it is assembled for */
};
struct cuda_cache_key {
    unsigned char digest[BLAKE2S_BYTES];
};
struct cuda_cache_key cuda_cache_key(const struct cuda_cache_source *from);

/* Returns the cubin, in scratch memory, aligned to 16 bytes; NULL if it is not stored. */
const void *cuda_cache_find(const struct cuda_cache *c, struct arena *scratch,
                            const struct cuda_cache_key *key, size_t *length);
/* Stores the cubin if possible, and removes the least recently used ones if the folder is too
 * large. */
void cuda_cache_store(struct cuda_cache *c, struct arena *scratch, const struct cuda_cache_key *key,
                      const void *cubin, size_t length);

struct cuda_cache_state {
    const char *folder;  /* NULL: off */
    int64_t limit;       /* bytes */
    int64_t bytes;       /* that it holds now */
    int64_t files;       /* cubins */
    const char *trouble; /* reason why nothing can be stored, in scratch memory; NULL: it can */
};
struct cuda_cache_state cuda_cache_look(const struct cuda_cache *c, struct arena *scratch);

#endif
