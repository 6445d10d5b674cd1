/* devices: what can run kernels here. */
#include "commands.h"
#include "json.h"
#include "target.h"

#include <string.h>

static void add_gpu(struct json *j, const tw_device *d)
{
    json_key(j, "capability");
    json_integer(j, d->capability);
    json_key(j, "memory_bytes");
    json_integer(j, d->memory_bytes);
    json_key(j, "l2_bytes");
    json_integer(j, d->l2_bytes);
    json_key(j, "driver");
    json_integer(j, d->driver);
}

static int devices_run(const struct command *self, const struct options *given)
{
    if (given->word_count)
        return usage_error(NULL, self, "takes no arguments");
    struct json j = {.out = stdout};
    bool json = options_has(given, "json");
    tw_device d;
    if (json)
        json_open(&j, '[');
    for (int i = 0; tw_device_at(i, &d); i++) {
        if (!json) {
            printf("%-6s %s\n", d.name, d.description);
            continue;
        }
        json_open(&j, '{');
        json_key(&j, "name");
        json_string(&j, d.name);
        json_key(&j, "description");
        json_string(&j, d.description);
        json_key(&j, "cores");
        json_integer(&j, d.cores);
        if (strcmp(d.name, "cpu") != 0)
            add_gpu(&j, &d);
        json_close(&j, '}');
    }
    if (json) {
        json_close(&j, ']');
        json_end(&j);
    }
    return STATUS_OK;
}

static const struct option_spec devices_options[] = {OPTION_JSON, OPTION_END};

const struct command command_devices = {
    .name = "devices",
    .arguments = "[--json]",
    .summary = "what can run kernels on this machine",
    .about = "Lists the devices that kernels can run on.",
    .options = devices_options,
    .examples = "  tilewright devices\n",
    .run = devices_run,
};
