/* Reads thread IR, checks it, and prints it again, or its PTX.
 *
 *     thread_text [--ptx | --optimised | --plain] FILE.thread
 *
 * --ptx: of the optimised program; --plain: its PTX without optimisation; --optimised: the optimised program.
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

/* Prints what `option` says. Returns whether the text is right. */
static bool show(struct arena *a, const struct source *source, const char *option)
{
    bool plain = strcmp(option, "--plain") == 0, ptx = plain || strcmp(option, "--ptx") == 0;
    struct diag diag;
    struct text text;
    struct ptx_module *module = NULL;
    diag_init(&diag, a);
    text_init(&text, a);
    struct thread_function *f = thread_parse(a, source, &diag);
    bool ok = f && thread_verify(a, f, &diag);
    if (ok && plain)
        thread_add_fences(a, f);
    else if (ok && *option) {
        thread_optimise(a, f);
        ok = thread_verify(a, f, &diag);
    }
    if (ok && ptx)
        ok = (module = nvptx_emit(a, f, &diag)) != NULL;
    if (!ok)
        diag_render(&text, &diag, false);
    else if (ptx)
        ptx_print(&text, module);
    else
        thread_print(&text, f);
    fputs(text.data, stdout);
    return ok;
}

int main(int count, char **words)
{
    jmp_buf out_of_memory;
    struct arena arena;
    struct source source = {.name = text_base_name(words[count - 1])};
    source.text = read_file(words[count - 1], &source.length);
    if (count < 2 || !source.text || setjmp(out_of_memory)) {
        fprintf(stderr, "thread_text [--ptx | --optimised | --plain] FILE.thread\n");
        return 2;
    }
    arena_init(&arena, &allocator_libc, &out_of_memory);
    int status = !show(&arena, &source, count > 2 ? words[1] : "");
    arena_free(&arena);
    free((char *)source.text);
    return status;
}
