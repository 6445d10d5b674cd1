#include "bench/bench_triton.h"
#include "cli/tool.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

/* Runs the script and returns its last line: the row, or an error message. */
static int run_script(const char *command, char *line, int size)
{
    FILE *f = popen(command, "r");
    int status = f ? 0 : -1;
    line[0] = '\0';
    while (f && fgets(line, size, f))
        line[strcspn(line, "\n")] = '\0';
    if (f)
        status = pclose(f);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Returns the value of a key in a line of JSON, or NULL if the line has no such key. */
static const char *value_of(const char *line, const char *key)
{
    char quoted[32];
    snprintf(quoted, sizeof quoted, "\"%s\": ", key);
    const char *at = strstr(line, quoted);
    return at ? at + strlen(quoted) : NULL;
}

static void read_row(struct triton_time *x, const char *line)
{
    const char *name = value_of(line, "name"), *ms = value_of(line, "ms");
    const char *ok = value_of(line, "ok");
    if (!name || !ms || !ok || strncmp(ok, "true", 4) != 0) {
        snprintf(x->why, sizeof x->why, "%.300s", ok ? "its values are wrong" : line);
        return;
    }
    snprintf(x->name, sizeof x->name, "%.*s", (int)strcspn(name + 1, "\""), name + 1);
    x->ms = strtod(ms, NULL);
}

struct triton_time triton_time(const struct gemm *g)
{
    struct triton_time x = {.name = "Triton"};
    if (g->batch != 1 || g->a != g->b || g->a_turned || g->b_turned || tw_dtype_size(g->a) == 1) {
        snprintf(x.why, sizeof x.why, "its product here is a single one of f16, bf16, f32 or tf32");
        return x;
    }
    char line[2000], *script = source_path("bench/triton_matmul.py");
    setenv("TRITON_MATMUL", script, 1); /* the shell takes any text in it verbatim */
    char *command =
        need_text("python3 \"$TRITON_MATMUL\" %lld %lld %lld --type %s 2>&1", (long long)g->m,
                  (long long)g->n, (long long)g->k, tw_dtype_name(g->a));
    int status = run_script(command, line, sizeof line);
    if (status == 0)
        read_row(&x, line);
    else
        snprintf(x.why, sizeof x.why, "%.300s", *line ? line : "python3 does not run");
    free(command);
    free(script);
    return x;
}
