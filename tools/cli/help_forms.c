/* Writes the commands as a manual page, and as scripts that complete words in bash and zsh. The
 * build runs the program to write them (cmake/install.cmake). */
#include "cli/help_forms.h"
#include "cli/tensor.h"
#include "cli/commands.h"
#include "learn/learn_puzzle.h"
#include "tilewright_look.h"
#include "tilewright_model.h"

#include <stdlib.h>
#include <string.h>

const char *const help_forms[] = {"man", "bash", "zsh", NULL};

/* --- values of options --- */

static const char *form_word(int i)
{
    return help_forms[i];
}

static const char *gpu_word(int i)
{
    return tw_target_at(i + 1); /* skips "cpu" */
}

static const char *target_word(int i)
{
    return tw_target_at(i);
}

static const char *device_word(int i)
{
    static const char *const first[] = {"cpu", "cuda", "sim"};
    return i < 3 ? first[i] : gpu_word(i - 3);
}

static const char *dtype_word(int i)
{
    return i < TW_DTYPE_COUNT ? tw_dtype_name((tw_dtype)i) : NULL;
}

/* Returns the first name of a GPU that is a single word, or "" if there is none. */
static const char *model_word(int i)
{
    static char word[64];
    tw_gpu g = tw_gpu_init();
    if (!tw_gpu_at(i, &g))
        return NULL;
    char *names = need_text("%s,%s", g.name, g.aliases);
    *word = '\0';
    for (char *name = strtok(names, ","); name && !*word; name = strtok(NULL, ","))
        if (!strchr(name, ' '))
            snprintf(word, sizeof word, "%s", name);
    free(names);
    return word;
}

/* Completions of option values: words, or a function that lists them. The key is the option's
 * name, preceded by its command's name if the option has another meaning in other commands. */
static const char *fill_word(int index)
{
    return index <= FILL_STARTS - FILL_RAND ? fill_name((enum fill)(FILL_RAND + index)) : NULL;
}

static const struct {
    const char *option, *words;
    const char *(*word)(int index);
} values[] = {
    {"explain:device", NULL, model_word},
    {"build:device", NULL, gpu_word},
    {"check:device", "sim", NULL},
    {"bench:device", "cpu cuda sim", NULL},
    {"tune:device", "cpu cuda", NULL},
    {"lsp:device", NULL, target_word},
    {"device", NULL, device_word},
    {"suite", "squares llm ragged deep_k batched all", NULL},
    {"type", NULL, dtype_word},
    {"after", NULL, tw_pass_name},
    {"stage", "tile layout ptx", NULL},
    {"fill", NULL, fill_word},
    {"copies", "early late", NULL},
    {"export", "c json", NULL},
    {"compiler", "nvcc clang", NULL},
    {"as", NULL, form_word},
    {"from", "elementwise product rows thread", NULL},
};
enum { VALUES = sizeof values / sizeof *values };

static bool is_key(const char *key, const struct command *c, const struct option_spec *s)
{
    size_t length = strlen(c->name);
    if (strncmp(key, c->name, length) == 0 && key[length] == ':')
        key += length + 1;
    return strcmp(key, s->name) == 0;
}

/* Returns the words for an option's value, separated by spaces, or NULL if there are none. The
 * caller frees. */
static char *value_words(const struct command *c, const struct option_spec *s)
{
    char *text = NULL;
    for (int i = 0; i < VALUES && !text; i++) {
        const char *word;
        if (!is_key(values[i].option, c, s))
            continue;
        if (values[i].words)
            return need_text("%s", values[i].words);
        for (int k = 0; (word = values[i].word(k)); k++)
            if (*word)
                append_text(&text, "%s%s", text ? " " : "", word);
    }
    return text;
}

/* Returns "1 2 3 …", the puzzles of `learn`. The caller frees. */
static char *puzzle_words(void)
{
    struct puzzles all;
    char *text = NULL;
    puzzles_load(&all);
    for (int i = 0; i < all.count; i++)
        append_text(&text, "%s%d", text ? " " : "", all.list[i].number);
    puzzles_free(&all);
    return text;
}

/* Writes the shell function that lists the kernels of a file, which completes words after
 * FILE.tile:. */
static void write_kernels_function(FILE *out)
{
    fputs("_tilewright_kernels() {\n"
          "    sed -n "
          "'s/^[[:space:]]*kernel[[:space:]]\\{1,\\}\\([A-Za-z_][A-Za-z_0-9]*\\).*/\\1/p' "
          "\"$1\" 2>/dev/null\n}\n",
          out);
}

/* Writes the shell function that lists the names of a file for --tune and --set, each with the
 * '=' that follows. */
