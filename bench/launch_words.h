/* Words of a command line that describe a launch, for stream_cpu.c and tiles_cpu.c:
 *
 *     NAME=VALUE        a type variable, a tuned value or a scalar parameter
 *     NAME:TYPE:SHAPE   an array of small values: a:f32:512x512 */
#ifndef TW_LAUNCH_WORDS_H
#define TW_LAUNCH_WORDS_H

#include "tilewright.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LINE = 64 };

/* Returns the processor time on one thread, and the time that has passed on several. */
static inline double milliseconds(int threads)
{
    struct timespec t;
    clock_gettime(threads > 1 ? CLOCK_MONOTONIC : CLOCK_PROCESS_CPUTIME_ID, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static inline void need(tw_context *ctx, tw_status status)
{
    if (status == TW_OK)
        return;
    fprintf(stderr, "%s\n%s", tw_status_text(status), ctx ? tw_context_messages(ctx) : "");
    exit(1);
}

static inline tw_dtype type_of(const char *name)
{
    static const struct {
        const char *name;
        tw_dtype type;
    } types[] = {{"f32", TW_F32}, {"f16", TW_F16}, {"bf16", TW_BF16}, {"f64", TW_F64},
                 {"i8", TW_I8},   {"u8", TW_U8},   {"i32", TW_I32}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i].name, name) == 0)
            return types[i].type;
    return (tw_dtype)0;
}

/* Gives an array of small values to some launches: bytes and integers of all kinds; floats
 * about 1. */
static inline void *give_array(tw_context *ctx, tw_launch *const *launches, int launch_count,
                               char *spec, size_t *bytes)
{
    char *type = strchr(spec, ':') + 1, *count = strchr(type, ':') + 1;
    type[-1] = count[-1] = 0;
    tw_array array = {.size = sizeof array, .dtype = type_of(type)};
    size_t n = 1, size = tw_dtype_size(array.dtype);
    for (char *end = count; *count && array.rank < 4; count = end + (*end == 'x')) {
        array.shape[array.rank] = strtoll(count, &end, 10);
        n *= (size_t)array.shape[array.rank++];
    }
    *bytes = n * size;
    unsigned char *data = aligned_alloc(LINE, (*bytes + LINE - 1) / LINE * LINE);
    if (!data)
        exit(1);
    for (size_t i = 0; i < *bytes; i++)
        data[i] = (unsigned char)(i * 37 >> 3);
    for (size_t i = 0; i < n && type[0] != 'u' && type[0] != 'i'; i++)
        data[i * size + size - 1] = array.dtype == TW_F16 ? 0x3c : 0x3f;
    array.data = data;
    for (int i = 0; i < launch_count; i++)
        need(ctx, tw_launch_array(launches[i], spec, &array));
    return data;
}

static inline void give_value(tw_context *ctx, tw_launch *l, char *spec)
{
    char *value = strchr(spec, '=') + 1;
    value[-1] = 0;
    if (value[0] < '0' || value[0] > '9') {
        need(ctx, tw_launch_type(l, spec, type_of(value)));
        return;
    }
    tw_value number = strchr(value, '.') ? tw_float(atof(value)) : tw_int(strtoll(value, NULL, 10));
    if (tw_launch_set(l, spec, number) != TW_OK)
        need(ctx, tw_launch_tune(l, spec, number));
}

#endif
