#include "cli/shapes.h"

#include <errno.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>

static const struct shape usual_shapes[] = {{"", 512, 512, 512, 1},
                                            {"", 1024, 1024, 1024, 1},
                                            {"", 256, 640, 384, 1},
                                            {"", 511, 1025, 513, 1}};

enum { EXTENT_MOST = 1 << 20, LIST_MOST = 32 };

static int add_shape(struct shapes *x, const struct command *self, struct shape s)
{
    const int64_t extents[] = {s.m, s.n, s.k, s.batch};
    for (int i = 0; i < 4; i++)
        if (extents[i] < 1 || extents[i] > EXTENT_MOST)
            return usage_error(NULL, self, "sizes go from 1 to %d", EXTENT_MOST);
    ADD_TO(x->list, x->count, s);
    x->batched |= s.batch > 1;
    return STATUS_OK;
}

/* --- suites --- */

static int add_line(struct shapes *x, const struct command *self, const char *path, int line,
                    const char *group, const char *text)
{
    struct shape s = {.batch = 1};
    long long m, n, k, batch = 1;
    char rest;
    int found = sscanf(text, "%lld %lld %lld %lld %c", &m, &n, &k, &batch, &rest);
    if (found <= 0)
        return STATUS_OK; /* an empty line */
    if (found != 3 && found != 4) {
        complain(NULL, "%s:%d: expected \"m n k [batch]\", saw \"%s\"", path, line, text);
        return STATUS_USAGE;
    }
    snprintf(s.group, sizeof s.group, "%s", group);
    s.m = m, s.n = n, s.k = k, s.batch = batch;
    return add_shape(x, self, s);
}

/* "bench/suite/deep_k.txt" -> "deep_k" */
static void write_group(char *out, size_t size, const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    snprintf(out, size, "%.*s", (int)strcspn(name, "."), name);
}

static int add_file(struct shapes *x, const struct command *self, const char *path)
{
    char group[sizeof x->list->group];
    char *text = read_whole_file(path, NULL);
    if (!text) {
        complain(NULL, "cannot read `%s`: %s", path, strerror(errno));
        return STATUS_USAGE;
    }
    write_group(group, sizeof group, path);
    int status = STATUS_OK, line = 1;
    for (char *at = text, *end; *at && status == STATUS_OK; at = end, line++) {
        end = at + strcspn(at, "\n");
        if (*end)
            *end++ = '\0';
        at[strcspn(at, "#")] = '\0';
        if (at[strspn(at, " \t\r")])
            status = add_line(x, self, path, line, group, at);
    }
    free(text);
    return status;
}

static int no_suite(const struct command *self, const char *name, const char *pattern)
{
    enum { MOST = 16 };
    const char *names[MOST + 2] = {"all"};
    char groups[MOST][sizeof((struct shape *)0)->group];
    char *every = source_path("bench/suite/*.txt");
    glob_t found;
    bool any = glob(every, 0, NULL, &found) == 0;
    for (size_t i = 0; any && i < found.gl_pathc && i < MOST; i++) {
        write_group(groups[i], sizeof groups[i], found.gl_pathv[i]);
        names[i + 1] = groups[i];
    }
    char *hint = name_hint(name, names);
    usage_error(NULL, self, "there is no suite '%s' (%s)%s", name, pattern, hint);
    free(hint);
    globfree(&found);
    free(every);
    return STATUS_USAGE;
}

static int add_suite(struct shapes *x, const struct command *self, const char *name)
{
    if (strchr(name, '/') || strchr(name, '.'))
        return add_file(x, self, name);
    char *file = need_text("bench/suite/%s.txt", strcmp(name, "all") == 0 ? "*" : name);
    char *pattern = source_path(file);
    glob_t found;
    int status = STATUS_OK;
    if (glob(pattern, 0, NULL, &found) != 0)
        status = no_suite(self, name, pattern);
    for (size_t i = 0; status == STATUS_OK && i < found.gl_pathc; i++)
        status = add_file(x, self, found.gl_pathv[i]);
    globfree(&found);
    free(file);
    free(pattern);
    return status;
}

