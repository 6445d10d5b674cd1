#include "cli/trace_file.h"

#include "cli/part_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool read_block(const char *text, int64_t block[3])
{
    for (int i = 0; i < 3; i++) {
        char *end;
        errno = 0;
        block[i] = strtoll(text, &end, 10);
        if (end == text || errno || block[i] < 0)
            return false;
        if (!*end)
            return true;
        if (*end != ',')
            return false;
        text = end + 1;
    }
    return false;
}

int trace_file_read(struct trace_file *t, const struct options *o)
{
    static const char *const others[] = {"trace-events", "trace-from", NULL};
    const char *block = options_value(o, "in-block"), *other = options_any(o, others);
    *t = (struct trace_file){.path = options_value(o, "trace"), .options.size = sizeof t->options};
    bool probed = options_has(o, "probe") || options_has(o, "break");
    if (block && !t->path && !probed)
        return usage_error(o->complaints, o->command,
                           "--in-block goes with --probe, --break or --trace");
    if (other && !t->path)
        return usage_error(o->complaints, o->command, "--%s is about --trace OUT: give that too",
                           other);
    if (!t->path)
        return STATUS_OK;
    if (block && !read_block(block, t->options.block))
        return usage_error(o->complaints, o->command,
                           "--in-block %s: expected the block's index, X, X,Y or X,Y,Z", block);
    if (!options_integer(o, "trace-events", 1, INT32_MAX, &t->options.events) ||
        !options_integer(o, "trace-from", 0, INT64_MAX / 2, &t->options.from))
        return STATUS_USAGE;
    size_t length = strlen(t->path);
    bool json = length > 5 && strcmp(t->path + length - 5, ".json") == 0;
    t->options.format = json ? TW_TRACE_CHROME : TW_TRACE_BINARY;
    return STATUS_OK;
}

int trace_file_write(struct trace_file *t, const tw_sim_result *result,
                     struct complaints *complaints)
{
    if (!t->path || !result->trace)
        return STATUS_OK;
    struct part_file part = part_file_open(t->path, "wb");
    bool good = part.file &&
                fwrite(result->trace, 1, result->trace_bytes, part.file) == result->trace_bytes;
    if (!part.file || !part_file_close(&part, good)) {
        complain(complaints, "cannot write `%s`: %s", t->path, strerror(errno));
        return STATUS_FAILED;
    }
    t->path = NULL;
    return STATUS_OK;
}
