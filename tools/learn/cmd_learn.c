/* Command learn: puzzles, and a judge for the answers. */
#include "cli/commands.h"
#include "cli/file_new.h"
#include "learn/learn_inputs.h"
#include "learn/learn_progress.h"
#include "learn/learn_report.h"
#include "cli/target.h"
#include "cli/watch.h"
#include "cli/files_read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct learn {
    const struct command *self;
    const struct options *given;
    struct puzzles all;
    struct learnt learnt;
    bool to_json;
};

/* --- the list --- */

static const char *mark_of(const struct step *s)
{
    return s->passed ? "passed" : s->tries ? "begun" : "";
}

static int list_puzzles(struct learn *l)
{
    struct json j = {.out = stdout};
    int passed = 0;
    if (l->to_json)
        json_open(&j, '[');
    for (int i = 0; i < l->all.count; i++) {
        const struct puzzle *p = &l->all.list[i];
        const struct step *s = learnt_step(&l->learnt, p->folder);
        passed += s->passed;
        if (!l->to_json) {
            printf("%3d  %-6s  %-19s  %s\n", p->number, mark_of(s), p->name, p->title);
            continue;
        }
        json_open(&j, '{');
        json_put_integer(&j, "puzzle", p->number);
        json_put_text(&j, "name", p->name);
        json_put_text(&j, "title", p->title);
        json_put_bool(&j, "cuda", p->starter[LANGUAGE_CUDA] != NULL);
        json_put_bool(&j, "passed", s->passed);
        json_put_bool(&j, "at_solution", s->at_solution);
        json_put_bool(&j, "passed_in_cuda", s->cuda);
        json_put_integer(&j, "tries", s->tries);
        json_put_integer(&j, "hints", p->hint_count);
        json_put_integer(&j, "hints_given", s->hints);
        json_put_bool(&j, "solution_shown", s->solution);
        json_close(&j, '}');
    }
    if (l->to_json) {
        json_close(&j, ']');
        json_end(&j);
        return STATUS_OK;
    }
    printf(
        "\n%d of %d passed. `tilewright learn N` begins puzzle N, or judges your answer to it.\n",
        passed, l->all.count);
    if (!l->learnt.path)
        puts("Progress is not kept: none of TILEWRIGHT_LEARN, XDG_DATA_HOME and HOME says where.");
    return STATUS_OK;
}

/* --- texts --- */

/* Prints the puzzle's text. Its commands name the learner's file, if that is a .tile file. */
static void print_statement(const struct puzzle *p, const char *path)
{
    char *name = need_text(" %s%s", p->folder, language_endings[LANGUAGE_TILE]);
    char *file = shell_word(ends_with(path, language_endings[LANGUAGE_TILE]) ? path : name + 1);
    printf("Puzzle %d. %s\n\n", p->number, p->title);
    const char *at = p->statement, *next;
    for (; (next = strstr(at, name)) != NULL; at = next + strlen(name))
        printf("%.*s %s", (int)(next - at), at, file);
    printf("%s\n", at);
    free(file);
    free(name);
}

/* Prints the next hint, or the requested one. */
static int show_hint(struct learn *l, const struct puzzle *p)
{
    struct step *s = learnt_step(&l->learnt, p->folder);
    int64_t number = s->hints + 1;
    bool asked = l->given->word_count > 1;
    if (asked &&
        (!parse_integer(l->given->words[1], &number) || number < 1 || number > p->hint_count))
        return usage_error(NULL, l->self, "--hint %s: puzzle %d has hints 1 to %d",
                           l->given->words[1], p->number, p->hint_count);
    if (!p->hint_count && l->to_json) {
        report_hint_json(p, 0, stdout);
        return STATUS_OK;
    }
    if (!p->hint_count) {
        printf("Puzzle %d has no hints.\n", p->number);
        return STATUS_OK;
    }
    bool kept = number <= s->hints, was_last = number > p->hint_count;
    if (was_last)
        number = p->hint_count;
    if (l->to_json)
        report_hint_json(p, (int)number, stdout);
    else
        printf("Hint %d of %d%s\n\n%s", (int)number, p->hint_count,
               was_last ? ", the last, again" : "", p->hints[number - 1]);
    if (number > s->hints && learnt_lock(&l->learnt)) {
        s = learnt_step(&l->learnt, p->folder);
        s->hints = number > s->hints ? (int)number : s->hints;
        kept = l->learnt.lock >= 0;
        learnt_write(&l->learnt);
    }
    if (!l->to_json && !kept && !asked && number < p->hint_count)
        printf("\n`tilewright learn %d --hint 2` gives the second.\n", p->number);
    return STATUS_OK;
}

