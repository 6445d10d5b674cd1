/* The line table: a header with folders and files, and a program for a small machine whose rows are the
 * addresses at which a line begins. A sequence is a run of rows with rising addresses. */
#include "driver/dwarf_read.h"

struct table {
    struct dwarf_reader names;   /* folders and files */
    struct dwarf_reader program; /* after them */
    int version;
    unsigned least, range, base; /* least bytes of an instruction; of special operations */
    int line_base;
    unsigned char operands[256]; /* of each standard operation */
};

static bool read_table(const struct dwarf_sections *s, uint64_t at, struct table *t)
{
    struct dwarf_reader r = dwarf_reader_at(s->line, at);
    dwarf_unit(&r);
    t->version = r.version;
    if (r.version < 2 || r.version > 5)
        return false;
    if (r.version == 5) {
        r.address_bytes = (int)dwarf_number(&r, 1);
        dwarf_skip(&r, 1); /* bytes of a segment */
    }
    uint64_t length = dwarf_offset(&r);
    t->program = r;
    dwarf_skip(&t->program, length);
    t->least = (unsigned)dwarf_number(&r, 1);
    dwarf_skip(&r, r.version >= 4 ? 2 : 1); /* operations of an instruction; is_stmt */
    t->line_base = (signed char)dwarf_number(&r, 1);
    t->range = (unsigned)dwarf_number(&r, 1);
    t->base = (unsigned)dwarf_number(&r, 1);
    for (unsigned i = 1; i < t->base; i++)
        t->operands[i] = (unsigned char)dwarf_number(&r, 1);
    t->names = r;
    return !r.bad && !t->program.bad && t->range && t->base;
}

/* --- files --- */

/* Content types of DWARF 5. */
enum { DW_LNCT_path = 1, DW_LNCT_directory_index = 2 };
struct entry {
    const char *name; /* NULL: not known */
    uint64_t folder;
};

/* Reads a list of DWARF 5: the format of an entry, then the entries. Keeps the one of that number. */
static struct entry read_entries(const struct dwarf_sections *s, struct dwarf_reader *r,
                                 uint64_t number)
{
    struct entry kept = {.name = NULL};
    int fields = (int)dwarf_number(r, 1);
    struct dwarf_reader formats = *r;
    for (int i = 0; i < 2 * fields; i++)
        dwarf_unsigned(r);
    uint64_t count = fields ? dwarf_unsigned(r) : 0;
    for (uint64_t i = 0; i < count && !r->bad; i++) {
        struct dwarf_reader format = formats;
        struct entry e = {.name = NULL};
        const unsigned char *begin = r->at;
        for (int k = 0; k < fields; k++) {
            uint64_t type = dwarf_unsigned(&format);
            struct dwarf_value v = dwarf_read_value(r, dwarf_unsigned(&format), 0);
            if (type == DW_LNCT_path)
                e.name = dwarf_value_text(s, &v);
            else if (type == DW_LNCT_directory_index)
                e.folder = v.number;
        }
        if (i == number)
            kept = e;
        if (r->at == begin) /* without bytes, their number has no bound: damage */
            dwarf_skip(r, UINT64_MAX);
    }
    return kept;
}

/* Reads a list of texts before DWARF 5, whose numbers begin at 1. */
static struct entry read_names(struct dwarf_reader *r, uint64_t number, bool of_files)
{
    struct entry kept = {.name = NULL};
    for (uint64_t i = 1;; i++) {
        struct entry e = {.name = dwarf_text(r)};
        if (!*e.name)
            return kept;
        if (of_files) {
            e.folder = dwarf_unsigned(r);
            dwarf_unsigned(r); /* its time */
            dwarf_unsigned(r); /* its length */
        }
        if (i == number)
            kept = e;
    }
}

/* Joins a folder and a path in it. */
static const char *join(struct arena *a, const char *folder, const char *path)
{
    while (path[0] == '.' && path[1] == '/')
        path += 2;
    if (*path == '/' || !folder || !*folder)
        return path;
    return arena_printf(a, "%s/%s", folder, path);
}

static const char *path_of(struct arena *a, const struct dwarf_sections *s, const struct table *t,
                           const char *folder, uint64_t number)
{
    struct dwarf_reader r = t->names, again = t->names;
    if (t->version == 5) {
        struct entry first = read_entries(s, &r, 0);
        struct entry file = read_entries(s, &r, number);
        struct entry of_file = read_entries(s, &again, file.folder);
        if (r.bad || !file.name || !*file.name || !of_file.name)
            return NULL;
        folder = first.name ? join(a, folder, first.name) : folder;
        return join(a, file.folder ? join(a, folder, of_file.name) : folder, file.name);
    }
    read_names(&r, 0, false);
    struct entry file = read_names(&r, number, true);
    struct entry of_file = read_names(&again, file.folder, false);
    if (r.bad || !file.name || !*file.name)
        return NULL;
    return join(a, of_file.name ? join(a, folder, of_file.name) : folder, file.name);
}

