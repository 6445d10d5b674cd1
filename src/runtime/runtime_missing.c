/* Entry points that are not supported. */
#include "runtime/runtime.h"

#include "driver/driver_private.h"

int runtime_missing(const char *name)
{
    const void *table;
    if (cuGetExportTable(&table, driver_private_id) == DRIVER_SUCCESS) {
        const struct driver_private *driver = table;
        driver->skip((const void *)(uintptr_t)runtime_missing); /* it may be the first call */
        driver->missing(name);
    }
    return runtime_done(DRIVER_NOT_SUPPORTED);
}

/* Their parameters do not matter. */
#define MISSING(name)                                                                              \
    DRIVER_EXPORT int name(void);                                                                  \
    int name(void)                                                                                 \
    {                                                                                              \
        return runtime_missing(#name);                                                             \
    }
#include "runtime/runtime_missing.def"
#undef MISSING
