/* Reads thread IR, checks it, and prints it again, or its PTX.
 *
 *     thread_text [--ptx] FILE.thread
 *
 * Status 1: the text is wrong; the messages go to standard output. */
#include "nvptx/nvptx.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *read_file(const char *path, size_t *length)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return NULL;
    char *text = NULL;
    size_t room = 0;
    *length = 0;
    do {
        room = 2 * room + 4096;
        char *more = realloc(text, room);
        if (!more)
            break;
        text = more;
        *length += fread(text + *length, 1, room - *length, file);
    } while (*length == room);
    fclose(file);
    return text;
}

int main(int count, char **words)
{
    static jmp_buf out_of_memory;
    bool ptx = count > 2 && strcmp(words[1], "--ptx") == 0;
    struct source source = {.name = text_base_name(words[count - 1])};
    source.text = read_file(words[count - 1], &source.length);
    if (count < 2 || !source.text || setjmp(out_of_memory)) {
        fprintf(stderr, "thread_text [--ptx] FILE.thread\n");
        return 2;
    }
    struct arena arena;
    struct diag diag;
    struct text text;
    arena_init(&arena, &allocator_libc, &out_of_memory);
    diag_init(&diag, &arena);
    text_init(&text, &arena);
    struct thread_function *f = thread_parse(&arena, &source, &diag);
    bool ok = f && thread_verify(&arena, f, &diag);
    if (ok && ptx)
        thread_add_fences(&arena, f);
    struct ptx_module *module = ok && ptx ? nvptx_emit(&arena, f, &diag) : NULL;
    if (!ok || (ptx && !module))
        diag_render(&text, &diag, false);
    else if (ptx)
        ptx_print(&text, module);
    else
        thread_print(&text, f);
    fputs(text.data, stdout);
    bool failed = diag.errors > 0;
    arena_free(&arena);
    free((char *)source.text);
    return failed;
}
