/* Executes programs of thread IR, each by one thread.
 *
 *     thread_run FILE
 *
 * Each program in the file begins with a line of 64 words in a comment, its inputs. It is a kernel f(u64 %in, u64 %out).
 * Prints its 32 words of output in a line: of the program as it is, and of the optimised one; or the messages and status 1. */
#include "nvptx/nvptx.h"
#include "ptx_thread.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INPUTS = 64, OUTPUTS = 32 };

static bool execute(struct arena *a, const struct ptx_module *m, const char *text)
{
    uint32_t in[INPUTS], out[OUTPUTS] = {0};
    char *end = (char *)text + 2;
    for (int i = 0; i < INPUTS; i++)
        in[i] = (uint32_t)strtoul(end, &end, 10);
    const uint64_t arguments[] = {(uintptr_t)in, (uintptr_t)out};
    struct ptx_thread t;
    ptx_thread_init(&t, a, ptx_find_function(m, "f"));
    t.arguments = arguments;
    const char *unknown = ptx_thread_run(&t);
    if (unknown)
        printf("%s is not executed\n", unknown);
    for (int i = 0; i < OUTPUTS && !unknown; i++)
        printf("%" PRIu32 "%c", out[i], i + 1 < OUTPUTS ? ' ' : '\n');
    return !unknown;
}

/* Reads one program, and executes it. */
static bool one(const char *text, size_t length,
                void (*optimise)(struct arena *a, struct thread_function *f))
{
    static jmp_buf out_of_memory;
    struct arena arena;
    struct diag diag;
    struct text messages;
    const struct source source = {.name = "program", .text = text, .length = length};
    if (setjmp(out_of_memory))
        return false;
    arena_init(&arena, &allocator_libc, &out_of_memory);
    diag_init(&diag, &arena);
    text_init(&messages, &arena);
    struct thread_function *f = thread_parse(&arena, &source, &diag);
    bool right = f && thread_verify(&arena, f, &diag);
    if (right && optimise) {
        optimise(&arena, f);
        right = thread_verify(&arena, f, &diag);
    }
    struct ptx_module *m = right ? nvptx_emit(&arena, f, &diag) : NULL;
    if (!m) {
        diag_render(&messages, &diag, false);
        fputs(messages.data, stdout);
    }
    const bool ok = m && execute(&arena, m, text);
    arena_free(&arena);
    return ok;
}

int main(int count, char **words)
{
    static char text[1 << 24];
    FILE *file = count == 2 ? fopen(words[1], "rb") : NULL;
    if (!file)
        return 2;
    const size_t length = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    for (char *at = text, *end; at < text + length; at = end) {
        char *next = strstr(at + 1, "\n//");
        end = next ? next + 1 : text + length;
        const size_t size = (size_t)(end - at);
        if (!one(at, size, NULL) || !one(at, size, thread_optimise))
            return 1;
    }
    return 0;
}
