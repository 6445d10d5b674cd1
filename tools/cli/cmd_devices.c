/* Command devices: lists the devices of this machine that can run kernels. */
#include "cli/commands.h"
#include "cli/json.h"
#include "cli/target.h"
#include "tilewright_gpu.h"

#include <stdlib.h>
#include <string.h>

static void add_gpu(struct json *j, const tw_device *d)
{
    json_put_integer(j, "capability", d->capability);
    json_put_integer(j, "memory_bytes", d->memory_bytes);
    json_put_integer(j, "l2_bytes", d->l2_bytes);
    json_put_integer(j, "driver", d->driver);
}

/* Prints the folder of the cache of assembled kernels. */
static int show_cache(void)
{
    tw_context *ctx;
    tw_cache c = tw_cache_init();
    tw_status status = tw_context_new(NULL, &ctx);
    if (status == TW_OK)
        status = tw_context_cache(ctx, &c);
    const double mib = 1024.0 * 1024.0;
    if (status == TW_OK && !c.folder)
        printf("cache  off%s%s\n", c.trouble ? ": " : "", c.trouble ? c.trouble : "");
    else if (status == TW_OK)
        printf("cache  %s, %lld kernel%s, %.1f of %.0f MiB%s%s\n", c.folder, (long long)c.kernels,
               c.kernels == 1 ? "" : "s", (double)c.bytes / mib, (double)c.limit_bytes / mib,
               c.trouble ? "; nothing can be kept: " : "", c.trouble ? c.trouble : "");
    tw_context_free(ctx);
    return status == TW_OK ? STATUS_OK : STATUS_FAILED;
}

/* Prints why the list has no GPU. */
static void say_no_gpu(void)
{
    tw_context *ctx;
    tw_message m = tw_message_init();
    if (tw_context_new(NULL, &ctx) != TW_OK)
        return;
    if (tw_stream_wait(ctx, NULL) != TW_OK && tw_context_message(ctx, 0, &m))
        printf("cuda   %s\n", m.text);
    tw_context_free(ctx);
}

static int devices_run(const struct command *self, const struct options *given)
{
    if (given->word_count)
        return usage_error(NULL, self, "devices takes no arguments");
    struct json j = {.out = stdout};
    bool json = options_has(given, "json");
    if (json && options_has(given, "verbose"))
        return usage_error(NULL, self, "takes --json or --verbose");
    tw_device d = tw_device_init();
    int count = 0;
    if (json)
        json_open(&j, '[');
    for (; tw_device_at(count, &d); count++) {
        if (!json) {
            printf("%-6s %s\n", d.name, d.description);
            continue;
        }
        json_open(&j, '{');
        json_put_text(&j, "name", d.name);
        json_put_text(&j, "description", d.description);
        json_put_integer(&j, "cores", d.cores);
        if (strcmp(d.name, "cpu") != 0)
            add_gpu(&j, &d);
        json_close(&j, '}');
    }
    if (json) {
        json_close(&j, ']');
        json_end(&j);
    }
    if (count == 1 && !json && (options_has(given, "verbose") || getenv("TILEWRIGHT_CUDA_DRIVER")))
        say_no_gpu();
    if (!json)
        puts("`tilewright explain --devices` lists the GPUs whose time it predicts.");
    return options_has(given, "verbose") ? show_cache() : STATUS_OK;
}

static const struct option_spec devices_options[] = {
    {.name = "verbose",
     .letter = 'v',
     .help = "also where assembled kernels are kept between runs"},
    OPTION_JSON,
    OPTION_END,
};

const struct command command_devices = {
    .name = "devices",
    .arguments = "[-v | --json]",
    .summary = "what can run kernels on this machine",
    .about =
        "Lists the devices that kernels can run on. With -v also why there is no GPU and\n"
        "the cache of assembled kernels:\n"
        "$TILEWRIGHT_CACHE (empty: off), else `tilewright` in $XDG_CACHE_HOME or ~/.cache, of at\n"
        "most $TILEWRIGHT_CACHE_MIB MiB (1024).",
    .options = devices_options,
    .examples = "  tilewright devices\n",
    .run = devices_run,
};
