/* Small services: nearest names, memory, the clock, texts of files. */
#include "cli/doing.h"
#include "cli/tool.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Returns the number of edits that turn a into b; a swap of adjacent letters is one edit. Keeps
 * three rows of the usual table. */
static int edit_distance(const char *a, const char *b)
{
    enum { LONGEST = 63 };
    size_t n = strlen(b);
    if (n > LONGEST || strlen(a) > LONGEST)
        return LONGEST;
    int rows[3][LONGEST + 1], *row = rows[0], *before = rows[1], *earlier = rows[2];
    for (size_t j = 0; j <= n; j++)
        row[j] = (int)j;
    for (size_t i = 0; a[i]; i++) {
        int *next = earlier;
        earlier = before;
        before = row;
        row = next;
        row[0] = (int)i + 1;
        for (size_t j = 0; j < n; j++) {
            int best = before[j] + (a[i] != b[j]);
            if (before[j + 1] + 1 < best)
                best = before[j + 1] + 1;
            if (row[j] + 1 < best)
                best = row[j] + 1;
            if (i && j && a[i] == b[j - 1] && a[i - 1] == b[j] && earlier[j - 1] + 1 < best)
                best = earlier[j - 1] + 1;
            row[j + 1] = best;
        }
    }
    return row[n];
}

/* Returns whether names are alike. If half of the letters differ, they are not. Names of one or
 * two letters are alike only if one has a letter more, or if they differ in case. */
static bool alike(const char *a, const char *b, int edits)
{
    enum { SHORT = 2 };
    int n = (int)strlen(a), m = (int)strlen(b), longer = n > m ? n : m, shorter = n + m - longer;
    return edits < longer && (n > SHORT ? 2 * edits < longer : edits == longer - shorter);
}

const char *closest_name(const char *name, const char *const *names)
{
    const char *best = NULL;
    int least = (int)strlen(name) / 3 + 2; /* more edits make another word */
    for (; *names; names++) {
        bool same = strcasecmp(name, *names) == 0;
        int d = same ? 1 : edit_distance(name, *names);
        if (d < least && (same || alike(name, *names, d))) {
            least = d;
            best = *names;
        }
    }
    return best;
}

static bool listed_before(const char *const *names, int index)
{
    for (int i = 0; i < index; i++)
        if (strcmp(names[i], names[index]) == 0)
            return true;
    return false;
}

char *name_hint(const char *name, const char *const *names)
{
    enum { LISTED = 16 };
    const char *near = closest_name(name, names);
    char *text = NULL;
    int count = 0, shown = 0;
    if (near)
        return need_text("; did you mean '%s'?", near);
    for (int i = 0; names[i]; i++)
        count += !listed_before(names, i);
    if (count > LISTED)
        return need_text("%s", "");
    for (int i = 0; names[i]; i++)
        if (!listed_before(names, i)) {
            append_text(&text, "%s'%s'",
                        !shown               ? ""
                        : shown + 1 == count ? " and "
                                             : ", ",
                        names[i]);
            shown++;
        }
    char *hint =
        text ? need_text("; there %s %s", count == 1 ? "is" : "are", text) : need_text("%s", "");
    free(text);
    return hint;
}

bool on_terminal(FILE *f)
{
    const char *kind = getenv("TERM");
    return isatty(fileno(f)) && !(kind && strcmp(kind, "dumb") == 0) && !getenv("NO_COLOR");
}