static int no_cuda(const struct learn *l, const struct puzzle *p)
{
    return usage_error(NULL, l->self, "puzzle %d is about tiles, and not for CUDA C", p->number);
}

static int show_solution(struct learn *l, const struct puzzle *p)
{
    enum language language = options_has(l->given, "cuda") ? LANGUAGE_CUDA : LANGUAGE_TILE;
    if (!p->answer[language])
        return no_cuda(l, p);
    if (l->to_json)
        report_solution_json(p, stdout);
    else
        printf("%s\n%s", p->answer[language], p->solution ? p->solution : "");
    if (!learnt_step(&l->learnt, p->folder)->solution && learnt_lock(&l->learnt)) {
        learnt_step(&l->learnt, p->folder)->solution = true;
        learnt_write(&l->learnt);
    }
    return STATUS_OK;
}

/* --- judging --- */

/* Returns the puzzle's file in the folder: the .tile or the .cu file, whichever exists. */
static char *path_in_folder(const struct learn *l, const struct puzzle *p, enum language *language)
{
    const char *folder = options_value(l->given, "folder");
    char *paths[LANGUAGES];
    for (int i = 0; i < LANGUAGES; i++)
        paths[i] =
            need_text("%s%s%s%s", folder ? folder : "",
                      folder && !ends_with(folder, "/") ? "/" : "", p->folder, language_endings[i]);
    bool only_cuda =
        access(paths[LANGUAGE_TILE], F_OK) != 0 && access(paths[LANGUAGE_CUDA], F_OK) == 0;
    *language = options_has(l->given, "cuda") || only_cuda ? LANGUAGE_CUDA : LANGUAGE_TILE;
    free(paths[1 - *language]);
    return paths[*language];
}

/* Writes the starter if the file does not exist. Returns STATUS_OK, or another status after
 * printing a message. */
static int begin_file(const struct puzzle *p, enum language language, const char *path,
                      bool *written)
{
    const char *slash = strrchr(path, '/');
    char *folder = slash ? need_text("%.*s", (int)(slash - path), path) : NULL;
    if (folder && *folder)
        mkdir(folder, 0777); /* if it fails, writing the file shows the error */
    free(folder);
    enum file_written done = file_write_new(path, p->starter[language]);
    *written = done == FILE_WRITTEN;
    if (done != FILE_FAILED)
        return STATUS_OK;
    complain(NULL, "%s cannot be written: %s", path, strerror(errno));
    return STATUS_USAGE;
}

static int read_answer(const char *path, char **text)
{
    enum { MOST = 1 << 20 };
    size_t length;
    file_is_read(path);
    *text = read_at_most(path, MOST, &length);
    if (!*text) {
        complain(NULL, "cannot read `%s`: %s", path, strerror(errno));
        return STATUS_USAGE;
    }
    if (strlen(*text) == length)
        return STATUS_OK;
    complain(NULL, "%s is not a program: it holds bytes that are not text", path);
    return STATUS_USAGE;
}

/* Returns the next puzzle that is not passed; after the last, starts at the first. */
static const struct puzzle *next_puzzle(struct learn *l, const struct puzzle *p)
{
    const struct puzzle *first = NULL;
    for (int i = 0; i < l->all.count; i++) {
        const struct puzzle *other = &l->all.list[i];
        if (learnt_step(&l->learnt, other->folder)->passed)
            continue;
        if (other->number > p->number)
            return other;
        first = first ? first : other;
    }
    return first;
}

