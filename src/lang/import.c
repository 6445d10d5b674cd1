/* `import "file.tile";`: the files of a program.
 *
 * Each file is read and parsed once, after the files that it imports: their types and fns decide
 * whether an expression is a cast or a call. The declarations of all files form one list; those
 * of the program's own text come last. The kernels and families of imported files are parsed, so
 * that their syntax is checked, and then left out. */
#include "lang/check_internal.h"
#include "lang/parse_internal.h"

#include "base/platform.h"

#include <string.h>

struct file {
    const struct source *source;
    const char *path;            /* identifies the file */
    const struct file *importer; /* the file that imports it first; NULL: the program's own text */
    bool is_read;                /* it and all its imports are read */
};

struct importer {
    struct arena *arena;
    struct diag *diag;
    const struct lang_search *search;
    bool only_finds; /* files of a family: messages do not speak of imports */
    VEC(struct file *) files;
    struct name_table types, fns; /* declared in the files so far */
    struct node *items, **tail;
};

/* --- places --- */

/* Returns the folder of a file's name, up to its last '/'. "": the working directory, also for a
 * text from a pipe (/dev/stdin, /dev/fd/63). */
static const char *folder_of(struct arena *a, const char *name)
{
    const char *slash = strncmp(name, "/dev/", 5) == 0 ? NULL : strrchr(name, '/');
    return slash ? arena_string(a, name, (size_t)(slash - name) + 1) : "";
}

/* Returns the length without the last two parts if the first `length` bytes end in "folder/../",
 * else `length`. */
static size_t without_parent(const char *path, size_t length)
{
    size_t start = length;
    while (start > 0 && path[start - 1] != '/')
        start--;
    bool is_name = length > start && strncmp(path + start, "..", length - start) != 0;
    return is_name ? start : SIZE_MAX;
}

/* Returns folder + path, with "./" and "name/../" removed. */
static const char *join(struct arena *a, const char *folder, const char *path)
{
    bool apart = *folder && folder[strlen(folder) - 1] != '/';
    const char *all = arena_printf(a, "%s%s%s", folder, apart ? "/" : "", path);
    char *out = arena_room(a, strlen(all) + 1);
    size_t length = 0;
    for (const char *at = all; *at;) {
        size_t part = strcspn(at, "/"), rest = part + (at[part] == '/');
        size_t before = part == 2 && at[0] == '.' && at[1] == '.' && length > 1
                            ? without_parent(out, length - 1)
                            : SIZE_MAX;
        if (before != SIZE_MAX) {
            length = before;
        } else if (!(part == 1 && at[0] == '.')) {
            memcpy(out + length, at, rest);
            length += rest;
        }
        at += rest;
    }
    out[length] = '\0';
    return out;
}

/* --- reading --- */

static const struct source *known_source(const struct importer *im, const char *name)
{
    for (int i = 0; i < im->search->known_count; i++)
        if (strcmp(im->search->known[i]->name, name) == 0)
            return im->search->known[i];
    return NULL;
}

/* Returns the file of that name. NULL: it does not exist, or *why says why it cannot be read. */
static struct file *open_file(struct importer *im, const char *name, const struct file *importer,
                              const char **why)
{
    struct arena *a = im->arena;
    const struct source *known = known_source(im, name);
    const char *path = known ? name : platform_real_path(a, name);
    *why = NULL;
    if (!path)
        return NULL;
    for (size_t i = 0; i < im->files.count; i++)
        if (strcmp(im->files.data[i]->path, path) == 0)
            return im->files.data[i];
    struct source *source = arena_new(a, struct source);
    source->name = name;
    source->length = known ? known->length : 0;
    source->text = known ? arena_string(a, known->text, known->length)
                         : platform_read_text(a, name, LANG_MOST_TEXT, true, &source->length, why);
    if (!source->text)
        return NULL;
    struct file *file = arena_new(a, struct file);
    *file = (struct file){.source = source, .path = path, .importer = importer};
    vec_push(a, &im->files, file);
    return file;
}

/* Returns true if the list of quoted names has this one. */
static bool has_name(const struct text *list, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = list->data; (at = strstr(at, name)); at++)
        if (at > list->data && at[-1] == '`' && at[length] == '`')
            return true;
    return false;
}

static void note_regular(struct importer *im, struct loc at)
{
    diag_note(im->diag, at, "a program's file is a regular file of at most %d MiB",
              LANG_MOST_TEXT >> 20);
}

