/* A word is an option if it starts with '-' and is longer than that, except for "-:KERNEL". "--"
 * ends the options. Both `--name value` and `--name=value` are accepted. */
#include "cli/options.h"
#include "cli/tool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct option_spec *spec_by_letter(const struct option_spec *specs, char letter)
{
    for (const struct option_spec *s = specs; s && s->name; s++)
        if (s->letter && s->letter == letter)
            return s;
    return NULL;
}

static const struct option_spec *spec_by_name(const struct option_spec *specs, const char *name,
                                              size_t length)
{
    for (const struct option_spec *s = specs; s && s->name; s++)
        if (length && strlen(s->name) == length && memcmp(s->name, name, length) == 0)
            return s;
    return NULL;
}

/* Returns the commands that have the option, as text: "run, check and bench". Returns NULL if
 * there are none. The caller frees. */
static char *who_takes(const char *name)
{
    char *text = NULL;
    const char *last = NULL;
    for (const struct command *const *c = command_list; *c; c++) {
        const struct option_spec *s = spec_by_name((*c)->options, name, strlen(name));
        if (!s || s->elsewhere || s->now)
            continue;
        if (last)
            append_text(&text, "%s%s", text ? ", " : "", last);
        last = (*c)->name;
    }
    if (last)
        append_text(&text, "%s%s", text ? " and " : "", last);
    return text;
}

/* Reports an unknown option. After the name of a program (NULL: none), it may be an option of that program. */
static void unknown_option(const struct command *c, const char *word, size_t length,
                           const char *program)
{
    const char *names[64] = {0};
    int count = 0;
    for (const struct option_spec *s = c->options; s && s->name && count < 63; s++)
        if (*s->name && !s->now)
            names[count++] = s->name;
    char *name = need_text("%.*s", (int)length, word);
    const char *bare = name + strspn(name, "-");
    const char *near = closest_name(bare, names);
    char *others = who_takes(bare);
    bool of_compiler =
        word[1] != '-' && strchr("DUOWf", word[1]) && spec_by_name(c->options, "compiler-arg", 12);
    if (program)
        usage_error(NULL, c,
                    "unknown option %s; `tilewright %s -- %s%s %s` gives it to the program", name,
                    c->name, strchr(program, '/') ? "" : "./", program, word);
    else if (of_compiler)
        usage_error(NULL, c, "unknown option %s; for the compiler of CUDA C: --compiler-arg=%s%s",
                    name, word, word[2] ? "" : "…");
    else if (others)
        usage_error(NULL, c, "--%s is for %s", bare, others);
    else if (near)
        usage_error(NULL, c, "unknown option %s; did you mean --%s?", name, near);
    else if (spec_by_name(c->options, "set", 3) && !strchr(bare, '-'))
        usage_error(NULL, c, "unknown option %s; a parameter of a kernel: --set %s=…", name, bare);
    else
        usage_error(NULL, c, "unknown option %s", name);
    free(others);
    free(name);
}

/* Returns whether the word names a program of machine code that the command runs after --. */
static bool is_for_dashes(const struct command *c, const char *word)
{
    char start[4] = "";
    FILE *file = spec_by_name(c->options, "launch", strlen("launch")) ? fopen(word, "rb") : NULL;
    bool found = file && fread(start, 1, sizeof start, file) == sizeof start &&
                 memcmp(start, "\177ELF", sizeof start) == 0;
    if (file)
        fclose(file);
    return found;
}

static char *given_folders;

const char *import_path(void)
{
    return given_folders;
}

/* Reads the option at argv[i]. Returns the index after the option and its value, or -1. */
static int take_option(struct options *o, const struct command *c, int argc, char **argv, int i)
{
    const char *word = argv[i];
    const char *equals = strchr(word, '=');
    bool is_long = word[1] == '-';
    size_t length = equals ? (size_t)(equals - word) : strlen(word);
    const struct option_spec *spec = NULL;
    if (is_long)
        spec = spec_by_name(c->options, word + 2, length - 2);
    else if (length == 2 || word[1] == 'I')
        spec = spec_by_letter(c->options, word[1]);
    if (!spec) {
        const char *last = o->word_count ? o->words[o->word_count - 1] : NULL;
        unknown_option(c, word, length, last && is_for_dashes(c, last) ? last : NULL);
        return -1;
    }
    if (spec->now)
        spec = spec_by_name(c->options, spec->now, strlen(spec->now));
    if (spec->elsewhere) {
        usage_error(NULL, c, "%s", spec->elsewhere);
        return -1;
    }
    struct option_use *use = &o->uses[o->use_count++];
    *use = (struct option_use){.spec = spec};
    i++;
    int taken = 0;
    if (equals || (!is_long && word[2])) { /* --name=VALUE, -IFOLDER, -o=FILE */
        if (spec->values == 0) {
            usage_error(NULL, c, "option --%s takes no value", spec->name);
            return -1;
        }
        use->values[taken++] = is_long ? equals + 1 : word + 2 + (word[2] == '=');
    }
    for (; taken < spec->values; taken++) {
        if (i >= argc || strcmp(argv[i], "--") == 0) {
            usage_error(NULL, c, "option --%s needs %s", spec->name, spec->value);
            return -1;
        }
        use->values[taken] = argv[i++];
    }
    if (spec->letter == 'I')
        append_text(&given_folders, "%s%s", given_folders ? ":" : "", use->values[0]);
    return i;
}