static void write_names_function(FILE *out)
{
    fputs("_tilewright_names() {\n"
          "    local kind=$1 text\n    shift\n"
          "    for text in \"$@\"; do\n        text=${text%%.tile:*}\n        "
          "text=${text%.tile}.tile\n"
          "        [ -f \"$text\" ] || continue\n"
          "        case $kind in\n"
          "        tune) sed -n 's/^[[:space:]]*tune[[:space:]]*\\(([a-z_0-9]*)\\)\\{0,1\\}"
          "[[:space:]]*(*\\([A-Z_a-z0-9, ]*\\))*[[:space:]]*=.*/\\2/p' \"$text\" | tr -s ', ' "
          "'\\n' ;;\n"
          "        set) tr '\\n' ' ' < \"$text\" | sed 's/kernel[[:space:]]/\\\n&/g' | "
          "sed -n 's/^kernel[[:space:]][^(]*(\\([^)]*\\)).*/\\1/p' | tr ',' '\\n' |\n"
          "            sed '/\\*/d; s/[[:space:]]*$//; s/.*[[:space:]]//' ;;\n"
          "        esac | sed '/^$/d; s/$/=/' | sort -u\n        return\n    done\n}\n",
          out);
}

/* Returns "tune" or "set" for an option whose values begin with a name, or NULL for others. */
static const char *named_kind(const struct option_spec *s)
{
    bool named = strcmp(s->name, "tune") == 0 || strcmp(s->name, "set") == 0;
    return named && s->value && strncmp(s->value, "NAME=", 5) == 0 ? s->name : NULL;
}

static bool takes(const struct option_spec *s, const char *what)
{
    return s->value && strstr(s->value, what);
}

/* Returns the command's next option, or NULL after the last. */
static const struct option_spec *next_option(const struct command *c, const struct option_spec *at)
{
    at = at ? at + 1 : c->options;
    while (at && at->name && (at->elsewhere || at->now))
        at++;
    return at && at->name ? at : NULL;
}

/* --- the manual page (groff_man(7)) --- */

/* Writes lines of text. Escapes a leading dot or apostrophe, which would be a request. */
static void man_text(FILE *out, const char *text, bool joined)
{
    bool at_start = true;
    for (; *text; text++) {
        if (at_start && (*text == '.' || *text == '\''))
            fputs("\\&", out);
        at_start = *text == '\n';
        if (*text == '\\')
            fputs("\\e", out);
        else if (*text == '-')
            fputs("\\-", out);
        else
            fputc(joined && *text == '\n' ? ' ' : *text, out);
    }
}

static void man_option(FILE *out, const struct option_spec *s)
{
    fputs(".TP\n", out);
    if (s->letter)
        fprintf(out, "\\fB\\-%c\\fR, ", s->letter);
    fputs("\\fB\\-\\-", out);
    man_text(out, s->name, true);
    fputs("\\fR", out);
    if (s->value) {
        fputs(" \\fI", out);
        man_text(out, s->value, true);
        fputs("\\fR", out);
    }
    fputc('\n', out);
    man_text(out, s->help, true);
    fputc('\n', out);
}

/* Writes examples without the two leading spaces of each line. */
static void man_examples(FILE *out, const char *text)
{
    fputs(".PP\nExamples:\n.PP\n.nf\n.RS\n", out);
    while (*text) {
        size_t length = strcspn(text, "\n");
        char *line = need_text("%.*s", (int)length, text);
        man_text(out, line + strspn(line, " "), false);
        fputc('\n', out);
        free(line);
        text += length + (text[length] == '\n');
    }
    fputs(".RE\n.fi\n", out);
}

static void man_command(FILE *out, const struct command *c)
{
    fprintf(out, ".SS tilewright %s ", c->name);
    man_text(out, c->arguments, true);
    fputc('\n', out);
    man_text(out, c->about, false);
    fputc('\n', out);
    for (const struct option_spec *s = NULL; (s = next_option(c, s));)
        man_option(out, s);
    if (c->examples)
        man_examples(out, c->examples);
}

