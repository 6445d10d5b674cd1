/* The driver, and entry points that are not supported. The file is in both libraries: with BLAS_LT it has
 * the entry points of libcublasLt. */
#include "blas/blas.h"

#include <pthread.h>

static const struct driver_private *private_table;
static pthread_once_t opened = PTHREAD_ONCE_INIT;

static void open_driver(void)
{
    const void *table;
    if (cuInit(0) == DRIVER_SUCCESS &&
        cuGetExportTable(&table, driver_private_id) == DRIVER_SUCCESS)
        private_table = table;
    if (private_table)
        private_table->skip((const void *)(uintptr_t)open_driver);
}

const struct driver_private *blas_driver(void)
{
    pthread_once(&opened, open_driver);
    return private_table;
}

static int missing(const char *name)
{
    if (blas_driver())
        blas_driver()->missing(name);
    return BLAS_NOT_SUPPORTED;
}

/* Their parameters do not matter. */
#define MISSING(name)                                                                              \
    DRIVER_EXPORT int name(void);                                                                  \
    int name(void)                                                                                 \
    {                                                                                              \
        return missing(#name);                                                                     \
    }
#ifdef BLAS_LT
#include "blas/blas_lt_missing.def"
#else
#include "blas/blas_missing.def"
#endif
#undef MISSING
