#include "emit_program.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool program_emit(struct program *p, const char *target, struct lowered *out)
{
    struct ptx_target t;
    if (!ptx_target_parse(target, strlen(target), &t))
        return false;
    p->sm = t.number;
    if (!program_passes(p, NULL))
        return false;
    struct lowered_options options = {.target = target_find(t)};
    return emit_kernel(&p->arena, p->kernel, &options, &p->diag, out);
}

const char *emitted_text(struct program *p, const struct lowered *lowered)
{
    struct text t;
    text_init(&t, &p->arena);
    ptx_print(&t, lowered->module);
    return t.data;
}

static const char *assembler(void)
{
    static const char *const places[] = {"/usr/local/cuda/bin/ptxas", "/usr/bin/ptxas"};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
        if (access(places[i], X_OK) == 0)
            return places[i];
    return NULL;
}

bool has_assembler(void)
{
    return assembler() != NULL;
}

static const char *all_of(struct program *p, FILE *f)
{
    struct text t;
    char line[512];
    text_init(&t, &p->arena);
    text_add(&t, "");
    while (fgets(line, sizeof line, f))
        text_add(&t, line);
    return t.data;
}

const char *assemble(struct program *p, const char *target, const char *ptx)
{
    char path[] = "/tmp/test_emit_XXXXXX", command[512];
    int file = mkstemp(path);
    if (file < 0 || write(file, ptx, strlen(ptx)) != (ssize_t)strlen(ptx))
        return "no temporary file";
    close(file);
    snprintf(command, sizeof command, "%s -arch=%s -Werror -o /dev/null %s 2>&1", assembler(),
             target, path);
    FILE *run = popen(command, "r");
    const char *said = run ? all_of(p, run) : "ptxas does not start";
    bool good = run && pclose(run) == 0;
    unlink(path);
    return good ? NULL : said;
}

int occurrences(const char *text, const char *what)
{
    int n = 0;
    for (const char *at = strstr(text, what); at; at = strstr(at + 1, what))
        n++;
    return n;
}

void expect_occurrences(const char *made_of, const char *text, va_list counts)
{
    for (const char *what = va_arg(counts, const char *); what;
         what = va_arg(counts, const char *)) {
        int want = va_arg(counts, int), got = occurrences(text, what);
        if (got != want)
            fail_msg("%s\n%s\n`%s`: %d times, %d expected", made_of, text, what, got, want);
    }
}