/* --- the command line --- */

struct extents {
    int64_t list[LIST_MOST];
    int count;
};

/* Reads a list such as "16,64" of -m, -n, -k or --batch. Uses `otherwise` if the option is
 * absent. */
static int read_extents(struct extents *e, const struct command *self, const struct options *given,
                        const char *name, int64_t otherwise)
{
    const char *text = options_value(given, name);
    *e = (struct extents){.list = {otherwise}, .count = 1};
    for (e->count = text ? 0 : 1; text && *text; text += *text == ',') {
        char number[24];
        size_t length = strcspn(text, ",");
        snprintf(number, sizeof number, "%.*s", (int)length, text);
        if (e->count == LIST_MOST || !parse_integer(number, &e->list[e->count++]))
            return usage_error(NULL, self, "-%s needs integers: 16 or 16,64,128", name);
        text += length;
    }
    return STATUS_OK;
}

static int add_extents(struct shapes *x, const struct command *self, const struct options *given,
                       const struct extents *batches)
{
    struct extents m, n, k;
    static const char *const names[] = {"m", "n", "k", NULL};
    if (!options_any(given, names))
        return STATUS_OK;
    for (int i = 0; names[i]; i++)
        if (!options_has(given, names[i]))
            return usage_error(NULL, self, "-m, -n and -k go together: -%s is missing", names[i]);
    int status = read_extents(&m, self, given, "m", 1);
    status = status == STATUS_OK ? read_extents(&n, self, given, "n", 1) : status;
    status = status == STATUS_OK ? read_extents(&k, self, given, "k", 1) : status;
    for (int b = 0; b < batches->count; b++)
        for (int i = 0; i < m.count * n.count * k.count && status == STATUS_OK; i++)
            status = add_shape(x, self,
                               (struct shape){.m = m.list[i / (n.count * k.count)],
                                              .n = n.list[i / k.count % n.count],
                                              .k = k.list[i % k.count],
                                              .batch = batches->list[b]});
    return status;
}

/* --all-sizes */
static int add_usual(struct shapes *x, const struct command *self)
{
    for (size_t i = 0; i < sizeof usual_shapes / sizeof *usual_shapes; i++)
        add_shape(x, self, usual_shapes[i]);
    return STATUS_OK;
}

static int add_use(struct shapes *x, const struct command *self, const struct option_use *u,
                   int64_t batch)
{
    int64_t v[3];
    if (strcmp(u->spec->name, "suite") == 0)
        return add_suite(x, self, u->values[0]);
    if (strcmp(u->spec->name, "all-sizes") == 0)
        return add_usual(x, self);
    if (strcmp(u->spec->name, "size") == 0) {
        if (!parse_integer(u->values[0], &v[0]))
            return usage_error(NULL, self, "--size needs an integer");
        return add_shape(x, self, (struct shape){.m = v[0], .n = v[0], .k = v[0], .batch = batch});
    }
    if (strcmp(u->spec->name, "dims") != 0)
        return STATUS_OK;
    for (int i = 0; i < 3; i++)
        if (!parse_integer(u->values[i], &v[i]))
            return usage_error(NULL, self, "--dims needs three integers, M K N");
    return add_shape(x, self, (struct shape){.m = v[0], .n = v[2], .k = v[1], .batch = batch});
}

int shapes_gather(struct shapes *x, const struct command *self, const struct options *given)
{
    struct extents batches;
    *x = (struct shapes){0};
    int status = read_extents(&batches, self, given, "batch", 1);
    for (int i = 0; i < given->use_count && status == STATUS_OK; i++)
        status = add_use(x, self, &given->uses[i], batches.list[0]);
    return status == STATUS_OK ? add_extents(x, self, given, &batches) : status;
}
