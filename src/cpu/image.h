/* Images: programs of the engine as words that do not depend on where they are in memory. A
 * build writes them into C (image_write.c), and a program without the compiler loads them
 * (image.c).
 *
 * An image has all structs that the program points to. image.def lists their pointers, so both
 * sides are made from one table. In the image, a pointer is the offset of its target; a step is its
 * row in steps.def; and a routine is its place in struct routine_set, so that it is found in the
 * set of the machine that loads the image. Programs differ between sets (in the width of panels,
 * for example), so a build has an image for each set; equal ones are one.
 *
 * The words: IMAGE_HEADER words (enum image_word), then the bytes of the structs. Most of them are 0,
 * so they are written as runs: a word with the number of zero words in its upper half and the
 * number of the words that follow it in its lower half. After the structs the bytes have, as
 * uint32_t, the offsets of all pointers and then those of all functions. */
#ifndef TW_IMAGE_H
#define TW_IMAGE_H

#include "cpu/program.h"

enum image_word {
    IMAGE_LAYOUT,    /* image_layout() of the engine that wrote it */
    IMAGE_BYTES,     /* of structs and lists, a multiple of 8 */
    IMAGE_POINTERS,  /* number of pointers */
    IMAGE_FUNCTIONS, /* number of functions */
    IMAGE_RUNS,      /* number of words of all runs */
    IMAGE_HEADER
};

struct image {
    const uint64_t *words;
    size_t count;
};

/* --- image.c --- */

/* Returns a number that changes if a struct, a step or a routine set gets another layout. */
uint64_t image_layout(void);
/* Returns the bytes of memory that image_load needs. */
size_t image_bytes(const uint64_t *words);
/* Loads the program into memory that is aligned to 16 bytes and lives as long as the program.
 * Returns NULL if an engine with other structs wrote the image. */
struct cpu_program *image_load(const uint64_t *words, const struct routine_set *set, void *memory);

/* The struct of `detail` in steps that have none. */
struct none {
    char unused;
};

enum image_struct {
#define STRUCT(type, bytes) IMAGE_##type,
#include "cpu/image_fields.h"
    IMAGE_STRUCTS
};
enum image_way {
    WAY_ONE,
    WAY_MANY,
    WAY_LIST,
    WAY_BYTES,
    WAY_TEXT,
    WAY_ROUTINE,
    WAY_STEP,
    WAY_INSIDE,
    WAY_DROPPED,
    WAY_ARRAY_ONE
};
struct image_field {
    enum image_struct of;
    size_t at; /* offset in the struct */
    enum image_way way;
    enum image_struct target;
    size_t (*count)(const void *of); /* of WAY_MANY and the others that have a number */
};
struct image_step {
    step_fn *step;
    enum image_struct detail;
};
extern const struct image_step image_steps[];
extern const size_t image_step_count;

/* A function of an image: of a routine set, a scan or an atomic. */
typedef void image_fn(void);
enum {
    IMAGE_SCAN = 1 << 24,
    IMAGE_ATOMIC = 2 << 24,
    IMAGE_IS_STEP = 4 << 24,
    IMAGE_PLACE = (1 << 24) - 1
};
/* Returns the function with that number; NULL: there is none. */
image_fn *image_function(const struct routine_set *set, uint32_t number);

/* --- image_write.c --- */

/* Sets the padding of a struct to 0, in `to`; from: the struct. */
void image_clear_padding(enum image_struct of, const void *from, unsigned char *to);

/* Writes the program as words in the arena. Returns words NULL and the reason in *why if a step calls
 * a function that no routine set has. */
struct image image_write(struct arena *a, const struct cpu_program *p, const char **why);

#endif
