/* Names and texts of error codes (driver_results.def). The driver and the runtime each contain this
 * file. */
#include "driver/driver_texts.h"

#include <stddef.h>

static const struct driver_texts table[] = {
#define RESULT(number, id, driver, runtime, text) {number, driver, runtime, text},
#include "driver/driver_results.def"
#undef RESULT
};

const struct driver_texts *driver_texts_of(int number)
{
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (table[i].number == number)
            return &table[i];
    return NULL;
}
