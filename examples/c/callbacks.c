/* Functions that the caller may provide: for memory, for the output of print(), and to stop a
 * run. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tilewright.h>

static const char text[] =
    "kernel count(i32 n, i32 *y) grid(n) warps(1)\n"
    "{   global i32 Y[n] = y;\n"
    "    Y[block.x] = block.x;\n"
    "    if (block.x % 1000 == 0) print(\"block\", block.x);\n"
    "}\n";

enum { LIMIT = 3, N = 100000 };
static int32_t y[N];
struct host {
    size_t bytes; /* bytes that the library holds now */
    int printed;
};

static void *resize(void *user, void *ptr, size_t old_size, size_t size)
{
    void *now = size ? realloc(ptr, size) : (free(ptr), NULL);
    if (now || !size)
        ((struct host *)user)->bytes += size - old_size;
    return now;
}

static void print(void *user, const char *said, size_t length)
{
    ((struct host *)user)->printed++;
    printf("the kernel says: %.*s", (int)length, said);
}

static bool cancelled(void *user)
{
    return ((struct host *)user)->printed >= LIMIT;
}

int main(void)
{
    struct host host = {0};
    tw_config config = {.size = sizeof config, .resize = resize, .print = print, .threads = 1};
    config.resize_user = config.print_user = config.cancelled_user = &host;
    config.cancelled = cancelled;
    tw_context *ctx;
    tw_module *module;
    tw_launch *l;
    tw_context_new(&config, &ctx);
    if (tw_module_from_text(ctx, "count", text, strlen(text), &module) != TW_OK)
        return fputs(tw_context_messages(ctx), stderr), 1;
    tw_launch_new(tw_module_kernel_at(module, 0), &l);
    tw_launch_array(l, "y", &tw_host_array(y, TW_I32, N));
    tw_status status = tw_launch_run(l);
    printf("%s; the library holds %s\n", tw_status_text(status), host.bytes ? "memory" : "nothing");
    tw_context_free(ctx);
    printf("then %zu bytes\n", host.bytes);
    return status != TW_CANCELLED || host.bytes != 0;
}
