#include "driver/dwarf_read.h"

#include <string.h>

static void spoil(struct dwarf_reader *r)
{
    r->bad = true;
    r->at = r->end;
}

struct dwarf_reader dwarf_reader_at(struct dwarf_bytes section, uint64_t offset)
{
    static const unsigned char none[1];
    const unsigned char *at = section.length ? section.at : none;
    struct dwarf_reader r = {.at = at, .end = at + section.length};
    dwarf_skip(&r, offset);
    return r;
}

void dwarf_skip(struct dwarf_reader *r, uint64_t bytes)
{
    if (bytes > (uint64_t)(r->end - r->at))
        spoil(r);
    else
        r->at += bytes;
}

uint64_t dwarf_number(struct dwarf_reader *r, int bytes)
{
    uint64_t v = 0;
    if (bytes > 8 || r->end - r->at < bytes) {
        spoil(r);
        return 0;
    }
    for (int i = 0; i < bytes; i++)
        v |= (uint64_t)*r->at++ << 8 * i;
    return v;
}

/* Reads a number of 7 bits per byte; the eighth bit is set in all bytes except the last. */
static uint64_t read_leb(struct dwarf_reader *r, bool is_signed)
{
    uint64_t v = 0, byte;
    unsigned shift = 0;
    do {
        byte = dwarf_number(r, 1);
        if (shift < 64)
            v |= (byte & 0x7f) << shift;
        shift += 7;
    } while (byte & 0x80);
    if (is_signed && byte & 0x40 && shift < 64)
        v |= ~UINT64_C(0) << shift;
    return v;
}

uint64_t dwarf_unsigned(struct dwarf_reader *r)
{
    return read_leb(r, false);
}

int64_t dwarf_signed(struct dwarf_reader *r)
{
    return (int64_t)read_leb(r, true);
}

const char *dwarf_text(struct dwarf_reader *r)
{
    const char *text = (const char *)r->at;
    const unsigned char *end = r->at < r->end ? memchr(r->at, 0, (size_t)(r->end - r->at)) : NULL;
    if (!end) {
        spoil(r);
        return "";
    }
    r->at = end + 1;
    return text;
}

uint64_t dwarf_offset(struct dwarf_reader *r)
{
    return dwarf_number(r, r->wide ? 8 : 4);
}

const unsigned char *dwarf_unit(struct dwarf_reader *r)
{
    uint64_t length = dwarf_number(r, 4);
    r->wide = length == 0xffffffff;
    if (r->wide)
        length = dwarf_number(r, 8);
    if (length > (uint64_t)(r->end - r->at))
        spoil(r);
    else
        r->end = r->at + length;
    r->version = (int)dwarf_number(r, 2);
    return r->end;
}

static int bytes_of(const struct dwarf_reader *r, uint64_t form)
{
    switch (form) {
    case DW_FORM_data1:
    case DW_FORM_flag:
    case DW_FORM_ref1:
    case DW_FORM_strx1:
    case DW_FORM_addrx1: return 1;
    case DW_FORM_data2:
    case DW_FORM_ref2:
    case DW_FORM_strx2:
    case DW_FORM_addrx2: return 2;
    case DW_FORM_strx3:
    case DW_FORM_addrx3: return 3;
    case DW_FORM_data4:
    case DW_FORM_ref4:
    case DW_FORM_strx4:
    case DW_FORM_addrx4:
    case DW_FORM_ref_sup4: return 4;
    case DW_FORM_data8:
    case DW_FORM_ref8:
    case DW_FORM_ref_sig8:
    case DW_FORM_ref_sup8: return 8;
    case DW_FORM_addr: return r->address_bytes;
    case DW_FORM_ref_addr: return r->version == 2 ? r->address_bytes : r->wide ? 8 : 4;
    case DW_FORM_strp:
    case DW_FORM_line_strp:
    case DW_FORM_sec_offset:
    case DW_FORM_strp_sup:
    case DW_FORM_GNU_ref_alt:
    case DW_FORM_GNU_strp_alt: return r->wide ? 8 : 4;
    default: return 0;
    }
}

struct dwarf_value dwarf_read_value(struct dwarf_reader *r, uint64_t form, int64_t constant)
{
    if (form == DW_FORM_indirect)
        form = dwarf_unsigned(r);
    struct dwarf_value v = {.form = form};
    int bytes = bytes_of(r, form);
    if (bytes) {
        v.number = dwarf_number(r, bytes);
        return v;
    }
    switch (form) {
    case DW_FORM_flag_present: v.number = 1; break;
    case DW_FORM_implicit_const: v.number = (uint64_t)constant; break;
    case DW_FORM_udata:
    case DW_FORM_ref_udata:
    case DW_FORM_strx:
    case DW_FORM_addrx:
    case DW_FORM_loclistx:
    case DW_FORM_rnglistx: v.number = dwarf_unsigned(r); break;
    case DW_FORM_sdata: v.number = (uint64_t)dwarf_signed(r); break;
    case DW_FORM_string: v.text = dwarf_text(r); break;
    case DW_FORM_block1: dwarf_skip(r, dwarf_number(r, 1)); break;
    case DW_FORM_block2: dwarf_skip(r, dwarf_number(r, 2)); break;
    case DW_FORM_block4: dwarf_skip(r, dwarf_number(r, 4)); break;
    case DW_FORM_block:
    case DW_FORM_exprloc: dwarf_skip(r, dwarf_unsigned(r)); break;
    case DW_FORM_data16: dwarf_skip(r, 16); break;
    default: spoil(r);
    }
    return v;
}

const char *dwarf_value_text(const struct dwarf_sections *s, const struct dwarf_value *v)
{
    if (v->form != DW_FORM_strp && v->form != DW_FORM_line_strp)
        return v->text;
    struct dwarf_reader r =
        dwarf_reader_at(v->form == DW_FORM_strp ? s->str : s->line_str, v->number);
    const char *text = dwarf_text(&r);
    return r.bad ? NULL : text;
}