/* Looks in the folder of the importing file, then along the search path. NULL: reported. */
static struct file *find_file(struct importer *im, const struct file *importer, const char *path,
                              struct loc at)
{
    struct arena *a = im->arena;
    struct text places;
    text_init(&places, a);
    const char *folder = folder_of(a, importer->source->name), *rest = im->search->path;
    const char *not_file = NULL; /* a folder of that name, which the search passes by */
    const char *verb = im->only_finds ? "read" : "import";
    if (!*path) {
        diag_error(im->diag, at, "this `import` names no file: write `import \"FILE.tile\";`");
        return NULL;
    }
    rest = *path == '/' || !rest ? "" : rest;
    for (bool more = true; more;) {
        const char *name = *path == '/' ? path : join(a, folder, path);
        const char *why;
        struct file *file = open_file(im, name, importer, &why);
        if (file)
            return file;
        if (why && platform_is_folder(name)) {
            not_file = not_file ? not_file : name;
        } else if (why) {
            diag_error(im->diag, at, "cannot %s `%s`: %s", verb, name, why);
            note_regular(im, at);
            return NULL;
        }
        if (!has_name(&places, name))
            text_printf(&places, "%s`%s`", places.length ? ", " : "", name);
        rest += strspn(rest, ":");
        size_t length = strcspn(rest, ":");
        more = length > 0;
        folder = arena_string(a, rest, length);
        rest += length;
    }
    if (not_file) {
        diag_error(im->diag, at, "cannot %s `%s`: it is a folder", verb, not_file);
        note_regular(im, at);
    } else {
        diag_error(im->diag, at, "there is no file `%s` that can be read", path);
    }
    diag_note(im->diag, at, "looked for %s", places.data);
    if (*path != '/')
        diag_note(im->diag, at,
                  "other folders to look in: `-I FOLDER`, tw_config.import_path, $TILEWRIGHT_PATH");
    return NULL;
}

/* Reports "a.tile imports b.tile, which imports a.tile". */
static void report_cycle(struct importer *im, const struct file *first, const struct file *last,
                         struct loc at)
{
    VEC(const struct file *) chain = {0};
    struct text t;
    for (const struct file *f = last; f != first; f = f->importer)
        vec_push(im->arena, &chain, f);
    text_init(&t, im->arena);
    text_printf(&t, "`%s`", first->source->name);
    for (size_t i = chain.count; i-- > 0;)
        text_printf(&t, " imports `%s`, which", chain.data[i]->source->name);
    diag_error(im->diag, at, "%s imports %s", t.data,
               first == last ? "itself" : arena_printf(im->arena, "`%s`", first->source->name));
    diag_note(im->diag, at, "move what both need into a file of its own");
}

/* Returns the file that a text names, as an import is found. NULL: reported. */
static const char *find_named_file(struct arena *a, struct diag *d, const struct source *source,
                                   const struct lang_search *search, const char *file,
                                   struct loc at)
{
    struct importer im = {.arena = a, .diag = d, .search = search, .only_finds = true};
    const struct file own = {.source = source, .path = source->name};
    const struct file *found = find_file(&im, &own, file, at);
    return found ? found->source->name : NULL;
}

static void read_file(struct importer *im, struct file *file);

static void import_file(struct importer *im, const struct file *importer, const char *path,
                        struct loc at)
{
    size_t before = im->files.count;
    struct file *file = find_file(im, importer, path, at);
    if (!file || file->is_read)
        return;
    if (im->files.count > before)
        read_file(im, file);
    else
        report_cycle(im, file, importer, at);
}

/* Returns the name in the text's next import at or after token *at, and moves *at past it. NULL:
 * there is none. Imports may be anywhere at the top level. */
static const struct token *next_import(struct token_list list, uint32_t *at)
{
    for (uint32_t i = *at; i + 1 < list.count; i++) {
        const struct token *t = &list.tokens[i];
        *at = i + 2;
        if (t->kind == TOK_IMPORT && t[1].kind == TOK_STRING)
            return &t[1];
        if (t->kind == TOK_LBRACE && t->match != NO_MATCH)
            i = t->match;
    }
    return NULL;
}

static void read_imports(struct importer *im, const struct file *file, struct token_list list)
{
    const struct token *t;
    for (uint32_t at = 0; (t = next_import(list, &at));)
        import_file(im, file, t->text, (struct loc){file->source, t->offset, t->length});
}

/* Returns true at `family NAME {`. */
static bool is_family(const struct source *source, const struct token *t)
{
    return t->kind == TOK_NAME && t->length == 6 &&
           memcmp(source->text + t->offset, "family", 6) == 0 && t[1].kind == TOK_NAME &&
           t[2].kind == TOK_LBRACE;
}

/* Returns the next name of a file: of an import, or of a family's member. *end: the bracket that
 * ends the family that *at is in. */
