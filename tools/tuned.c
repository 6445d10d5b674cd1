#include "tuned.h"

#include <string.h>

static void say_taken(FILE *out, const char *shape, const tw_tuned *taken)
{
    fprintf(out, "tuned: %s, %.4g ms at %s", taken->tune, taken->milliseconds, taken->sizes);
    if (strcmp(shape, taken->shape) != 0)
        fprintf(out, " (nothing is stored for %s; this is nearest)", shape);
    if (strcmp(taken->version, tw_version()) != 0)
        fprintf(out, " (measured by version %s)", taken->version);
    fputc('\n', out);
}

int tuned_take(const struct program *p, tw_launch *l, const struct options *o, FILE *out)
{
    tw_store *store;
    tw_tuned key, taken;
    if (!options_has(o, "tuned"))
        return STATUS_OK;
    tw_status s = tw_store_open(p->ctx, options_value(o, "store"), &store);
    if (s == TW_OK) {
        s = tw_launch_tuned(l, store, NULL, true, &taken);
        if (s == TW_OK && out && tw_launch_tuning_key(l, NULL, &key) == TW_OK)
            say_taken(out, key.shape, &taken);
    }
    if (s != TW_OK)
        complain_library(p->complaints, p->ctx, s);
    tw_store_close(store);
    return s == TW_OK ? STATUS_OK : STATUS_USAGE;
}

/* The name, or with ", on 4 threads" behind it. */
bool tuned_of_host(const char *device)
{
    tw_device host;
    if (!tw_device_at(0, &host))
        return false;
    size_t length = strlen(host.description);
    return strncmp(device, host.description, length) == 0 &&
           (device[length] == '\0' || strncmp(device + length, ", on ", 5) == 0);
}
