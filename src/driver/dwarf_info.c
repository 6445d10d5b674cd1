/* Units of compilation: trees of entries, each with a tag and attributes. A table of abbreviations gives
 * each entry's tag and the forms of its attributes. An entry of an inlined call has the addresses of the
 * inlined code, its function (the abstract origin) and the line of the call. Entries come in the order
 * outer before inner, so all those that have the address, in their order, are the nested calls. The first
 * search in a unit lists its inlined calls, so that a later one reads only those near the address. */
#include "driver/dwarf_read.h"

enum { DW_TAG_inlined_subroutine = 0x1d };
enum { DW_UT_compile = 1 }; /* not of types, nor of -gsplit-dwarf */

/* The attributes that are read. */
enum attribute {
    NAME,
    STMT_LIST, /* the unit's line table */
    LOW_PC,
    HIGH_PC, /* an address, or the distance from LOW_PC */
    COMP_DIR,
    ABSTRACT_ORIGIN,
    SPECIFICATION,
    RANGES,
    CALL_FILE,
    CALL_LINE,
    LINKAGE_NAME,
    STR_OFFSETS_BASE, /* where the unit's part of a section begins */
    ADDR_BASE,
    RNGLISTS_BASE,
    GNU_DWO_NAME, /* of -gsplit-dwarf before DWARF 5 */
    ATTRIBUTES
};
static const unsigned numbers[ATTRIBUTES] = {0x03, 0x10, 0x11, 0x12, 0x1b, 0x31, 0x47,  0x55,
                                             0x58, 0x59, 0x6e, 0x72, 0x73, 0x74, 0x2130};

struct entry {
    uint64_t tag;
    struct dwarf_value values[ATTRIBUTES];
};

enum { KNOWN = 512 };
struct unit {
    const struct dwarf_sections *s;
    struct dwarf_reader entries;
    const unsigned char *begin;        /* its header: references count from here */
    uint64_t abbreviations;            /* offset of its table in the section */
    const unsigned char *known[KNOWN]; /* by code: where the table has it; NULL: not known */
    uint64_t bases[ATTRIBUTES], low;   /* the unit's LOW_PC */
    uint64_t from, to;                 /* of the ranges that has_address has read */
    long left; /* reads of ranges and abbreviations before the search gives up: no program needs as
                * many */
};

/* --- entries --- */

/* Finds an abbreviation: the reader is then at its tag. */
static bool find_abbreviation(struct unit *u, uint64_t code, struct dwarf_reader *r)
{
    *r = dwarf_reader_at(u->s->abbrev, u->abbreviations);
    if (code < KNOWN && u->known[code]) {
        r->at = u->known[code];
        return true;
    }
    for (uint64_t found; u->left-- > 0 && (found = dwarf_unsigned(r)) != 0;) {
        if (found < KNOWN && !u->known[found])
            u->known[found] = r->at;
        if (found == code)
            return true;
        dwarf_unsigned(r);  /* its tag */
        dwarf_number(r, 1); /* whether it has children */
        for (uint64_t name = 1, form = 1; (name || form) && !r->bad;) {
            name = dwarf_unsigned(r);
            form = dwarf_unsigned(r);
            if (form == DW_FORM_implicit_const)
                dwarf_signed(r);
        }
    }
    return false;
}

static int attribute_of(uint64_t number)
{
    for (int i = 0; i < ATTRIBUTES; i++)
        if (numbers[i] == number)
            return i;
    return ATTRIBUTES;
}

/* Reads the entry at the reader, which is then at the next one. The end of a list of children is an entry
 * without a tag. Returns false if it is damaged. */
static bool read_entry(struct unit *u, struct dwarf_reader *r, struct entry *e)
{
    struct dwarf_reader form_list;
    uint64_t code = dwarf_unsigned(r);
    *e = (struct entry){.tag = 0};
    if (!code)
        return !r->bad;
    if (!find_abbreviation(u, code, &form_list))
        return false;
    e->tag = dwarf_unsigned(&form_list);
    dwarf_number(&form_list, 1);
    for (;;) {
        uint64_t number = dwarf_unsigned(&form_list), form = dwarf_unsigned(&form_list);
        int64_t constant = form == DW_FORM_implicit_const ? dwarf_signed(&form_list) : 0;
        if (form_list.bad || (!number && !form))
            break;
        struct dwarf_value v = dwarf_read_value(r, form, constant);
        int k = attribute_of(number);
        if (k < ATTRIBUTES)
            e->values[k] = v;
    }
    return !r->bad && !form_list.bad;
}