const char *dwarf_file_path(struct arena *a, const struct dwarf_sections *s, uint64_t table,
                            const char *folder, uint64_t number)
{
    struct table t;
    return read_table(s, table, &t) ? path_of(a, s, &t, folder, number) : NULL;
}

/* --- rows --- */

struct row {
    uint64_t address, file, line;
};

/* The machine: the row that it makes, and the one before it. */
struct machine {
    struct row row, before;
    bool began;    /* there is a row before it in this sequence */
    bool is_real;  /* the linker kept the sequence: it does not begin at 0 */
    uint64_t want; /* the address that is looked for */
};

/* Ends a row. Returns true if the row before it has the address. */
static bool add_row(struct machine *m)
{
    bool found = m->began && m->is_real && m->before.address <= m->want && m->want < m->row.address;
    if (!m->began)
        m->is_real = m->row.address != 0;
    m->began = true;
    if (!found)
        m->before = m->row;
    return found;
}

static void reset(struct machine *m)
{
    m->row = (struct row){.file = 1, .line = 1};
    m->began = false;
}

/* Runs an extended operation: it ends a sequence or sets the address. */
static bool run_extended(struct dwarf_reader *r, struct machine *m)
{
    enum { DW_LNE_end_sequence = 1, DW_LNE_set_address = 2 };
    uint64_t length = dwarf_unsigned(r);
    struct dwarf_reader operation = *r;
    dwarf_skip(r, length);
    if (r->bad)
        return false;
    operation.end = r->at;
    uint64_t code = dwarf_number(&operation, 1);
    if (code == DW_LNE_set_address)
        m->row.address = dwarf_number(&operation, length > 8 ? 8 : (int)length - 1);
    if (code != DW_LNE_end_sequence)
        return false;
    bool found = add_row(m);
    if (!found)
        reset(m);
    return found;
}

static bool run_standard(const struct table *t, struct dwarf_reader *r, unsigned code,
                         struct machine *m)
{
    enum {
        DW_LNS_copy = 1,
        DW_LNS_advance_pc = 2,
        DW_LNS_advance_line = 3,
        DW_LNS_set_file = 4,
        DW_LNS_const_add_pc = 8,
        DW_LNS_fixed_advance_pc = 9
    };
    switch (code) {
    case DW_LNS_copy: return add_row(m);
    case DW_LNS_advance_pc: m->row.address += dwarf_unsigned(r) * t->least; break;
    case DW_LNS_advance_line: m->row.line += (uint64_t)dwarf_signed(r); break;
    case DW_LNS_set_file: m->row.file = dwarf_unsigned(r); break;
    case DW_LNS_const_add_pc: m->row.address += (255 - t->base) / t->range * t->least; break;
    case DW_LNS_fixed_advance_pc: m->row.address += dwarf_number(r, 2); break;
    default:
        for (int i = 0; i < t->operands[code]; i++)
            dwarf_unsigned(r);
    }
    return false;
}

/* Runs a special operation, which advances both the address and the line. */
static bool run_special(const struct table *t, unsigned code, struct machine *m)
{
    unsigned step = code - t->base;
    m->row.address += step / t->range * t->least;
    m->row.line += (uint64_t)((int64_t)t->line_base + step % t->range);
    return add_row(m);
}

static bool find_row(const struct table *t, uint64_t address, struct row *row)
{
    struct dwarf_reader r = t->program;
    struct machine m = {.want = address};
    reset(&m);
    for (bool found = false; r.at < r.end;) {
        unsigned code = (unsigned)dwarf_number(&r, 1);
        if (code >= t->base)
            found = run_special(t, code, &m);
        else
            found = code ? run_standard(t, &r, code, &m) : run_extended(&r, &m);
        if (found) {
            *row = m.before;
            return true;
        }
    }
    return false;
}

bool dwarf_line_at(struct arena *a, const struct dwarf_sections *s, uint64_t table,
                   const char *folder, uint64_t address, struct dwarf_place *p)
{
    struct table t;
    struct row row;
    if (!read_table(s, table, &t) || !find_row(&t, address, &row) || !row.line ||
        row.line > INT32_MAX)
        return false;
    p->line = (int)row.line;
    p->file = path_of(a, s, &t, folder, row.file);
    return p->file;
}