static void man_page(FILE *out)
{
    fprintf(out, ".TH TILEWRIGHT 1 \"\" \"tilewright %s\" \"User commands\"\n", tw_version());
    fputs(".SH NAME\ntilewright \\- tile kernels, compiled and run\n"
          ".SH SYNOPSIS\n.B tilewright\n.I COMMAND\n[\\fIOPTIONS\\fR]\n"
          ".SH DESCRIPTION\n"
          "Compiles tile kernels, programs that say what a GPU thread block does with tiles of "
          "matrices,\nruns them on the CPU, on NVIDIA GPUs and on a simulator, and checks what "
          "they do.\n"
          ".SH COMMANDS\n",
          out);
    for (const struct command *const *c = command_list; *c; c++)
        man_command(out, *c);
    fprintf(out, ".SH EXIT STATUS\n%s.SH ENVIRONMENT\n", help_statuses);
    for (int i = 0; help_variables[i][0]; i++) {
        fprintf(out, ".TP\n.B %s\n", help_variables[i][0]);
        man_text(out, help_variables[i][1], true);
        fputc('\n', out);
    }
    fputs(".SH SEE ALSO\nThe documents that come with it: the language, GPUs, tuning, Python.\n",
          out);
}

/* --- bash (its manual, "Programmable Completion") --- */

static void bash_values(FILE *out, const struct command *c)
{
    for (const struct option_spec *s = NULL; (s = next_option(c, s));) {
        if (!s->values)
            continue;
        char *words = value_words(c, s);
        fprintf(out, "    %s:--%s", c->name, s->name);
        if (s->letter)
            fprintf(out, " | %s:-%c", c->name, s->letter);
        if (words)
            fprintf(out, ") words='%s' ;;\n", words);
        else if (named_kind(s))
            fprintf(out,
                    ") kind=none words=$(_tilewright_names %s \"${COMP_WORDS[@]}\")\n"
                    "        type compopt > /dev/null 2>&1 && compopt -o nospace 2> /dev/null ;;\n",
                    named_kind(s));
        else
            fprintf(out, ") kind=%s ;;\n",
                    takes(s, "FILE")     ? "file"
                    : takes(s, "FOLDER") ? "directory"
                                         : "none");
        free(words);
    }
}

static void bash_options(FILE *out, const struct command *c)
{
    fprintf(out, "    %s) words='", c->name);
    for (const struct option_spec *s = NULL; (s = next_option(c, s));)
        fprintf(out, "--%s ", s->name);
    fputs("--help' ;;\n", out);
}

static void bash_names(FILE *out)
{
    for (const struct command *const *c = command_list; *c; c++)
        fprintf(out, "%s%s", c == command_list ? "" : " ", (*c)->name);
}

/* Writes the completion of words that are neither options nor their values. Bash also splits
 * words at ':' (unless COMP_WORDBREAKS lacks it); it then completes only the part after the ':'. */
static void bash_words(FILE *out)
{
    char *puzzles = puzzle_words();
    fprintf(out,
            "    if [ -z \"$words$kind\" ]; then\n"
            "        kind=file\n"
            "        case $command:$COMP_CWORD:$word in\n"
            "        *:-*) kind= ;;\n"
            "        learn:2:*) kind=none words='%s' ;;\n"
            "        esac\n"
            "        case $before in :) file=${COMP_WORDS[COMP_CWORD - 2]} ;; esac\n"
            "        case $word in\n"
            "        :) file=$before word= ;;\n"
            "        *.tile:*) file=${word%%:*} lead=$file: word=${word##*:} ;;\n"
            "        esac\n"
            "        case $file in\n"
            "        *.tile) kind=none words=$(_tilewright_kernels \"$file\") ;;\n"
            "        esac\n"
            "    fi\n",
            puzzles ? puzzles : "");
    free(puzzles);
}

static void bash_script(FILE *out)
{
    fputs("# Completes words of `tilewright` in bash.\n", out);
    write_kernels_function(out);
    write_names_function(out);
    fputs("_tilewright()\n{\n"
          "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}\n"
          "    local command=${COMP_WORDS[1]} words= kind= file= lead=\n"
          "    COMPREPLY=()\n"
          "    if [ \"$COMP_CWORD\" -eq 1 ] || [ \"$command:$COMP_CWORD\" = help:2 ]; then\n"
          "        words='",
          out);
    bash_names(out);
    fputs("'\n        case $word in -*) words='--as --help --version' ;; esac\n"
          "        COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
          "        return\n    fi\n"
          "    case $command:$before in\n",
          out);
    for (const struct command *const *c = command_list; *c; c++)
        bash_values(out, *c);
    fputs("    esac\n", out);
    bash_words(out);
    fputs("    if [ -z \"$words$kind\" ]; then\n    case $command in\n", out);
    for (const struct command *const *c = command_list; *c; c++)
        bash_options(out, *c);
    fputs(
        "    esac\n    fi\n"
        "    [ -z \"$words\" ] || COMPREPLY=($(compgen -P \"$lead\" -W \"$words\" -- \"$word\"))\n"
        "    case $kind in file | directory) COMPREPLY=($(compgen -A \"$kind\" -- \"$word\")) ;; "
        "esac\n"
        "}\n"
        "complete -o filenames -F _tilewright tilewright\n",
        out);
}

