/* Tensor maps: the driver describes an array for Hopper's copy engine in 128 bytes, whose layout is the
 * driver's own (base/tensor_map.h has that of the simulator). */
#include "driver/driver.h"

#include "base/tensor_map.h"

#include <string.h>

/* The numbers of CUtensorMapDataType whose elements are copied bit by bit. */
static const enum dtype types[] = {DT_U8,  DT_U16, DT_U32, DT_I32, DT_U64,
                                   DT_I64, DT_F16, DT_F32, DT_F64, DT_BF16};
enum { TYPES = sizeof types / sizeof types[0] };

enum interleave { INTERLEAVE_NONE, INTERLEAVE_16B, INTERLEAVE_32B, INTERLEAVES };
enum { SWIZZLES = 7, PROMOTIONS = 4, FILLS = 2, TYPES_OF_CUDA = 16 };

/* The caller's parameters that both kinds of maps have. */
struct asked {
    void *to;
    int type, interleave, swizzle, promotion, fill;
    unsigned rank;
    void *address;
    const uint64_t *extents, *strides;
};

/* Returns the first thing of a map that the simulator does not have; NULL: it has all. */
static const char *not_modelled(const struct asked *a)
{
    if (a->type >= TYPES)
        return "a tensor map of FLOAT32_FTZ, TFLOAT32 or 4-bit or 6-bit elements is not simulated; "
               "FLOAT32 and UINT8 copy the same bits";
    if (a->interleave == INTERLEAVE_16B)
        return "a tensor map interleaved by 16 bytes (NC/8HWC8) is not simulated; use "
               "CU_TENSOR_MAP_INTERLEAVE_NONE";
    if (a->interleave == INTERLEAVE_32B)
        return "a tensor map interleaved by 32 bytes (NC/16HWC16) is not simulated; use "
               "CU_TENSOR_MAP_INTERLEAVE_NONE";
    if (a->swizzle >= SWIZZLE_COUNT)
        return "a tensor map's swizzle of pieces larger than 16 bytes is not simulated; use "
               "CU_TENSOR_MAP_SWIZZLE_128B";
    return a->fill ? "a tensor map that reads NaN outside of its array is not simulated; use "
                     "CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE"
                   : NULL;
}

static bool is_floating(int type)
{
    enum { FIRST = 6, LAST = 12 }; /* CU_TENSOR_MAP_DATA_TYPE_FLOAT16 to …_TFLOAT32_FTZ */
    return type >= FIRST && type <= LAST;
}

/* Returns what is wrong with the modes of a map (CUDA Driver API, "Tensor Map Object Management"); NULL:
 * nothing. */
static const char *wrong_modes(const struct asked *a)
{
    enum { ALIGNMENT = 32, LEAST_RANK = 3 };
    if (a->type < 0 || a->type >= TYPES_OF_CUDA)
        return "a tensor map's type of elements is none of CUtensorMapDataType";
    if (a->interleave < 0 || a->interleave >= INTERLEAVES)
        return "a tensor map's interleave is none of CUtensorMapInterleave";
    if (a->swizzle < 0 || a->swizzle >= SWIZZLES)
        return "a tensor map's swizzle is none of CUtensorMapSwizzle";
    if (a->promotion < 0 || a->promotion >= PROMOTIONS)
        return "a tensor map's L2 promotion is none of CUtensorMapL2promotion";
    if (a->fill < 0 || a->fill >= FILLS)
        return "a tensor map's fill is none of CUtensorMapFloatOOBfill";
    if (a->fill && !is_floating(a->type))
        return "a tensor map that reads NaN outside of its array needs elements of a "
               "floating-point type";
    if (a->interleave && a->rank < LEAST_RANK)
        return "an interleaved tensor map has 3 to 5 axes";
    if (a->interleave != INTERLEAVE_32B)
        return NULL;
    if (a->swizzle != SWIZZLE_32B)
        return "a tensor map interleaved by 32 bytes has the swizzle of 32 bytes";
    if ((uintptr_t)a->address % ALIGNMENT)
        return "the array of a tensor map interleaved by 32 bytes is aligned to 32 bytes";
    for (unsigned i = 0; i + 1 < a->rank; i++)
        if (a->strides[i] % ALIGNMENT)
            return "the strides of a tensor map interleaved by 32 bytes are multiples of 32 bytes";
    return NULL;
}

struct encode_call {
    struct tensor_map map;
    struct tensor_window window;
    void *to;
};

static int refuse(const struct encode_call *call, const char *why)
{
    driver_refuse("bad-tensor-map", driver_memory_at(call->map.address), "%s", why);
    return DRIVER_INVALID_VALUE;
}

/* Reports a map that the copy engine would not take: the real driver says only "invalid value". */
static int encode(void *user)
{
    const struct encode_call *call = user;
    char why[TENSOR_MAP_MESSAGE];
    if ((uintptr_t)call->to % TENSOR_MAP_ALIGNMENT)
        return refuse(call, "a tensor map has to be aligned to 64 bytes");
    if (!tensor_map_check(&call->map, why))
        return refuse(call, arena_string(&driver.arena, why, strlen(why)));
    tensor_map_encode(&call->map, call->to);
    memcpy((char *)call->to + TENSOR_WINDOW_AT, &call->window, sizeof call->window);
    return DRIVER_SUCCESS;
}

