/* The tensor map of a view at one launch, and a thread's cache of encoded maps.
 *
 * A kernel was compiled for the form of a map: the view, a box, a swizzle. A launch knows the view's
 * address, extents and strides; map_find makes of them what the copy engine needs, or says why it
 * takes no such view. The encoding, 128 bytes that a kernel gets as a parameter, is made by the
 * driver (or for the simulator by base/tensor_map.c) and depends on nothing else, so each thread keeps
 * the latest ones: a launch whose arrays are the same as before needs no call of the driver.
 *
 * This text is all of it: the library compiles it, and every NAME.c that `tilewright build` writes
 * for kernels with tensor maps has a copy. So it needs nothing but C99. Limits: CUDA Driver API,
 * cuTensorMapEncodeTiled. */
#ifndef TW_VIEW_MAP_H
#define TW_VIEW_MAP_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum {
    MAP_AXES = 5,
    MAP_WORDS = 16,     /* of an encoded map, 128 bytes */
    MAP_ALIGNMENT = 64, /* of the bytes when the driver writes them */
    MAP_TEXT = 256      /* bytes of a message */
};

/* A map, as its kernel was compiled. */
struct map_form {
    const char *view;
    int32_t type;    /* of the elements: the caller's number */
    int32_t element; /* bytes */
    int32_t rank;
    int32_t swizzle;        /* 0: none; 1, 2, 3: 32, 64, 128 bytes */
    int32_t strided;        /* 1: the view has strides; 0: its elements follow one another */
    uint32_t box[MAP_AXES]; /* elements, by axis of the view */
};

/* All that the encoding of a map depends on. The first axis is the innermost, whose elements are
 * neighbours: the view's last one. Axes that the view lacks are 0. */
struct map_request {
    uint64_t address;
    uint64_t extent[MAP_AXES]; /* elements */
    uint64_t stride[MAP_AXES]; /* bytes; not used: that of the first axis */
    uint32_t box[MAP_AXES];    /* elements */
    int32_t type, rank, swizzle;
};

enum map_found {
    MAP_READY,
    MAP_EMPTY,  /* the view has no elements, so no copy is made: the kernel gets zeros */
    MAP_REFUSED /* the copy engine takes no such view */
};

/* A message for a refused view, and what its caller can do. */
struct map_refusal {
    char text[MAP_TEXT];
    const char *way_out;
};

static inline enum map_found map_refuse_rows(struct map_refusal *why, const struct map_form *f,
                                             int axis, int64_t bytes)
{
    const char *of = axis == f->rank - 2 ? "rows" : "slices";
    const char *needs = bytes < 0    ? "that do not go backwards"
                        : bytes % 16 ? "of a multiple of 16 bytes"
                                     : "of less than 2^40 bytes";
    snprintf(why->text, sizeof why->text,
             "`%s` has %s of %lld bytes along axis %d; tensor copies need %s %s", f->view, of,
             (long long)bytes, axis, of, needs);
    why->way_out = "pad the rows, or take a kernel without tensor copies";
    return MAP_REFUSED;
}

/* Returns the bytes from an element to the next one along an axis of one element, which has no next
 * one: as if elements followed one another, in the multiples that the copy engine takes. */
static inline uint64_t map_stride_of_one(const struct map_request *r, int axis)
{
    uint64_t bytes = (r->stride[axis - 1] * r->extent[axis - 1] + 15) / 16 * 16;
    return bytes < (UINT64_C(1) << 40) ? bytes : 16;
}

