/* Reads machine code. A cubin is an ELF file with a section .text.NAME for each function. With
 * -lineinfo it also has .nv_debug_line_sass, a line table in the format of DWARF 2 (section 6.2)
 * from machine code to the lines of the PTX. Instructions of sm_70 and later have 16 bytes: bits
 * 0 to 11 are the operation, of which 9 to 11 say where its operands come from; bits 12 to 15
 * are the guard. NVIDIA publishes the names (CUDA Binary Utilities, "Instruction Set
 * Reference"), not the numbers; the numbers here were read off nvdisasm's listings, as in
 * scripts/sass.py. */
#include "sass/sass.h"
#include "ptx/flow.h"

#include <stdlib.h>
#include <string.h>

/* Types of sections; relocations with an addend and, before sm_90, without. */
enum { ELF_SYMBOLS = 2, ELF_RELA = 4, ELF_NO_BITS = 8, ELF_REL = 9 };
enum { RELA_BYTES = 24, REL_BYTES = 16, SYMBOL_BYTES = 24 };
enum { SYMBOL_FUNCTION = 2 };
enum { MACHINE_CUDA = 190, FIRST_TARGET = 70, INSTRUCTION = 16 };

struct span {
    const uint8_t *at;
    size_t length;
};

struct section {
    const char *name;
    uint32_t type, link, info;
    struct span bytes;
};

/* A row of the line table: it holds from this address of a section to the next row. */
struct row {
    uint32_t section, line;
    uint64_t address;
    size_t number; /* index in the table: at equal addresses the later row counts */
};

struct cubin {
    struct arena *arena;
    struct span file;
    struct section *sections;
    uint32_t count;
    const struct ptx_module *module;
    const char *kernel;
    VEC(struct row) rows;
    VEC(struct coded_access) list;
};

/* --- the file --- */

/* Reads a little-endian number. Bytes past the end read as 0. */
static uint64_t number_at(struct span s, uint64_t offset, size_t bytes)
{
    uint64_t v = 0;
    if (offset > s.length || bytes > s.length - offset)
        return 0;
    memcpy(&v, s.at + offset, bytes); /* little-endian, like GPUs and their hosts */
    return v;
}

static struct span part_of(struct span s, uint64_t offset, uint64_t length)
{
    if (offset > s.length || length > s.length - offset)
        return (struct span){s.at, 0};
    return (struct span){s.at + offset, (size_t)length};
}

/* Returns a text that ends within the span, else "". */
static const char *text_at(struct span s, uint64_t offset)
{
    if (offset >= s.length || !memchr(s.at + offset, 0, s.length - (size_t)offset))
        return "";
    return (const char *)s.at + offset;
}

static bool read_sections(struct cubin *c)
{
    uint64_t table = number_at(c->file, 0x28, 8), each = number_at(c->file, 0x3a, 2);
    uint64_t names = number_at(c->file, 0x3e, 2);
    c->count = (uint32_t)number_at(c->file, 0x3c, 2);
    if (each < 64 || names >= c->count || table > c->file.length ||
        c->count * each > c->file.length - table)
        return false;
    c->sections = arena_array(c->arena, struct section, c->count);
    for (uint32_t i = 0; i < c->count; i++) {
        struct span header = part_of(c->file, table + i * each, 64);
        c->sections[i] = (struct section){.type = (uint32_t)number_at(header, 4, 4),
                                          .link = (uint32_t)number_at(header, 0x28, 4),
                                          .info = (uint32_t)number_at(header, 0x2c, 4)};
        if (c->sections[i].type != ELF_NO_BITS)
            c->sections[i].bytes =
                part_of(c->file, number_at(header, 0x18, 8), number_at(header, 0x20, 8));
    }
    for (uint32_t i = 0; i < c->count; i++)
        c->sections[i].name =
            text_at(c->sections[names].bytes, number_at(c->file, table + i * each, 4));
    return true;
}

static uint32_t find_section(const struct cubin *c, const char *name)
{
    for (uint32_t i = 0; i < c->count; i++)
        if (strcmp(c->sections[i].name, name) == 0)
            return i;
    return c->count;
}

static int target_of(const struct cubin *c)
{
    uint64_t flags = number_at(c->file, 0x30, 4); /* since CUDA 13 in the second byte */
    return (int)(flags >> 24 ? flags >> 8 & 0xff : flags & 0xff);
}

