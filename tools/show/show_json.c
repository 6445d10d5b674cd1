#include "show/show_json.h"

#include "cli/json.h"
#include "tilewright_look.h"

#include <stdlib.h>
#include <string.h>

/* --- layouts --- */

static void put_row(struct json *j, const char *key, int64_t count, const int32_t *list)
{
    json_open_numbers(j, key);
    for (int64_t i = 0; i < count; i++)
        json_integer(j, list[i]);
    json_close(j, ']');
}

static int64_t elements_of(const tw_tile *t)
{
    int64_t count = 1;
    for (int i = 0; i < t->rank; i++)
        count *= t->shape[i];
    return count;
}

static void put_shared(struct json *j, const tw_tile *t)
{
    json_put_integer(j, "offset", t->offset);
    json_put_integer(j, "bytes", t->bytes);
    json_put_text(j, "form", t->form);
    json_open_numbers(j, "places");
    for (int64_t i = 0; i < elements_of(t); i++)
        json_integer(j, t->places[i]);
    json_close(j, ']');
}

static void put_held(struct json *j, const tw_tile *t)
{
    json_put_integer(j, "held", t->held);
    json_put_integer(j, "in_register", t->in_register);
    json_open_numbers(j, "registers");
    for (int i = 0; i < t->register_count; i++)
        json_string(j, t->registers[i]);
    json_close(j, ']');
    if (!t->layout)
        return;
    json_put_integer(j, "copies", t->copies);
    put_row(j, "threads", elements_of(t), t->threads);
    put_row(j, "numbers", elements_of(t), t->numbers);
}

static void put_tile(struct json *j, const tw_tile *t)
{
    json_open(j, '{');
    json_put_text(j, "name", t->name);
    json_put_text(j, "what", t->what);
    json_put_text(j, "kind", t->shared ? "shared" : t->layout ? "registers" : "scalar");
    json_put_text(j, "type", t->type == TW_DTYPE_NONE ? NULL : tw_dtype_name(t->type));
    json_put_integer(j, "bits", t->bits);
    json_put_integers(j, "shape", t->rank, t->shape);
    json_put_text(j, "layout", t->layout);
    if (t->shared)
        put_shared(j, t);
    else
        put_held(j, t);
    json_close(j, '}');
}

static void put_access(struct json *j, const tw_tile_access *a)
{
    json_open(j, '{');
    json_put_integer(j, "line", a->line);
    json_put_integer(j, "column", a->column);
    json_put_text(j, "space", a->shared ? "shared" : "global");
    json_put_bool(j, "store", a->store);
    json_put_text(j, "tile", a->tile);
    json_put_text(j, "instruction", a->how);
    json_put_integer(j, "bytes", a->bytes);
    json_put_integer(j, "instructions", a->instructions);
    json_put_integer(j, "wavefronts", a->wavefronts);
    json_put_integer(j, "least", a->least);
    json_close(j, '}');
}

tw_status show_json_layouts(tw_launch *l)
{
    tw_layouts all = tw_layouts_init();
    tw_status s = tw_launch_layouts(l, &all);
    if (s != TW_OK)
        return s;
    struct json j = {.out = stdout};
    const int64_t block[3] = {all.block[0], all.block[1], all.block[2]};
    json_open(&j, '{');
    json_put_integers(&j, "block", 3, block);
    json_put_integer(&j, "shared_bytes", all.shared_bytes);
    json_put_integer(&j, "registers", all.registers);
    json_open_list(&j, "tiles");
    for (int i = 0; i < all.tile_count; i++)
        put_tile(&j, &all.tiles[i]);
    json_close(&j, ']');
    json_open_list(&j, "accesses");
    for (int i = 0; i < all.access_count; i++)
        put_access(&j, &all.accesses[i]);
    json_close(&j, ']');
    json_close(&j, '}');
    json_end(&j);
    return TW_OK;
}

/* --- PTX --- */

/* Place of the latest .loc N LINE COLUMN. */
struct place {
    int file, line, column;
};

/* Returns the instruction's name with its modifiers, without a guard, or NULL if the line has no
 * instruction. */
static char *instruction_of(const char *line)
{
    const char *at = line + strspn(line, " \t");
    if (*at == '@') {
        at += strcspn(at, " \t");
        at += strspn(at, " \t");
    }
    size_t length = strcspn(at, " \t;");
    bool other = *at == '.' || *at == '$' || *at == '/' || *at == '{' || *at == '}' || *at == ')' ||
                 !*at || line[0] != ' ';
    return other || !length || !strchr(at, ';') ? NULL : need_text("%.*s", (int)length, at);
}

/* Returns the number of the first modifier that begins with one of `kinds`. In ld.global.v4.f32,
 * it is 4 for "v" and 32 for "f". Returns 0 if there is none. */
static int part_number(const char *name, const char *kinds)
{
    for (const char *at = strchr(name, '.'); at; at = strchr(at + 1, '.')) {
        char *end;
        long n = at[1] && strchr(kinds, at[1]) ? strtol(at + 2, &end, 10) : 0;
        if (n > 0 && (!*end || *end == '.'))
            return (int)n;
    }
    return 0;
}

/* Returns the bytes that a memory instruction moves per lane, or 0 if it is another instruction
 * or the number is not known. */
static int bytes_of(const char *name, const char *line)
{
    bool copies = strncmp(name, "cp.async.c", 10) == 0;
    if (copies) {
        const char *comma = strrchr(line, ']');
        return comma ? (int)strtol(comma + 1 + strspn(comma + 1, ", "), NULL, 10) : 0;
    }
    bool memory = strncmp(name, "ld.", 3) == 0 || strncmp(name, "st.", 3) == 0 ||
                  strncmp(name, "red.", 4) == 0 || strncmp(name, "atom.", 5) == 0;
    if (strncmp(name, "ldmatrix", 8) == 0 || strncmp(name, "stmatrix", 8) == 0) {
        int count = part_number(name, "x");
        return 4 * (count ? count : 1);
    }
    int vector = part_number(name, "v"), bits = part_number(name, "fbsu");
    return memory ? (vector ? vector : 1) * bits / 8 : 0;
}