static void keep_result(struct learn *l, const struct puzzle *p, enum language language,
                        const struct judgement *x)
{
    bool kept = learnt_lock(&l->learnt);
    struct step *s = learnt_step(&l->learnt, p->folder);
    s->passed = s->passed || x->passed;
    s->at_solution = s->at_solution || judgement_at_solution(x);
    s->cuda = s->cuda || (x->passed && language == LANGUAGE_CUDA);
    s->tries += !x->is_starter;
    if (kept)
        learnt_write(&l->learnt);
}

/* Returns the command that judges the same file again, typed in the same folder. */
static char *call_again(const struct learn *l, const struct puzzle *p, enum language language)
{
    const char *folder = options_value(l->given, "folder");
    char *text = need_text("tilewright learn %d", p->number);
    if (language == LANGUAGE_CUDA)
        append_text(&text, " --cuda");
    if (folder)
        append_text(&text, " --folder %s", folder);
    return text;
}

static int judge_answer(struct learn *l, const struct puzzle *p, enum language language,
                        const char *path, bool written)
{
    struct judgement x;
    char *text;
    int status = read_answer(path, &text);
    if (status == STATUS_OK) {
        struct judge_options o = {.puzzle = p,
                                  .language = language,
                                  .path = path,
                                  .text = text,
                                  .compiler = options_value(l->given, "compiler"),
                                  .colour = !l->to_json && on_terminal(stdout),
                                  .all_cases = l->to_json};
        status = judge(&o, &x);
        if (status == STATUS_OK) {
            keep_result(l, p, language, &x);
            const struct step *s = learnt_step(&l->learnt, p->folder);
            int left = p->hint_count - s->hints;
            char *again = call_again(l, p, language);
            struct report_of r = {.puzzle = p,
                                  .next = next_puzzle(l, p),
                                  .path = path,
                                  .language = language,
                                  .written = written,
                                  .hints_left = left,
                                  .named = l->given->word_count > 1,
                                  .again = again,
                                  .open = options_has(l->given, "open")};
            if (l->to_json)
                report_judgement_json(&r, &x, stdout);
            else
                report_judgement(&r, &x, stdout);
            free(again);
            status = x.passed || written ? STATUS_OK : STATUS_FAILED; /* the starter is not an
                                                                       * attempt */
        }
        judgement_free(&x);
    }
    free(text);
    return status;
}

static int learn_puzzle(struct learn *l, const struct puzzle *p)
{
    enum language language;
    bool written = false;
    int status = STATUS_OK;
    char *path;
    if (l->given->word_count > 1) {
        bool is_input = strcmp(l->given->words[1], "-") == 0;
        path = need_text("%s", is_input ? STANDARD_INPUT : l->given->words[1]);
        language = ends_with(path, language_endings[LANGUAGE_CUDA]) ? LANGUAGE_CUDA : LANGUAGE_TILE;
    } else {
        path = path_in_folder(l, p, &language);
    }
    if (!p->starter[language])
        status = no_cuda(l, p);
    else if (l->given->word_count < 2)
        status = begin_file(p, language, path, &written);
    bool begins =
        written || (status != STATUS_OK && p->starter[language]); /* or cannot be written */
    if (!l->to_json && (begins || options_has(l->given, "text")))
        print_statement(p, path);
    if (status == STATUS_OK && !l->to_json && written) {
        char *again = call_again(l, p, language);
        print_text(stdout, "Your file: %s. `%s` judges it; this is the judge on it as it is:\n\n",
                   path, again);
        free(again);
    }
    if (status == STATUS_OK)
        status = judge_answer(l, p, language, path, written);
    free(path);
    return status;
}

/* Writes the arrays of a case. The text of FILE, or else the starter, determines the sizes of a
 * random case. */
