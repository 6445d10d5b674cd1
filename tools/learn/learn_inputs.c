#include "learn/learn_inputs.h"
#include "cli/json.h"
#include "learn/learn_judged.h"
#include "cli/options.h"
#include "cli/tensor.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* FOLDER/NAME.npy; the caller frees. */
static char *path_of(const struct learn_inputs *x, const char *name)
{
    const char *folder = options_value(x->given, "inputs");
    return need_text("%s%s%s.npy", folder, ends_with(folder, "/") ? "" : "/", name);
}

/* Reads "SIZE=2,TPB=3" of --set as values of a case. Returns false after printing a message. */
static bool read_sizes(const struct options *given, struct puzzle_case *sizes)
{
    for (const struct option_use *u = NULL; (u = options_next(given, "set", u));) {
        const char *at = u->values[0];
        struct assignment a;
        bool bad = false;
        while (next_assignment(&at, &a, &bad))
            case_bind(sizes, a.name, a.value);
        if (!bad)
            continue;
        usage_error(NULL, given->command, "--set %s: expected NAME=VALUE", u->values[0]);
        return false;
    }
    return true;
}

static int write_arrays(const struct learn_inputs *x, const struct judged_case *c)
{
    char why[256];
    mkdir(options_value(x->given, "inputs"), 0777); /* on failure, the first file reports it */
    for (int i = 0; i < c->array_count; i++) {
        char *path = path_of(x, c->arrays[i].name);
        const char *wrong =
            c->arrays[i].given ? tensor_write(&c->arrays[i].array, path, why) : NULL;
        free(path);
        if (wrong) {
            complain(NULL, "%s", wrong);
            return STATUS_FAILED;
        }
    }
    return STATUS_OK;
}

/* Prints the sizes of one kind as an option of `run`: " --set n=67". */
static void print_sizes(FILE *out, const struct judged_case *c, enum size_kind kind)
{
    bool first = true;
    for (int i = 0; i < c->size_count; i++) {
        const struct case_size *s = &c->sizes[i];
        if (s->kind != kind)
            continue;
        if (first)
            fprintf(out, " --%s ", size_options[kind]);
        fprintf(out, "%s%s=%s", first ? "" : ",", s->name, s->value);
        first = false;
    }
}

static void report(const struct learn_inputs *x, const struct judged_case *c, int number, int cases,
                   FILE *out)
{
    fprintf(out, "puzzle %d, case %d of %d, %s. A run on its arrays:\n", x->puzzle->number, number,
            cases, c->shown ? "shown" : "hidden");
    char *file = shell_word(x->path);
    print_text(out, "tilewright run %s", file);
    free(file);
    for (int kind = SIZE_SET; kind <= SIZE_TYPE; kind++)
        print_sizes(out, c, (enum size_kind)kind);
    for (int i = 0; i < c->array_count; i++) {
        char *path = path_of(x, c->arrays[i].name);
        char *given = need_text("%s=%s", c->arrays[i].name, path), *word = shell_word(given);
        if (c->arrays[i].given)
            print_text(out, " --in %s", word);
        free(word);
        free(given);
        free(path);
    }
    fputc('\n', out);
}

static void report_json(const struct learn_inputs *x, const struct judged_case *c, int number,
                        int cases, FILE *out)
{
    struct json j = {.out = out};
    json_open(&j, '{');
    json_put_integer(&j, "puzzle", x->puzzle->number);
    json_put_integer(&j, "case", number);
    json_put_integer(&j, "cases", cases);
    json_put_text(&j, "case_is", c->shown ? "shown" : "hidden");
    judged_case_sizes_json(c, &j);
    json_open_object(&j, "inputs");
    for (int i = 0; i < c->array_count; i++) {
        char *path = path_of(x, c->arrays[i].name);
        if (c->arrays[i].given)
            json_put_text(&j, c->arrays[i].name, path);
        free(path);
    }
    json_close(&j, '}');
    json_close(&j, '}');
    json_end(&j);
}

int learn_inputs_write(const struct learn_inputs *x, FILE *out)
{
    int64_t number = 1;
    int cases;
    struct cases sizes = {.list = need_memory(sizeof *sizes.list), .count = 1};
    struct judged_case c = {0};
    struct judge_options o = {
        .puzzle = x->puzzle, .language = LANGUAGE_TILE, .path = x->path, .text = x->text};
    sizes.list[0] = (struct puzzle_case){0};
    int status = options_integer(x->given, "case", 1, INT32_MAX, &number) &&
                         read_sizes(x->given, &sizes.list[0])
                     ? STATUS_OK
                     : STATUS_USAGE;
    if (status == STATUS_OK)
        status = judge_lay_out(&o, (int)number, &sizes.list[0], &c, &cases);
    if (status == STATUS_OK)
        status = write_arrays(x, &c);
    if (status == STATUS_OK && x->to_json)
        report_json(x, &c, (int)number, cases, out);
    else if (status == STATUS_OK)
        report(x, &c, (int)number, cases, out);
    judged_case_free(&c);
    cases_free(&sizes);
    return status;
}
