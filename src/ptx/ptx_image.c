/* Turns initialisers into bytes. PTX ISA, initializers. */
#include "ptx/ptx.h"

#include <string.h>

struct image {
    const struct ptx_variable *variable;
    uint8_t *bytes;
    uint64_t size;
    unsigned width; /* of an element, in bytes */
    ptx_locate *locate;
    void *user;
};

/* Returns a part of an address: 0xFF00(x) is its second byte. */
static uint64_t masked(uint64_t address, uint64_t mask)
{
    if (!mask)
        return address;
    address &= mask;
    for (; !(mask & 1); mask >>= 1)
        address >>= 1;
    return address;
}

static uint64_t float_bits(enum ptx_mod type, const struct ptx_initial *init)
{
    float narrow;
    double wide;
    uint32_t bits = (uint32_t)init->bits;
    if (type == MOD_F32 && init->kind == PTX_INIT_DOUBLE) {
        memcpy(&wide, &init->bits, sizeof wide);
        narrow = (float)wide;
        memcpy(&bits, &narrow, sizeof bits);
        return bits;
    }
    if (type == MOD_F64 && init->kind == PTX_INIT_FLOAT) {
        uint64_t result;
        memcpy(&narrow, &bits, sizeof narrow);
        wide = narrow;
        memcpy(&result, &wide, sizeof result);
        return result;
    }
    return init->bits;
}

static uint64_t value_of(const struct image *image, const struct ptx_initial *init)
{
    if (init->kind == PTX_INIT_ADDRESS) {
        uint64_t at = image->locate(image->user, init->variable, init->function, init->generic);
        return masked(at + (uint64_t)init->offset, init->mask);
    }
    return float_bits((enum ptx_mod)image->variable->type, init);
}

/* Writes a number in little-endian order, as the GPU does. */
static void put(struct image *image, uint64_t at, uint64_t value)
{
    for (unsigned i = 0; i < image->width && at + i < image->size; i++) {
        image->bytes[at + i] = (uint8_t)value;
        value >>= 8;
    }
}

/* Returns the bytes of one element of a list at this depth: a row of the array, a vector, a
 * number. */
static uint64_t stride_at(const struct image *image, int depth)
{
    const struct ptx_variable *v = image->variable;
    uint64_t stride = image->width;
    if (depth < v->dimensions)
        stride *= v->vector;
    for (int i = depth + 1; i < v->dimensions; i++)
        stride *= (uint64_t)ptx_variable_extent(v, i);
    return stride;
}

/* Writes an initialiser. Numbers in a list of rows follow one another, as in C. */
static void fill(struct image *image, const struct ptx_initial *init, uint64_t at, int depth)
{
    if (init->kind != PTX_INIT_LIST) {
        put(image, at, value_of(image, init));
        return;
    }
    for (size_t i = 0; i < init->list.count && at < image->size; i++) {
        const struct ptx_initial *element = &init->list.data[i];
        bool row = element->kind == PTX_INIT_LIST;
        fill(image, element, at, depth + 1);
        at += row ? stride_at(image, depth) : image->width;
    }
}

void ptx_variable_image(const struct ptx_variable *v, uint8_t *bytes, ptx_locate *locate,
                        void *user)
{
    struct image image = {v,      bytes, ptx_variable_size(v), ptx_mods[v->type].bits / 8u,
                          locate, user};
    if (image.size)
        memset(bytes, 0, (size_t)image.size);
    if (v->initial && image.size)
        fill(&image, v->initial, 0, 0);
}
