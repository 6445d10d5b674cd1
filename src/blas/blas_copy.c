/* Copies of vectors and matrices between the host and the device: copies of rows by the driver, which checks
 * their bytes and their order. A row is an element of a vector, or a column of a matrix. */
#include "blas/blas.h"

struct copied {
    const char *call;
    bool to_device, waits;
    int64_t width, height, size; /* elements of a row, rows, bytes of an element */
    const void *from;
    void *to;
    int64_t from_step, to_step; /* elements from row to row */
    void *stream;
};

static int copy_rows(const struct copied *c)
{
    const size_t size = (size_t)c->size;
    const struct driver_copy_2d copy = {
        .from_kind = c->to_device ? DRIVER_MEMORY_HOST : DRIVER_MEMORY_DEVICE,
        .from_host = c->from,
        .from_device = (uintptr_t)c->from,
        .from_pitch = (size_t)c->from_step * size,
        .to_kind = c->to_device ? DRIVER_MEMORY_DEVICE : DRIVER_MEMORY_HOST,
        .to_host = c->to,
        .to_device = (uintptr_t)c->to,
        .to_pitch = (size_t)c->to_step * size,
        .width = (size_t)c->width * size,
        .height = (size_t)c->height};
    int result = c->waits ? cuMemcpy2D_v2(&copy) : cuMemcpy2DAsync_v2(&copy, c->stream);
    return result == DRIVER_SUCCESS ? BLAS_SUCCESS : BLAS_MAPPING_ERROR;
}

static int copy(const struct copied *c)
{
    if (!blas_driver())
        return BLAS_NOT_INITIALIZED;
    if (c->width < 0 || c->height < 0 || c->size <= 0 || c->from_step < c->width ||
        c->to_step < c->width)
        return BLAS_INVALID_VALUE;
    if (!c->width || !c->height)
        return BLAS_SUCCESS;
    blas_driver()->enter(c->call);
    int status = copy_rows(c);
    blas_driver()->leave();
    return status;
}

/* Adjacent elements are one row, which is faster and read as one in a report. */
static int copy_vector(struct copied c)
{
    if (c.from_step == 1 && c.to_step == 1 && c.height > 0) {
        c.width = c.from_step = c.to_step = c.height;
        c.height = 1;
    }
    return copy(&c);
}

static int copy_matrix(struct copied c)
{
    return copy(&c);
}

/* Defines a function, whose parameters have the names of the fields. */
#define FUNCTION(name, device, wait, queue, shape, parameters, ...)                                \
    BLAS_FUNCTION(name, parameters)                                                                \
    {                                                                                              \
        return copy_##shape((struct copied){.call = #name,                                         \
                                            .to_device = device,                                   \
                                            .waits = wait,                                         \
                                            .size = size,                                          \
                                            .from = from,                                          \
                                            .to = to,                                              \
                                            .from_step = from_step,                                \
                                            .to_step = to_step,                                    \
                                            .stream = queue,                                       \
                                            __VA_ARGS__});                                         \
    }
#define COPIED(number) number size, const void *from, number from_step, void *to, number to_step
#define VECTOR_OF(name, device, number)                                                            \
    FUNCTION(name, device, true, NULL, vector, (number count, COPIED(number)), .width = 1,         \
             .height = count)
#define VECTOR_IN_STREAM(name, device, number)                                                     \
    FUNCTION(name, device, false, stream, vector, (number count, COPIED(number), void *stream),    \
             .width = 1, .height = count)
#define MATRIX_OF(name, device, number)                                                            \
    FUNCTION(name, device, true, NULL, matrix, (number rows, number columns, COPIED(number)),      \
             .width = rows, .height = columns)
#define MATRIX_IN_STREAM(name, device, number)                                                     \
    FUNCTION(name, device, false, stream, matrix,                                                  \
             (number rows, number columns, COPIED(number), void *stream), .width = rows,           \
             .height = columns)
#define VECTOR(name, device)                                                                       \
    VECTOR_OF(name, device, int)                                                                   \
    VECTOR_OF(name##_64, device, int64_t)                                                          \
    VECTOR_IN_STREAM(name##Async, device, int)                                                     \
    VECTOR_IN_STREAM(name##Async_64, device, int64_t)
#define MATRIX(name, device)                                                                       \
    MATRIX_OF(name, device, int)                                                                   \
    MATRIX_OF(name##_64, device, int64_t)                                                          \
    MATRIX_IN_STREAM(name##Async, device, int)                                                     \
    MATRIX_IN_STREAM(name##Async_64, device, int64_t)
#include "blas/blas_copy.def"
