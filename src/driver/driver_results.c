/* Error codes: the calls that tell their names and texts. */
#include "driver/driver.h"
#include "driver/driver_texts.h"

int cuGetErrorName(int result, const char **name)
{
    const struct driver_texts *t = driver_texts_of(result);
    if (!name)
        return DRIVER_INVALID_VALUE;
    *name = t ? t->driver_name : NULL;
    return t ? DRIVER_SUCCESS : DRIVER_INVALID_VALUE;
}

int cuGetErrorString(int result, const char **text)
{
    const struct driver_texts *t = driver_texts_of(result);
    if (!text)
        return DRIVER_INVALID_VALUE;
    *text = t ? t->text : NULL;
    return t ? DRIVER_SUCCESS : DRIVER_INVALID_VALUE;
}