/* Returns by its form whether the word is a program: FILE or FILE:KERNEL. */
static bool is_program(const char *word)
{
    return file_ending_in(word, ".tile") || is_ptx_file(word);
}

/* Recognises `--in a A.npy`: NAME=FILE written as two words. */
static bool parts_file(const struct options *o, const struct command *c, const char *const *at)
{
    const struct option_use *last = o->use_count > 0 ? &o->uses[o->use_count - 1] : NULL;
    const char *value = last ? last->spec->value : NULL;
    if (!value || strcmp(value, "NAME=FILE") != 0 || last->values[0] != at[-1] ||
        strchr(at[-1], '=') || is_program(*at))
        return false;
    const char *option = last->spec->name;
    if (strchr(*at, '='))
        usage_error(NULL, c, "--%s %s: expected NAME=FILE", option, at[-1]);
    else
        usage_error(NULL, c, "--%s %s: expected NAME=FILE, --%s %s=%s", option, at[-1], option,
                    at[-1], *at);
    return true;
}

/* Recognises `--set rows 10`: the value is separate from the NAME of an option that takes
 * NAME=VALUE. */
static bool parts_value(const struct options *o, const struct command *c, const char *const *at)
{
    const struct option_use *last = o->use_count > 0 ? &o->uses[o->use_count - 1] : NULL;
    double number;
    if (!last || !last->spec->value || strcmp(last->spec->value, "NAME=VALUE") != 0 ||
        last->values[0] != at[-1] || strchr(at[-1], '=') || !parse_real(*at, &number))
        return false;
    usage_error(NULL, c, "--%s %s: expected NAME=VALUE, --%s %s=%s", last->spec->name, at[-1],
                last->spec->name, at[-1], *at);
    return true;
}

/* Recognises `--set rows=5 cols=100`: another NAME=VALUE after an option that takes a list of
 * them. */
static bool continues_list(const struct options *o, const struct command *c, const char *const *at)
{
    const struct option_use *last = o->use_count > 0 ? &o->uses[o->use_count - 1] : NULL;
    const char *value = last ? last->spec->value : NULL;
    bool any = value && *value == '['; /* [NAME=]KIND: a list if there is a NAME */
    if (!value || strncmp(value + any, "NAME=", 5) != 0 || !strchr(*at, '=') || is_program(*at))
        return false;
    const char *list = last->values[0];
    size_t equals = strlen(last->spec->name) + 3; /* --set=rows=5 */
    if ((list != at[-1] && list != at[-1] + equals) || (any && !strchr(list, '=')))
        return false;
    size_t length = strlen(list);
    usage_error(NULL, c, "`%s` is separate from --%s: one word takes them all, --%s %.*s,%s", *at,
                last->spec->name, last->spec->name,
                (int)(length && list[length - 1] == ',' ? length - 1 : length), list, *at);
    return true;
}

bool options_parse(struct options *o, const struct command *c, int argc, char **argv)
{
    size_t room = (size_t)argc + 1;
    *o = (struct options){.command = c,
                          .uses = need_memory(room * sizeof(struct option_use)),
                          .words = need_memory(room * sizeof(char *)),
                          .after_dashes = -1};
    bool only_words = false;
    for (int i = 0; i < argc;) {
        const char *word = argv[i];
        if (!only_words && strcmp(word, "--") == 0) {
            only_words = true;
            o->after_dashes = o->word_count;
            i++;
        } else if (!only_words && word[0] == '-' && word[1] && word[1] != ':') {
            i = take_option(o, c, argc, argv, i);
            if (i < 0)
                return false;
        } else if (i > 0 && !only_words &&
                   (parts_file(o, c, (const char *const *)argv + i) ||
                    parts_value(o, c, (const char *const *)argv + i) ||
                    continues_list(o, c, (const char *const *)argv + i))) {
            return false;
        } else {
            o->words[o->word_count++] = word;
            i++;
        }
    }
    return true;
}

