#!/usr/bin/env python3
"""What an NVIDIA GPU gives for the instructions of the simulator's test (tests/sim/test_sim_readings.c).

    take_readings.py PTX_OR_CUBIN OPERANDS LIST OUT [ALL]

PTX, OPERANDS and LIST are what test_sim_readings writes with TW_READINGS=FOLDER. OUT becomes a copy of LIST's readings:
for each the values of the first 32 threads, and a hash of all of them. ALL: all of them as they lie in memory.
"""
import ctypes
import struct
import sys

THREADS, SHOWN = 256, 32


class Driver:
    def __init__(self):
        self.cuda = ctypes.CDLL("libcuda.so.1")
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self.call("cuInit", 0)
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxSetCurrent", context)

    def call(self, name, *arguments):
        status = getattr(self.cuda, name)(*arguments)
        if status:
            sys.exit(f"{name}: status {status}")

    def allocate(self, data):
        address = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(len(data)))
        self.call("cuMemcpyHtoD_v2", address, bytes(data), ctypes.c_size_t(len(data)))
        return address


def fnv(data):
    value = 0xcbf29ce484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001b3 & 0xffffffffffffffff
    return value


def main():
    code, operands, listing, out = sys.argv[1:5]
    rows = [line.split() for line in open(listing)]
    readings = [(int(offset), int(size)) for offset, size in rows]
    total = max(offset + size * THREADS for offset, size in readings)
    driver = Driver()
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    driver.call("cuModuleLoadData", ctypes.byref(module), open(code, "rb").read() + b"\0")
    results = driver.allocate(bytes(total))
    given = driver.allocate(open(operands, "rb").read())
    pointers = (ctypes.c_void_p * 2)(ctypes.cast(ctypes.byref(results), ctypes.c_void_p),
                                     ctypes.cast(ctypes.byref(given), ctypes.c_void_p))
    number = 0
    while driver.cuda.cuModuleGetFunction(ctypes.byref(function), module, f"group_{number}".encode()) == 0:
        driver.call("cuLaunchKernel", function, 1, 1, 1, THREADS, 1, 1, 0, None, pointers, None)
        number += 1
    driver.call("cuCtxSynchronize")
    data = ctypes.create_string_buffer(total)
    driver.call("cuMemcpyDtoH_v2", data, results, ctypes.c_size_t(total))
    if len(sys.argv) > 5:
        open(sys.argv[5], "wb").write(data.raw)
    with open(out, "wb") as file:
        for offset, size in readings:
            values = data.raw[offset:offset + size * THREADS]
            file.write(struct.pack("<Q", fnv(values)) + values[:size * SHOWN])
    print(f"{number} kernels, {len(readings)} readings")


if __name__ == "__main__":
    main()