/* Returns the version of the assembler, "13.0.88", from the note "…, release 13.0, V13.0.88". */
static const char *assembler_of(const struct cubin *c)
{
    uint32_t note = find_section(c, ".note.nv.tkinfo");
    struct span s = note < c->count ? c->sections[note].bytes : (struct span){NULL, 0};
    for (size_t i = 0; i + 3 < s.length; i++) {
        if (memcmp(s.at + i, ", V", 3) != 0)
            continue;
        size_t length = 0;
        while (i + 3 + length < s.length &&
               (s.at[i + 3 + length] == '.' || (unsigned)(s.at[i + 3 + length] - '0') < 10))
            length++;
        return arena_string(c->arena, (const char *)s.at + i + 3, length);
    }
    return "";
}

/* --- lines --- */

struct line_reader {
    struct span bytes;
    uint64_t at, end;
    uint8_t least, range, base, lengths[256];
    int8_t line_base;
    uint32_t section;
    uint64_t address;
    uint32_t line;
};

static uint64_t next_byte(struct line_reader *r)
{
    return r->at < r->end ? number_at(r->bytes, r->at++, 1) : 0;
}

/* Reads a LEB128 number: 7 bits per byte; the eighth bit is set in all bytes except the last. */
static uint64_t next_number(struct line_reader *r, bool is_signed)
{
    uint64_t v = 0, byte = 0x80;
    unsigned shift = 0;
    for (; byte & 0x80 && r->at < r->end; shift += 7) {
        byte = next_byte(r);
        if (shift < 64)
            v |= (byte & 0x7f) << shift;
    }
    if (is_signed && byte & 0x40 && shift < 64)
        v |= ~UINT64_C(0) << shift;
    return v;
}

/* Finds the symbol that a relocation adds at a place of a table: its section and its value
 * there. */
static bool symbol_at(const struct cubin *c, uint32_t table, uint64_t place, uint32_t *section,
                      uint64_t *value)
{
    for (uint32_t i = 0; i < c->count; i++) {
        const struct section *s = &c->sections[i];
        uint64_t each = s->type == ELF_RELA ? RELA_BYTES : REL_BYTES;
        if ((s->type != ELF_RELA && s->type != ELF_REL) || s->info != table || s->link >= c->count)
            continue;
        for (uint64_t at = 0; at + each <= s->bytes.length; at += each) {
            uint64_t symbol = number_at(s->bytes, at + 12, 4) * SYMBOL_BYTES;
            if (number_at(s->bytes, at, 8) != place)
                continue;
            *section = (uint32_t)number_at(c->sections[s->link].bytes, symbol + 6, 2);
            *value = number_at(c->sections[s->link].bytes, symbol + 8, 8);
            return true;
        }
    }
    return false;
}

static void add_row(struct cubin *c, const struct line_reader *r)
{
    struct row row = {r->section, r->line, r->address, c->rows.count};
    vec_push(c->arena, &c->rows, row);
}

static void extended(struct cubin *c, struct line_reader *r, uint32_t table)
{
    uint64_t length = next_number(r, false), from = r->at, value = 0;
    switch (next_byte(r)) {
    case 1: /* the end of a sequence */
        r->address = 0;
        r->line = 1;
        break;
    case 2: /* an address */
        r->section = c->count;
        symbol_at(c, table, r->at, &r->section, &value);
        r->address = number_at(r->bytes, r->at, 8) + value;
        break;
    default: break;
    }
    r->at = length < r->end - from ? from + length : r->end;
}

static void standard(struct cubin *c, struct line_reader *r, uint64_t code)
{
    switch (code) {
    case 1: add_row(c, r); break;
    case 2: r->address += next_number(r, false) * r->least; break;
    case 3: r->line += (uint32_t)next_number(r, true); break;
    case 8: r->address += (uint64_t)(255 - r->base) / r->range * r->least; break;
    case 9:
        r->address += number_at(r->bytes, r->at, 2);
        r->at += 2;
        break;
    default:
        for (int i = 0; i < r->lengths[code]; i++)
            next_number(r, false);
    }
}

static void special(struct cubin *c, struct line_reader *r, uint64_t code)
{
    int step = (int)code - r->base;
    r->address += (uint64_t)(step / r->range * r->least);
    r->line += (uint32_t)(r->line_base + step % r->range);
    add_row(c, r);
}

