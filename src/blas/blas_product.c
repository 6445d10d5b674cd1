/* A product of matrices on the host. Sums are made in double precision, or in integers, and rounded once:
 * a GPU's sums differ from them by the rounding of its own type. */
#include "blas/blas.h"

#include "base/dtype.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns the bytes of an element; 0: products do not take the type. */
static int size_of(int type)
{
    switch ((enum blas_type)type) {
    case BLAS_F64: return 8;
    case BLAS_F32:
    case BLAS_I32: return 4;
    case BLAS_F16:
    case BLAS_BF16: return 2;
    case BLAS_I8: return 1;
    }
    return 0;
}

/* A number of any type that products take. */
union number {
    float f;
    double d;
    int32_t i;
    uint16_t h;
    int8_t c;
};

static double load(const void *at, int type)
{
    union number v = {.d = 0};
    memcpy(&v, at, (size_t)size_of(type));
    switch ((enum blas_type)type) {
    case BLAS_F32: return (double)v.f;
    case BLAS_F64: return v.d;
    case BLAS_F16: return (double)f16_to_f32(v.h);
    case BLAS_BF16: return (double)bf16_to_f32(v.h);
    case BLAS_I8: return v.c;
    case BLAS_I32: return v.i;
    }
    return 0;
}

static void store(void *at, int type, double value)
{
    union number v = {.d = value};
    switch ((enum blas_type)type) {
    case BLAS_F32: v.f = (float)value; break;
    case BLAS_F64: break;
    case BLAS_F16: v.h = f64_to_f16(value); break;
    case BLAS_BF16: v.h = f64_to_bf16(value); break;
    case BLAS_I8: v.c = (int8_t)value; break;
    case BLAS_I32: v.i = (int32_t)(uint32_t)(int64_t)value; break;
    }
    memcpy(at, &v, (size_t)size_of(type));
}

/* Returns the element of op(M) in a row and a column. */
static double element(const struct blas_matrix *m, const char *at, int64_t row, int64_t column)
{
    int64_t index = m->transposed ? row * m->step + column : column * m->step + row;
    return load(at + index * size_of(m->type), m->type);
}

/* A product goes by tiles of C: pieces of op(A) and op(B) become doubles once for the whole tile. Each sum
 * adds its terms in the order of k. */
enum { TILE = 32, DEPTH = 64 };
struct tile {
    int64_t row, column; /* of C */
    int rows, columns;
    double a[DEPTH][TILE], b[TILE][DEPTH],
        sum[TILE][TILE]; /* of b and sum, the columns come first */
};

/* Adds the terms of k from `from` to from + depth - 1. */
static void add_terms(struct tile *t, const struct blas_product *p, const char *a, const char *b,
                      int64_t from, int depth)
{
    for (int l = 0; l < depth; l++)
        for (int i = 0; i < t->rows; i++)
            t->a[l][i] = element(&p->a, a, t->row + i, from + l);
    for (int j = 0; j < t->columns; j++)
        for (int l = 0; l < depth; l++)
            t->b[j][l] = element(&p->b, b, from + l, t->column + j);
    for (int j = 0; j < t->columns; j++)
        for (int l = 0; l < depth; l++)
            for (int i = 0; i < TILE; i++) /* those from t->rows on are not stored */
                t->sum[j][i] += t->a[l][i] * t->b[j][l];
}

static void store_tile(const struct tile *t, const struct blas_product *p, char *c, double alpha,
                       double beta)
{
    for (int j = 0; j < t->columns; j++)
        for (int i = 0; i < t->rows; i++) {
            int64_t index = (t->column + j) * p->c.step + t->row + i;
            char *to = c + index * size_of(p->c.type);
            double sum = alpha * t->sum[j][i];
            if (beta != 0) /* otherwise C need not be a number */
                sum += beta * load(to, p->c.type);
            store(to, p->c.type, sum);
        }
}

static int least(int64_t a, int b)
{
    return a < b ? (int)a : b;
}

static void multiply_one(const struct blas_product *p, const char *a, const char *b, char *c,
                         double alpha, double beta)
{
    for (int64_t column = 0; column < p->n; column += TILE)
        for (int64_t row = 0; row < p->m; row += TILE) {
            struct tile t = {.row = row,
                             .column = column,
                             .rows = least(p->m - row, TILE),
                             .columns = least(p->n - column, TILE)};
            for (int64_t l = 0; alpha != 0 && l < p->k; l += DEPTH)
                add_terms(&t, p, a, b, l, least(p->k - l, DEPTH));
            store_tile(&t, p, c, alpha, beta);
        }
}

/* --- as a task of the driver --- */

/* A task's own data: the product, and alpha and beta if they are on the host. The regions are those of
 * A, B and C of each product; after them come alpha and beta if they are on the device. */
struct work {
    struct blas_product product;
    double alpha, beta;
    bool on_device;
};