static double seconds_by(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double seconds_now(void)
{
    return seconds_by(CLOCK_MONOTONIC);
}

double processor_seconds(void)
{
    return seconds_by(CLOCK_PROCESS_CPUTIME_ID);
}

double seconds_about(void)
{
#if defined(CLOCK_MONOTONIC_COARSE)
    struct timespec t;
    if (clock_gettime(CLOCK_MONOTONIC_COARSE, &t) == 0)
        return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
#endif
    return seconds_now();
}

int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double median_of(const double *values, int count)
{
    double *sorted = need_memory((size_t)count * sizeof *sorted);
    memcpy(sorted, values, (size_t)count * sizeof *sorted);
    qsort(sorted, (size_t)count, sizeof *sorted, compare_doubles);
    double median = count ? (sorted[count / 2] + sorted[(count - 1) / 2]) / 2 : 0;
    free(sorted);
    return median;
}

bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

size_t file_ending_in(const char *word, const char *end)
{
    const char *colon = strrchr(word, ':');
    size_t n = strlen(end), before = colon ? (size_t)(colon - word) : 0;
    if (before > n && strncmp(colon - n, end, n) == 0)
        return before;
    return strlen(word) > n && ends_with(word, end) ? strlen(word) : 0;
}

/* If standard input is a socket, no file can be opened for it. */
static FILE *open_to_read(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (f || errno != ENXIO || strcmp(path, STANDARD_INPUT) != 0)
        return f;
    int copy = dup(STDIN_FILENO);
    return copy < 0 ? NULL : fdopen(copy, "rb");
}

char *read_at_most(const char *path, size_t most, size_t *length)
{
    doing("reading", path);
    FILE *f = open_to_read(path);
    if (!f) {
        doing(NULL, NULL);
        return NULL;
    }
    size_t held = 0, room = 1 << 12, got;
    char *text = need_memory(room);
    while (held <= most && (got = fread(text + held, 1, room - held - 1, f)) > 0) {
        held += got;
        if (room - held < 2)
            text = need_more_memory(text, room *= 2);
    }
    text[held] = '\0';
    int error = ferror(f) ? errno : held > most ? EFBIG : 0;
    fclose(f);
    doing(NULL, NULL);
    if (error) {
        free(text);
        errno = error;
        return NULL;
    }
    if (length)
        *length = held;
    return text;
}

char *read_whole_file(const char *path, size_t *length)
{
    return read_at_most(path, SIZE_MAX, length);
}

/* Returns a path relative to the program's folder, or NULL if that folder is not known. */
static char *beside_program(const char *path)
{
    char program[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    program[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(program, '/');
    return slash ? need_text("%.*s/%s", (int)(slash - program), program, path) : NULL;
}

/* Returns whether the path's folder exists; the file may be a pattern. */
static bool has_folder(const char *path)
{
    char *folder = need_text("%.*s", (int)(strrchr(path, '/') - path), path);
    bool is_there = access(folder, R_OK) == 0;
    free(folder);
    return is_there;
}

/* TILEWRIGHT_DATA is the folder, relative to the program, into which `cmake --install` puts
 * kernels and suites. */
char *source_path(const char *path)
{
    static const char *const places[] = {"..", TILEWRIGHT_DATA, NULL};
    char *found = need_text("%s", path);
    for (int i = 0; places[i] && !has_folder(found); i++) {
        char *seen = need_text("%s/%s", places[i], path), *there = beside_program(seen);
        free(seen);
        if (there) {
            free(found);
            found = there;
        }
    }
    return found;
}

char *headers_folder(void)
{
    char *header = beside_program("../include/tilewright_cpu.h");
    char *folder = header && access(header, R_OK) == 0 ? beside_program("../include") : NULL;
    free(header);
    return folder;
}

/* TILEWRIGHT_APP is the folder, relative to the program, into which `cmake --install` puts them. */
char *app_folder(void)
{
    static const char *const places[] = {"app", TILEWRIGHT_APP, NULL};
    for (int i = 0; places[i]; i++) {
        char *inside = need_text("%s/libcuda.so.1", places[i]), *library = beside_program(inside);
        free(inside);
        bool found = library && access(library, R_OK) == 0;
        free(library);
        char *folder = found ? beside_program(places[i]) : NULL;
        if (folder)
            return folder;
    }
    return NULL;
}

bool in_checkout(void)
{
    struct stat s;
    char *script = beside_program("../dev");
    bool found = script && stat(script, &s) == 0 && S_ISREG(s.st_mode); /* not the folder /dev */
    free(script);
    return found;
}

void *checked(void *p)
{
    if (!p) {
        fputs("tilewright: out of memory\n", stderr);
        exit(STATUS_FAILED);
    }
    return p;
}

void *need_memory(size_t size)
{
    return checked(calloc(1, size ? size : 1));
}

void *array_memory(size_t size)
{
    enum { LINE = 64 };
    size_t lines = size / LINE + 1;
    void *p = aligned_alloc(LINE, lines * LINE);
    return p ? memset(p, 0, lines * LINE) : NULL;
}

void *need_more_memory(void *old, size_t size)
{
    return checked(realloc(old, size ? size : 1));
}

char *need_text_list(const char *format, va_list args)
{
    char *text = NULL;
    size_t length;
    FILE *f = checked(open_memstream(&text, &length));
    vfprintf(f, format, args);
    return fclose(f) == 0 ? checked(text) : checked(NULL);
}

char *need_text(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *text = need_text_list(format, args);
    va_end(args);
    return text;
}

char *need_shown(const char *text)
{
    size_t length = strlen(text), room = tw_text_shown(text, length, TW_SHOWN_LINES, NULL, 0) + 1;
    char *shown = need_memory(room);
    tw_text_shown(text, length, TW_SHOWN_LINES, shown, room);
    return shown;
}

void print_as(FILE *out, const char *text, size_t length, tw_shown how)
{
    size_t room = tw_text_shown(text, length, how, NULL, 0) + 1;
    char *shown = need_memory(room);
    tw_text_shown(text, length, how, shown, room);
    fwrite(shown, 1, room - 1, out);
    free(shown);
}

void print_text(FILE *out, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *text = need_text_list(format, args);
    va_end(args);
    print_as(out, text, strlen(text), TW_SHOWN_LINES);
    free(text);
}

void print_output(FILE *out, const char *text, size_t length)
{
    if (isatty(fileno(out)))
        print_as(out, text, length, TW_SHOWN_LINES);
    else
        fwrite(text, 1, length, out);
}

void append_text(char **text, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *more = need_text_list(format, args);
    va_end(args);
    size_t length = *text ? strlen(*text) : 0, added = strlen(more);
    char *longer = need_more_memory(*text, length + added + 1);
    memcpy(longer + length, more, added + 1);
    free(more);
    *text = longer;
}

char *shell_word(const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_./#=,:-+";
    if (*word && !word[strspn(word, plain)])
        return need_text("%s", word);
    char *text = need_text("'");
    for (; *word; word++)
        append_text(&text, *word == '\'' ? "'\\''" : "%c", *word);
    append_text(&text, "'");
    return text;
}

/* Returns whether the file has a kernel. */
static bool has_global(const char *path)
{
    enum { LARGEST_HEADER = 16 << 20 };
    struct stat info;
    size_t length;
    bool fit = stat(path, &info) == 0 && S_ISREG(info.st_mode) && info.st_size < LARGEST_HEADER;
    char *text = fit ? read_whole_file(path, &length) : NULL;
    bool found = text && strstr(text, "__global__");
    free(text);
    return found;
}

size_t cuda_file_length(const char *word)
{
    static const char *const endings[] = {".cu", ".cuh", ".h", ".hpp"};
    for (int i = 0; i < 4; i++) {
        size_t length = file_ending_in(word, endings[i]);
        char *path = length && i >= 2 ? need_text("%.*s", (int)length, word) : NULL;
        bool is_cuda = length && (!path || has_global(path));
        free(path);
        if (is_cuda)
            return length;
    }
    return 0;
}

size_t ptx_file_length(const char *word)
{
    size_t length = file_ending_in(word, ".ptx");
    return length ? length : cuda_file_length(word);
}

bool is_ptx_file(const char *word)
{
    return ptx_file_length(word) > 0;
}