/* Reads one line program of the table, from `at`. Returns the place of the next. */
static uint64_t read_lines(struct cubin *c, uint32_t table, uint64_t at)
{
    struct span s = c->sections[table].bytes;
    struct line_reader r = {.bytes = s, .section = c->count, .line = 1};
    uint64_t rest = s.length - at - 4, length = number_at(s, at, 4);
    r.end = at + 4 + (length < rest ? length : rest);
    r.at = at + 10 + number_at(s, at + 6, 4);
    r.least = (uint8_t)number_at(s, at + 10, 1);
    r.line_base = (int8_t)number_at(s, at + 12, 1);
    r.range = (uint8_t)number_at(s, at + 13, 1);
    r.base = (uint8_t)number_at(s, at + 14, 1);
    for (int i = 1; i < r.base; i++)
        r.lengths[i] = (uint8_t)number_at(s, at + 14 + (unsigned)i, 1);
    while (r.range && r.at < r.end) {
        uint64_t code = next_byte(&r);
        if (code >= r.base)
            special(c, &r, code);
        else if (code)
            standard(c, &r, code);
        else
            extended(c, &r, table);
    }
    return r.end;
}

static int by_address(const void *left, const void *right)
{
    const struct row *a = left, *b = right;
    if (a->section != b->section)
        return a->section < b->section ? -1 : 1;
    if (a->address != b->address)
        return a->address < b->address ? -1 : 1;
    return (a->number > b->number) - (a->number < b->number);
}

static void read_line_table(struct cubin *c, uint32_t table)
{
    for (uint64_t at = 0; at + 15 <= c->sections[table].bytes.length;)
        at = read_lines(c, table, at);
    if (c->rows.count)
        qsort(c->rows.data, c->rows.count, sizeof *c->rows.data, by_address);
}

/* --- instructions --- */

struct code {
    uint64_t low, high;
};

static struct code code_at(struct span text, uint32_t number)
{
    return (struct code){number_at(text, (uint64_t)number * INSTRUCTION, 8),
                         number_at(text, (uint64_t)number * INSTRUCTION + 8, 8)};
}

static unsigned field(uint64_t word, int from, int bits)
{
    return (unsigned)(word >> from & ((1u << bits) - 1));
}

static unsigned operation(struct code i)
{
    return field(i.low, 0, 9);
}

enum { GUARD_ALWAYS = 7, GUARD_NEVER = 15 };

static unsigned guard(struct code i)
{
    return field(i.low, 12, 4);
}

/* Operations on memory, by their lowest nine bits. RED is an atomic one without a result. */
static const struct operation_row {
    uint16_t code;
    uint8_t kind, space;
    const char *name;
} operations[] = {
    {0x180, ACCESS_LOAD, ACCESS_GENERIC, "LD"},
    {0x181, ACCESS_LOAD, ACCESS_GLOBAL, "LDG"},
    {0x183, ACCESS_LOAD, ACCESS_LOCAL, "LDL"},
    {0x184, ACCESS_LOAD, ACCESS_SHARED, "LDS"},
    {0x185, ACCESS_STORE, ACCESS_GENERIC, "ST"},
    {0x186, ACCESS_STORE, ACCESS_GLOBAL, "STG"},
    {0x187, ACCESS_STORE, ACCESS_LOCAL, "STL"},
    {0x188, ACCESS_STORE, ACCESS_SHARED, "STS"},
    {0x1ae, ACCESS_COPY, ACCESS_SHARED, "LDGSTS"},
    {0x03b, ACCESS_LOAD_MATRIX, ACCESS_SHARED, "LDSM"},
    {0x044, ACCESS_STORE_MATRIX, ACCESS_SHARED, "STSM"},
    {0x18c, ACCESS_ATOMIC, ACCESS_SHARED, "ATOMS"},
    {0x18d, ACCESS_ATOMIC, ACCESS_SHARED, "ATOMS.CAS"},
    {0x18e, ACCESS_ATOMIC, ACCESS_GLOBAL, "RED"},
    {0x1a6, ACCESS_ATOMIC, ACCESS_GLOBAL, "REDG"},
    {0x1a3, ACCESS_ATOMIC, ACCESS_GLOBAL, "ATOMG of floats"},
    {0x1a8, ACCESS_ATOMIC, ACCESS_GLOBAL, "ATOMG"},
    {0x1a9, ACCESS_ATOMIC, ACCESS_GLOBAL, "ATOMG.CAS"},
    {0x18a, ACCESS_ATOMIC, ACCESS_GENERIC, "ATOM"},
    {0x18b, ACCESS_ATOMIC, ACCESS_GENERIC, "ATOM.CAS"},
    {0x1a2, ACCESS_ATOMIC, ACCESS_GENERIC, "ATOM of floats"},
};