static void run(void *user, void *const *hosts)
{
    const struct work *w = user;
    const struct blas_product *p = &w->product;
    void *const *scales = hosts + 3 * p->count;
    double alpha = w->on_device ? load(scales[0], p->scale) : w->alpha;
    double beta = w->on_device ? load(scales[1], p->scale) : w->beta;
    for (int64_t i = 0; i < p->count; i++)
        multiply_one(p, hosts[3 * i], hosts[3 * i + 1], hosts[3 * i + 2], alpha, beta);
}

static struct driver_region region_of(const struct blas_matrix *m, int64_t rows, int64_t columns,
                                      bool writes)
{
    size_t size = (size_t)size_of(m->type);
    int64_t width = m->transposed ? columns : rows, height = m->transposed ? rows : columns;
    return (struct driver_region){.address = m->address,
                                  .width = (size_t)width * size,
                                  .height = (size_t)height,
                                  .pitch = (size_t)m->step * size,
                                  .writes = writes,
                                  .what = writes ? "a product writes" : "a product reads"};
}

/* Gives the address of matrix number i. Returns false after a report. */
static bool address_of(const struct blas_product *p, const struct blas_matrix *m, int64_t i,
                       uint64_t *address)
{
    *address = m->address + (uint64_t)(i * m->apart * size_of(m->type));
    if (!p->list)
        return true;
    const uint64_t *at = blas_driver()->bytes(m->address + 8 * (uint64_t)i, sizeof *at,
                                              "a product reads the addresses");
    if (at)
        *address = *at;
    return at;
}

static bool fill_regions(const struct blas_product *p, struct driver_region *r)
{
    for (int64_t i = 0; i < p->count; i++, r += 3) {
        r[0] = region_of(&p->a, p->m, p->k, false);
        r[1] = region_of(&p->b, p->k, p->n, false);
        r[2] = region_of(&p->c, p->m, p->n, true);
        if (!address_of(p, &p->a, i, &r[0].address) || !address_of(p, &p->b, i, &r[1].address) ||
            !address_of(p, &p->c, i, &r[2].address))
            return false;
    }
    return true;
}

static struct driver_region scale_region(const void *at, int type)
{
    size_t size = (size_t)size_of(type);
    return (struct driver_region){(uintptr_t)at, size,  1,
                                  size,          false, "a product reads alpha or beta from"};
}

static int enqueue(const struct blas_product *p, const struct blas_handle *h)
{
    struct work w = {.product = *p, .on_device = h->pointer_mode};
    size_t count = 3 * (size_t)p->count;
    struct driver_region *regions = calloc(count + 2, sizeof *regions);
    int status = BLAS_EXECUTION_FAILED;
    if (!regions)
        return BLAS_ALLOC_FAILED;
    if (w.on_device) {
        regions[count++] = scale_region(p->alpha, p->scale);
        regions[count++] = scale_region(p->beta, p->scale);
    } else {
        w.alpha = load(p->alpha, p->scale);
        w.beta = load(p->beta, p->scale);
    }
    const struct driver_stub stub = {regions, (int)count, run, &w, sizeof w};
    if (fill_regions(p, regions) && blas_driver()->stub(h->stream, &stub) == DRIVER_SUCCESS)
        status = BLAS_SUCCESS;
    free(regions);
    return status;
}

static bool matrix_suits(const struct blas_matrix *m, int64_t rows, int64_t columns)
{
    int64_t least = m->transposed ? columns : rows;
    return m->step >= (least > 1 ? least : 1) && (m->address || !rows || !columns);
}

static int check_and_enqueue(const struct blas_product *p)
{
    const struct blas_handle *h = blas_handle_of(p->handle);
    if (!h)
        return BLAS_NOT_INITIALIZED;
    if (p->m < 0 || p->n < 0 || p->k < 0 || p->count < 0 || !p->alpha || !p->beta ||
        !matrix_suits(&p->a, p->m, p->k) || !matrix_suits(&p->b, p->k, p->n) ||
        !matrix_suits(&p->c, p->m, p->n))
        return BLAS_INVALID_VALUE;
    if (!size_of(p->a.type) || !size_of(p->b.type) || !size_of(p->c.type)) {
        blas_driver()->fault("not-supported",
                             "products of complex numbers, or of numbers of 8 bits "
                             "with a point, are not supported");
        return BLAS_NOT_SUPPORTED;
    }
    return p->m && p->n && p->count ? enqueue(p, h) : BLAS_SUCCESS;
}

int blas_multiply(const struct blas_product *p)
{
    char message[256];
    int status;
    if (!blas_driver())
        return BLAS_NOT_INITIALIZED;
    blas_driver()->enter(p->call);
    if (blas_driver()->has_stubs()) {
        status = check_and_enqueue(p);
    } else {
        snprintf(message, sizeof message,
                 "%s is not supported: with --stub, products of matrices run on the host", p->call);
        blas_driver()->fault("not-supported", message);
        status = BLAS_NOT_SUPPORTED;
    }
    blas_driver()->leave();
    return status;
}