/* --- values --- */

static struct dwarf_reader reader_of(const struct unit *u, struct dwarf_bytes section,
                                     uint64_t offset)
{
    struct dwarf_reader r = dwarf_reader_at(section, offset);
    r.version = u->entries.version;
    r.wide = u->entries.wide;
    r.address_bytes = u->entries.address_bytes;
    return r;
}

/* Reads an address by its index in the unit's part of .debug_addr. */
static uint64_t address_at(const struct unit *u, uint64_t index)
{
    struct dwarf_reader r = reader_of(u, u->s->addr, u->bases[ADDR_BASE]);
    dwarf_skip(&r, index < UINT32_MAX ? index * (uint64_t)r.address_bytes : UINT64_MAX);
    return dwarf_number(&r, r.address_bytes);
}

static bool is_address(const struct dwarf_value *v)
{
    return v->form == DW_FORM_addr || v->form == DW_FORM_addrx ||
           (v->form >= DW_FORM_addrx1 && v->form <= DW_FORM_addrx4);
}

static uint64_t address_of(const struct unit *u, const struct dwarf_value *v)
{
    return v->form == DW_FORM_addr ? v->number : address_at(u, v->number);
}

static const char *text_of(const struct unit *u, const struct dwarf_value *v)
{
    if (v->form != DW_FORM_strx && (v->form < DW_FORM_strx1 || v->form > DW_FORM_strx4))
        return dwarf_value_text(u->s, v);
    struct dwarf_reader r = reader_of(u, u->s->str_offsets, u->bases[STR_OFFSETS_BASE]);
    dwarf_skip(&r, v->number < UINT32_MAX ? v->number * (r.wide ? 8 : 4) : UINT64_MAX);
    const struct dwarf_value in_section = {.form = DW_FORM_strp, .number = dwarf_offset(&r)};
    return r.bad ? NULL : dwarf_value_text(u->s, &in_section);
}

/* --- addresses of an entry --- */

/* Returns true if a range has the address. Notes the range. */
static bool covers(struct unit *u, uint64_t from, uint64_t to, uint64_t address)
{
    if (from >= to)
        return false;
    u->from = from < u->from ? from : u->from;
    u->to = to > u->to ? to : u->to;
    return address - from < to - from;
}

/* Searches a list before DWARF 5: pairs of addresses from a base, which a pair can set. */
static bool in_ranges(struct unit *u, uint64_t list, uint64_t address)
{
    struct dwarf_reader r = reader_of(u, u->s->ranges, list);
    uint64_t base = u->low, last = UINT64_MAX >> (64 - 8 * r.address_bytes);
    while (!r.bad && u->left-- > 0) {
        uint64_t from = dwarf_number(&r, r.address_bytes), to = dwarf_number(&r, r.address_bytes);
        if (!from && !to)
            return false;
        if (from == last)
            base = to;
        else if (!r.bad && covers(u, base + from, base + to, address))
            return true;
    }
    return false;
}