static const struct operation_row *row_of(struct code i)
{
    for (size_t k = 0; k < sizeof operations / sizeof *operations; k++)
        if (operations[k].code == operation(i))
            return &operations[k];
    return NULL;
}

/* Returns the bytes per lane; for matrices, 4 for each. Copies have them in other bits since
 * sm_100. */
static unsigned bytes_of(struct code i, enum coded_access_kind kind, int target)
{
    static const uint8_t widths[8] = {1, 1, 2, 2, 4, 8, 16, 32};
    switch (kind) {
    case ACCESS_LOAD:
    case ACCESS_STORE: return widths[field(i.high, 9, 3)];
    case ACCESS_COPY: return 4u << field(i.high, target >= 100 ? 10 : 9, 2);
    case ACCESS_LOAD_MATRIX:
    case ACCESS_STORE_MATRIX: return 4u << field(i.high, 8, 2);
    case ACCESS_ATOMIC: break;
    }
    return 0;
}

static bool access_of(struct code i, int target, struct coded_access *out)
{
    const struct operation_row *row = row_of(i);
    if (!row || guard(i) == GUARD_NEVER) /* a filler: @!PT LDS RZ, [RZ] */
        return false;
    bool matrix = row->kind == ACCESS_LOAD_MATRIX || row->kind == ACCESS_STORE_MATRIX;
    if (matrix && field(i.low, 9, 3) != 4) /* no address in a register: arithmetic */
        return false;
    *out = (struct coded_access){
        .kind = row->kind,
        .space = row->space,
        .bytes = (uint16_t)bytes_of(i, (enum coded_access_kind)row->kind, target)};
    return true;
}

/* --- loops --- */

enum { CODE_CALL = 0x144, CODE_BRA = 0x147, CODE_BRX = 0x149, CODE_EXIT = 0x14d, CODE_RET = 0x150 };

struct function {
    struct arena *arena;
    struct span bytes;
    uint32_t count; /* of instructions */
    int target;
    bool *subroutine; /* by instruction: a function begins here */
};

/* Finds the target of a relative branch; its distance from the next instruction is in words of 4
 * bytes. A call whose target does not begin a function counts as a branch. Returns false if the
 * target is not known or is a function. */
static bool branches(const struct function *t, uint32_t number, uint32_t *to)
{
    struct code i = code_at(t->bytes, number);
    if (operation(i) != CODE_BRA && operation(i) != CODE_CALL)
        return false;
    uint64_t bits = i.low >> 34 | i.high << 30;
    int64_t distance = (int64_t)(bits << 16) >> 16; /* 48 bits */
    if (t->target >= 90)                            /* eight more bits, lower */
        distance = (int64_t)((uint64_t)distance << 8 | field(i.low, 16, 8));
    int64_t at = (int64_t)number + 1 + distance * 4 / INSTRUCTION;
    if (at < 0 || at >= t->count || (operation(i) == CODE_CALL && t->subroutine[at]))
        return false;
    *to = (uint32_t)at;
    return true;
}

/* Returns true if control may go on to the next instruction. In addition to the guard, a branch
 * has a predicate of its own; BRA.DIV and its like use bits 24 to 31. */
static bool goes_on(const struct function *t, uint32_t number)
{
    struct code i = code_at(t->bytes, number);
    bool always = guard(i) == GUARD_ALWAYS;
    uint32_t to;
    switch (operation(i)) {
    case CODE_BRX:
    case CODE_EXIT:
    case CODE_RET: return !always;
    case CODE_CALL: return !always || !branches(t, number, &to);
    case CODE_BRA:
        return !always || field(i.high, 23, 5) != GUARD_ALWAYS || field(i.low, 24, 8) != 0;
    default: return true;
    }
}

/* Returns the instructions that a known branch or the instruction before leads to. The others
 * are the possible targets of a branch by a table (BRX), or of a call. */
static bool *reached(const struct function *t)
{
    bool *known = arena_array(t->arena, bool, t->count + 1);
    uint32_t to;
    known[0] = true;
    for (uint32_t i = 0; i < t->count; i++) {
        if (branches(t, i, &to))
            known[to] = true;
        if (goes_on(t, i))
            known[i + 1] = true;
    }
    return known;
}

