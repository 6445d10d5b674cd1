/* Error codes: their names and texts. */
#include "driver/driver.h"

#include <stddef.h>

static const struct {
    int number;
    const char *name, *text;
} results[] = {
#define RESULT(number, id, driver, runtime, text) {number, driver, text},
#include "driver/driver_results.def"
#undef RESULT
};

enum { RESULT_COUNT = sizeof results / sizeof results[0] };

int cuGetErrorName(int result, const char **name)
{
    for (size_t i = 0; name && i < RESULT_COUNT; i++)
        if (results[i].number == result) {
            *name = results[i].name;
            return DRIVER_SUCCESS;
        }
    if (name)
        *name = NULL;
    return DRIVER_INVALID_VALUE;
}

int cuGetErrorString(int result, const char **text)
{
    for (size_t i = 0; text && i < RESULT_COUNT; i++)
        if (results[i].number == result) {
            *text = results[i].text;
            return DRIVER_SUCCESS;
        }
    if (text)
        *text = NULL;
    return DRIVER_INVALID_VALUE;
}