/* Begins a map: checks its modes, and fills what both kinds of maps have. */
static int begin(const struct asked *a, struct encode_call *call)
{
    *call = (struct encode_call){.to = a->to, .map = {.address = (uintptr_t)a->address}};
    int result = driver_prepare();
    const char *wrong = wrong_modes(a), *missing = not_modelled(a);
    if (result != DRIVER_SUCCESS)
        return result;
    if (wrong)
        return refuse(call, wrong);
    if (missing)
        return driver_unsupported(missing);
    call->map.type = types[a->type];
    call->map.rank = (int)a->rank;
    call->map.swizzle = (enum tensor_swizzle)a->swizzle;
    for (unsigned i = 0; i < a->rank; i++) {
        call->map.extents[i] = a->extents[i];
        call->map.strides[i] = i ? a->strides[i - 1] : 0;
        call->map.box[i] = call->map.steps[i] = 1;
    }
    return DRIVER_SUCCESS;
}

int cuTensorMapEncodeTiled(void *map, int type, unsigned rank, void *address,
                           const uint64_t *extents, const uint64_t *strides, const unsigned *box,
                           const unsigned *steps, int interleave, int swizzle, int promotion,
                           int fill)
{
    ENTER;
    const struct asked a = {map,  type, interleave, swizzle, promotion,
                            fill, rank, address,    extents, strides};
    struct encode_call call;
    if (!map || !extents || (rank > 1 && !strides) || !box || !steps || rank < 1 ||
        rank > TENSOR_MAP_AXES)
        return DRIVER_INVALID_VALUE;
    int result = begin(&a, &call);
    if (result != DRIVER_SUCCESS)
        return result;
    for (unsigned i = 0; i < rank; i++) {
        call.map.box[i] = box[i];
        call.map.steps[i] = steps[i];
    }
    return driver_guard(encode, &call);
}

/* Sets the windows. Returns what is wrong with them; NULL: nothing. */
static const char *set_windows(struct encode_call *call, const int *lower, const int *upper,
                               unsigned channels, unsigned pixels)
{
    enum { FIRST = 3, MOST_CHANNELS = 256, MOST_PIXELS = 1024 };
    static const int limits[] = {32768, 128, 16}; /* of corners, for 3, 4 and 5 axes */
    const int limit = limits[call->map.rank - FIRST];
    struct arena *a = &driver.arena;
    if (channels < 1 || channels > MOST_CHANNELS)
        return arena_printf(a, "a window has %u channels for each pixel: 1 to %d", channels,
                            MOST_CHANNELS);
    if (pixels < 1 || pixels > MOST_PIXELS)
        return arena_printf(a, "a copy of windows has %u pixels: 1 to %d", pixels, MOST_PIXELS);
    for (int i = 0; i < call->map.rank - 2; i++) {
        if (lower[i] < -limit || lower[i] >= limit || upper[i] < -limit || upper[i] >= limit)
            return arena_printf(
                a,
                "the corners %d and %d of the pixel box along axis %d: with %d axes "
                "they are %d to %d",
                lower[i], upper[i], i + 1, call->map.rank, -limit, limit - 1);
        int least = 1 + lower[i] - upper[i]; /* places of the array, for one place of the box */
        if (least > 0 && call->map.extents[i + 1] < (uint64_t)least)
            return arena_printf(a, "the pixel box is empty along axis %d: it has %d places", i + 1,
                                (int)call->map.extents[i + 1] + 1 - least);
        call->window.lower[i] = (int16_t)lower[i];
        call->window.upper[i] = (int16_t)upper[i];
    }
    call->map.box[0] = channels;
    call->window.pixels = (uint16_t)pixels;
    return NULL;
}

struct windows_call {
    struct encode_call call;
    const int *lower, *upper;
    unsigned channels, pixels;
};

static int encode_windows(void *user)
{
    struct windows_call *w = user;
    const char *wrong = set_windows(&w->call, w->lower, w->upper, w->channels, w->pixels);
    return wrong ? refuse(&w->call, wrong) : encode(&w->call);
}

/* Windows of convolutions; base/tensor_map.h has their meaning. */
int cuTensorMapEncodeIm2col(void *map, int type, unsigned rank, void *address,
                            const uint64_t *extents, const uint64_t *strides, const int *lower,
                            const int *upper, unsigned channels, unsigned pixels,
                            const unsigned *steps, int interleave, int swizzle, int promotion,
                            int fill)
{
    enum { LEAST_RANK = 3 };
    ENTER;
    const struct asked a = {map,  type, interleave, swizzle, promotion,
                            fill, rank, address,    extents, strides};
    struct windows_call w = {
        .lower = lower, .upper = upper, .channels = channels, .pixels = pixels};
    if (!map || !extents || !strides || !lower || !upper || !steps || rank < LEAST_RANK ||
        rank > TENSOR_MAP_AXES)
        return DRIVER_INVALID_VALUE;
    int result = begin(&a, &w.call);
    if (result != DRIVER_SUCCESS)
        return result;
    for (unsigned i = 1; i < rank; i++)
        w.call.map.steps[i] = steps[i];
    return driver_guard(encode_windows, &w);
}

int cuTensorMapReplaceAddress(void *map, void *address)
{
    ENTER;
    struct encode_call call = {.to = map};
    if (!map || !tensor_map_decode(map, &call.map) || driver_prepare() != DRIVER_SUCCESS)
        return DRIVER_INVALID_VALUE;
    memcpy(&call.window, (const char *)map + TENSOR_WINDOW_AT, sizeof call.window);
    call.map.address = (uintptr_t)address;
    return driver_guard(encode, &call);
}
