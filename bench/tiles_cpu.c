/* Times a kernel with all choices of some tuned values, in turn.
 *
 *     cc -O2 -Iinclude bench/tiles_cpu.c build/libtilewright.a -lm -ldl -lpthread -o tiles_cpu
 *     ./tiles_cpu kernels/matmul/tuned.tile 1 T=f32 m=512 n=512 k=512 a:f32:512x512 \
 *         b:f32:512x512 c:f32:512x512 BM=32/64/128 BN=64/128 BK=16/32
 *
 * FILE THREADS, then the words of launch_words.h in any order. A value with `/` is a list: the
 * kernel is timed with every choice of one value from each list. Each turn launches each choice
 * twice; there are 15 turns (RUNS=N: N). It prints a line for each choice: its least
 * milliseconds, and its values. On one thread it measures the processor time, on several the time
 * that has passed. */
#include "launch_words.h"

enum { MOST_WORDS = 64, MOST_VALUES = 16, MOST_CHOICES = 512 };

/* A word of the command line; several values if it is a list. */
struct word {
    char *name;
    char *value[MOST_VALUES];
    int count;
};

static struct word read_word(char *text)
{
    struct word w = {.name = text, .count = 1};
    char *value = strchr(text, '=');
    w.value[0] = NULL;
    if (!value || !strchr(value, '/'))
        return w;
    *value++ = 0;
    w.count = 0;
    for (char *v = strtok(value, "/"); v && w.count < MOST_VALUES; v = strtok(NULL, "/"))
        w.value[w.count++] = v;
    return w;
}

/* Makes the text of a word in a choice, and counts the choice's number down. */
static void spell(const struct word *w, int *number, char *text, size_t size)
{
    const char *value = w->value[*number % w->count];
    *number /= w->count;
    snprintf(text, size, value ? "%s=%s" : "%s", w->name, value ? value : "");
}

static tw_launch *new_launch(tw_context *ctx, tw_kernel *kernel, const struct word *words,
                             int count, int number)
{
    tw_launch *launch;
    char text[256];
    need(ctx, tw_launch_new(kernel, &launch));
    for (int i = 0; i < count; i++) {
        spell(&words[i], &number, text, sizeof text);
        if (!strchr(text, ':'))
            give_value(ctx, launch, text);
    }
    return launch;
}

static void time_all(tw_context *ctx, tw_launch *const *launches, double *least, int count,
                     int threads)
{
    const char *runs = getenv("RUNS");
    for (int i = 0; i < count; i++)
        least[i] = 1e9;
    for (int turn = 0; turn < (runs ? atoi(runs) : 15); turn++)
        for (int i = 0; i < count; i++)
            for (int twice = 0; twice < 2; twice++) {
                double start = milliseconds(threads);
                need(ctx, tw_launch_run(launches[i]));
                double ms = milliseconds(threads) - start;
                least[i] = ms < least[i] ? ms : least[i];
            }
}

int main(int argc, char **argv)
{
    static struct word words[MOST_WORDS];
    static tw_launch *launches[MOST_CHOICES];
    static double least[MOST_CHOICES];
    int threads = argc > 2 ? atoi(argv[2]) : 0, count = argc - 3, choices = 1;
    size_t bytes;
    char text[256];
    tw_context *ctx;
    tw_module *module;
    if (threads < 1 || count > MOST_WORDS)
        return 2;
    for (int i = 0; i < count; i++) {
        words[i] = read_word(argv[3 + i]);
        choices *= words[i].count;
    }
    if (choices > MOST_CHOICES)
        return 2;
    need(NULL, tw_context_new(&(tw_config){.size = sizeof(tw_config), .threads = threads}, &ctx));
    need(ctx, tw_module_from_file(ctx, argv[1], &module));
    for (int c = 0; c < choices; c++)
        launches[c] = new_launch(ctx, tw_module_kernel_at(module, 0), words, count, c);
    for (int i = 0; i < count; i++)
        if (strchr(words[i].name, ':'))
            give_array(ctx, launches, choices, words[i].name, &bytes);
    for (int c = 0; c < choices; c++)
        need(ctx, tw_launch_prepare(launches[c]));
    time_all(ctx, launches, least, choices, threads);
    for (int c = 0; c < choices; c++) {
        printf("%.4f", least[c]);
        for (int i = 0, number = c; i < count; i++) {
            spell(&words[i], &number, text, sizeof text);
            printf(words[i].count > 1 ? " %s" : "", text);
        }
        printf("\n");
        tw_launch_free(launches[c]);
    }
    tw_context_free(ctx);
    return 0;
}
