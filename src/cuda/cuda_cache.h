/* Assembled kernels on disk: what an assembler made of a text is found again by all that it
 * depends on, by any process of the user, until the folder is larger than it may be.
 *
 * One file a cubin, named by its key. It is written beside and renamed; a reader checks all of it,
 * and one that is damaged counts as absent and is replaced. Where nothing can be written kernels
 * are assembled every time, and cuda_cache_look says why.
 */
#ifndef TW_CUDA_CACHE_H
#define TW_CUDA_CACHE_H

#include "base/arena.h"
#include "base/blake2s.h"

struct cuda_cache;

/* folder NULL: $TILEWRIGHT_CACHE, else `tilewright` in the user's cache folder; "": nothing is
 * kept. $TILEWRIGHT_CACHE_MIB is the most that the folder may hold (1024; 0: nothing is kept).
 * Touches no file. NULL: no memory. */
struct cuda_cache *cuda_cache_open(const struct allocator *allocator, const char *folder);
void cuda_cache_close(struct cuda_cache *c); /* NULL is fine */
bool cuda_cache_on(const struct cuda_cache *c);
const char *cuda_cache_folder(const struct cuda_cache *c); /* "": off */

/* All that a cubin depends on. */
struct cuda_cache_source {
    const char *compiler; /* version of this program */
    const char *ptx;
    size_t ptx_length;
    const char *assembler; /* which ptxas, and which driver */
    const char *target;    /* "sm_90": the GPU that it is assembled for */
};
struct cuda_cache_key {
    unsigned char digest[BLAKE2S_BYTES];
};
struct cuda_cache_key cuda_cache_key(const struct cuda_cache_source *from);

/* The cubin, in scratch memory, aligned to 16 bytes; NULL: there is none. */
const void *cuda_cache_find(const struct cuda_cache *c, struct arena *scratch,
                            const struct cuda_cache_key *key, size_t *length);
/* Keeps it, if it can; drops what was not used for the longest time where there is too much. */
void cuda_cache_store(struct cuda_cache *c, struct arena *scratch, const struct cuda_cache_key *key,
                      const void *cubin, size_t length);

struct cuda_cache_state {
    const char *folder;  /* NULL: off */
    int64_t limit;       /* bytes */
    int64_t bytes;       /* that it holds now */
    int64_t files;       /* cubins */
    const char *trouble; /* why nothing can be stored; NULL: it can. In scratch memory */
};
struct cuda_cache_state cuda_cache_look(const struct cuda_cache *c, struct arena *scratch);

#endif
