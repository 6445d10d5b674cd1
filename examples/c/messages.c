/* The compiler's messages: one by one for an editor, or as text for a terminal. */
#include <stdio.h>
#include <string.h>
#include <tilewright.h>

/* Threads write `sa`, and other threads read it without a barrier between. */
static const char text[] =
    "kernel twice(static i32 n, const f32 *x, f32 *y) grid(1) warps(4)\n"
    "{\n"
    "    global f32 X[n] = x, Y[n] = y;\n"
    "    shared f32 sa[n];\n"
    "    sa = X[0 +: n];\n"
    "    reg f32 r[n] = sa;\n"
    "    Y[0 +: n] = r + r;\n"
    "}\n";

static void list(const tw_context *ctx)
{
    static const char *const words[] = {"error", "warning", "note"};
    tw_message m = tw_message_init();
    for (int i = 0; tw_context_message(ctx, i, &m); i++)
        if (m.file)
            printf("%s line %d, column %d: %s\n", words[m.severity], m.line, m.column, m.text);
        else
            printf("%s: %s\n", words[m.severity], m.text);
}

/* Compiles the text for n = 256. */
static tw_status check(tw_context *ctx, const char *program)
{
    tw_module *module;
    tw_launch *launch = NULL;
    tw_status status = tw_module_from_text(ctx, "twice.tile", program, strlen(program), &module);
    if (status == TW_OK)
        status = tw_launch_new(tw_module_kernel_at(module, 0), &launch);
    if (status == TW_OK)
        status = tw_launch_set(launch, "n", tw_int(256));
    return status == TW_OK ? tw_launch_check(launch) : status;
}

int main(void)
{
    tw_context *ctx;
    if (tw_context_new(&(tw_config){.size = sizeof(tw_config), .colour = false}, &ctx) != TW_OK)
        return 1;
    tw_status race = check(ctx, text);
    printf("%s:\n", tw_status_text(race));
    list(ctx);
    tw_status wrong = check(ctx, "kernel twice(f32 *y) grid(1) warps(1) { retrun; }");
    printf("%s:\n%s", tw_status_text(wrong), tw_context_messages(ctx));
    tw_context_free(ctx);
    return race != TW_UNSYNCHRONISED || wrong != TW_BAD_PROGRAM;
}