void options_free(struct options *o)
{
    free(o->uses);
    free(o->words);
}

const struct option_use *options_next(const struct options *o, const char *name,
                                      const struct option_use *previous)
{
    const struct option_use *end = o->uses + o->use_count;
    for (const struct option_use *u = previous ? previous + 1 : o->uses; u < end; u++)
        if (strcmp(u->spec->name, name) == 0)
            return u;
    return NULL;
}

bool options_has(const struct options *o, const char *name)
{
    return options_next(o, name, NULL) != NULL;
}

const char *options_any(const struct options *o, const char *const *names)
{
    while (*names && !options_has(o, *names))
        names++;
    return *names;
}

int options_refuse(const struct options *o, const char *const *names, const char *what,
                   const char *file)
{
    const char *other = options_any(o, names);
    return other ? usage_error(o->complaints, o->command, "--%s is for %s, not for %s", other, what,
                               file)
                 : STATUS_OK;
}

bool has_app_options(const struct options *o, const char *file)
{
    for (int i = 0; i < o->use_count; i++)
        if (o->uses[i].spec->of_programs) {
            usage_error(o->complaints, o->command, "--%s is for a program (-- PROGRAM), not for %s",
                        o->uses[i].spec->name, file);
            return true;
        }
    return false;
}

int options_count(const struct options *o, const char *name)
{
    int count = 0;
    for (const struct option_use *u = NULL; (u = options_next(o, name, u));)
        count++;
    return count;
}

const char *options_value(const struct options *o, const char *name)
{
    const char *value = NULL;
    for (const struct option_use *u = NULL; (u = options_next(o, name, u));)
        value = u->values[0];
    return value;
}

bool parse_integer(const char *text, int64_t *out)
{
    char *end;
    errno = 0;
    const char *digits = text + (*text == '-' || *text == '+');
    bool hexadecimal = digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X');
    long long v = strtoll(text, &end, hexadecimal ? 16 : 10);
    if (end == text || *end || errno)
        return false;
    *out = v;
    return true;
}

bool parse_real(const char *text, double *out)
{
    char *end;
    *out = strtod(text, &end);
    return end != text && !*end;
}

bool options_integer(const struct options *o, const char *name, int64_t low, int64_t high,
                     int64_t *out)
{
    const char *text = options_value(o, name);
    if (!text)
        return true;
    int64_t v;
    if (!parse_integer(text, &v) || v < low || v > high) {
        usage_error(o->complaints, o->command, "--%s %s: expected an integer from %lld to %lld",
                    name, text, (long long)low, (long long)high);
        return false;
    }
    *out = v;
    return true;
}

bool options_duration(const struct options *o, const char *name, double *out)
{
    static const struct {
        const char *unit;
        double seconds;
    } units[] = {{"", 1}, {"s", 1}, {"ms", 1e-3}, {"m", 60}, {"min", 60}, {"h", 3600}};
    const char *text = options_value(o, name);
    char *end = NULL;
    double v = text ? strtod(text, &end) : 0;
    if (!text)
        return true;
    for (size_t i = 0; i < sizeof units / sizeof *units && end != text && v > 0; i++)
        if (strcmp(end, units[i].unit) == 0) {
            *out = v * units[i].seconds;
            return true;
        }
    usage_error(o->complaints, o->command, "--%s %s: expected a time, as 5s, 500ms or 2m", name,
                text);
    return false;
}

bool next_assignment(const char **at, struct assignment *out, bool *bad)
{
    *bad = false;
    if (!**at)
        return false;
    const char *end = *at + strcspn(*at, ",");
    const char *equals = memchr(*at, '=', (size_t)(end - *at));
    size_t name = equals ? (size_t)(equals - *at) : 0;
    size_t value = equals ? (size_t)(end - equals - 1) : 0;
    if (!name || !value || name >= sizeof out->name || value >= sizeof out->value) {
        *bad = true;
        return false;
    }
    memcpy(out->name, *at, name);
    out->name[name] = '\0';
    memcpy(out->value, equals + 1, value);
    out->value[value] = '\0';
    *at = *end ? end + 1 : end;
    return true;
}