/* --- zsh (zshcompsys(1), _arguments) --- */

/* Writes the first line of a description in single quotes, and for an option in brackets. */
static void zsh_text(FILE *out, const char *text)
{
    for (; *text && *text != '\n'; text++)
        if (*text == '\'')
            fputs("'\\''", out);
        else if (strchr("[]:\\", *text))
            fprintf(out, "\\%c", *text);
        else
            fputc(*text, out);
}

static void zsh_value(FILE *out, const struct command *c, const struct option_spec *s)
{
    char *words = value_words(c, s);
    for (int i = 0; i < s->values; i++) {
        fputc(':', out);
        zsh_text(out, s->value);
        fputc(':', out);
        if (words)
            fprintf(out, "(%s)", words);
        else if (named_kind(s))
            fprintf(out, "_tilewright_%s", named_kind(s));
        else
            fputs(takes(s, "FILE") ? "_files" : takes(s, "FOLDER") ? "_files -/" : " ", out);
    }
    free(words);
}

/* Writes an option. One of two names excludes the other, except for repeatable options, which
 * are those with values. */
static void zsh_option(FILE *out, const struct command *c, const struct option_spec *s)
{
    for (int name = s->letter ? 0 : 1; name < 2; name++) {
        fputs("            '", out);
        if (s->values)
            fputc('*', out);
        else if (s->letter)
            fprintf(out, "(-%c --%s)", s->letter, s->name);
        if (name == 0)
            fprintf(out, "-%c[", s->letter);
        else
            fprintf(out, "--%s%s[", s->name, s->values == 1 ? "=" : "");
        zsh_text(out, s->help);
        fputc(']', out);
        zsh_value(out, c, s);
        fputs("' \\\n", out);
    }
}

static void zsh_command(FILE *out, const struct command *c)
{
    fprintf(out, "        %s)\n        _arguments \\\n", c->name);
    for (const struct option_spec *s = NULL; (s = next_option(c, s));)
        zsh_option(out, c, s);
    if (strcmp(c->name, "help") == 0) {
        fputs("            '1:command:(", out);
        bash_names(out);
        fputs(")' ;;\n", out);
        return;
    }
    if (strcmp(c->name, "learn") == 0) {
        char *puzzles = puzzle_words();
        fprintf(out, "            '1:puzzle:(%s)' '2:file:_files' \\\n", puzzles ? puzzles : "");
        free(puzzles);
    }
    fprintf(out, "            '--help[all about it]'%s ;;\n",
            strstr(c->arguments, "FILE[:") ? " '*:file:_tilewright_file'" : "");
}

static void zsh_script(FILE *out)
{
    fputs("#compdef tilewright\n# Completes words of `tilewright` in zsh.\n", out);
    write_kernels_function(out);
    write_names_function(out);
    fputs("_tilewright_tune() { compadd -S '' -- ${(f)\"$(_tilewright_names tune $words)\"} }\n"
          "_tilewright_set() { compadd -S '' -- ${(f)\"$(_tilewright_names set $words)\"} }\n"
          "_tilewright_file() {\n"
          "    if compset -P '*.tile:'; then\n"
          "        compadd -- ${(f)\"$(_tilewright_kernels ${(Q)IPREFIX%:})\"}\n"
          "    else\n"
          "        _files -g '*.(tile|ptx|cu)'\n"
          "    fi\n}\n"
          "_tilewright() {\n"
          "    local context state state_descr line\n    typeset -A opt_args\n"
          "    local -a commands\n    commands=(\n",
          out);
    for (const struct command *const *c = command_list; *c; c++) {
        fprintf(out, "        '%s:", (*c)->name);
        zsh_text(out, (*c)->summary);
        fputs("'\n", out);
    }
    fputs("    )\n    _arguments -C '1:command:->command' '*::argument:->rest'\n"
          "    case $state in\n    command) _describe command commands ;;\n"
          "    rest)\n        case $words[1] in\n",
          out);
    for (const struct command *const *c = command_list; *c; c++)
        zsh_command(out, *c);
    fputs("        esac ;;\n    esac\n}\n"
          "if [ \"$funcstack[1]\" = _tilewright ]; then\n    _tilewright \"$@\"\n"
          "else\n    compdef _tilewright tilewright\nfi\n",
          out);
}

bool help_form(FILE *out, const char *form)
{
    static void (*const write[])(FILE * out) = {man_page, bash_script, zsh_script};
    for (int i = 0; help_forms[i]; i++)
        if (strcmp(form, help_forms[i]) == 0) {
            write[i](out);
            return true;
        }
    return false;
}
