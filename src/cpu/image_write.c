/* Writes images: copies the structs that a program points to, and turns pointers into offsets. */
#include "cpu/image.h"

#include "base/number_map.h"
#include "cpu/atomic_ops.h"
#include "cpu/routines/lane_product.h"
#include "cpu/strips.h"

#include <stddef.h>

/* --- the table --- */

#define COUNTED(type, member, n)                                                                   \
    static size_t count_##type##_##member(const void *of)                                          \
    {                                                                                              \
        const struct type *x = of;                                                                 \
        (void)x;                                                                                   \
        return (size_t)(n);                                                                        \
    }
#define MANY(type, member, target, n) COUNTED(type, member, n)
#define LIST(type, member, target, n) COUNTED(type, member, n)
#define BYTES(type, member, n) COUNTED(type, member, n)
#define INSIDE(type, member, target, n) COUNTED(type, member, n)
#define ARRAY_ONE(type, member, target, n) COUNTED(type, member, n)
#include "cpu/image_fields.h"

#define STRUCT(type, bytes)                                                                        \
    static size_t bytes_of_##type(const void *of)                                                  \
    {                                                                                              \
        const struct type *x = of;                                                                 \
        (void)x;                                                                                   \
        return bytes;                                                                              \
    }
#include "cpu/image_fields.h"

static size_t (*const struct_bytes[])(const void *) = {
#define STRUCT(type, bytes) bytes_of_##type,
#include "cpu/image_fields.h"
};