static const struct token *next_file(const struct source *source, struct token_list list,
                                     uint32_t *at, uint32_t *end)
{
    for (; *at + 1 < list.count; ++*at) {
        const struct token *t = &list.tokens[*at];
        if (*at < *end) { /* in a family, so there are tokens before this one */
            bool named =
                t->kind == TOK_STRING && (t[-1].kind == TOK_LBRACE || t[-1].kind == TOK_SEMICOLON);
            if (!named)
                continue;
            ++*at;
            return t;
        }
        if (t->kind == TOK_IMPORT && t[1].kind == TOK_STRING) {
            *at += 2;
            return &t[1];
        }
        if (*at + 3 < list.count && is_family(source, t)) {
            *end = t[2].match == NO_MATCH ? list.count : t[2].match;
            *at += 2;
        } else if (t->kind == TOK_LBRACE && t->match != NO_MATCH)
            *at = t->match;
    }
    return NULL;
}

struct lang_imports lang_imports(struct arena *a, const struct source *source,
                                 const struct lang_search *search)
{
    struct lang_imports list = {0};
    struct diag errors; /* not reported here: the compiler reports them */
    struct importer im = {.arena = a, .diag = &errors, .search = search};
    struct file own = {.source = source, .path = source->name};
    const struct token_list tokens = scan_text(a, source);
    const struct token *t;
    diag_init(&errors, a);
    for (uint32_t at = 0, end = 0; (t = next_file(source, tokens, &at, &end));) {
        struct lang_import one = {.at = {source, t->offset, t->length}};
        const struct file *file = find_file(&im, &own, t->text, one.at);
        one.found = file != NULL;
        one.path = file ? file->source->name : join(a, folder_of(a, source->name), t->text);
        vec_push(a, &list, one);
    }
    return list;
}

static void read_file(struct importer *im, struct file *file)
{
    enum { MOST_DEEP = 100 };
    int deep = 0;
    for (const struct file *f = file; f; f = f->importer)
        deep++;
    if (deep > MOST_DEEP) {
        diag_error(im->diag, (struct loc){.source = file->source},
                   "files import each other more than %d deep", MOST_DEEP);
        return;
    }
    struct token_list list = scan_text(im->arena, file->source);
    read_imports(im, file, list);
    struct node *items =
        parse_tokens(im->arena, im->diag, file->source, list, &im->types, &im->fns);
    for (struct node *n = items, *next; n; n = next) {
        next = n->next;
        n->next = NULL;
        bool own_alone = n->kind == N_KERNEL || n->kind == N_FAMILY;
        if (n->kind == N_IMPORT || (own_alone && file->importer))
            continue;
        *im->tail = n;
        im->tail = &n->next;
    }
    file->is_read = true;
}

struct node *parse_program(struct arena *a, struct diag *d, const struct source *source,
                           const struct lang_search *search, struct lang_sources *sources)
{
    struct importer im = {.arena = a, .diag = d, .search = search};
    struct file *own = arena_new(a, struct file);
    const char *path = platform_real_path(a, source->name);
    *own = (struct file){.source = source, .path = path ? path : source->name};
    im.tail = &im.items;
    name_table_init(&im.types, a);
    name_table_init(&im.fns, a);
    vec_push(a, &im.files, own);
    read_file(&im, own);
    for (size_t i = 0; i < im.files.count; i++)
        vec_push(a, sources, im.files.data[i]->source);
    return im.items;
}

/* Returns true, after a report, if member i is a kernel that an earlier member is. */
static bool repeats(struct arena *a, struct diag *d, const struct lang_family *f, size_t i)
{
    const struct lang_member *members = f->members.data;
    const char *path = platform_real_path(a, members[i].path);
    for (size_t k = 0; k < i; k++) {
        const char *other = members[k].path ? platform_real_path(a, members[k].path) : NULL;
        bool same_kernel = !members[i].kernel || !members[k].kernel ||
                           strcmp(members[i].kernel, members[k].kernel) == 0;
        if (!path || !other || strcmp(path, other) != 0 || !same_kernel)
            continue;
        diag_error(d, members[i].at, "this kernel is in the family `%s` twice", f->name);
        diag_note(d, members[k].at, "the first time; leave one of them out");
        return true;
    }
    return false;
}

bool lang_find_members(struct arena *a, struct diag *d, const struct source *source,
                       const struct lang_search *search, struct lang_family *f)
{
    int errors = d->errors;
    for (size_t i = 0; i < f->members.count; i++) {
        struct lang_member *one = &f->members.data[i];
        one->path = find_named_file(a, d, source, search, one->file, one->at);
        if (one->path)
            repeats(a, d, f, i);
    }
    return d->errors == errors;
}