static int write_inputs(const struct learn *l, const struct puzzle *p)
{
    const char *path = l->given->word_count > 1 ? l->given->words[1] : NULL;
    char *named = need_text("%s%s", p->folder, language_endings[LANGUAGE_TILE]), *text = NULL;
    int status = path ? read_answer(path, &text) : STATUS_OK;
    struct learn_inputs x = {.puzzle = p,
                             .path = path ? path : named,
                             .text = text ? text : p->starter[LANGUAGE_TILE],
                             .given = l->given,
                             .to_json = l->to_json};
    if (status == STATUS_OK)
        status = learn_inputs_write(&x, stdout);
    free(text);
    free(named);
    return status;
}

/* --- the command --- */

static int forget(struct learn *l, const struct puzzle *p)
{
    if (!learnt_lock(&l->learnt))
        return STATUS_FAILED;
    learnt_forget(&l->learnt, p ? p->folder : NULL);
    if (!learnt_write(&l->learnt))
        return STATUS_FAILED;
    printf("Forgotten: %s. Your files stay.\n", p ? p->title : "all puzzles");
    return STATUS_OK;
}

/* Refuses options that do not go together, and surplus words. */
static int check_options(const struct learn *l)
{
    static const char *const modes[] = {"hint", "solution", "reset", "inputs", NULL};
    static const char *const of_answers[] = {"text", "folder", "compiler", "cuda", "open", NULL};
    const struct options *o = l->given;
    const char *mode = options_any(o, modes);
    for (int i = 0; mode && modes[i]; i++)
        if (strcmp(modes[i], mode) != 0 && options_has(o, modes[i]))
            return usage_error(NULL, l->self, "takes --%s or --%s", mode, modes[i]);
    bool inputs = mode && strcmp(mode, "inputs") == 0;
    bool numbered = inputs || (mode && strcmp(mode, "hint") == 0);
    if (l->to_json && options_has(o, "reset"))
        return usage_error(NULL, l->self, "--json is not for --reset");
    if (l->to_json && options_has(o, "text") && o->word_count > 1)
        return usage_error(NULL, l->self, "--text --json is of the puzzle alone, without FILE");
    if (o->word_count > (mode && !numbered ? 1 : 2))
        return usage_error(NULL, l->self, "too many words: '%s'", o->words[o->word_count - 1]);
    if (!o->word_count && mode && strcmp(mode, "reset") != 0)
        return usage_error(NULL, l->self, "--%s: of which puzzle?", mode);
    if (inputs && !*options_value(o, "inputs"))
        return usage_error(NULL, l->self, "--inputs: into which folder? `--inputs .` is this one");
    static const char *const of_inputs[] = {"case", "set", NULL};
    if (options_any(o, of_inputs) && !inputs)
        return usage_error(NULL, l->self, "--%s goes with --inputs FOLDER",
                           options_any(o, of_inputs));
    const char *other = options_any(o, of_answers);
    if (other && !o->word_count)
        return usage_error(NULL, l->self, "--%s: for which puzzle?", other);
    if (mode && other && (strcmp(mode, "solution") != 0 || strcmp(other, "cuda") != 0))
        return usage_error(NULL, l->self, "--%s is for judging, and not for --%s", other, mode);
    if (o->word_count > 1 && options_has(o, "cuda") &&
        !ends_with(o->words[1], language_endings[LANGUAGE_CUDA]))
        return usage_error(NULL, l->self, "--cuda: `%s` does not end in .cu", o->words[1]);
    if (o->word_count > 1 && options_has(o, "folder"))
        return usage_error(NULL, l->self,
                           "--folder is for the puzzle's own file, and FILE is given");
    return STATUS_OK;
}

static int no_puzzle(const struct learn *l, const char *word)
{
    const char *near = puzzles_near(&l->all, word);
    for (int i = 0; i < l->all.count; i++) { /* its file */
        const struct puzzle *p = &l->all.list[i];
        size_t length = strlen(p->folder);
        if (strncmp(word, p->folder, length) == 0 && word[length] == '.')
            return usage_error(NULL, l->self, "%s is a file: `tilewright learn %d %s` judges it",
                               word, p->number, word);
    }
    return usage_error(NULL, l->self, "there is no puzzle '%s'%s%s%s", word,
                       near ? "; did you mean '" : "; `tilewright learn` lists them",
                       near ? near : "", near ? "'?" : "");
}

