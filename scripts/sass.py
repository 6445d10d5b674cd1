#!/usr/bin/env python3
"""Counts the instructions of each kernel in a cubin, and of its inner loops, by kind.

    sass.py FILE.cubin [KERNEL]

It reads machine code of sm_80 and up: 16 bytes an instruction, the operation in bits 0-11 (for arithmetic, bits 9-11 tell
where the second operand comes from), the guard in 12-15, a relative branch's distance in words of 4 bytes. NVIDIA
publishes the names (CUDA Binary Utilities, "Instruction Set Reference"), not the numbers: these were read from nvdisasm's
listings, and only instructions that kernels like ours contain are named. The others are printed as numbers.
"""
import struct
import sys
from collections import Counter

NAMES = {
    0x002: "MOV", 0x004: "R2P", 0x005: "CS2R", 0x006: "VOTE", 0x007: "SEL", 0x008: "FSEL", 0x009: "FMNMX", 0x00a: "FSET",
    0x00b: "FSETP", 0x00c: "ISETP", 0x010: "IADD3", 0x011: "LEA", 0x012: "LOP3", 0x013: "IABS", 0x016: "PRMT",
    0x017: "IMNMX", 0x019: "SHF", 0x01a: "SGXT", 0x01c: "PLOP3", 0x020: "FMUL", 0x021: "FADD", 0x023: "FFMA",
    0x024: "IMAD", 0x025: "IMAD.WIDE", 0x027: "IMAD.HI", 0x028: "DMUL", 0x029: "DADD", 0x02a: "DSETP", 0x02b: "DFMA",
    0x030: "HADD2", 0x031: "HFMA2", 0x032: "HMUL2", 0x033: "HSET2", 0x034: "HSETP2", 0x035: "HFMA2.MMA", 0x036: "VIADD",
    0x037: "IMMA", 0x03b: "LDSM", 0x03c: "HMMA", 0x03e: "F2FP", 0x03f: "DMMA", 0x040: "HMNMX2", 0x044: "STSM", 0x045: "I2FP",
    0x046: "VIADDMNMX", 0x048: "VIMNMX", 0x082: "UMOV", 0x086: "VOTEU", 0x087: "USEL", 0x08c: "UISETP", 0x090: "UIADD3",
    0x091: "ULEA", 0x092: "ULOP3", 0x099: "USHF", 0x0a4: "UIMAD", 0x0a5: "UIMAD.WIDE", 0x0ca: "R2UR", 0x0b9: "ULDC",
    0x100: "FLO", 0x105: "F2I", 0x106: "I2F", 0x107: "FRND", 0x108: "MUFU", 0x109: "POPC", 0x110: "F2F", 0x111: "F2I",
    0x112: "I2F", 0x113: "FRND", 0x118: "NOP", 0x119: "S2R", 0x11a: "DEPBAR", 0x11d: "BAR", 0x11f: "S2UR", 0x141: "BSYNC",
    0x144: "CALL", 0x145: "BSSY", 0x147: "BRA", 0x148: "WARPSYNC", 0x14d: "EXIT", 0x150: "RET", 0x15d: "NANOSLEEP",
    0x180: "LD", 0x181: "LDG", 0x182: "LDC", 0x183: "LDL", 0x184: "LDS", 0x185: "ST", 0x186: "STG", 0x187: "STL",
    0x188: "STS", 0x189: "SHFL", 0x18a: "ATOM", 0x18c: "ATOMS", 0x18d: "ATOMS.CAS", 0x18e: "RED", 0x192: "MEMBAR",
    0x1a1: "MATCH", 0x1a2: "ATOM", 0x1a6: "RED", 0x1a8: "ATOMG", 0x1a9: "ATOMG.CAS", 0x1ac: "LDCU", 0x1ae: "LDGSTS",
    0x1af: "LDGDEPBAR", 0x1c3: "S2UR", 0x1c4: "REDUX",
}
KINDS = {
    "matrix": "HMMA IMMA DMMA",
    "multiply-add": "FFMA DFMA HFMA2 HFMA2.MMA",
    "shared": "LDSM LDS STS STSM ATOMS ATOMS.CAS",
    "global": "LDG STG LDGSTS ATOMG ATOMG.CAS ATOM RED LD ST",
    "local": "LDL STL",
    "order": "BAR DEPBAR LDGDEPBAR MEMBAR WARPSYNC BSSY BSYNC",
    "control": "BRA EXIT CALL RET NOP",
    "address": "IADD3 IMAD IMAD.WIDE IMAD.HI LEA LOP3 SHF SEL ISETP PLOP3 VIADD VIMNMX VIADDMNMX MOV CS2R PRMT IABS IMNMX "
               "UIADD3 ULEA ULOP3 USHF UIMAD UIMAD.WIDE UMOV USEL UISETP R2UR S2R S2UR LDC ULDC LDCU R2P",
}
KIND = {name: kind for kind, names in KINDS.items() for name in names.split()}
ALWAYS = 7  # the guard PT


