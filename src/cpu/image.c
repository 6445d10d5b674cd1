/* Loads images. */
#include "cpu/image.h"

#include "cpu/atomic_ops.h"
#include "cpu/routines/lane_product.h"
#include "cpu/strips.h"

const struct image_step image_steps[] = {
#define STEP(name, kind, detail) {step_##name, IMAGE_##detail},
#define ROLE_STEP(name, kind, detail)
#include "cpu/steps.def"
};
const size_t image_step_count = sizeof image_steps / sizeof *image_steps;

/* --- functions --- */

/* A part of a routine set that is made of functions, among other words. */
struct part {
    const void *at;
    size_t bytes;
};

static struct part rows_of(const struct elementwise_routines *family)
{
    return (struct part){family->rows, family->count * sizeof *family->rows};
}

static struct part past_of(const struct elementwise_routines *family)
{
    size_t count = 0;
    while (family->past && (family->past[count].whole || family->past[count].by_one))
        count++;
    return (struct part){family->past, count * sizeof *family->past};
}

enum { PART_BITS = 16 };

static struct part part_of(const struct routine_set *s, int index)
{
    switch (index) {
    case 0: return rows_of(s->elementwise);
    case 1: return rows_of(s->math);
    case 2: return (struct part){s->convert, sizeof *s->convert};
    case 3: return (struct part){s->reduce, sizeof *s->reduce};
    case 4: return (struct part){s->reduce_integers, sizeof *s->reduce_integers};
    case 5: return (struct part){s->dot, sizeof *s->dot};
    case 6: return (struct part){s->memory, sizeof *s->memory};
    case 7: return (struct part){s->pack, sizeof *s->pack};
    case 8: return (struct part){s->elementwise, sizeof *s->elementwise};
    case 9: return (struct part){s->math, sizeof *s->math};
    case 10: return past_of(s->elementwise);
    case 11: return past_of(s->math);
    case 12: return (struct part){s->stream, sizeof *s->stream};
    case 13: return (struct part){s, sizeof *s};
    case 14: return (struct part){s->reduce_f64, sizeof *s->reduce_f64};
    case 15:
        return s->elementwise->other_types ? rows_of(s->elementwise->other_types)
                                           : (struct part){NULL, 0};
    default: return (struct part){NULL, 0};
    }
}

static image_fn *function_at(const struct part *part, size_t index)
{
    image_fn *function;
    memcpy(&function, (const unsigned char *)part->at + index * sizeof function, sizeof function);
    return function;
}

static image_fn *routine_numbered(const struct routine_set *set, uint32_t place)
{
    struct part part = part_of(set, (int)(place >> PART_BITS));
    size_t index = place & ((1 << PART_BITS) - 1);
    return index < part.bytes / sizeof(image_fn *) ? function_at(&part, index) : NULL;
}

static image_fn *scan_numbered(uint32_t place)
{
    return (image_fn *)routine_scan((enum op)(place / COMPUTE_COUNT),
                                    (enum compute)(place % COMPUTE_COUNT));
}

enum { ATOMICS = OP_ARRIVE - OP_ATOMIC_ADD + 1 };

static image_fn *atomic_numbered(uint32_t place)
{
    return place < (uint32_t)ATOMICS * DT_COUNT
               ? (image_fn *)cpu_atomic_op((enum op)(OP_ATOMIC_ADD + (int)(place / DT_COUNT)),
                                           (enum dtype)(place % DT_COUNT))
               : NULL;
}

image_fn *image_function(const struct routine_set *set, uint32_t number)
{
    uint32_t place = number & IMAGE_PLACE;
    if (number & IMAGE_SCAN)
        return scan_numbered(place);
    return number & IMAGE_ATOMIC ? atomic_numbered(place) : routine_numbered(set, place);
}

/* --- the layout --- */

static uint64_t mix(uint64_t sum, uint64_t v)
{
    return (sum ^ v) * UINT64_C(0x100000001b3); /* FNV-1a, in words */
}

uint64_t image_layout(void)
{
    static const size_t sizes[] = {
#define STRUCT(type, bytes) sizeof(struct type),
#include "cpu/image_fields.h"
        sizeof(struct routine_set),
        sizeof(struct elementwise_row),
        sizeof(struct elementwise_routines),
        sizeof(struct convert_routines),
        sizeof(struct reduce_routines),
        sizeof(struct memory_routines),
        sizeof(struct dot_routines),
        sizeof(struct pack_routines),
        OP_COUNT,
    };
    uint64_t sum = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        sum = mix(sum, sizes[i]);
    for (size_t i = 0; i < image_step_count; i++)
        sum = mix(sum, (uint64_t)image_steps[i].detail);
    return sum;
}

/* --- loading --- */

size_t image_bytes(const uint64_t *words)
{
    return (size_t)words[IMAGE_BYTES];
}

static void expand(const uint64_t *words, unsigned char *to)
{
    const uint64_t *at = words + IMAGE_HEADER, *end = at + words[IMAGE_RUNS];
    while (at < end) {
        size_t zeros = (size_t)(*at >> 32) * sizeof *at, bytes = (size_t)(uint32_t)*at * sizeof *at;
        memset(to, 0, zeros);
        memcpy(to + zeros, at + 1, bytes);
        to += zeros + bytes;
        at += 1 + (uint32_t)*at;
    }
}

static void load_pointers(unsigned char *memory, const uint32_t *at, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uintptr_t offset;
        memcpy(&offset, memory + at[i], sizeof offset);
        const void *pointer = memory + offset;
        memcpy(memory + at[i], &pointer, sizeof pointer);
    }
}

static void load_functions(unsigned char *memory, const uint32_t *at, size_t count,
                           const struct routine_set *set)
{
    for (size_t i = 0; i < count; i++) {
        uintptr_t number;
        memcpy(&number, memory + at[i], sizeof number);
        image_fn *function = number & IMAGE_IS_STEP
                                 ? (image_fn *)image_steps[number & IMAGE_PLACE].step
                                 : image_function(set, (uint32_t)number);
        memcpy(memory + at[i], &function, sizeof function);
    }
}

/* Sets what depends on the machine, in the program and in that of joined blocks. */
static void set_machine(struct cpu_program *p, const struct routine_set *set)
{
    p->set = set;
    if (p->joined)
        set_machine((struct cpu_program *)p->joined, set);
}

struct cpu_program *image_load(const uint64_t *words, const struct routine_set *set, void *memory)
{
    if (words[IMAGE_LAYOUT] != image_layout())
        return NULL;
    size_t pointers = (size_t)words[IMAGE_POINTERS], functions = (size_t)words[IMAGE_FUNCTIONS];
    size_t lists = (pointers + functions) * sizeof(uint32_t);
    expand(words, memory);
    const void *list = (unsigned char *)memory + words[IMAGE_BYTES] - (lists + 7) / 8 * 8;
    const uint32_t *at = list;
    load_pointers(memory, at, pointers);
    load_functions(memory, at + pointers, functions, set);
    struct cpu_program *p = memory; /* the image's first struct */
    set_machine(p, set);
    return p;
}
