/* Entry points by name. */
#include "driver/driver.h"

#include <string.h>

typedef void entry(void);

static const struct {
    const char *asked, *name;
    entry *symbol;
    int since;
} entries[] = {
#define CALL(asked, symbol, since, parameters) {#asked, #symbol, (entry *)symbol, since},
#include "driver/driver_calls.def"
#undef CALL
};

enum { FOUND = 0, NO_SUCH_NAME = 1, TOO_OLD = 2 }; /* CUdriverProcAddressQueryResult */

int cuGetProcAddress_v2(const char *name, void **function, int version, uint64_t flags, int *status)
{
    ENTER;
    (void)flags;
    int found = NO_SUCH_NAME;
    if (!name || !function)
        return DRIVER_INVALID_VALUE;
    *function = NULL;
    for (size_t i = 0; i < sizeof entries / sizeof entries[0]; i++) {
        if (strcmp(entries[i].asked, name) != 0)
            continue;
        if (entries[i].since <= version) {
            *(entry **)function = entries[i].symbol;
            found = FOUND;
        } else if (found != FOUND) {
            found = TOO_OLD;
        }
    }
    if (found == NO_SUCH_NAME && (*function = driver_missing_entry(name)))
        found = FOUND;
    if (status)
        *status = found;
    return found == FOUND || status ? DRIVER_SUCCESS : DRIVER_NOT_FOUND;
}

ENTRY(cuGetProcAddress, (const char *name, void **function, int version, uint64_t flags),
      cuGetProcAddress_v2(name, function, version, flags, NULL))