static uint16_t *loops_of(const struct function *t)
{
    const bool *known = reached(t);
    uint32_t n = t->count, *first = arena_array(t->arena, uint32_t, n + 2), where;
    VEC(uint32_t) to = {0};
    for (uint32_t i = 0; i < n; i++) {
        first[i] = (uint32_t)to.count;
        if (branches(t, i, &where))
            vec_push(t->arena, &to, where);
        bool table = operation(code_at(t->bytes, i)) == CODE_BRX;
        for (uint32_t k = 0; table && k < n; k++)
            if (!known[k])
                vec_push(t->arena, &to, k);
        if (goes_on(t, i) && i + 1 < n)
            vec_push(t->arena, &to, i + 1);
    }
    first[n] = (uint32_t)to.count;
    return flow_loops(t->arena, &(struct flow){n, first, to.data});
}

/* --- functions --- */

/* Finds the functions that lie in a section, from the symbols. */
static void find_subroutines(const struct cubin *c, uint32_t section, struct function *t)
{
    t->subroutine = arena_array(c->arena, bool, t->count + 1);
    for (uint32_t i = 0; i < c->count; i++) {
        struct span symbols = c->sections[i].bytes;
        for (uint64_t at = 0; c->sections[i].type == ELF_SYMBOLS && at < symbols.length;
             at += SYMBOL_BYTES) {
            uint64_t start = number_at(symbols, at + 8, 8) / INSTRUCTION;
            bool function = (number_at(symbols, at + 4, 1) & 0xf) == SYMBOL_FUNCTION;
            if (function && number_at(symbols, at + 6, 2) == section && start < t->count)
                t->subroutine[start] = true;
        }
    }
}

static void read_function(struct cubin *c, uint32_t section)
{
    struct function t = {
        .arena = c->arena, .bytes = c->sections[section].bytes, .target = target_of(c)};
    t.count = (uint32_t)(t.bytes.length / INSTRUCTION);
    find_subroutines(c, section, &t);
    const uint16_t *loops = loops_of(&t);
    uint32_t line = 0;
    const struct row *row = c->rows.data, *end = row + c->rows.count;
    while (row < end && row->section < section)
        row++;
    for (uint32_t i = 0; i < t.count; i++) {
        struct coded_access one;
        for (; row < end && row->section == section && row->address <= (uint64_t)i * INSTRUCTION;
             row++)
            line = row->line;
        if (!access_of(code_at(t.bytes, i), t.target, &one))
            continue;
        one.line = line;
        one.loops = loops[i];
        vec_push(c->arena, &c->list, one);
    }
}

static bool is_wanted(const struct cubin *c, const char *section)
{
    if (strncmp(section, ".text.", strlen(".text.")) != 0)
        return false;
    const char *name = section + strlen(".text.");
    const struct ptx_function *f = ptx_find_function(c->module, name);
    return strcmp(name, c->kernel) == 0 || (f && !f->entry);
}

const char *sass_read(struct arena *a, const void *data, size_t length,
                      const struct ptx_module *module, const char *kernel, struct sass *out)
{
    struct cubin c = {.arena = a, .file = {data, length}, .module = module, .kernel = kernel};
    if (length < 64 || memcmp(data, "\177ELF\2\1", 6) != 0 ||
        number_at(c.file, 0x12, 2) != MACHINE_CUDA || !read_sections(&c))
        return "this is not machine code of a GPU (a cubin)";
    uint32_t table = find_section(&c, ".nv_debug_line_sass");
    if (table == c.count)
        return "the machine code has no line numbers (assemble it with ptxas -lineinfo)";
    if (target_of(&c) < FIRST_TARGET)
        return "machine code of targets before sm_70 is not read";
    if (find_section(&c, arena_printf(a, ".text.%s", kernel)) == c.count)
        return "the machine code does not have the kernel";
    read_line_table(&c, table);
    for (uint32_t i = 0; i < c.count; i++)
        if (is_wanted(&c, c.sections[i].name))
            read_function(&c, i);
    if (c.list.count)
        qsort(c.list.data, c.list.count, sizeof *c.list.data, ptx_access_by_line);
    *out = (struct sass){.target = target_of(&c),
                         .assembler = assembler_of(&c),
                         .list = c.list.data,
                         .count = c.list.count};
    return NULL;
}