/* Adds axis `axis` of the view. apart: the elements from one to the next along it. */
static inline enum map_found map_add_axis(const struct map_form *f, int axis, int64_t extent,
                                          int64_t apart, struct map_request *out,
                                          struct map_refusal *why)
{
    int at = f->rank - 1 - axis;
    int64_t bytes = apart * f->element;
    out->extent[at] = (uint64_t)extent;
    out->box[at] = f->box[axis];
    out->stride[at] = (uint64_t)bytes;
    if (extent > INT64_C(1) << 32) {
        snprintf(why->text, sizeof why->text,
                 "`%s` has %lld elements along axis %d; tensor copies take at most 2^32", f->view,
                 (long long)extent, axis);
        why->way_out = "split the array, or take a kernel without tensor copies";
        return MAP_REFUSED;
    }
    if (extent == 1) {
        out->stride[at] = at ? map_stride_of_one(out, at) : (uint64_t)f->element;
    } else if (at == 0 && apart != 1) {
        snprintf(why->text, sizeof why->text,
                 "`%s` has elements %lld bytes apart along axis %d; tensor copies need neighbours "
                 "along the last axis",
                 f->view, (long long)bytes, axis);
        why->way_out = "copy the array, or take a kernel without tensor copies";
        return MAP_REFUSED;
    } else if (at > 0 && (bytes < 0 || bytes % 16 || bytes >= INT64_C(1) << 40)) {
        return map_refuse_rows(why, f, axis, bytes);
    }
    return MAP_READY;
}

/* Finds the map of a view. base: the address of its array; offset: elements from there to the view's
 * first; extent, stride: elements, by axis of the view. `why` is set for MAP_REFUSED. */
static inline enum map_found map_find(const struct map_form *f, uint64_t base, int64_t offset,
                                      const int64_t *extent, const int64_t *stride,
                                      struct map_request *out, struct map_refusal *why)
{
    const int64_t most = INT64_C(1) << 52; /* elements of a row: more are refused */
    int64_t next = 1;
    memset(out, 0, sizeof *out);
    out->type = f->type;
    out->rank = f->rank;
    out->swizzle = f->swizzle;
    for (int axis = 0; axis < f->rank; axis++)
        if (extent[axis] <= 0)
            return MAP_EMPTY;
    out->address = base + (uint64_t)offset * (uint64_t)f->element;
    if (out->address % 16) {
        snprintf(why->text, sizeof why->text,
                 "`%s` begins at address 0x%llx; tensor copies need an address of a multiple of 16 "
                 "bytes",
                 f->view, (unsigned long long)out->address);
        why->way_out = "let the array begin at such an address, or take a kernel without tensor "
                       "copies";
        return MAP_REFUSED;
    }
    for (int axis = f->rank - 1; axis >= 0; axis--) {
        int64_t apart = f->strided ? stride[axis] : next;
        apart = apart > most ? most : apart < -most ? -most : apart;
        if (map_add_axis(f, axis, extent[axis], apart, out, why) == MAP_REFUSED)
            return MAP_REFUSED;
        next = extent[axis] > most / next ? most : next * extent[axis];
    }
    return MAP_READY;
}

/* --- the cache --- */

enum { MAP_SETS = 16, MAP_WAYS = 4 };

struct map_line {
    struct map_request request; /* of rank 0: none */
    uint64_t code[MAP_WORDS];
};
struct map_cache {
    struct map_line line[MAP_SETS][MAP_WAYS];
    unsigned char next[MAP_SETS]; /* the way that is replaced next */
};

/* Chooses a set. Launches differ mostly in addresses and extents. */
static inline unsigned map_set(const struct map_request *r)
{
    uint64_t h = r->address ^ r->extent[0] << 20 ^ r->extent[1] << 40 ^ r->box[0] ^ r->box[1] << 9;
    return (unsigned)(h * UINT64_C(0x9E3779B97F4A7C15) >> 60); /* 2^64 over the golden ratio */
}

/* Returns the code of a map that was put into the cache; NULL: it is not there. */
static inline const uint64_t *map_cached(const struct map_cache *c, const struct map_request *r)
{
    const struct map_line *set = c->line[map_set(r)];
    for (int way = 0; way < MAP_WAYS; way++)
        if (memcmp(&set[way].request, r, sizeof *r) == 0)
            return set[way].code;
    return NULL;
}

static inline void map_keep(struct map_cache *c, const struct map_request *r, const uint64_t *code)
{
    unsigned set = map_set(r);
    struct map_line *line = &c->line[set][c->next[set]++ % MAP_WAYS];
    line->request = *r;
    memcpy(line->code, code, sizeof line->code);
}

#endif
