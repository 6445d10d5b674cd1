#include "cli/tuned.h"
#include "tilewright_tuning.h"

#include <string.h>

/* Describes the values that the launch took. `key` is the launch's current key; --tune may have
 * kept some values. */
static char *taken_text(const tw_tuned *key, const tw_tuned *taken)
{
    char *text = NULL;
    if (strcmp(key->tune, taken->tune) != 0)
        append_text(&text, "%s, by --tune instead of ", key->tune);
    append_text(&text, "%s, %.4g ms at %s", taken->tune, taken->milliseconds, taken->sizes);
    if (strcmp(key->shape, taken->shape) != 0)
        append_text(&text, " (nothing is stored for %s; this is nearest)", key->shape);
    if (strcmp(taken->version, tw_version()) != 0)
        append_text(&text, " (measured by version %s)", taken->version);
    return text;
}

int tuned_take(const struct program *p, tw_launch *l, const struct options *o, char **taken)
{
    tw_store *store;
    tw_tuned key = tw_tuned_init();
    tw_tuned row = tw_tuned_init();
    if (!options_has(o, "tuned"))
        return STATUS_OK;
    tw_status s = tw_store_open_existing(p->ctx, options_value(o, "store"), &store);
    if (s == TW_OK)
        s = tw_launch_tuned(l, store, NULL, true, &row);
    if (s == TW_OK)
        s = tw_launch_tuning_key(l, NULL, &key);
    if (s == TW_OK)
        *taken = taken_text(&key, &row);
    else
        complain_library(p->complaints, p->ctx, s);
    tw_store_close(store);
    return s == TW_OK ? STATUS_OK : STATUS_USAGE;
}

/* The stored name may have ", on 4 threads" after the CPU's name. */
bool tuned_of_host(const char *device)
{
    tw_device host = tw_device_init();
    if (!tw_device_at(0, &host))
        return false;
    size_t length = strlen(host.description);
    return strncmp(device, host.description, length) == 0 &&
           (device[length] == '\0' || strncmp(device + length, ", on ", 5) == 0);
}
