/* Readers of DWARF's sections. A reader that meets the end of its bytes is bad from then on: it gives zeros
 * and empty texts. */
#ifndef TW_DWARF_READ_H
#define TW_DWARF_READ_H

#include "driver/dwarf.h"

struct dwarf_reader {
    const unsigned char *at, *end;
    bool bad;
    /* of the unit that is read */
    int version, address_bytes;
    bool wide; /* offsets have 8 bytes */
};
struct dwarf_reader dwarf_reader_at(struct dwarf_bytes section, uint64_t offset);
uint64_t dwarf_number(struct dwarf_reader *r, int bytes); /* at most 8, little-endian */
uint64_t dwarf_unsigned(struct dwarf_reader *r);          /* of any length (LEB128) */
int64_t dwarf_signed(struct dwarf_reader *r);
const char *dwarf_text(struct dwarf_reader *r);
void dwarf_skip(struct dwarf_reader *r, uint64_t bytes);
uint64_t dwarf_offset(struct dwarf_reader *r);
/* Reads the length and the version of a unit. Its end becomes the reader's; returns where the next unit
 * begins. */
const unsigned char *dwarf_unit(struct dwarf_reader *r);

enum dwarf_form {
    DW_FORM_addr = 0x01,
    DW_FORM_block2 = 0x03,
    DW_FORM_block4 = 0x04,
    DW_FORM_data2 = 0x05,
    DW_FORM_data4 = 0x06,
    DW_FORM_data8 = 0x07,
    DW_FORM_string = 0x08,
    DW_FORM_block = 0x09,
    DW_FORM_block1 = 0x0a,
    DW_FORM_data1 = 0x0b,
    DW_FORM_flag = 0x0c,
    DW_FORM_sdata = 0x0d,
    DW_FORM_strp = 0x0e,
    DW_FORM_udata = 0x0f,
    DW_FORM_ref_addr = 0x10,
    DW_FORM_ref1 = 0x11,
    DW_FORM_ref2 = 0x12,
    DW_FORM_ref4 = 0x13,
    DW_FORM_ref8 = 0x14,
    DW_FORM_ref_udata = 0x15,
    DW_FORM_indirect = 0x16,
    DW_FORM_sec_offset = 0x17,
    DW_FORM_exprloc = 0x18,
    DW_FORM_flag_present = 0x19,
    DW_FORM_strx = 0x1a,
    DW_FORM_addrx = 0x1b,
    DW_FORM_ref_sup4 = 0x1c,
    DW_FORM_strp_sup = 0x1d,
    DW_FORM_data16 = 0x1e,
    DW_FORM_line_strp = 0x1f,
    DW_FORM_ref_sig8 = 0x20,
    DW_FORM_implicit_const = 0x21,
    DW_FORM_loclistx = 0x22,
    DW_FORM_rnglistx = 0x23,
    DW_FORM_ref_sup8 = 0x24,
    DW_FORM_strx1 = 0x25,
    DW_FORM_strx2 = 0x26,
    DW_FORM_strx3 = 0x27,
    DW_FORM_strx4 = 0x28,
    DW_FORM_addrx1 = 0x29,
    DW_FORM_addrx2 = 0x2a,
    DW_FORM_addrx3 = 0x2b,
    DW_FORM_addrx4 = 0x2c,
    DW_FORM_GNU_ref_alt = 0x1f20,
    DW_FORM_GNU_strp_alt = 0x1f21
};
/* The value of an attribute: a number, of which the form says what it means, or a text. */
struct dwarf_value {
    uint64_t form; /* 0: there is none */
    uint64_t number;
    const char *text; /* of DW_FORM_string */
};
/* Reads a value; `constant` is that of DW_FORM_implicit_const. A form of a later standard makes the
 * reader bad, because its length is not known. */
struct dwarf_value dwarf_read_value(struct dwarf_reader *r, uint64_t form, int64_t constant);
/* Returns the text of a value that is in the unit or in a section of texts; NULL: none. */
const char *dwarf_value_text(const struct dwarf_sections *s, const struct dwarf_value *v);

/* Finds the line of an address in the line table at an offset of its section. `folder`: that of the
 * compilation, which tables before DWARF 5 do not have (NULL: not known). Returns false if the table has
 * no such address. */
bool dwarf_line_at(struct arena *a, const struct dwarf_sections *s, uint64_t table,
                   const char *folder, uint64_t address, struct dwarf_place *p);
/* Returns the path of a file by its number in a line table; NULL: it has none. */
const char *dwarf_file_path(struct arena *a, const struct dwarf_sections *s, uint64_t table,
                            const char *folder, uint64_t number);

#endif