struct count {
    char *name;
    int64_t times;
};

struct listing {
    struct json j;
    struct place at;
    char *files[16];
    struct count *counts;
    int count_count;
};

static void count_instruction(struct listing *p, const char *name)
{
    size_t base = strcspn(name, ".");
    for (int i = 0; i < p->count_count; i++)
        if (strlen(p->counts[i].name) == base && strncmp(p->counts[i].name, name, base) == 0) {
            p->counts[i].times++;
            return;
        }
    ADD_TO(p->counts, p->count_count, (struct count){need_text("%.*s", (int)base, name), 1});
}

static void read_directive(struct listing *p, const char *line)
{
    int number, row, column;
    char name[512];
    const char *at = line + strspn(line, " \t");
    if (sscanf(at, ".file %d \"%511[^\"]\"", &number, name) == 2 && number >= 0 && number < 16) {
        free(p->files[number]);
        p->files[number] = need_text("%s", name);
    }
    if (sscanf(at, ".loc %d %d %d", &number, &row, &column) == 3)
        p->at = (struct place){number, row, column};
}

static void put_line(struct listing *p, const char *line)
{
    struct json *j = &p->j;
    char *name = instruction_of(line);
    json_open(j, '{');
    json_put_text(j, "text", line);
    if (name) {
        const struct place *at = &p->at;
        json_put_text(j, "file", at->file >= 0 && at->file < 16 ? p->files[at->file] : NULL);
        json_put_integer(j, "line", at->line);
        json_put_integer(j, "column", at->column);
        json_put_text(j, "instruction", name);
        json_put_integer(j, "bytes", bytes_of(name, line));
        count_instruction(p, name);
    }
    json_close(j, '}');
    free(name);
}

static void put_lines(struct listing *p, const char *text)
{
    json_open_list(&p->j, "lines");
    while (*text) {
        size_t length = strcspn(text, "\n");
        char *line = need_text("%.*s", (int)length, text);
        read_directive(p, line);
        put_line(p, line);
        free(line);
        text += length + (text[length] == '\n');
    }
    json_close(&p->j, ']');
}

tw_status show_json_ptx(tw_launch *l)
{
    const char *text;
    tw_layouts all = tw_layouts_init();
    struct listing p = {.j = {.out = stdout}};
    tw_status s = tw_launch_layouts(l, &all);
    if (s == TW_OK)
        s = tw_launch_show_stage(l, TW_STAGE_PTX, &text);
    if (s != TW_OK)
        return s;
    json_open(&p.j, '{');
    json_put_integer(&p.j, "registers", all.registers);
    json_put_integer(&p.j, "shared_bytes", all.shared_bytes);
    put_lines(&p, text);
    json_open_object(&p.j, "instructions");
    for (int i = 0; i < p.count_count; i++) {
        json_put_integer(&p.j, p.counts[i].name, p.counts[i].times);
        free(p.counts[i].name);
    }
    json_close(&p.j, '}');
    json_close(&p.j, '}');
    json_end(&p.j);
    for (int i = 0; i < 16; i++)
        free(p.files[i]);
    free(p.counts);
    return TW_OK;
}

/* --- passes --- */

static const char *pass_at(int index)
{
    return index == 0 ? "check" : tw_pass_name(index - 1);
}

/* Adds the lines of the text that are statements, with their places. */
static void put_statements(struct json *j, const tw_launch *l)
{
    tw_shown_line line = tw_shown_line_init();
    json_open_list(j, "statements");
    for (int i = 0; tw_launch_shown_line(l, i, &line); i++) {
        json_open(j, '{');
        json_put_integer(j, "shown", line.line);
        json_put_integer(j, "line", line.source_line);
        json_put_integer(j, "column", line.source_column);
        json_put_bool(j, "added", line.added);
        json_close(j, '}');
    }
    json_close(j, ']');
}

/* Adds a pass. `before` is the text after the previous pass, or NULL if there is none. */
static void put_pass(struct json *j, const tw_launch *l, int index, const char *text,
                     const char *before)
{
    json_open(j, '{');
    json_put_text(j, "name", pass_at(index));
    json_put_text(j, "summary",
                  index ? tw_pass_summary(index - 1) : "the typed program before any pass");
    json_put_bool(j, "changed", before && strcmp(before, text) != 0);
    json_put_text(j, "text", text);
    put_statements(j, l);
    json_close(j, '}');
}

tw_status show_json_passes(tw_launch *l, const tw_kernel *k, const char *pass)
{
    const char *text;
    char *before = NULL;
    tw_status s = tw_launch_show(l, pass, &text); /* reports errors before anything is printed */
    if (s != TW_OK)
        return s;
    struct json j = {.out = stdout};
    json_open(&j, '{');
    json_put_text(&j, "kernel", tw_kernel_name(k));
    json_put_text(&j, "target", tw_kernel_target(k));
    json_open_list(&j, "passes");
    for (int i = 0; pass_at(i) && s == TW_OK; i++) {
        s = tw_launch_show(l, pass_at(i), &text);
        if (s == TW_OK && (!pass || strcmp(pass, pass_at(i)) == 0))
            put_pass(&j, l, i, text, before);
        free(before);
        before = s == TW_OK ? need_text("%s", text) : NULL;
    }
    json_close(&j, ']');
    json_close(&j, '}');
    json_end(&j);
    free(before);
    return s;
}
