/* Parses, verifies and prints a file of PTX.
 *
 *     ptx_again IN OUT
 */
#include "base/platform.h"
#include "ptx/ptx.h"

#include <setjmp.h>
#include <stdio.h>

static jmp_buf failed;

static int again(const char *in, const char *out)
{
    struct arena arena;
    size_t length;
    const char *why;
    arena_init(&arena, &allocator_libc, &failed);
    char *text = platform_read_file(&arena, in, &length, &why);
    if (!text) {
        fprintf(stderr, "%s: %s\n", in, why);
        return 2;
    }
    struct source source = {in, text, length};
    struct diag d;
    struct text printed, messages;
    diag_init(&d, &arena);
    text_init(&printed, &arena);
    text_init(&messages, &arena);
    struct ptx_module *m = ptx_parse(&arena, &source, &d);
    bool fine = m && ptx_verify(m, &d);
    diag_render(&messages, &d, false);
    fputs(messages.data, stderr);
    if (fine)
        ptx_print(&printed, m);
    fine = fine && platform_write_file(&arena, out, printed.data, printed.length, &why);
    arena_free(&arena);
    return fine ? 0 : 1;
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: ptx_again IN OUT\n");
        return 2;
    }
    return again(argv[1], argv[2]);
}