/* Searches a list of DWARF 5, section 7.25. */
static bool in_range_list(struct unit *u, const struct dwarf_value *v, uint64_t address)
{
    enum {
        DW_RLE_base_addressx = 1,
        DW_RLE_startx_endx,
        DW_RLE_startx_length,
        DW_RLE_offset_pair,
        DW_RLE_base_address,
        DW_RLE_start_end,
        DW_RLE_start_length
    };
    uint64_t list = v->number, base = u->low;
    if (v->form == DW_FORM_rnglistx) {
        struct dwarf_reader at = reader_of(u, u->s->rnglists, u->bases[RNGLISTS_BASE]);
        dwarf_skip(&at, list < UINT32_MAX ? list * (at.wide ? 8 : 4) : UINT64_MAX);
        list = u->bases[RNGLISTS_BASE] + dwarf_offset(&at);
    }
    struct dwarf_reader r = reader_of(u, u->s->rnglists, list);
    while (!r.bad && u->left-- > 0) {
        uint64_t kind = dwarf_number(&r, 1), from = 0, to = 0;
        bool full = kind >= DW_RLE_base_address; /* addresses, in place of their indices */
        if (!kind || kind > DW_RLE_start_length)
            return false;
        if (kind == DW_RLE_offset_pair)
            from = base + dwarf_unsigned(&r);
        else
            from = full ? dwarf_number(&r, r.address_bytes) : address_at(u, dwarf_unsigned(&r));
        if (kind == DW_RLE_base_addressx || kind == DW_RLE_base_address) {
            base = from;
            continue;
        }
        if (kind == DW_RLE_start_end)
            to = dwarf_number(&r, r.address_bytes);
        else
            to = dwarf_unsigned(&r);
        to = kind == DW_RLE_startx_endx   ? address_at(u, to)
             : kind == DW_RLE_offset_pair ? base + to
             : kind == DW_RLE_start_end   ? to
                                          : from + to;
        if (!r.bad && covers(u, from, to, address))
            return true;
    }
    return false;
}

/* Returns true if the entry has the address. If not, u->from and u->to are around all its addresses. */
static bool has_address(struct unit *u, const struct entry *e, uint64_t address)
{
    u->from = UINT64_MAX;
    u->to = 0;
    const struct dwarf_value *low = &e->values[LOW_PC], *high = &e->values[HIGH_PC];
    if (e->values[RANGES].form)
        return u->entries.version == 5 ? in_range_list(u, &e->values[RANGES], address)
                                       : in_ranges(u, e->values[RANGES].number, address);
    if (!is_address(low) || !high->form)
        return false;
    uint64_t from = address_of(u, low);
    uint64_t length = is_address(high) ? address_of(u, high) - from : high->number;
    return covers(u, from, from + length, address);
}

/* --- units --- */

/* Reads the header of a unit. Returns where the next one begins; NULL: it is the last, or damaged. */
static const unsigned char *read_unit(const struct dwarf_sections *s, const unsigned char *at,
                                      struct unit *u)
{
    struct dwarf_reader r = dwarf_reader_at(s->info, (uint64_t)(at - s->info.at));
    *u = (struct unit){.s = s, .begin = at, .left = 1 << 26};
    const unsigned char *next = dwarf_unit(&r);
    uint64_t type = DW_UT_compile;
    if (r.version == 5) {
        type = dwarf_number(&r, 1);
        r.address_bytes = (int)dwarf_number(&r, 1);
        u->abbreviations = dwarf_offset(&r);
    } else {
        u->abbreviations = dwarf_offset(&r);
        r.address_bytes = (int)dwarf_number(&r, 1);
    }
    bool read = r.version >= 2 && r.version <= 5 && type == DW_UT_compile &&
                (r.address_bytes == 4 || r.address_bytes == 8);
    if (!read)
        r.at = r.end;
    u->entries = r;
    return next > at && next < s->info.at + s->info.length ? next : NULL;
}

/* Reads the first entry, the unit's own. Returns true if the unit has the address. */
static bool begin_unit(struct unit *u, struct entry *e, uint64_t address)
{
    if (!read_entry(u, &u->entries, e))
        return false;
    for (int i = STR_OFFSETS_BASE; i <= RNGLISTS_BASE; i++)
        u->bases[i] = e->values[i].number;
    u->low = is_address(&e->values[LOW_PC]) ? address_of(u, &e->values[LOW_PC]) : 0;
    return !e->values[GNU_DWO_NAME].form && has_address(u, e, address);
}

