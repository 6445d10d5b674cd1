"""The part of NVIDIA's driver that the scripts that take readings need: $TILEWRIGHT_CUDA_DRIVER, else libcuda.so.1."""
import ctypes
import os
import sys

FUNCTION_MAX_DYNAMIC_SHARED = 8  # CUfunction_attribute


class Driver:
    """The first GPU, in its primary context. A call that fails ends the script."""

    def __init__(self):
        self.cuda = ctypes.CDLL(os.environ.get("TILEWRIGHT_CUDA_DRIVER") or "libcuda.so.1")
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self.call("cuInit", 0)
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxPushCurrent_v2", context)

    def call(self, name, *arguments):
        status = getattr(self.cuda, name)(*arguments)
        if status:
            sys.exit(f"{name}: status {status}")

    def load(self, image):
        """Loads a module of PTX or of a cubin, bytes; None: the driver refuses it."""
        module = ctypes.c_void_p()
        refused = self.cuda.cuModuleLoadDataEx(ctypes.byref(module), image + b"\0", 0, None, None)
        return None if refused else module

    def function(self, module, name, shared=0):
        """Returns a kernel that may use `shared` bytes of dynamic shared memory; None: no kernel has that name."""
        function = ctypes.c_void_p()
        if self.cuda.cuModuleGetFunction(ctypes.byref(function), module, name.encode()):
            return None
        if shared:
            self.call("cuFuncSetAttribute", function, FUNCTION_MAX_DYNAMIC_SHARED, shared)
        return function

    def allocate(self, size, data=None):
        """Returns an address of memory, which holds the data if there is any."""
        address = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(size))
        if data is not None:
            self.write(address, data)
        return address

    def write(self, address, data):
        self.call("cuMemcpyHtoDAsync_v2", address, bytes(data), ctypes.c_size_t(len(data)), None)
        self.wait()

    def read(self, address, size):
        data = ctypes.create_string_buffer(size)
        self.call("cuMemcpyDtoHAsync_v2", data, address, ctypes.c_size_t(size), None)
        self.wait()
        return data.raw

    def launch(self, function, threads, arguments, shared=0):
        """Launches one block; arguments: ctypes objects with the parameters' values."""
        pointers = (ctypes.c_void_p * len(arguments))(*[ctypes.cast(ctypes.byref(a), ctypes.c_void_p) for a in arguments])
        self.call("cuLaunchKernel", function, 1, 1, 1, threads, 1, 1, shared, None, pointers, None)

    def wait(self):
        self.call("cuCtxSynchronize")
