/* Fragments of matrices. PTX ISA, warp-level-matrix-fragment-…: a warp spreads a matrix evenly
 * over its 32 lanes, several small elements to a .b32 register. So shape and type give the
 * number of a fragment's registers, except in the forms of the first matrix units. */
#include "ptx/ptx_fragments.h"

enum { LANES = 32, WARPGROUP_LANES = 128 };

struct matrix {
    int shape;
    int types[6];
    int type_count;
    bool sparse, small_floats;
};

static struct matrix read_mods(const uint16_t *mods, size_t count)
{
    struct matrix x = {.shape = MOD_NONE};
    for (size_t i = 0; i < count; i++) {
        if (ptx_is_type(mods[i]) && x.type_count < 6)
            x.types[x.type_count++] = mods[i];
        else if (ptx_mods[mods[i]].class == PTX_CLASS_SHAPE)
            x.shape = mods[i];
        x.sparse |= mods[i] == MOD_SP || mods[i] == MOD_SP_ORDERED;
        x.small_floats |= mods[i] == MOD_KIND_F8F6F4 || mods[i] == MOD_KIND_MXF8F6F4;
    }
    return x;
}

static struct ptx_fragment registers(int type, int count)
{
    return (struct ptx_fragment){(uint16_t)type, (uint16_t)count};
}

/* Returns the fragment of a matrix of factors; a lane has `elements` of its elements. */
static struct ptx_fragment factors(const struct matrix *x, int type, int elements)
{
    if (type == MOD_F64)
        return registers(MOD_F64, elements);
    int bits = ptx_mods[type].bits;
    if (x->small_floats)
        bits = 8; /* elements of 4 and 6 bits take 8 */
    return registers(MOD_B32, elements * bits / 32);
}

static struct ptx_fragment sums(int type, int elements)
{
    if (type == MOD_F16)
        return registers(MOD_B32, elements / 2);
    return registers(type, elements);
}

/* mma.m8n8k4 with .f16 makes four products; each is computed by a quad of lanes together with
 * the quad 16 lanes later. */
static struct ptx_fragment quads(int type, char which)
{
    if (which == 'a' || which == 'b')
        return registers(MOD_B32, 2);
    return sums(type, 8);
}

/* wmma: the warp holds every element of .f16 factors twice, for all shapes. */
static struct ptx_fragment wmma(const struct matrix *x, int type, char which)
{
    int m, n, k;
    if (!ptx_shape((enum ptx_mod)x->shape, &m, &n, &k))
        return registers(MOD_B32, 0);
    if (which == 'c' || which == 'd')
        return sums(type, m * n / LANES);
    if (type == MOD_F16)
        return registers(MOD_B32, 8);
    return factors(x, type, (which == 'a' ? m : n) * k / LANES);
}

static struct ptx_fragment wmma_mma(const struct matrix *x, char which)
{
    bool short_form = x->type_count == 2; /* it does not name .f16 factors */
    int type = which == 'd' ? x->types[0] : which == 'c' ? x->types[short_form ? 1 : 3] : 0;
    if (which == 'a' || which == 'b')
        type = short_form ? MOD_F16 : x->types[which == 'a' ? 1 : 2];
    return wmma(x, type, which);
}

static struct ptx_fragment mma(const struct matrix *x, char which)
{
    int m, n, k, type = x->types[which == 'd' ? 0 : which - 'a' + 1];
    if (x->type_count < 4 || !ptx_shape((enum ptx_mod)x->shape, &m, &n, &k))
        return registers(MOD_B32, 0);
    if (x->shape == MOD_M8N8K4 && x->types[1] == MOD_F16)
        return quads(type, which);
    if (which == 'c' || which == 'd')
        return sums(type, m * n / LANES);
    if (which == 'a' && x->sparse)
        k /= 2;
    return factors(x, type, (which == 'a' ? m : n) * k / LANES);
}

static struct ptx_fragment wgmma(const struct matrix *x, char which)
{
    int m, n, k;
    if (x->type_count < 3 || !ptx_shape((enum ptx_mod)x->shape, &m, &n, &k))
        return registers(MOD_B32, 0);
    if (which == 'd')
        return sums(x->types[0], m * n / WARPGROUP_LANES);
    return factors(x, x->types[1], m * (x->sparse ? k / 2 : k) / WARPGROUP_LANES);
}

static int count_of(const uint16_t *mods, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (ptx_mods[mods[i]].class == PTX_CLASS_COUNT)
            return ptx_mods[mods[i]].bits;
    return 0;
}

/* ldmatrix, stmatrix: a register for each 8x8 matrix of 16 bits, or for each half of a 16x16
 * matrix of 8 bits. */
static int matrix_registers(int shape, int count)
{
    return shape == MOD_M16N16 ? 2 * count : count;
}

/* tcgen05.ld, tcgen05.st: one repetition is 32 lanes x 32 bits, or two or four times that. */
static int tensor_registers(int shape, int count)
{
    if (shape == MOD_T16X128B)
        return 2 * count;
    return shape == MOD_T16X256B ? 4 * count : count;
}

/* wmma.load.a … .type: a modifier names the matrix. */
static struct ptx_fragment wmma_moved(const struct matrix *x, const uint16_t *mods)
{
    char which = mods[0] == MOD_LOAD_A ? 'a' : mods[0] == MOD_LOAD_B ? 'b' : 'c';
    return wmma(x, x->types[0], which);
}

struct ptx_fragment ptx_fragment_of(enum ptx_op op, const uint16_t *mods, size_t count, char which)
{
    struct matrix x = read_mods(mods, count);
    switch ((int)op) {
    case PTX_MMA: return mma(&x, which);
    case PTX_WMMA_MMA: return wmma_mma(&x, which);
    case PTX_WMMA_LOAD:
    case PTX_WMMA_STORE: return wmma_moved(&x, mods);
    case PTX_WGMMA_MMA_ASYNC: return wgmma(&x, which);
    case PTX_LDMATRIX:
    case PTX_STMATRIX: return registers(MOD_B32, matrix_registers(x.shape, count_of(mods, count)));
    case PTX_TCGEN05_LD:
    case PTX_TCGEN05_LD_RED:
    case PTX_TCGEN05_ST:
        return registers(MOD_B32, tensor_registers(x.shape, count_of(mods, count)));
    default: return registers(MOD_B32, 0);
    }
}