static int do_what_is_asked(struct learn *l)
{
    const struct options *o = l->given;
    const struct puzzle *p = NULL;
    int status = check_options(l);
    if (status != STATUS_OK)
        return status;
    if (o->word_count) {
        p = puzzles_find(&l->all, o->words[0]);
        if (!p)
            return no_puzzle(l, o->words[0]);
    }
    if (options_has(o, "reset"))
        return forget(l, p);
    if (!p)
        return list_puzzles(l);
    if (options_has(o, "hint"))
        return show_hint(l, p);
    if (options_has(o, "inputs"))
        return write_inputs(l, p);
    if (options_has(o, "solution"))
        return show_solution(l, p);
    if (l->to_json && options_has(o, "text")) { /* writes no file, and judges none */
        report_text_json(p, stdout);
        return STATUS_OK;
    }
    return learn_puzzle(l, p);
}

static int learn_run(const struct command *self, const struct options *given)
{
    struct learn l = {.self = self, .given = given, .to_json = options_has(given, "json")};
    puzzles_load(&l.all);
    learnt_read(&l.learnt);
    int status = do_what_is_asked(&l);
    learnt_free(&l.learnt);
    puzzles_free(&l.all);
    return status;
}

static const struct option_spec learn_options[] = {
    {.name = "hint", .help = "the next hint; --hint 2: the second"},
    {.name = "solution", .help = "our answer, explained"},
    {.name = "text", .help = "the puzzle's text again"},
    {.name = "open", .help = "the arrays of a hidden case that fails, too"},
    {.name = "inputs",
     .values = 1,
     .value = "FOLDER",
     .help = "writes the arrays of a case as .npy files, for `run --in`; a random case is\nthat of "
             "FILE"},
    {.name = "case",
     .values = 1,
     .value = "K",
     .help = "inputs: of the case of that number (default: 1)"},
    {.name = "set",
     .values = 1,
     .value = "NAME=VALUE",
     .help = "inputs: a size in place of the case's own"},
    {.name = "cuda", .help = "in CUDA C (NAME.cu), where clang or nvcc is installed"},
    {.name = "folder",
     .values = 1,
     .value = "FOLDER",
     .help = "where the puzzles' files are (default: here)"},
    {.name = "compiler",
     .values = 1,
     .value = "PROGRAM",
     .help = "CUDA: clang or nvcc (default: clang where it is, else nvcc)"},
    {.name = "reset", .help = "forget what was passed, of one puzzle or all; files stay"},
    OPTION_JSON,
    OPTION_WATCH,
    OPTION_END,
};

const struct command command_learn = {
    .name = "learn",
    .arguments = "[PUZZLE [FILE]] [OPTIONS]",
    .summary = "puzzles, from the first thread to attention, with a judge",
    .about =
        "Without PUZZLE, a number or name: the list of puzzles, with what you have passed.\n"
        "The first `learn 3` prints puzzle 3 and writes a file to begin from, 03_guards.tile; from "
        "then\n"
        "on it judges that file, or FILE. Your file is never written over.\n"
        "The judge runs it on the CPU engine and in the simulator, on sizes that you see and sizes "
        "that\n"
        "you do not, in several orders of warps. Right values do not suffice: races, accesses "
        "outside of\n"
        "arrays, reads of memory that was never written and needless traffic are rejected, with "
        "the\n"
        "line.\n"
        "Progress is kept in $TILEWRIGHT_LEARN, else in tilewright/learn in $XDG_DATA_HOME or\n"
        "~/.local/share. No GPU is needed. Status 1: not passed; 0 if it has just written the "
        "file.",
    .options = learn_options,
    .examples = "  tilewright learn\n"
                "  tilewright learn 1\n"
                "  tilewright learn 1 --hint\n"
                "  tilewright learn 14 --solution\n"
                "  tilewright learn 14 --inputs case2 --case 2\n",
    .run = learn_run,
};