#define ROW(type, member, way, target, count)                                                      \
    {IMAGE_##type, offsetof(struct type, member), WAY_##way, IMAGE_##target, count},
static const struct image_field fields[] = {
#define ONE(type, member, target) ROW(type, member, ONE, target, NULL)
#define MANY(type, member, target, n) ROW(type, member, MANY, target, count_##type##_##member)
#define LIST(type, member, target, n) ROW(type, member, LIST, target, count_##type##_##member)
#define BYTES(type, member, n) ROW(type, member, BYTES, none, count_##type##_##member)
#define TEXT(type, member) ROW(type, member, TEXT, none, NULL)
#define CALLS(type, member) ROW(type, member, ROUTINE, none, NULL)
#define STEP_OF(type, member) ROW(type, member, STEP, none, NULL)
#define INSIDE(type, member, target, n) ROW(type, member, INSIDE, target, count_##type##_##member)
#define DROPPED(type, member) ROW(type, member, DROPPED, none, NULL)
#define ARRAY_ONE(type, member, target, n)                                                         \
    ROW(type, member, ARRAY_ONE, target, count_##type##_##member)
#include "cpu/image_fields.h"
};

/* Padding: the bytes from `at` to `end`. */
static const struct {
    enum image_struct of;
    size_t at, end;
} gaps[] = {
#define AFTER(type, member) offsetof(struct type, member) + sizeof((struct type *)0)->member
#define GAP(type, before, next) {IMAGE_##type, AFTER(type, before), offsetof(struct type, next)},
#define TAIL(type, last) {IMAGE_##type, AFTER(type, last), sizeof(struct type)},
#include "cpu/image_gaps.def"
};

/* --- writing --- */

enum { GRAIN = 8 };

struct writer {
    struct arena *arena;
    const struct routine_set *set;
    const char *why;
    VEC(unsigned char) bytes;
    VEC(uint32_t) pointers, functions;
    struct number_map known;   /* address and struct → offset */
    struct number_map numbers; /* function → its number */
};

/* Appends bytes and returns their offset. */
static size_t append(struct writer *w, const void *from, size_t bytes)
{
    size_t at = w->bytes.count, end = (at + bytes + GRAIN - 1) / GRAIN * GRAIN;
    while (w->bytes.capacity < end) {
        size_t capacity = w->bytes.capacity ? w->bytes.capacity * 2 : 4096;
        unsigned char *data = arena_alloc(w->arena, capacity);
        if (at)
            memcpy(data, w->bytes.data, at);
        w->bytes.data = data;
        w->bytes.capacity = capacity;
    }
    if (bytes)
        memcpy(w->bytes.data + at, from, bytes);
    w->bytes.count = end;
    return at;
}

static void set_word(struct writer *w, size_t at, uintptr_t word)
{
    memcpy(w->bytes.data + at, &word, sizeof word);
}

static void set_pointer(struct writer *w, size_t at, size_t offset)
{
    set_word(w, at, offset);
    vec_push(w->arena, &w->pointers, (uint32_t)at);
}

static void set_function(struct writer *w, size_t at, uintptr_t number)
{
    set_word(w, at, number);
    vec_push(w->arena, &w->functions, (uint32_t)at);
}

static const void *pointer_at(const void *struct_, size_t at)
{
    const void *pointer;
    memcpy(&pointer, (const unsigned char *)struct_ + at, sizeof pointer);
    return pointer;
}

void image_clear_padding(enum image_struct of, const void *from, unsigned char *to)
{
    for (size_t i = 0; i < sizeof gaps / sizeof *gaps; i++)
        if (gaps[i].of == of)
            memset(to + gaps[i].at, 0, gaps[i].end - gaps[i].at);
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        const struct image_field *f = &fields[i];
        if (f->of != of || f->way != WAY_INSIDE)
            continue;
        const unsigned char *first = (const unsigned char *)from + f->at;
        size_t count = f->count(from), bytes = count ? struct_bytes[f->target](first) : 0;
        for (size_t n = 0; n < count; n++)
            image_clear_padding(f->target, first + n * bytes, to + f->at + n * bytes);
    }
}

static void write_fields(struct writer *w, enum image_struct of, const void *from, size_t at);

/* Writes `count` structs; those that are written already are not written again. Returns the
 * offset of the first. */
static size_t write_structs(struct writer *w, enum image_struct type, const void *from,
                            size_t count)
{
    const unsigned char *first = from;
    bool added;
    uint64_t key = (uint64_t)(uintptr_t)from * IMAGE_STRUCTS + (uint64_t)type;
    const struct number_entry *known = number_map_find(&w->known, key);
    if (known)
        return (size_t)known->value;
    size_t bytes = struct_bytes[type](from), at = append(w, from, bytes * count);
    for (size_t i = 0; i < count; i++) {
        key = (uint64_t)(uintptr_t)(first + i * bytes) * IMAGE_STRUCTS + (uint64_t)type;
        number_map_entry(w->arena, &w->known, key, &added)->value = at + i * bytes;
    }
    for (size_t i = 0; i < count; i++) {
        image_clear_padding(type, first + i * bytes, w->bytes.data + at + i * bytes);
        write_fields(w, type, first + i * bytes, at + i * bytes);
    }
    return at;
}

/* Writes a list of pointers to structs and returns its offset. */
static size_t write_list(struct writer *w, enum image_struct type, const void *from, size_t count)
{
    size_t at = append(w, from, count * sizeof(void *));
    for (size_t i = 0; i < count; i++) {
        const void *target = pointer_at(from, i * sizeof target);
        set_word(w, at + i * sizeof target, 0);
        if (target)
            set_pointer(w, at + i * sizeof target, write_structs(w, type, target, 1));
    }
    return at;
}

static void note_function(struct writer *w, image_fn *function, uint32_t number)
{
    uintptr_t address = 0;
    bool added;
    memcpy(&address, &function, sizeof function);
    struct number_entry *e = number_map_entry(w->arena, &w->numbers, address, &added);
    if (added)
        e->value = number;
}

/* Notes the numbers of all functions that an image may have. */
static void note_functions(struct writer *w)
{
    enum { PARTS = 16, MOST_OF_PART = 4096, MOST_SCANS = (int)OP_COUNT * (int)COMPUTE_COUNT };
    for (uint32_t part = 0; part < PARTS; part++)
        for (uint32_t i = 0; i < MOST_OF_PART; i++) {
            image_fn *function = image_function(w->set, part << 16 | i);
            if (function)
                note_function(w, function, part << 16 | i);
        }
    for (uint32_t i = 0; i < MOST_SCANS; i++) {
        image_fn *scan = image_function(w->set, IMAGE_SCAN | i),
                 *atomic = image_function(w->set, IMAGE_ATOMIC | i);
        if (scan)
            note_function(w, scan, IMAGE_SCAN | i);
        if (atomic)
            note_function(w, atomic, IMAGE_ATOMIC | i);
    }
    for (uint32_t i = 0; i < image_step_count; i++)
        note_function(w, (image_fn *)image_steps[i].step, IMAGE_IS_STEP | i);
}

/* Writes a function and returns its number. */
static uint32_t write_function(struct writer *w, const void *from, size_t offset, size_t at)
{
    uintptr_t address;
    memcpy(&address, (const unsigned char *)from + offset, sizeof address);
    if (!address)
        return 0;
    const struct number_entry *e = number_map_find(&w->numbers, address);
    if (!e) {
        w->why = "a step calls a function that is in no routine set";
        return 0;
    }
    set_function(w, at + offset, (uintptr_t)e->value);
    return (uint32_t)e->value;
}

/* Writes what a pointer of the struct points to. */
static void write_target(struct writer *w, const struct image_field *f, const void *from, size_t at)
{
    const void *target = pointer_at(from, f->at);
    size_t place = at + f->at, count = f->count ? f->count(from) : 1;
    set_word(w, place, 0);
    if (!target || count == 0 || f->way == WAY_DROPPED)
        return;
    switch (f->way) {
    case WAY_LIST: set_pointer(w, place, write_list(w, f->target, target, count)); break;
    case WAY_BYTES: set_pointer(w, place, append(w, target, count)); break;
    case WAY_TEXT: set_pointer(w, place, append(w, target, strlen(target) + 1)); break;
    default: set_pointer(w, place, write_structs(w, f->target, target, count)); break;
    }
}

static void write_inside(struct writer *w, const struct image_field *f, const void *from, size_t at)
{
    const unsigned char *first = (const unsigned char *)from + f->at;
    size_t count = f->count(from), bytes = count ? struct_bytes[f->target](first) : 0;
    for (size_t i = 0; i < count; i++)
        write_fields(w, f->target, first + i * bytes, at + f->at + i * bytes);
}

static void write_each(struct writer *w, const struct image_field *f, const void *from, size_t at)
{
    size_t count = f->count(from);
    for (size_t i = 0; i < count; i++) {
        struct image_field one = *f;
        one.at += i * sizeof(void *);
        one.count = NULL;
        one.way = WAY_ONE;
        write_target(w, &one, from, at);
    }
}

/* Writes a step and its detail, whose struct the step's row names. */
static void write_step(struct writer *w, const struct image_field *f, const void *from, size_t at)
{
    uint32_t number = write_function(w, from, f->at, at) & IMAGE_PLACE;
    struct image_field detail = {
        .at = offsetof(struct instr, detail), .way = WAY_ONE, .target = image_steps[number].detail};
    if (detail.target == IMAGE_none)
        detail.way = WAY_DROPPED;
    write_target(w, &detail, from, at);
}

static void write_fields(struct writer *w, enum image_struct of, const void *from, size_t at)
{
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        const struct image_field *f = &fields[i];
        if (f->of != of)
            continue;
        switch (f->way) {
        case WAY_ROUTINE: write_function(w, from, f->at, at); break;
        case WAY_STEP: write_step(w, f, from, at); break;
        case WAY_INSIDE: write_inside(w, f, from, at); break;
        case WAY_ARRAY_ONE: write_each(w, f, from, at); break;
        default: write_target(w, f, from, at); break;
        }
    }
}

