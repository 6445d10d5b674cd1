/* Reads thread IR, checks it, and prints it again, or its PTX.
 *
 *     thread_text [--ptx | --optimised | --plain | --pass=NAME] FILE.thread
 *
 * --ptx: of the optimised program; --plain: its PTX without optimisation; --optimised: the optimised program;
 * --pass=reach: the program after this pass.
 *
 * Status 1: the text is wrong; the messages go to standard output. */
#include "nvptx/nvptx.h"

#include <errno.h>
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

static const struct {
    const char *name;
    void (*run)(struct arena *a, struct thread_function *f);
} passes[] = {
    {"--optimised", thread_optimise},
    {"--ptx", thread_optimise},
    {"--plain", thread_add_fences},
    {"--pass=unroll", thread_unroll},
    {"--pass=number", thread_number},
    {"--pass=hoist", thread_hoist},
    {"--pass=reach", thread_reach},
    {"--pass=combine", thread_combine},
    {"--pass=drop_unused", thread_drop_unused},
    {"--pass=add_fences", thread_add_fences},
    {"--pass=fuse", thread_fuse},
    {"--pass=lift", thread_lift},
    {"--pass=reuse", thread_reuse},
    {"--pass=skip", thread_skip},
    {"--pass=decide", thread_decide},
    {"--pass=pack", thread_pack},
    {"--pass=rematerialise", thread_rematerialise},
    {"--pass=enter", thread_enter},
};

static bool is_option(const char *word)
{
    for (size_t i = 0; i < sizeof passes / sizeof *passes; i++)
        if (strcmp(passes[i].name, word) == 0)
            return true;
    return false;
}

/* Prints what `option` says. Returns whether the text is right. */
static bool show(struct arena *a, const struct source *source, const char *option)
{
    const bool ptx = strcmp(option, "--plain") == 0 || strcmp(option, "--ptx") == 0;
    struct diag diag;
    struct text text;
    struct ptx_module *module = NULL;
    diag_init(&diag, a);
    text_init(&text, a);
    struct thread_function *f = thread_parse(a, source, &diag);
    bool ok = f && thread_verify(a, f, &diag);
    for (size_t i = 0; ok && i < sizeof passes / sizeof *passes; i++)
        if (strcmp(passes[i].name, option) == 0) {
            passes[i].run(a, f);
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
    if (count < 2 || count > 3 || (count == 3 && !is_option(words[1]))) {
        fprintf(stderr, "thread_text [OPTION] FILE.thread\noptions:");
        for (size_t i = 0; i < sizeof passes / sizeof *passes; i++)
            fprintf(stderr, " %s", passes[i].name);
        fputc('\n', stderr);
        return 2;
    }
    source.text = read_file(words[count - 1], &source.length);
    if (!source.text || setjmp(out_of_memory)) {
        fprintf(stderr, "thread_text: %s: %s\n", words[count - 1],
                source.text ? "out of memory" : strerror(errno));
        return 2;
    }
    arena_init(&arena, &allocator_libc, &out_of_memory);
    int status = !show(&arena, &source, count > 2 ? words[1] : "");
    arena_free(&arena);
    free((char *)source.text);
    return status;
}
