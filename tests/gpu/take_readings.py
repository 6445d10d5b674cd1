#!/usr/bin/env python3
"""Takes the results of an NVIDIA GPU for the instructions of the simulator's test, test_sim_readings.c.

    take_readings.py take FOLDER OUT [RAW]   on a machine with a GPU: runs the program in FOLDER
    take_readings.py add READINGS OUT...     adds the readings taken to tests/sim/readings.bin
    take_readings.py drop READINGS KEY...    removes readings that the program no longer has

test_sim_readings with TW_READINGS=FOLDER writes FOLDER: readings.ptx (or readings.cubin, assembled from it), operands.bin, bytes.txt
(the number of bytes that the program writes) and list.txt, the readings that are wanted. OUT becomes a file of them, in the form that
readings_file.h describes; RAW gets all bytes that the program wrote. If readings differ from those in the file, `add` names them and
adds none of them.
"""
import ctypes
import os
import struct
import sys

from gpu_driver import Driver

THREADS, SHOWN, WORDS = 256, 32, 32


def fnv(data):
    value = 0xcbf29ce484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001b3 & 0xffffffffffffffff
    return value


def read(path):
    """Returns the hash of the operands and, by key, the bytes of a thread and the file's data."""
    data = open(path, "rb").read()
    head, _, body = data.partition(b"\n\n")
    lines = head.decode().split("\n")
    if lines[0] != "readings 1":
        sys.exit(f"{path}: not a file of readings")
    readings, at = {}, 0
    for line in lines[2:]:
        size, key = line.split(" ", 1)
        length = 8 + int(size) * SHOWN
        readings[key] = (int(size), body[at:at + length])
        at += length
    if at != len(body):
        sys.exit(f"{path}: {len(body)} bytes of readings, not {at}")
    return lines[1].split()[1], readings


def write(path, operands, readings):
    keys = sorted(readings)
    head = "".join(f"{readings[key][0]} {key}\n" for key in keys)
    with open(path, "wb") as file:
        file.write(f"readings 1\noperands {operands}\n{head}\n".encode())
        for key in keys:
            file.write(readings[key][1])


def load(driver, folder):
    for name in "readings.cubin", "readings.ptx":
        path = os.path.join(folder, name)
        module = driver.load(open(path, "rb").read()) if os.path.exists(path) else None
        if module:
            return module
    sys.exit(f"{folder}: no program that this machine loads")


def run(folder, operands, total):
    """Returns all bytes that the program writes, and the number of kernels."""
    driver = Driver()
    module = load(driver, folder)
    results, given = driver.allocate(total, bytes(total)), driver.allocate(len(operands), operands)
    words = ctypes.create_string_buffer(operands[:WORDS], WORDS)
    number = 0
    while function := driver.function(module, f"group_{number}"):
        driver.launch(function, THREADS, [results, given, words])
        number += 1
    driver.wait()
    return driver.read(results, total), number


def take(folder, out, raw=None):
    operands = open(os.path.join(folder, "operands.bin"), "rb").read()
    rows = [line.rstrip("\n").split(" ", 2) for line in open(os.path.join(folder, "list.txt"))]
    total = int(open(os.path.join(folder, "bytes.txt")).read())
    data, kernels = run(folder, operands, total)
    readings = {}
    for offset, size, key in rows:
        at, size = int(offset), int(size)
        values = data[at:at + size * THREADS]
        readings[key] = (size, struct.pack("<Q", fnv(values)) + values[:size * SHOWN])
    if raw:
        open(raw, "wb").write(data)
    write(out, f"{fnv(operands):016x}", readings)
    print(f"{kernels} kernels, {len(readings)} readings")


def add(path, *others):
    operands, readings = read(path)
    new, differ = 0, 0
    for other in others:
        its_operands, its_readings = read(other)
        if its_operands != operands:
            sys.exit(f"{other}: taken with other operands than {path}")
        for key, reading in its_readings.items():
            if key not in readings:
                readings[key] = reading
                new += 1
            elif readings[key] != reading:
                print(f"{other}: {key} differs")
                differ += 1
    write(path, operands, readings)
    print(f"{new} readings are new, {differ} differ")
    return differ != 0


def drop(path, *keys):
    operands, readings = read(path)
    for key in keys:
        del readings[key]
    write(path, operands, readings)


if __name__ == "__main__":
    commands = {"take": take, "add": add, "drop": drop}
    if len(sys.argv) < 4 or sys.argv[1] not in commands:
        sys.exit(__doc__)
    sys.exit(commands[sys.argv[1]](*sys.argv[2:]))