/* --- words --- */

typedef VEC(uint64_t) word_list;

/* Adds the bytes as runs of zeros and of other words. A single 0 does not end a run. */
static void add_runs(struct arena *a, word_list *out, const unsigned char *bytes, size_t count)
{
    uint64_t zeros = 0;
    size_t run = SIZE_MAX; /* place of the run's first word */
    for (size_t i = 0; i < count; i += sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, bytes + i, sizeof word);
        if (word == 0) {
            zeros++;
            continue;
        }
        if (run == SIZE_MAX || zeros > 1) {
            run = out->count;
            vec_push(a, out, zeros << 32);
        } else if (zeros == 1) {
            vec_push(a, out, 0);
            out->data[run]++;
        }
        zeros = 0;
        vec_push(a, out, word);
        out->data[run]++;
    }
    if (zeros > 0)
        vec_push(a, out, zeros << 32);
}

/* Returns the program without the reasons for slow paths. */
static struct cpu_program portable(const struct cpu_program *p)
{
    struct cpu_program own = *p;
    own.slow_count = 0;
    return own;
}

struct image image_write(struct arena *a, const struct cpu_program *p, const char **why)
{
    struct writer w = {.arena = a, .set = p->set};
    struct cpu_program own = portable(p), *last = &own;
    word_list words = {0};
    note_functions(&w);
    for (; last->joined; last = (struct cpu_program *)last->joined) {
        struct cpu_program *joined = arena_new(a, struct cpu_program);
        *joined = portable(last->joined);
        last->joined = joined;
    }
    write_structs(&w, IMAGE_cpu_program, &own, 1);
    *why = w.why;
    if (w.why)
        return (struct image){NULL, 0};
    size_t pointers = w.pointers.count, functions = w.functions.count;
    append(&w, w.pointers.data, pointers * sizeof(uint32_t));
    w.bytes.count -= pointers % 2 * sizeof(uint32_t); /* the lists have no gap between them */
    append(&w, w.functions.data, functions * sizeof(uint32_t));
    uint64_t header[IMAGE_HEADER] = {[IMAGE_LAYOUT] = image_layout(),
                                     [IMAGE_BYTES] = w.bytes.count,
                                     [IMAGE_POINTERS] = pointers,
                                     [IMAGE_FUNCTIONS] = functions};
    for (int i = 0; i < IMAGE_HEADER; i++)
        vec_push(a, &words, header[i]);
    add_runs(a, &words, w.bytes.data, w.bytes.count);
    words.data[IMAGE_RUNS] = words.count - IMAGE_HEADER;
    return (struct image){words.data, words.count};
}