/* Returns the name of a function, which another entry may have. */
static const char *name_of(struct unit *u, struct dwarf_value at)
{
    enum { MOST = 8 };
    for (int i = 0; i < MOST && at.form; i++) {
        struct entry e;
        struct dwarf_reader r = u->entries;
        uint64_t base = at.form == DW_FORM_ref_addr ? 0 : (uint64_t)(u->begin - u->s->info.at);
        if (at.number > UINT32_MAX || base + at.number >= u->s->info.length)
            return NULL;
        r.at = u->s->info.at + base + at.number;
        if (r.at < u->begin || r.at >= r.end || !read_entry(u, &r, &e)) /* also: of another unit */
            return NULL;
        const char *name = text_of(u, &e.values[LINKAGE_NAME]);
        name = name ? name : text_of(u, &e.values[NAME]);
        if (name)
            return name;
        at = e.values[e.values[ABSTRACT_ORIGIN].form ? ABSTRACT_ORIGIN : SPECIFICATION];
    }
    return NULL;
}

struct call {
    struct dwarf_value origin;
    uint64_t file, line;
};

/* The inlined calls of a unit. */
struct inlined {
    const unsigned char *at; /* its entry */
    uint64_t from, to;       /* around its addresses */
};
struct dwarf_index {
    struct dwarf_index *next;
    const unsigned char *unit; /* its header */
    VEC(struct inlined) calls;
};

/* Returns the unit's calls in their order, which the first search finds. */
static const struct dwarf_index *index_of(struct arena *a, struct dwarf_sections *s, struct unit *u)
{
    struct dwarf_index *index = s->indices;
    while (index && index->unit != u->begin)
        index = index->next;
    if (index)
        return index;
    index = arena_new(a, struct dwarf_index);
    index->next = s->indices;
    index->unit = u->begin;
    struct dwarf_reader r = u->entries;
    struct entry e;
    for (const unsigned char *at = r.at; at < r.end && read_entry(u, &r, &e); at = r.at) {
        if (e.tag != DW_TAG_inlined_subroutine)
            continue;
        has_address(u, &e, UINT64_MAX);
        vec_push(a, &index->calls, ((struct inlined){at, u->from, u->to}));
    }
    return s->indices = index;
}

/* Finds the inlined calls that have the address, the outermost first. */
static int find_calls(const struct dwarf_index *index, struct unit *u, uint64_t address,
                      struct call calls[DWARF_PLACES - 1])
{
    int count = 0;
    for (size_t i = 0; i < index->calls.count && count < DWARF_PLACES - 1; i++) {
        const struct inlined *call = &index->calls.data[i];
        struct dwarf_reader r = u->entries;
        struct entry e;
        r.at = call->at;
        if (address >= call->from && address < call->to && read_entry(u, &r, &e) &&
            has_address(u, &e, address))
            calls[count++] = (struct call){e.values[ABSTRACT_ORIGIN], e.values[CALL_FILE].number,
                                           e.values[CALL_LINE].number};
    }
    return count;
}

static int places_of(struct arena *a, struct dwarf_sections *s, struct unit *u,
                     const struct entry *own, uint64_t address,
                     struct dwarf_place list[DWARF_PLACES])
{
    struct call calls[DWARF_PLACES - 1];
    const char *folder = text_of(u, &own->values[COMP_DIR]);
    uint64_t table = own->values[STMT_LIST].number;
    int count = find_calls(index_of(a, s, u), u, address, calls), used = 1;
    list[0].function = NULL;
    if (!own->values[STMT_LIST].form || !dwarf_line_at(a, u->s, table, folder, address, &list[0]))
        return 0;
    while (count-- > 0) {
        const char *file = dwarf_file_path(a, u->s, table, folder, calls[count].file);
        list[used - 1].function = name_of(u, calls[count].origin);
        if (!file || !calls[count].line || calls[count].line > INT32_MAX)
            return used;
        list[used++] = (struct dwarf_place){NULL, file, (int)calls[count].line};
    }
    return used;
}

int dwarf_places(struct arena *a, struct dwarf_sections *s, uint64_t address,
                 struct dwarf_place list[DWARF_PLACES])
{
    for (const unsigned char *at = s->info.length ? s->info.at : NULL; at;) {
        struct unit u;
        struct entry own;
        at = read_unit(s, at, &u);
        if (!begin_unit(&u, &own, address))
            continue;
        int count = places_of(a, s, &u, &own, address, list);
        if (count)
            return count;
    }
    return 0;
}