class Instruction:
    def __init__(self, at, low, high, target):
        self.at = at
        self.guarded = (low >> 12 & 15) != ALWAYS
        self.name = NAMES.get(low & 0x1ff, f"{low & 0xfff:#05x}")
        self.kind = KIND.get(self.name, "arithmetic")
        self.target = target


def signed(value, bits):
    return value - (1 << bits) if value >> (bits - 1) else value


def branch_target(at, low, high, sm):
    if low & 0x1ff != 0x147:
        return None
    distance = signed((high << 64 | low) >> 34 & (1 << 48) - 1, 48)
    if sm >= 90:  # eight bits lower
        distance = distance << 8 | low >> 16 & 0xff
    return at + 16 + distance * 4


def read(path):
    """Returns {kernel: its instructions}, without the padding after the last one."""
    data = open(path, "rb").read()
    flags, = struct.unpack_from("<I", data, 0x30)
    sm = flags >> 8 & 0xff if flags >> 24 else flags & 0xff
    offset, = struct.unpack_from("<Q", data, 0x28)
    size, count, names_index = struct.unpack_from("<HHH", data, 0x3A)
    headers = [struct.unpack_from("<IIQQQQIIQQ", data, offset + i * size) for i in range(count)]
    names = data[headers[names_index][4]:][:headers[names_index][5]]
    kernels = {}
    for name, _, _, _, start, length, *_ in headers:
        text = names[name:names.index(b"\0", name)].decode()
        if not text.startswith(".text."):
            continue
        code = []
        for at in range(0, length, 16):
            low, high = struct.unpack_from("<QQ", data, start + at)
            code.append(Instruction(at, low, high, branch_target(at, low, high, sm)))
        while code and (code[-1].name == "NOP" or code[-1].target == code[-1].at):
            code.pop()
        kernels[text[6:]] = code
    return kernels


def loops(code):
    """Returns the bodies of the innermost loops: instructions between a branch back and its target."""
    spans = sorted({(i.target, i.at) for i in code if i.target is not None and i.target < i.at})
    inner = [s for s in spans if not any(t != s and s[0] <= t[0] and t[1] <= s[1] for t in spans)]
    return [[i for i in code if start <= i.at <= end] for start, end in inner]


def main_loop(code):
    """Returns the innermost loop with the most products, or else the longest; [] if there is none."""
    def weight(body):
        kinds = Counter(i.kind for i in body)
        return kinds["matrix"] * 1000 + kinds["multiply-add"], len(body)
    return max(loops(code), key=weight, default=[])


def summary(body):
    return Counter(i.kind for i in body)


def main():
    kernels = read(sys.argv[1])
    for name, code in kernels.items():
        if len(sys.argv) > 2 and name != sys.argv[2]:
            continue
        print(f"{name}: {len(code)} instructions")
        for body in loops(code):
            names = Counter(i.name for i in body)
            kinds = ", ".join(f"{k} {n}" for k, n in sorted(summary(body).items()))
            print(f"  loop {body[0].at:#x}-{body[-1].at:#x}: {len(body)} instructions: {kinds}")
            print("    " + " ".join(f"{n}:{c}" for n, c in names.most_common()))


if __name__ == "__main__":
    main()
