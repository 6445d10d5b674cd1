"""Tile kernels from Python: NumPy arrays on the host, PyTorch tensors and the like on a GPU.

    import numpy as np
    import tilewright

    matmul = tilewright.load("kernels/matmul/shared.tile")["matmul_v1"]
    a, b = np.random.rand(127, 129).astype("f4"), np.random.rand(129, 131).astype("f4")
    c = np.empty((127, 131), "f4")
    matmul(127, 131, 129, a, b, c)

This file calls the C library (include/) by ctypes. It needs no build, and no other installed file than
libtilewright.so. It looks for the library at $TILEWRIGHT_LIBRARY, next to this file, in a build/ or
lib/ folder above it, and in the system's folders of libraries. It uses NumPy, PyTorch and CuPy if
the caller's arrays are theirs, and never imports them first.

Arrays are used in place, on the host (`__array_interface__`, the buffer protocol, DLPack) or on a
GPU (`__cuda_array_interface__`, DLPack); the device of the arrays is the device of the kernel. A
call on the host returns when it is done. A call on a GPU is put into a stream and returns at once: the
stream given, else PyTorch's current one, else the one that the arrays name, else the default stream.

Threads: everything here may be used from any thread, kernels from several at once. Ctrl-C ends a call
on the host, and `time_limit=` (seconds) one that takes longer.
"""
from __future__ import annotations

import ctypes
import ctypes.util
import difflib
import glob
import html
import itertools
import json
import math
import operator
import os
import re
import reprlib
import statistics
import struct
import sys
import threading
import time
import weakref
from collections.abc import Mapping
from ctypes import (POINTER, byref, c_bool, c_char_p, c_double, c_int, c_int32, c_int64, c_size_t, c_uint,
                    c_uint32, c_uint64, c_void_p)
from typing import Any, Callable, Iterable, Iterator, NamedTuple, Optional, Sequence, Tuple

__version__ = "1.0.0"
__all__ = [
    "Access", "ArgumentError", "Cancelled", "CompileError", "DeviceArray", "Edit", "Error", "Fault", "Finding",
    "Family", "Kernel", "Message", "Module", "NotAssumed", "NotFound", "Param", "RaceError", "Range", "Record",
    "Simulation", "TimeLimit", "Unsupported", "Verdict", "WrongValues", "allclose", "apply_fix", "bench", "cdiv",
    "compile", "devices", "empty", "family", "gpus", "load", "native_path", "passes", "table", "to_device", "view",
]

# --- declarations of the public headers: structs, types, statuses ---

MAX_RANK = 6
_DTYPES = ("f64 f32 tf32 f16 bf16 e4m3 e5m2 i64 i32 i16 i8 u64 u32 u16 u8 bool").split()
_F32, _TF32 = _DTYPES.index("f32"), _DTYPES.index("tf32")
_IS_FLOAT = [name in _DTYPES[:7] for name in _DTYPES]
_SIZES = [8, 4, 4, 2, 2, 1, 1, 8, 4, 2, 1, 8, 4, 2, 1, 1]
_OK, _NO_MEMORY, _BAD_ARGUMENT, _BAD_PROGRAM, _NO_FILE, _FAULT, _WRONG_VALUES = range(7)
_NOT_FOUND, _UNSUPPORTED, _CANCELLED, _UNSYNCHRONISED, _NOT_ASSUMED = range(7, 12)
_INTEGER, _FLOAT, _POINTER = 1, 2, 3  # tw_value_kind

# tw_array: size, data, dtype, place, rank, shape[6], bytes. Packed by hand, which is faster than a Structure.
_ARRAY = struct.Struct("@NPiii4x6qN")
_pack_array = _ARRAY.pack
_PRINT = ctypes.CFUNCTYPE(None, c_void_p, c_void_p, c_size_t)
_PROGRESS = ctypes.CFUNCTYPE(None, c_void_p, c_char_p, c_int64, c_int64)


class _Sized(ctypes.Structure):
    """A struct that begins with its size."""

    def __init__(self, **fields: Any) -> None:
        super().__init__(ctypes.sizeof(self), **fields)


# structs: scripts/python_structs.py writes them


class _Config(_Sized):
    _fields_ = [("size", c_size_t), ("resize", c_void_p), ("resize_user", c_void_p), ("threads", c_int),
                ("print", c_void_p), ("print_user", c_void_p), ("colour", c_bool), ("cancelled", c_void_p),
                ("cancelled_user", c_void_p), ("cache", c_char_p), ("device", c_int), ("parallel", c_void_p),
                ("parallel_user", c_void_p), ("check_steps", c_int64), ("progress", c_void_p),
                ("progress_user", c_void_p), ("import_path", c_char_p), ("bind", c_char_p),
                ("machine_bits", c_bool)]


class _Edit(ctypes.Structure):
    _fields_ = [("line", c_int), ("column", c_int), ("remove", c_int), ("insert", c_char_p)]


class _Access(ctypes.Structure):
    _fields_ = [("file", c_char_p), ("line", c_int), ("column", c_int), ("length", c_int), ("what", c_char_p),
                ("variable", c_char_p), ("rank", c_int), ("index", c_int64 * 6), ("thread", c_int),
                ("warp", c_int), ("block", c_int64), ("space", c_char_p), ("barrier_file", c_char_p),
                ("barrier_line", c_int), ("barrier_column", c_int)]


class _Message(_Sized):
    _fields_ = [("size", c_size_t), ("severity", c_int), ("file", c_char_p), ("line", c_int),
                ("column", c_int), ("text", c_char_p), ("shown", c_char_p), ("shown_notes", c_char_p),
                ("code", c_int), ("needs_sm", c_int), ("length", c_int), ("edits", POINTER(POINTER(_Edit))),
                ("edit_count", c_int), ("accesses", POINTER(POINTER(_Access))), ("access_count", c_int)]


class _Error(_Sized):
    _fields_ = [("size", c_size_t), ("status", c_int), ("code", c_int), ("line", c_int), ("column", c_int),
                ("file", ctypes.c_char * 256), ("text", ctypes.c_char * 1024)]


class _Value(ctypes.Structure):
    _fields_ = [("kind", c_int), ("i", c_int64)]


class _Param(_Sized):
    _fields_ = [("size", c_size_t), ("name", c_char_p), ("is_pointer", c_bool), ("is_const", c_bool),
                ("is_static", c_bool), ("is_ensured", c_bool), ("dtype", c_int), ("type_name", c_char_p),
                ("default_value", _Value), ("derived", c_char_p), ("rank", c_int), ("dims", c_char_p * 6),
                ("view", c_char_p)]


class _Tune(_Sized):
    _fields_ = [("size", c_size_t), ("name", c_char_p), ("group", c_int), ("count", c_int),
                ("values", POINTER(_Value))]


class _Type(_Sized):
    _fields_ = [("size", c_size_t), ("name", c_char_p), ("count", c_int), ("choices", POINTER(c_int))]


class _Verdict(_Sized):
    _fields_ = [("size", c_size_t), ("ok", c_bool), ("max_error", c_double), ("tolerance", c_double),
                ("got", c_double), ("want", c_double), ("view", c_char_p), ("rank", c_int),
                ("at", c_int64 * 6), ("checked", c_int64), ("undecided", c_int64), ("nans", c_int64)]


class _Tuned(_Sized):
    _fields_ = [("size", c_size_t), ("device", c_char_p), ("kernel", c_char_p), ("program", c_char_p),
                ("types", c_char_p), ("shape", c_char_p), ("sizes", c_char_p), ("tune", c_char_p),
                ("why", c_char_p), ("version", c_char_p), ("status", c_int), ("samples", c_int),
                ("milliseconds", c_double), ("measured", c_int64)]


class _Device(_Sized):
    _fields_ = [("size", c_size_t), ("name", c_char_p), ("description", ctypes.c_char * 256),
                ("cores", c_int), ("ordinal", c_int), ("capability", c_int), ("memory_bytes", c_int64),
                ("l2_bytes", c_int64), ("driver", c_int), ("model", ctypes.c_char * 96)]


class _Tile(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("what", c_char_p), ("shared", c_bool), ("type", c_int), ("bits", c_int),
                ("rank", c_int), ("shape", c_int64 * 6), ("layout", c_char_p), ("offset", c_int64),
                ("bytes", c_int64), ("form", c_char_p), ("places", POINTER(c_uint32)), ("held", c_int),
                ("in_register", c_int), ("copies", c_int), ("threads", POINTER(c_int32)),
                ("numbers", POINTER(c_int32)), ("register_count", c_int), ("registers", POINTER(c_char_p))]


class _TileAccess(ctypes.Structure):
    _fields_ = [("line", c_int), ("column", c_int), ("tile", c_char_p), ("shared", c_bool), ("store", c_bool),
                ("how", c_char_p), ("bytes", c_int), ("instructions", c_int64), ("wavefronts", c_int64),
                ("least", c_int64)]


class _Layouts(_Sized):
    _fields_ = [("size", c_size_t), ("block", c_int * 3), ("shared_bytes", c_int64), ("registers", c_int),
                ("tile_count", c_int), ("tiles", POINTER(_Tile)), ("access_count", c_int),
                ("accesses", POINTER(_TileAccess))]


class _TraceOptions(_Sized):
    _fields_ = [("size", c_size_t), ("format", c_int), ("block", c_int64 * 3), ("from", c_int64),
                ("events", c_int64), ("why", c_char_p), ("why_offset", c_int64), ("why_bytes", c_int64)]


class _SimTurn(ctypes.Structure):
    _fields_ = [("warp", c_int), ("steps", c_int64)]


class _SimOptions(_Sized):
    _fields_ = [("size", c_size_t), ("watch", c_uint), ("seed", c_uint64), ("late", c_bool),
                ("late_by", c_int64), ("step_limit", c_int64), ("suppressions", c_char_p),
                ("suppressions_name", c_char_p), ("same_value", c_int), ("volatiles", c_int),
                ("trace", POINTER(_TraceOptions)), ("order", POINTER(_SimTurn)), ("order_count", c_int),
                ("source_only", c_bool)]


class _SimFinding(ctypes.Structure):
    _fields_ = [("kind", c_char_p), ("message", c_char_p), ("fails", c_bool), ("suppressed", c_bool),
                ("file", c_char_p), ("line", c_int), ("column", c_int), ("other_file", c_char_p),
                ("other_line", c_int), ("other_column", c_int), ("code", c_int),
                ("accesses", POINTER(POINTER(_Access))), ("access_count", c_int), ("count", c_int64),
                ("text", c_char_p), ("json", c_char_p)]


class _WhyWriter(ctypes.Structure):
    _fields_ = [("block", c_int64 * 3), ("warp", c_int), ("lane", c_int), ("line", c_int), ("column", c_int),
                ("text", c_char_p), ("write", c_int64)]


class _WhyStep(ctypes.Structure):
    _fields_ = [("kind", c_char_p), ("time", c_int64), ("warp", c_int), ("lanes", c_uint32), ("line", c_int),
                ("column", c_int), ("text", c_char_p), ("event", c_int64), ("products", c_int64),
                ("element_count", c_int), ("elements", POINTER(c_char_p)), ("races", c_int64),
                ("writer_count", c_int), ("writers", POINTER(_WhyWriter))]


class _Why(ctypes.Structure):
    _fields_ = [("block", c_int64 * 3), ("thread", c_int), ("products", c_int64), ("global_reads", c_int64),
                ("global_writes", c_int64), ("shared_reads", c_int64), ("shared_writes", c_int64),
                ("complete", c_bool), ("step_count", c_int), ("steps", POINTER(_WhyStep))]


class _SimResult(_Sized):
    _fields_ = [("size", c_size_t), ("failures", c_int64), ("finding_count", c_int),
                ("findings", POINTER(_SimFinding)), ("warp_instructions", c_int64), ("seconds", c_double),
                ("ended", c_char_p), ("report", c_char_p), ("counted", c_void_p), ("counters", c_char_p),
                ("counters_json", c_char_p), ("json", c_char_p), ("trace", c_void_p),
                ("trace_bytes", c_size_t), ("why", POINTER(_Why))]


class _ExplainOptions(_Sized):
    _fields_ = [("size", c_size_t), ("gpu", c_char_p), ("registers", c_int), ("step_limit", c_int64)]


class _Range(ctypes.Structure):
    _fields_ = [("low", c_double), ("middle", c_double), ("high", c_double)]


class _Gpu(_Sized):
    _fields_ = [("size", c_size_t), ("name", c_char_p), ("aliases", c_char_p), ("target", c_char_p),
                ("memory", c_char_p), ("source", c_char_p), ("capability", c_int), ("multiprocessors", c_int),
                ("clock", c_double), ("tensor_clock", c_double), ("f64", c_double), ("f32", c_double),
                ("tensor_f64", c_double), ("tensor_tf32", c_double), ("tensor_f16", c_double),
                ("tensor_i8", c_double), ("tensor_fp8", c_double), ("memory_bytes", c_double),
                ("memory_bandwidth", c_double), ("l2_bytes", c_double), ("l2_bandwidth", _Range),
                ("shared_bandwidth", c_double), ("l1_bytes", c_int), ("shared_latency", c_int),
                ("l1_latency", c_int), ("l2_latency", c_int), ("memory_latency", c_int),
                ("shared_of_multiprocessor", c_int), ("shared_of_block", c_int),
                ("system_shared_bytes", c_int), ("registers", c_int), ("registers_of_thread", c_int),
                ("threads", c_int), ("warps", c_int), ("blocks", c_int), ("threads_of_block", c_int)]


class _Traffic(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("by_thread", c_double), ("by_request", c_double),
                ("read_by_thread", c_double), ("written_by_thread", c_double), ("read_by_request", c_double),
                ("written_by_request", c_double), ("read_by_element", c_double),
                ("written_by_element", c_double), ("moved", _Range), ("read", _Range), ("written", _Range),
                ("compulsory", c_double), ("intensity_by_thread", c_double),
                ("intensity_by_request", c_double), ("intensity", c_double)]


class _ExplainedLine(ctypes.Structure):
    _fields_ = [("file", c_char_p), ("line", c_int), ("instructions", c_double),
                ("shared_accesses", c_double), ("shared_wavefronts", c_double),
                ("shared_wavefronts_ideal", c_double), ("conflict_ways", c_double), ("requests", c_double),
                ("sectors", c_double), ("sectors_ideal", c_double), ("by_thread", c_double)]


class _ExplainedRequest(ctypes.Structure):
    _fields_ = [("array", c_char_p), ("block", c_int64), ("warp", c_int), ("mask", c_uint32),
                ("address", c_int64 * 32), ("wavefront", c_int * 32), ("units", c_double),
                ("units_ideal", c_double)]


class _ExplainedAccess(ctypes.Structure):
    _fields_ = [("file", c_char_p), ("line", c_int), ("column", c_int), ("shared", c_bool), ("store", c_bool),
                ("copy", c_bool), ("bytes", c_int), ("requests", c_double), ("units", c_double),
                ("units_ideal", c_double), ("ways", c_double), ("ways_by_element", c_double),
                ("lanes", _ExplainedRequest)]


class _Roof(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("title", c_char_p), ("unit", c_char_p), ("work", _Range),
                ("rate", c_double), ("seconds", _Range), ("share", c_double), ("flops", c_double)]


class _Explanation(_Sized):
    _fields_ = [("size", c_size_t), ("gpu", _Gpu), ("kernel", c_char_p), ("launches", c_bool),
                ("why_not", c_char_p), ("grid", c_int64 * 3), ("block", c_int * 3), ("blocks", c_int64),
                ("threads", c_int), ("shared_bytes", c_int64), ("registers", c_int),
                ("registers_known", c_bool), ("resident_blocks", c_int), ("resident_warps", c_int),
                ("occupancy", c_double), ("limiter", c_char_p), ("blocks_by_registers", c_int),
                ("blocks_by_shared", c_int), ("blocks_by_threads", c_int), ("blocks_by_limit", c_int),
                ("waves", c_double), ("wave_efficiency", c_double), ("flops", c_double),
                ("flops_executed", c_double), ("traffic", _Traffic * 4), ("l1_hit_rate", c_double),
                ("l2_hit_rate", c_double), ("shared_wavefronts", c_double),
                ("shared_wavefronts_ideal", c_double), ("line_count", c_int),
                ("lines", POINTER(_ExplainedLine)), ("access_count", c_int),
                ("accesses", POINTER(_ExplainedAccess)), ("roof_count", c_int), ("roofs", _Roof * 12),
                ("bound", c_char_p), ("bound_title", c_char_p), ("seconds", _Range),
                ("flops_per_second", c_double), ("verdict", c_char_p), ("advice", c_char_p),
                ("note_count", c_int), ("notes", POINTER(c_char_p)), ("sampled_blocks", c_int64),
                ("sampled_instructions", c_int64), ("host_seconds", c_double), ("atomics", POINTER(c_char_p)),
                ("copy_wavefronts", c_double), ("copy_wavefronts_ideal", c_double),
                ("wavefronts_as_written", c_double), ("wavefronts_ideal_as_written", c_double),
                ("ways_as_written", POINTER(c_double))]


class _Choice(_Sized):
    _fields_ = [("size", c_size_t), ("kernel", c_void_p), ("variant", c_char_p), ("tune", c_char_p),
                ("by", c_int), ("device", c_char_p), ("nearest", c_char_p), ("distance", c_double),
                ("milliseconds", c_double), ("compared", c_int), ("types", c_char_p)]


class _ProfilePart(ctypes.Structure):
    _fields_ = [("file", c_char_p), ("line", c_int), ("column", c_int), ("text", c_char_p),
                ("kind", c_char_p), ("title", c_char_p), ("operation", c_char_p), ("runs", c_int64),
                ("seconds", c_double), ("share", c_double), ("flops", c_double), ("read", c_double),
                ("written", c_double)]


class _ProfileProduct(ctypes.Structure):
    _fields_ = [("file", c_char_p), ("line", c_int), ("column", c_int), ("runs", c_int64),
                ("seconds", c_double), ("packing_seconds", c_double), ("flops", c_double),
                ("left", c_int64 * 4), ("right", c_int64 * 4), ("type", c_char_p)]


class _ProfileThread(ctypes.Structure):
    _fields_ = [("busy", c_double), ("blocks", c_int64)]


class _SlowPath(_Sized):
    _fields_ = [("size", c_size_t), ("code", c_char_p), ("file", c_char_p), ("line", c_int),
                ("column", c_int), ("cause_line", c_int), ("reason", c_char_p), ("way_out", c_char_p)]


class _Profile(_Sized):
    _fields_ = [("size", c_size_t), ("kernel", c_char_p), ("instructions", c_char_p), ("launches", c_int64),
                ("blocks", c_int64), ("seconds", c_double), ("thread_seconds", c_double),
                ("profiler", c_double), ("flops", c_double), ("read", c_double), ("written", c_double),
                ("array_bytes", c_double), ("step_count", c_int), ("line_count", c_int),
                ("kind_count", c_int), ("product_count", c_int), ("steps", POINTER(_ProfilePart)),
                ("lines", POINTER(_ProfilePart)), ("kinds", POINTER(_ProfilePart)),
                ("products", POINTER(_ProfileProduct)), ("thread_count", c_int),
                ("threads", POINTER(_ProfileThread)), ("reason_count", c_int),
                ("reasons", POINTER(_SlowPath)), ("bound_blocks", c_int64)]


_WATCH = {"races": 1, "barriers": 2, "memory": 4, "counters": 8, "exits": 16, "outputs": 32}

# end of structs

_ptr = POINTER(c_void_p)
_SIGNATURES = {
    "tw_version": (c_char_p,),
    "tw_status_text": (c_char_p, c_int),
    "tw_context_new": (c_int, POINTER(_Config), _ptr),
    "tw_bind_check": (c_int, c_char_p, c_char_p, c_size_t),
    "tw_context_free": (None, c_void_p),
    "tw_flag_is_set": (c_bool, c_void_p),
    "tw_context_messages": (c_char_p, c_void_p),
    "tw_code_name": (c_char_p, c_int),
    "tw_context_message": (c_bool, c_void_p, c_int, POINTER(_Message)),
    "tw_module_from_text": (c_int, c_void_p, c_char_p, c_char_p, c_size_t, _ptr),
    "tw_module_kernel_at": (c_void_p, c_void_p, c_int),
    "tw_kernel_for_target": (c_int, c_void_p, c_char_p, _ptr),
    "tw_kernel_name": (c_char_p, c_void_p),
    "tw_kernel_has_ensures": (c_bool, c_void_p),
    "tw_kernel_param_count": (c_int, c_void_p),
    "tw_kernel_param": (c_int, c_void_p, c_int, POINTER(_Param)),
    "tw_kernel_tune_count": (c_int, c_void_p),
    "tw_kernel_tune": (c_int, c_void_p, c_int, POINTER(_Tune)),
    "tw_kernel_type_count": (c_int, c_void_p),
    "tw_kernel_type": (c_int, c_void_p, c_int, POINTER(_Type)),
    "tw_launch_new": (c_int, c_void_p, _ptr),
    "tw_launch_free": (None, c_void_p),
    "tw_launch_set": (c_int, c_void_p, c_char_p, _Value),
    "tw_launch_tune": (c_int, c_void_p, c_char_p, _Value),
    "tw_launch_type": (c_int, c_void_p, c_char_p, c_int),
    "tw_launch_array": (c_int, c_void_p, c_char_p, c_char_p),
    "tw_launch_allow_overlap": (c_int, c_void_p, c_bool),
    "tw_launch_keep_inputs": (c_int, c_void_p, c_bool),
    "tw_launch_prepare": (c_int, c_void_p),
    "tw_launch_run": (c_int, c_void_p),
    "tw_launch_start": (c_int, c_void_p, c_void_p),
    "tw_launch_verify": (c_int, c_void_p, POINTER(_Verdict)),
    "tw_launch_check": (c_int, c_void_p),
    "tw_launch_undecided": (c_char_p, c_void_p),
    "tw_launch_show": (c_int, c_void_p, c_char_p, POINTER(c_char_p)),
    "tw_launch_show_stage": (c_int, c_void_p, c_int, POINTER(c_char_p)),
    "tw_launch_layouts": (c_int, c_void_p, POINTER(_Layouts)),
    "tw_launch_despite_races": (c_int, c_void_p, c_bool),
    "tw_launch_simulate": (c_int, c_void_p, POINTER(_SimOptions), POINTER(_SimResult)),
    "tw_launch_profile": (c_int, c_void_p, c_int, POINTER(_Profile)),
    "tw_launch_explain": (c_int, c_void_p, POINTER(_ExplainOptions), POINTER(_Explanation)),
    "tw_gpu_at": (c_bool, c_int, POINTER(_Gpu)),
    "tw_gpu_find": (c_bool, c_char_p, POINTER(_Gpu)),
    "tw_pass_name": (c_char_p, c_int),
    "tw_pass_summary": (c_char_p, c_int),
    "tw_launch_tuned": (c_int, c_void_p, c_void_p, c_char_p, c_bool, POINTER(_Tuned)),
    "tw_store_open_existing": (c_int, c_void_p, c_char_p, _ptr),
    "tw_store_close": (None, c_void_p),
    "tw_family_from_file": (c_int, c_void_p, c_char_p, c_char_p, c_char_p, _ptr),
    "tw_family_name": (c_char_p, c_void_p),
    "tw_family_kernel": (c_void_p, c_void_p, c_int),
    "tw_family_file": (c_char_p, c_void_p, c_int),
    "tw_family_type": (c_int, c_void_p, c_char_p, c_int),
    "tw_family_device": (c_int, c_void_p, c_char_p),
    "tw_family_same_bits": (c_int, c_void_p, c_bool),
    "tw_family_add_store": (c_int, c_void_p, c_void_p, c_char_p),
    "tw_family_add_table": (c_int, c_void_p, c_char_p, c_char_p),
    "tw_family_choose_for": (c_int, c_void_p, c_void_p, POINTER(_Choice)),
    "tw_family_launch": (c_int, c_void_p, POINTER(_Choice), _ptr),
    "tw_family_ready": (c_int, c_void_p, c_char_p, c_int, c_void_p, c_void_p),
    "tw_family_start": (c_int, c_void_p, c_char_p, c_int, c_void_p, c_void_p),
    "tw_entry_new": (c_int, c_void_p, _ptr),
    "tw_entry_start": (c_int, c_void_p, c_char_p, c_int, c_void_p, c_void_p),
    "tw_device_at": (c_bool, c_int, POINTER(_Device)),
    "tw_device_allocate": (c_int, c_void_p, c_size_t, _ptr),
    "tw_device_free": (c_int, c_void_p, c_void_p),
    "tw_device_copy_in": (c_int, c_void_p, c_void_p, c_void_p, c_size_t, c_void_p),
    "tw_device_copy_out": (c_int, c_void_p, c_void_p, c_void_p, c_size_t, c_void_p),
    "tw_stream_wait": (c_int, c_void_p, c_void_p),
    "tw_event_new": (c_int, c_void_p, _ptr),
    "tw_event_free": (c_int, c_void_p, c_void_p),
    "tw_event_record": (c_int, c_void_p, c_void_p, c_void_p),
    "tw_event_elapsed": (c_int, c_void_p, c_void_p, c_void_p, POINTER(c_double)),
}

# --- finding the library ---

_loaded: Any = None
_load_lock = threading.Lock()
_path = ""


def _candidates() -> Iterator[str]:
    given = os.environ.get("TILEWRIGHT_LIBRARY")
    if given:
        yield given
        return  # if it is set, no other place is searched
    folder = os.path.dirname(os.path.abspath(__file__))
    names = ("libtilewright.so.1", "libtilewright.so", "libtilewright.1.dylib", "libtilewright.dylib")
    for above in (folder, *(os.path.normpath(os.path.join(folder, *[".."] * n)) for n in (1, 2, 3))):
        for inside in ("", "build", "lib", "lib64", os.path.join("lib", "*-linux-gnu*")):
            for name in names:
                yield from sorted(glob.glob(os.path.join(glob.escape(above), inside, name)))
    yield "libtilewright.so.1"
    yield ctypes.util.find_library("tilewright") or "libtilewright.so"


def _open_library() -> Any:
    why = []
    for path in _candidates():
        try:
            return ctypes.CDLL(path), path
        except OSError as error:
            why.append(f"  {error}")
    raise ImportError("libtilewright.so is not found; $TILEWRIGHT_LIBRARY can name it, and `./dev build` "
                      "makes it in a checkout. Tried:\n" + "\n".join(why))


def _library() -> Any:
    """Returns the library, with the signatures of the functions that this file calls."""
    global _loaded, _path
    if _loaded:
        return _loaded
    with _load_lock:
        if not _loaded:
            library, path = _open_library()
            for name, (result, *arguments) in _SIGNATURES.items():
                function = getattr(library, name, None)
                if not function:
                    raise ImportError(f"{path} is no libtilewright of {__version__}: it has no {name}")
                function.restype, function.argtypes = result, arguments
            version = library.tw_version().decode()
            if version.split(".")[:2] != __version__.split(".")[:2]:
                raise ImportError(f"{path} is version {version}, tilewright.py is for {__version__}")
            _path, _loaded = path, library
    return _loaded


def native_path() -> str:
    """Returns the path of the C library in use."""
    _library()
    return _path


# --- errors ---


class Edit(NamedTuple):
    """A change of a program's text: at line and column, `remove` bytes are deleted and `insert` is inserted. Line and
    column count from 1, columns in bytes."""
    line: int
    column: int
    remove: int
    insert: str


class Access(NamedTuple):
    """An access of memory: its place in the program (`length`: bytes of the text there), `what` it does ("read",
    "write", "update", "copy"), the variable and the index of the element; the numbers of the thread and the warp in
    the block and of the block in the grid, x fastest; the `space` of memory. Unknown fields are None, 0 or ().
    `barrier`: (file, line, column) of the barrier that the thread passed last."""
    file: Optional[str]
    line: int
    column: int
    length: int
    what: str
    variable: Optional[str]
    index: Tuple[int, ...]
    thread: Optional[int]
    warp: Optional[int]
    block: Optional[int]
    space: Optional[str]
    barrier: Optional[Tuple[str, int, int]]


class Message(NamedTuple):
    """One message of the compiler. `severity`: "error", "warning" or "note"; `file` is None if the message has no
    place; lines and columns count from 1. `code` names the kind of message ("race"; docs/messages.md), `length` is
    the number of bytes of the line that it is about (0: not known), and `fix` has the edits that correct it, to be
    made together; () if there are none. `accesses`: those of a race and the like, the one at `line` first."""
    severity: str
    file: Optional[str]
    line: int
    column: int
    text: str
    code: str = "other"
    length: int = 0
    fix: Tuple[Edit, ...] = ()
    accesses: Tuple[Access, ...] = ()


def apply_fix(text: str, fix: Iterable[Edit]) -> str:
    """Returns a program's text with a message's `fix` applied."""
    raw = bytearray(text.encode())
    starts = [0, *(match.end() for match in re.finditer(b"\n", raw))]
    for edit in reversed(sorted(fix, key=lambda edit: (edit.line, edit.column))):
        if not 0 < edit.line <= len(starts):
            raise ArgumentError(f"the fix is for another text: this one has no line {edit.line}")
        at = starts[edit.line - 1] + edit.column - 1
        raw[at:at + edit.remove] = edit.insert.encode()
    return raw.decode()


class Error(RuntimeError):
    """An error that the library reports. str() is its text, with source lines and carets; `messages` has the
    same one by one."""

    def __init__(self, text: str, messages: Sequence[Message] = ()):
        super().__init__(text)
        self.messages = list(messages)


class CompileError(Error):
    """The program does not compile."""


class RaceError(CompileError):
    """The program compiles, but accesses to shared memory race."""


class ArgumentError(Error, ValueError):
    """An argument does not fit the kernel; the text names the parameter."""


class NotFound(ArgumentError, KeyError):
    """There is no kernel, target or stored result of that name; the text lists the names that there are."""

    __str__ = Error.__str__  # KeyError.__str__ would quote the text


class Cancelled(Error):
    """The call was ended, because Ctrl-C ended another thread's call on the same module."""


class TimeLimit(Cancelled, TimeoutError):
    """The call took longer than its `time_limit`. Its outputs are incomplete."""


class Fault(Error):
    """The kernel did something that is not allowed, or the GPU failed."""


class WrongValues(Error):
    """The values differ from what `ensures` says. `verdict` has the worst of them."""

    verdict: Optional[Verdict] = None


class NotAssumed(ArgumentError):
    """An assume() of the kernel does not hold for these arguments."""


class Unsupported(Error):
    """There is no GPU, or the device does not support something."""


_EXCEPTIONS = {_BAD_ARGUMENT: ArgumentError, _NOT_FOUND: NotFound, _BAD_PROGRAM: CompileError,
               _UNSYNCHRONISED: RaceError, _FAULT: Fault, _WRONG_VALUES: WrongValues, _CANCELLED: Cancelled,
               _UNSUPPORTED: Unsupported, _NOT_ASSUMED: NotAssumed}


def _text(value: Optional[bytes]) -> str:
    return (value or b"").decode("utf-8", "replace")


def _known(value: Optional[bytes]) -> Optional[str]:
    return None if value is None else _text(value)


def _access(a: _Access) -> Access:
    barrier = (_text(a.barrier_file), a.barrier_line, a.barrier_column) if a.barrier_line else None
    thread, warp, block = (None if number < 0 else number for number in (a.thread, a.warp, a.block))
    return Access(_known(a.file), a.line, a.column, a.length, _text(a.what), _known(a.variable),
                  tuple(a.index[:a.rank]), thread, warp, block, _known(a.space), barrier)


def _listed(names: Iterable[str], wanted: Any) -> str:
    """Returns a text that lists the names that exist, and suggests the ones closest to `wanted`."""
    names = list(names)
    near = difflib.get_close_matches(str(wanted), names, 1)
    return (", ".join(names) or "none") + (f"; did you mean `{near[0]}`?" if near else "")


_RENDERED = re.compile(r"^(?: *)(?:(.+?):(\d+):(\d+): )?(error|warning|note): (.*)$", re.M)


def _messages_of(text: str) -> list:
    """Returns the messages of a rendered text, the only form in which an entry's errors come."""
    return [Message(severity, file or None, int(line or 0), int(column or 0), said)
            for file, line, column, severity, said in _RENDERED.findall(text)]


def _raise(status: int, text: str, messages: Sequence[Message] = ()) -> None:
    text = text.rstrip("\n") or _text(_library().tw_status_text(status))
    messages = messages or _messages_of(text)
    # The exception's name already says "error"; a place would come before the word.
    text = re.sub(r"^error: ", "", text, flags=re.M)
    if status == _NO_MEMORY:
        raise MemoryError(text)
    raise _EXCEPTIONS.get(status, Error)(text, messages)


# --- arrays ---


# An array for a launch is a tuple, which is faster to make and compare than an object:
#   address, dtype (tw_dtype), shape, device (-1: the host, else the GPU's number), writable,
#   stream that its owner works in (None: not known)
_ADDRESS, _DTYPE, _SHAPE, _DEVICE, _WRITABLE, _STREAM = range(6)
_Array = tuple


_TYPESTR = {"f8": "f64", "f4": "f32", "f2": "f16", "i8": "i64", "i4": "i32", "i2": "i16", "i1": "i8",
            "u8": "u64", "u4": "u32", "u2": "u16", "u1": "u8", "b1": "bool"}
_TYPESTR_OF = {**{name: typestr for typestr, name in _TYPESTR.items()}, "tf32": "f4"}
_LONG_NAMES = {"float64": "f64", "float32": "f32", "float16": "f16", "bfloat16": "bf16",
               "float8_e4m3fn": "e4m3", "float8_e5m2": "e5m2", "bool": "bool", "bool_": "bool",
               **{f"{long}{bits}": f"{short}{bits}"
                  for long, short in (("int", "i"), ("uint", "u")) for bits in (8, 16, 32, 64)}}
_NATIVE = "<" if sys.byteorder == "little" else ">"
_LEGACY_STREAM = 1  # the default stream, in both protocols


def _dtype_index(dtype: Any) -> int:
    """Returns a tw_dtype. dtype: a name, a dtype of NumPy or PyTorch, or a scalar type (numpy.float32)."""
    name = dtype if isinstance(dtype, str) else getattr(dtype, "__name__", str(dtype))
    name = name[len("torch."):] if name.startswith("torch.") else name
    name = _LONG_NAMES.get(name, name)
    if name not in _DTYPES:
        raise ArgumentError(f"there is no element type {name}; there are {_listed(_DTYPES, name)}")
    return _DTYPES.index(name)


def _dtype_of_typestr(typestr: str, x: Any) -> int:
    if typestr[0] not in (_NATIVE, "|", "="):
        raise ArgumentError(f"has the other byte order ({typestr})")
    if typestr[1] == "V":  # only NumPy's own name tells which type: bfloat16, float8_e4m3fn of ml_dtypes
        name = _LONG_NAMES.get(str(getattr(x, "dtype", "")))
    else:
        name = _TYPESTR.get(typestr[1:])
    if not name:
        raise ArgumentError(f"has elements of type {getattr(x, 'dtype', typestr)}, which there is "
                            "none of here")
    return _DTYPES.index(name)


class _Scattered(ArgumentError):
    """The array is not row-major without gaps. The way out depends on its use: if the kernel writes to a copy, the
    caller never sees the values."""

    def __init__(self, shape: Sequence[int], strides: Sequence[int], ways: tuple, unit: str = ""):
        self.fact = (f"is not row-major and contiguous: shape {tuple(shape)} has strides "
                     f"{tuple(strides)}{unit}")
        self.copy, self.copy_back = ways
        super().__init__(f"{self.fact}; pass {self.copy}")

    def when_written(self, by: str) -> ArgumentError:
        return ArgumentError(f"{self.fact}, and {by} it: pass t = {self.copy}, and copy that back "
                             f"afterwards{self.copy_back}")


_OF_NUMPY = "numpy.ascontiguousarray(…)", ", …[...] = t"
_OF_TORCH = "it.contiguous()", ", it.copy_(t)"
_OF_OTHERS = "a contiguous copy", ""


def _need_compact(shape: Sequence[int], strides: Optional[Sequence[int]], unit: int,
                  ways: tuple = _OF_OTHERS) -> None:
    """Raises _Scattered unless the array is row-major without gaps; axes of one element may have any stride."""
    expected = unit
    if strides is None or 0 in shape:
        return
    for extent, stride in zip(reversed(shape), reversed(strides)):
        if extent != 1 and stride != expected:
            raise _Scattered(shape, strides, ways)
        expected *= extent


def _from_interface(x: Any) -> _Array:
    got = x.__array_interface__
    shape = got["shape"]
    dtype = _dtype_of_typestr(got["typestr"], x)
    if got.get("strides") is not None:
        _need_compact(shape, got["strides"], _SIZES[dtype], _OF_NUMPY)
    address, readonly = got["data"]
    return address, dtype, shape, -1, not readonly, None


def _from_numpy(x: Any) -> _Array:
    """Reads most arrays, in a third of the time: the buffer protocol only gives writable, contiguous ones."""
    try:
        return _address_of(_from_memory(x)), _numpy_dtypes[x.dtype], x.shape, -1, True, None
    except (BufferError, KeyError, TypeError, ValueError):
        array = _from_interface(x)
        if x.dtype.isnative:
            _numpy_dtypes[x.dtype] = array[_DTYPE]
        return array


_numpy_dtypes: dict = {}
_address_of, _from_memory = ctypes.addressof, ctypes.c_char.from_buffer


def _from_cuda_interface(x: Any) -> _Array:
    """CUDA Array Interface, version 3 (numba.readthedocs.io, "CUDA Array Interface")."""
    got = x.__cuda_array_interface__
    shape = tuple(got["shape"])
    dtype = _dtype_of_typestr(got["typestr"], x)
    _need_compact(shape, got.get("strides"), _SIZES[dtype])
    if got.get("mask") is not None:
        raise ArgumentError("is masked; pass the plain array")
    address, readonly = got["data"]
    device = getattr(x, "device", 0)  # CuPy has .id; Numba and others do not
    device = getattr(device, "id", device)
    return (address or 0, dtype, shape, device if isinstance(device, int) else 0, not readonly,
            got.get("stream"))


def _from_torch(x: Any) -> _Array:
    if not x.is_contiguous():
        raise _Scattered(x.shape, x.stride(), _OF_TORCH, " (in elements)")
    dtype = _torch_dtypes.get(x.dtype)
    if dtype is not None and getattr(x, "is_cpu", False):  # of PyTorch from 1.12 on; x.device takes three times as long
        return x.data_ptr(), dtype, x.shape, -1, True, None
    if dtype is None:
        name = _LONG_NAMES.get(str(x.dtype).rpartition(".")[2])
        if not name:
            raise ArgumentError(f"has elements of type {x.dtype}, which there is none of here")
        dtype = _torch_dtypes[x.dtype] = _DTYPES.index(name)
    if not x.is_cuda:
        if x.device.type != "cpu":
            raise ArgumentError(f"is on {x.device}; kernels run on the CPU and on CUDA GPUs")
        return x.data_ptr(), dtype, x.shape, -1, True, None
    device = x.get_device()
    return x.data_ptr(), dtype, x.shape, device, True, _torch_stream(device)


_torch_dtypes: dict = {}


def _torch_stream(device: int) -> int:
    torch = sys.modules["torch"]
    raw = getattr(torch._C, "_cuda_getCurrentRawStream", None)  # makes no Stream object
    return raw(device) if raw else torch.cuda.current_stream(device).cuda_stream


class _DLTensor(ctypes.Structure):  # github.com/dmlc/dlpack, dlpack.h
    _fields_ = [("data", c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
                ("rank", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16), ("shape", POINTER(c_int64)), ("strides", POINTER(c_int64)),
                ("byte_offset", ctypes.c_uint64)]


class _DLVersioned(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("manager", c_void_p),
                ("deleter", c_void_p), ("flags", ctypes.c_uint64), ("tensor", _DLTensor)]


_DL_TYPES = {(0, 8): "i8", (0, 16): "i16", (0, 32): "i32", (0, 64): "i64", (1, 8): "u8", (1, 16): "u16",
             (1, 32): "u32", (1, 64): "u64", (2, 16): "f16", (2, 32): "f32", (2, 64): "f64",
             (4, 16): "bf16", (6, 8): "bool", (10, 8): "e4m3", (12, 8): "e5m2"}
_DL_CPU, _DL_CUDA, _DL_CUDA_HOST, _DL_CUDA_MANAGED = 1, 2, 3, 13
_capsule_is = ctypes.PYFUNCTYPE(c_int, ctypes.py_object, c_char_p)(("PyCapsule_IsValid", ctypes.pythonapi))
_capsule_get = ctypes.PYFUNCTYPE(c_void_p, ctypes.py_object, c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi))


def _dl_capsule(x: Any, on_gpu: bool) -> Any:
    """Returns a capsule. It is not consumed: its own destructor frees the tensor after the call."""
    options = {"stream": _LEGACY_STREAM} if on_gpu else {}
    try:
        return x.__dlpack__(max_version=(1, 0), **options)
    except TypeError:  # from before DLPack 1.0
        return x.__dlpack__(**options)


def _dl_tensor(capsule: Any) -> tuple:
    """(tensor, writable)"""
    if _capsule_is(capsule, b"dltensor_versioned"):
        whole = _DLVersioned.from_address(_capsule_get(capsule, b"dltensor_versioned"))
        if whole.major != 1:
            raise ArgumentError(f"is described by DLPack {whole.major}, which is not known here")
        return whole.tensor, not whole.flags & 1
    if _capsule_is(capsule, b"dltensor"):
        return _DLTensor.from_address(_capsule_get(capsule, b"dltensor")), True
    raise ArgumentError("gives no DLPack tensor by __dlpack__()")


def _from_dlpack(x: Any) -> _Array:
    kind, device = x.__dlpack_device__()
    if kind not in (_DL_CPU, _DL_CUDA, _DL_CUDA_HOST, _DL_CUDA_MANAGED):
        raise ArgumentError(f"is on a device of DLPack's type {int(kind)}; kernels run on the CPU "
                            "and on CUDA GPUs")
    on_gpu = kind in (_DL_CUDA, _DL_CUDA_MANAGED)
    capsule = _dl_capsule(x, on_gpu)
    tensor, writable = _dl_tensor(capsule)
    name = _DL_TYPES.get((tensor.code, tensor.bits)) if tensor.lanes == 1 else None
    if not name:
        raise ArgumentError(f"has elements of DLPack's code {tensor.code}, {tensor.bits} bits, "
                            f"{tensor.lanes} lanes: there is no such element type here")
    shape = tuple(tensor.shape[:tensor.rank])
    if tensor.strides:
        _need_compact(shape, tensor.strides[:tensor.rank], 1)
    address = (tensor.data or 0) + tensor.byte_offset
    return (address, _DTYPES.index(name), shape, device if on_gpu else -1, writable,
            _LEGACY_STREAM if on_gpu else None)


_FORMATS = {"d": "f64", "f": "f32", "e": "f16", "?": "bool", "b": "i8", "h": "i16", "i": "i32",
            "q": "i64", "B": "u8", "H": "u16", "I": "u32", "Q": "u64",
            "l": f"i{8 * struct.calcsize('l')}", "L": f"u{8 * struct.calcsize('L')}"}


def _from_buffer(x: Any) -> _Array:
    """Reads array.array, bytearray, memoryview (its cast() gives more axes), and arrays of ctypes."""
    seen = memoryview(x)
    name = _FORMATS.get(seen.format.lstrip("@=" + _NATIVE))
    if not name:
        raise ArgumentError(f"has elements of format '{seen.format}', which there is none of here")
    _need_compact(seen.shape, seen.strides, seen.itemsize)
    if seen.readonly:
        raise ArgumentError("is read-only memory without an address to be had; pass a bytearray, or "
                            "a NumPy array")
    address = ctypes.addressof(ctypes.c_char.from_buffer(seen)) if seen.nbytes else 0
    return address, _DTYPES.index(name), seen.shape, -1, True, None


def _reader(x: Any) -> Callable[[Any], _Array]:
    """Returns the function that reads arrays of this type. PyTorch's tensors are read by their own methods, which are
    faster than its interfaces, know bfloat16 and float8, and accept tensors that require gradients."""
    kind = type(x)
    if any(base.__module__ == "torch" and base.__name__ == "Tensor" for base in kind.__mro__):
        return _from_torch
    if kind.__module__ == "numpy" and kind.__name__ == "ndarray":
        return _from_numpy
    for attribute, reader in (("__array_interface__", _from_interface),
                              ("__cuda_array_interface__", _from_cuda_interface),
                              ("__dlpack__", _from_dlpack)):
        if hasattr(x, attribute):
            return reader
    try:
        memoryview(x)
    except TypeError:
        raise TypeError(f"is a {kind.__name__}, expected an array (by __array_interface__, "
                        "__cuda_array_interface__, DLPack or the buffer protocol)") from None
    return _from_buffer


_readers: dict = {}


def _describe(x: Any) -> _Array:
    reader = _readers.get(type(x))
    if not reader:
        reader = _readers[type(x)] = _reader(x)
    return reader(x)


def _describe_target(x: Any, by: str) -> _Array:
    """Reads an array that the kernel writes; `by` names the caller in messages."""
    try:
        return _describe(x)
    except _Scattered as error:
        raise error.when_written(by) from None


def _describe_writable(x: Any) -> _Array:
    array = _describe_target(x, "the kernel may write")
    if not array[_WRITABLE]:
        raise ArgumentError("is read-only, and the kernel may write it")
    return array


def _quickly(x: Any) -> _Array:
    """Reads an array of a type that was read before; raises KeyError for others."""
    return _readers[type(x)](x)


def _writable_quickly(x: Any) -> _Array:
    array = _readers[type(x)](x)
    if not array[_WRITABLE]:
        raise ValueError("is read-only")
    return array


_QUICK_TAKERS: dict = {_describe: _quickly, _describe_writable: _writable_quickly}  # without words for errors


def _as_type(array: _Array, dtype: int) -> _Array:
    return (array[_ADDRESS], dtype, *array[_SHAPE:])


class _View:
    """An array whose bits are read as another element type."""

    def __init__(self, array: Any, dtype: int):
        self.array, self.dtype = array, dtype


def _from_view(x: _View) -> _Array:
    return _as_type(_describe(x.array), x.dtype)


def view(array: Any, dtype: Any) -> Any:
    """Returns the same memory with elements of another type of the same width, for a kernel's argument:
    `view(a, "bf16")` of a NumPy array of uint16, because NumPy has no such type."""
    index = _dtype_index(dtype)
    width = _SIZES[_describe(array)[_DTYPE]]
    if width != _SIZES[index]:
        raise ArgumentError(f"elements of {width} bytes cannot be taken as {_DTYPES[index]}")
    return _View(array, index)


_readers[_View] = _from_view

# --- calls that may take long ---

# While the main thread runs code of the library, Python does not handle signals. So a call that may take long runs
# in a thread of its own, and the main thread waits for it in Python. Ctrl-C then raises KeyboardInterrupt in the
# main thread, which sets the flag that the library polls, and the call ends.
_QUICK = 0.01  # seconds: a kernel that took less is called directly the next time


def _set_and_wait(flag: Any, done: Any) -> None:
    flag.value = True
    try:
        done.wait()  # a second Ctrl-C does not wait for a call on a GPU, which cannot be ended
    finally:
        if done.is_set():
            flag.value = False


def _on_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


def _interruptibly(flag: Any, function: Callable[..., Any], arguments: tuple,
                   time_limit: Optional[float] = None) -> Any:
    """Calls a function of the library. KeyboardInterrupt and TimeLimit end it early."""
    if time_limit is None and not _on_main_thread():
        return function(*arguments)  # signals interrupt only the main thread
    done, result, failed = threading.Event(), [], []

    def work() -> None:
        try:
            result.append(function(*arguments))
        except BaseException as error:  # noqa: BLE001 (of ctypes; the waiting thread raises it)
            failed.append(error)
        finally:
            done.set()

    try:
        threading.Thread(target=work, daemon=True).start()
        in_time = done.wait(time_limit)
    except BaseException:  # KeyboardInterrupt, or an exception of another signal handler
        _set_and_wait(flag, done)
        raise
    if not in_time:
        _set_and_wait(flag, done)
    if failed:
        raise failed[0]
    if not in_time and result[0] == _CANCELLED:
        raise TimeLimit(f"the call took more than {time_limit:g} s, its time_limit, and was ended")
    return result[0]


def _limit(time_limit: Any) -> Optional[float]:
    if time_limit is None:
        return None
    seconds = _float(time_limit)
    if not 0 < seconds < threading.TIMEOUT_MAX:
        raise ArgumentError(f"time_limit={time_limit!r}: expected a number of seconds above 0")
    return seconds


# --- contexts ---

# A forked process lacks the threads that a context may have, and another thread may have been using a context at
# the fork. So the child makes contexts of its own.
_epoch = 0  # number of forks between the process that loaded this file and this one
_lost: list = []  # contexts from before a fork, which are never freed


def _after_fork() -> None:
    global _epoch, _load_lock, _gpu_lock
    _epoch += 1
    _lost.extend(_gpu_contexts.values())
    _gpu_contexts.clear()
    _load_lock, _gpu_lock = threading.Lock(), threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


@_PRINT
def _on_print(_user: Any, text: int, length: int) -> None:
    """Prints the text of a kernel's print()."""
    if sys.stdout:
        sys.stdout.write(ctypes.string_at(text, length).decode("utf-8", "replace"))


def _free_context(native: Any, handle: int, _flag: Any) -> None:
    """Frees a context. The flag is an argument because it must live as long as the context."""
    native.tw_context_free(handle)


class _Progress:
    """Passes the library's progress on to a function, at most ten times a second. True: to a line that is
    cleared when the call ends."""

    def __init__(self, progress: Any):
        self._show = progress_line if progress is True else progress
        self._clears, self._shown, self._latest = progress is True, False, time.monotonic()
        self.callback = _PROGRESS(self._take)  # kept: the library calls it

    def _take(self, _user: Any, doing: bytes, done: int, total: int) -> None:
        now = time.monotonic()
        if now - self._latest >= 0.1:
            self._latest, self._shown = now, True
            self._show(done, total, doing.decode())

    def end(self) -> None:
        if self._clears and self._shown:
            print("\r" + 79 * " " + "\r", end="", flush=True)
        self._shown = False


class _Options(NamedTuple):
    """The options that all contexts of a module share."""
    threads: int
    import_path: Optional[bytes]
    progress: Optional[_Progress]
    bind: Optional[bytes] = None
    machine_bits: bool = False


def _options(threads: Any, import_path: Any, progress: Any, bind: Any, machine_bits: Any) -> _Options:
    threads = operator.index(threads)
    if not 0 <= threads < 2**31:
        raise ArgumentError(f"threads={threads}: expected how many, or 0 for one a core")
    folders = [import_path] if isinstance(import_path, (str, bytes, os.PathLike)) else list(import_path or ())
    for folder in map(os.fsencode, folders):
        if b"\0" in folder:
            raise ArgumentError(f"import_path: the folder {os.fsdecode(folder)!r} has a NUL, which no path has")
        if b":" in folder:
            raise ArgumentError(f"import_path: the folder {os.fsdecode(folder)!r} has a `:`, which separates folders")
    if progress not in (None, False, True) and not callable(progress):
        raise TypeError(f"progress={progress!r}: expected True, or a function of (done, total, text)")
    if bind is not None and not isinstance(bind, str):
        raise TypeError(f"bind={bind!r}: expected processors as a str, \"0-7,16\" or \"all\"")
    return _Options(threads, b":".join(map(os.fsencode, folders)) or None, _Progress(progress) if progress else None,
                    None if bind is None else bind.encode(), bool(machine_bits))


class _Context:
    """A tw_context, with a module in it if there is a text. One thread at a time uses it, and holds `lock` meanwhile.
    It is not freed when the interpreter ends, because a daemon thread may still use it. A context of a GPU is never
    freed, because its kernels may still run after the last reference is gone."""

    def __init__(self, gpu: int, options: _Options, name: str = "", text: Optional[bytes] = None,
                 time_limit: Optional[float] = None):
        self.native = _library()
        self.progress = options.progress
        told = ctypes.cast(self.progress.callback, c_void_p) if self.progress else None
        self.gpu = gpu
        self.epoch = _epoch
        self.lock = threading.RLock()
        self.launches: dict = {}
        self.kernels: dict = {}
        self.families: dict = {}
        self.flag = c_bool(False)  # true ends the work that runs in the context
        config = _Config(threads=options.threads, import_path=options.import_path, progress=told,
                         bind=options.bind, machine_bits=options.machine_bits,
                         print=ctypes.cast(_on_print, c_void_p), device=max(gpu, 0),
                         cancelled=ctypes.cast(self.native.tw_flag_is_set, c_void_p),
                         cancelled_user=ctypes.addressof(self.flag))
        handle = c_void_p()
        status = self.native.tw_context_new(byref(config), byref(handle))
        if status:
            why = ctypes.create_string_buffer(1200)
            refused = options.bind is not None and self.native.tw_bind_check(options.bind, why, len(why))
            _raise(status, f"bind={options.bind.decode()!r}: {why.value.decode()}" if refused else "")
        self.handle = handle.value
        if gpu < 0:
            weakref.finalize(self, _free_context, self.native, self.handle, self.flag).atexit = False
        if text is not None:
            self._take_module(name, text, time_limit)

    def call(self, name: str, *arguments: Any, time_limit: Optional[float] = None) -> int:
        """Calls a function of the library that may take long. Returns its status."""
        try:
            return _interruptibly(self.flag, getattr(self.native, name), arguments, time_limit)
        finally:
            if self.progress:
                self.progress.end()

    def _take_module(self, name: str, text: bytes, time_limit: Optional[float]) -> None:
        module = c_void_p()
        self.check(self.call("tw_module_from_text", self.handle, name.encode(errors="surrogateescape"),
                             text, len(text), byref(module), time_limit=time_limit))
        index = 0
        while True:
            kernel = self.native.tw_module_kernel_at(module, index)
            if not kernel:
                return
            self.kernels[self.native.tw_kernel_name(kernel).decode()] = kernel
            index += 1

    def messages(self) -> list:
        found, one = [], _Message()
        while self.native.tw_context_message(self.handle, len(found), byref(one)):
            found.append(Message(("error", "warning", "note")[one.severity], _known(one.file), one.line,
                                 one.column, _text(one.text), self.code(one.code), one.length,
                                 tuple(Edit(e.line, e.column, e.remove, _text(e.insert))
                                       for e in _pointed(one.edits, one.edit_count)),
                                 tuple(map(_access, _pointed(one.accesses, one.access_count)))))
        return found

    def code(self, number: int) -> str:
        return _text(self.native.tw_code_name(number))

    def check(self, status: int) -> None:
        if status:
            _raise(status, _text(self.native.tw_context_messages(self.handle)), self.messages())

    def kernel(self, name: str, target: str) -> int:
        out = c_void_p()
        self.check(self.native.tw_kernel_for_target(self.kernels[name], target.encode(), byref(out)))
        return out.value

    def launch(self, kernel: Kernel, target: str, given: tuple) -> _Launch:
        """Returns the launch for that choice; each is made once. `given`: True for each parameter that has a
        value. It is part of the choice because a value once set stays set."""
        key = (kernel.name, target, kernel._types, _key(kernel._tunes), kernel._overlap, given)
        found = self.launches.get(key)
        if not found:
            found = self.launches[key] = _Launch(self, kernel, self.new_launch(kernel, target))
        return found

    def new_launch(self, kernel: Kernel, target: str) -> int:
        """Returns a launch with the kernel's types and tuned values."""
        out = c_void_p()
        self.check(self.native.tw_launch_new(self.kernel(kernel.name, target), byref(out)))
        for name, dtype in kernel._types:
            self.check(self.native.tw_launch_type(out, name.encode(), dtype))
        for name, value in kernel._tunes:
            self.check(self.native.tw_launch_tune(out, name.encode(), _scalar(value)))
        return out.value


def _pointed(list: Any, count: int) -> Any:
    """Returns the values that an array of pointers points to."""
    return (one.contents for one in list[:count])


_NO_EXTENTS = (0,) * MAX_RANK


class _Launch:
    """A tw_launch, and the values set in it last."""

    def __init__(self, context: _Context, kernel: Kernel, handle: int):
        self.context, self.native, self.handle = context, context.native, handle
        self.names = [p.name.encode() for p in kernel.params]
        self.last: list = [None] * len(self.names)
        context.check(self.native.tw_launch_allow_overlap(handle, kernel._overlap))

    def set(self, values: Sequence[Any]) -> None:
        """Sets the parameters. values: an _Array, a number or None for each parameter."""
        last = self.last
        for i, value in enumerate(values):
            if value is None or _same(value, last[i]):
                continue
            last[i] = None
            if type(value) is tuple:
                status = self.set_array(self.names[i], value)
            else:
                status = self.native.tw_launch_set(self.handle, self.names[i], _scalar(value))
            self.context.check(status)
            last[i] = value

    def set_array(self, name: bytes, a: _Array) -> int:
        address, dtype, shape, device, _, _ = a
        rank = len(shape)
        if rank > MAX_RANK:
            raise ArgumentError(f"`{name.decode()}` has {rank} axes; {MAX_RANK} is the most")
        packed = _pack_array(_ARRAY.size, address, dtype, device >= 0, rank, *shape, *_NO_EXTENTS[rank:], 0)
        return self.native.tw_launch_array(self.handle, name, packed)


    def simulate(self, options: _SimOptions, despite: bool, trace: Any, limit: Optional[float]) -> Simulation:
        context, native, result = self.context, self.native, _SimResult()
        if despite:
            context.check(native.tw_launch_despite_races(self.handle, True))
        try:
            status = context.call("tw_launch_simulate", self.handle, byref(options), byref(result), time_limit=limit)
        finally:
            native.tw_launch_despite_races(self.handle, False)
        if status != _FAULT or not result.finding_count:
            context.check(status)
        found = _simulation(context, result)
        if trace is not None:
            _write_whole(trace, ctypes.string_at(result.trace, result.trace_bytes))
        if not (despite and found.failures):
            return found
        cures = self.cures(limit)
        return found._replace(findings=[f._replace(fix=cures.get(_places(f), ())) for f in found.findings])

    def cures(self, limit: Optional[float]) -> dict:
        """Returns the compiler's fixes for the launch's races, by the places of their accesses."""
        if self.context.call("tw_launch_check", self.handle, time_limit=limit) != _UNSYNCHRONISED:
            return {}
        return {_places(m): m.fix for m in self.context.messages() if m.fix and m.accesses}


def _places(found: Any) -> frozenset:
    return frozenset((a.file, a.line, a.column) for a in found.accesses)


def _same(a: Any, b: Any) -> bool:
    """Compares values bit by bit: 0.0 equals -0.0, but the two make different programs."""
    return a == b and type(a) is type(b) and (type(a) is not float or a != 0.0 or
                                              math.copysign(1.0, a) == math.copysign(1.0, b))


def _key(values: Iterable) -> tuple:
    """Returns (name, value) pairs as a key that distinguishes 0.0 from -0.0."""
    return tuple((name, repr(value) if type(value) is float else value) for name, value in values)


def _f32_as_tf32(array: _Array) -> _Array:
    """Returns the array as tf32, which uses some of the same bits."""
    return _as_type(array, _TF32) if array[_DTYPE] == _F32 else array


_UNREAD = (TypeError, ValueError, AttributeError, OverflowError)  # raised for a value that is not an argument
_UNREAD_QUICKLY = (*_UNREAD, KeyError)


def _bool(value: Any) -> int:
    """Returns 0 or 1, for numbers only: Python also gives texts and lists a truth value, which callers do not mean
    here."""
    if value is None or not hasattr(type(value), "__bool__"):
        raise TypeError("is no number")
    return int(bool(value))


def _float(value: Any) -> float:
    """Converts a number. Refuses text, which float() alone would accept."""
    if isinstance(value, (str, bytes, bytearray)):
        raise TypeError("is no number")
    return float(value)


def _u64_bits(value: Any) -> int:
    """Returns the i64 of the same bits."""
    value = operator.index(value)
    if not 0 <= value < 2**64:
        raise ValueError("does not fit u64")
    return value if value < 2**63 else value - 2**64


def _scalar(value: Any) -> _Value:
    if isinstance(value, float):
        return _Value(_FLOAT, struct.unpack("q", struct.pack("d", value))[0])
    return _Value(_INTEGER, value)


def _plain(value: _Value) -> Any:
    """Returns the integer or float that the library returned."""
    return struct.unpack("d", struct.pack("q", value.i))[0] if value.kind == _FLOAT else value.i


def _number(text: str) -> Any:
    """Reads a stored value: "64", "0.25", "1e-7"."""
    try:
        return int(text)
    except ValueError:
        return float(text)


# --- results of the simulator, layouts, explanations ---


_MOST_ROWS = 20  # limit of a table in a notebook


def _cell(value: Any) -> str:
    if isinstance(value, float):
        value = f"{value:.6g}"
    return html.escape(value if isinstance(value, str) else reprlib.repr(value))


def _html_table(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Returns a table of the first rows, for a notebook."""
    lines = [f"<tr>{''.join(f'<th>{html.escape(name)}</th>' for name in header)}</tr>"] if header else []
    lines += [f"<tr>{''.join(f'<td>{_cell(value)}</td>' for value in row)}</tr>" for row in rows[:_MOST_ROWS]]
    more = f"<p>{len(rows) - _MOST_ROWS} more rows</p>" if len(rows) > _MOST_ROWS else ""
    return f"<table>{''.join(lines)}</table>{more}"


def _html_of(values: Mapping) -> str:
    """Returns the plain values as one table, then a table for each list of records."""
    lists = {n: v for n, v in values.items() if isinstance(v, list) and v and isinstance(v[0], Mapping)}
    text = _html_table((), [(n, v) for n, v in values.items() if n not in lists])
    for name, rows in lists.items():
        text += f"<p>{html.escape(name)}</p>" + _html_table(list(rows[0]), [[row.get(n) for n in rows[0]] for row in rows])
    return text


class Record(Mapping):
    """Named values: `x.line` is `x["line"]`, and dict(x) has all of them. json.dumps(x, default=dict) writes them."""
    __slots__ = ("_values",)

    def __init__(self, values: dict):
        self._values = values

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self._values:
            raise AttributeError(f"there is no `{name}`" if name.startswith("_") else
                                 f"there is no `{name}`; there are {_listed(self._values, name)}")
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def _repr_html_(self) -> str:
        return _html_of(self._values)

    def __dir__(self) -> list:
        return [*super().__dir__(), *self._values]

    def __repr__(self) -> str:
        return "Record(" + ", ".join(f"{name}={value!r}" for name, value in self._values.items()) + ")"


class Range(NamedTuple):
    """A number that is not known exactly: `middle` is the most likely value, and the true one is usually between the
    other two."""
    low: float
    middle: float
    high: float


class Finding(NamedTuple):
    """A finding of the simulator. `severity` is "error" or "warning"; place, `text`, `code`, `fix` and `accesses` are
    as in a Message. `count`: how often it occurred; `steps`: an order of events that leads to it, in sentences;
    `shown`: all of it, with source lines; `suppressed`: true if `suppressions` let it pass."""
    severity: str
    file: Optional[str]
    line: int
    column: int
    text: str
    code: str
    fix: Tuple[Edit, ...]
    accesses: Tuple[Access, ...]
    count: int
    steps: Tuple[str, ...]
    shown: str
    suppressed: bool


class Simulation(NamedTuple):
    """A run on the simulator. `failures`: how many findings are errors; `ended`: why it ended early, or None;
    `seconds`: of the host. `counters`: the hardware's counters (docs/messages.md), `instructions` of each kind, and
    `lines`, each with `file`, `line` and the same counters; None if they were not asked for. `report`: the findings
    as text. `why`: the fields of tw_why, or None."""
    findings: list
    failures: int
    ended: Optional[str]
    warp_instructions: int
    seconds: float
    counters: Optional[Record]
    report: str
    why: Optional[Record]

    def __repr__(self) -> str:
        ended = f", ended: {self.ended}" if self.ended else ""
        return (f"<tilewright.Simulation {len(self.findings)} findings, {self.failures} of them errors, "
                f"{self.warp_instructions} warp instructions{ended}>")

    def _repr_html_(self) -> str:
        rows = [(f.severity, f"{f.file}:{f.line}", f.code, f.text) for f in self.findings]
        text = f"<p>{html.escape(repr(self))}</p>" + (_html_table(("severity", "place", "code", "text"), rows) if rows else "")
        return text + (self.counters._repr_html_() if self.counters else "")


def _record(found: ctypes.Structure) -> Record:
    """Converts a struct of the library. Leaves out the fields with counts, because a list has its length."""
    return Record({name: _value(getattr(found, name), found, name) for name, *_ in found._fields_
                   if name not in ("size", "atomics") and not name.endswith("_count")})


def _value(value: Any, found: Any = None, name: str = "") -> Any:
    if isinstance(value, bytes):
        return _text(value)
    if isinstance(value, _Range):
        return Range(value.low, value.middle, value.high)
    if isinstance(value, ctypes.Structure):
        return _record(value)
    if isinstance(value, (ctypes.Array, ctypes._Pointer)):
        name = "accesses" if name == "ways_as_written" else name  # it has one for each access
        counts = (getattr(found, name[:-len(end)] + "_count", None) for end in ("s", "es"))
        return [_value(one) for one in value[:next((n for n in counts if n is not None), None)]]
    return value


def _said(out: c_char_p) -> str:
    return _text(out.value)


def _explanation(found: _Explanation) -> Record:
    whole = dict(_record(found))
    whole["accesses"] = [Record({**access, "atomic": _text(found.atomics[i]) if found.atomics[i] else None})
                         for i, access in enumerate(whole["accesses"])]
    return Record({**whole, "traffic": [level for level in whole["traffic"] if level.name]})


def _tile(tile: _Tile) -> Record:
    count, shape = math.prod(tile.shape[:tile.rank]), tile.shape[:tile.rank]
    values = {"name": _known(tile.name), "what": _known(tile.what),
              "kind": "shared" if tile.shared else "registers" if tile.layout else "scalar",
              "type": _DTYPES[tile.type] if tile.type >= 0 else None, "bits": tile.bits, "shape": shape,
              "layout": _known(tile.layout)}
    if tile.shared:
        return Record({**values, "offset": tile.offset, "bytes": tile.bytes, "form": _known(tile.form),
                       "places": tile.places[:count]})
    values.update(held=tile.held, in_register=tile.in_register,
                  registers=[_text(name) for name in tile.registers[:tile.register_count]])
    if tile.layout:
        values.update(copies=tile.copies, threads=tile.threads[:count], numbers=tile.numbers[:count])
    return Record(values)


def _tile_access(a: _TileAccess) -> Record:
    return Record({"line": a.line, "column": a.column, "space": "shared" if a.shared else "global", "store": a.store,
                   "tile": _known(a.tile), "instruction": _known(a.how), "bytes": a.bytes,
                   "instructions": a.instructions, "wavefronts": a.wavefronts, "least": a.least})


def _layouts(found: _Layouts) -> Record:
    return Record({"block": found.block[:], "shared_bytes": found.shared_bytes, "registers": found.registers,
                   "tiles": [_tile(tile) for tile in found.tiles[:found.tile_count]],
                   "accesses": [_tile_access(a) for a in found.accesses[:found.access_count]]})


def _counters(text: Optional[bytes]) -> Optional[Record]:
    """Reads the counters. In JSON a line lacks the counters that are 0 there; the result has them."""
    if text is None:
        return None
    total = json.loads(text)
    zeros = {name: 0 for name, value in total.items() if isinstance(value, int)}
    return Record({**total, "lines": [Record({**zeros, **line}) for line in total["lines"]]})


def _finding(context: _Context, f: _SimFinding) -> Finding:
    return Finding("error" if f.fails else "warning", _known(f.file), f.line, f.column, _text(f.message),
                   context.code(f.code), (), tuple(map(_access, _pointed(f.accesses, f.access_count))), f.count,
                   tuple(json.loads(f.json)["steps"]), _text(f.text), f.suppressed)


def _simulation(context: _Context, result: _SimResult) -> Simulation:
    findings = [_finding(context, f) for f in result.findings[:result.finding_count]]
    return Simulation(findings, result.failures, _known(result.ended), result.warp_instructions, result.seconds,
                      _counters(result.counters_json), _text(result.report),
                      _record(result.why.contents) if result.why else None)


# --- options of the simulator ---


def _natural(name: str, value: Any, most: int = 2**63 - 1) -> int:
    if not hasattr(value, "__index__"):
        raise TypeError(f"{name}: {value!r} is no whole number")
    number = operator.index(value)
    if not 0 <= number <= most:
        raise ArgumentError(f"{name}: {value!r} is not from 0 to {most}")
    return number


def _list(name: str, value: Any) -> list:
    if isinstance(value, (str, bytes)) or not hasattr(value, "__iter__"):
        raise TypeError(f"{name}: {value!r} is no list")
    return list(value)


def _word(name: str, value: Any, words: Iterable[str]) -> str:
    if value not in words:
        raise ArgumentError(f"{name}: there is no {value!r}; there are {_listed(words, value)}")
    return value


def _turn(turn: Any) -> tuple:
    """Reads an order as (warp, instructions). A warp alone runs until it waits."""
    warp, steps = turn if isinstance(turn, (tuple, list)) and len(turn) == 2 else (turn, 0)
    return _natural("order", warp, 31), _natural("order", steps)


def _sim_options(watch: Iterable[str], seed: int, order: Sequence[Any], copies: Any, step_limit: int,
                 same_value: str, volatile: str, suppressions: Optional[str]) -> _SimOptions:
    counts = ("warning", "error", "ignore")  # tw_counts
    late_by = 0 if isinstance(copies, str) else _natural("copies", copies)
    late = late_by > 0 or _word("copies", copies, ("early", "late")) == "late"
    names = dict.fromkeys(_word("watch", name, _WATCH) for name in _list("watch", watch))
    turns = [_turn(turn) for turn in _list("order", order)]
    if not isinstance(suppressions, (str, type(None))):
        raise TypeError(f"suppressions: {suppressions!r} is no text")
    options = _SimOptions(watch=sum(map(_WATCH.get, names)),
                          seed=_natural("seed", seed, 2**64 - 1), late=late, late_by=late_by,
                          step_limit=_natural("step_limit", step_limit),
                          same_value=counts.index(_word("same_value", same_value, counts)),
                          volatiles=counts.index(_word("volatile", volatile, counts)),
                          suppressions=None if suppressions is None else suppressions.encode())
    if turns:
        options.order, options.order_count = (_SimTurn * len(turns))(*turns), len(turns)
    return options


_CHROME, _EVENTS_OF_WHY = 1, 4000000  # explaining a value needs all events of its block


def _trace_options(path: Any, block: Sequence[int], first: int, events: int) -> _TraceOptions:
    axes = [_natural("trace_block", index) for index in _list("trace_block", block)]
    if len(axes) > 3:
        raise ArgumentError(f"trace_block: {block!r} is no block's index, which is three numbers at most")
    chrome = path is not None and os.fsdecode(path).endswith(".json")
    return _TraceOptions(format=_CHROME * chrome, block=(c_int64 * 3)(*axes),
                         events=_natural("trace_events", events, 2**31 - 1),
                         **{"from": _natural("trace_from", first)})


def _ask_why(options: _TraceOptions, kernel: Kernel, values: Sequence[Any], element: str) -> None:
    """element: "c[0][1]"."""
    found = isinstance(element, str) and re.fullmatch(r"(\w+)((?:\[\d+\])+)", element)
    if not found:
        raise ArgumentError(f'why: {element!r} is no element of an array, as "c[0]" or "c[0][1]" is')
    name, index = found.group(1), [int(i) for i in re.findall(r"\d+", found.group(2))]
    array = dict(zip((p.name for p in kernel.params), values)).get(name)
    if type(array) is not tuple:
        raise ArgumentError(f"why: {kernel.name} is given no array `{name}`")
    shape, offset = array[_SHAPE], 0
    if len(index) != len(shape) or any(i >= extent for i, extent in zip(index, shape)):
        raise ArgumentError(f"why: there is no element {element}; the shape of `{name}` is {tuple(shape)}")
    if getattr(options, "from") or options.events:
        raise ArgumentError("why: it needs all events of the block; leave trace_from and trace_events out")
    for i, extent in zip(index, shape):
        offset = offset * extent + i
    options.why, options.why_bytes = name.encode(), _SIZES[array[_DTYPE]]
    options.why_offset, options.events = offset * options.why_bytes, _EVENTS_OF_WHY


def _write_whole(path: Any, data: bytes) -> None:
    """Writes the file whole, or not at all."""
    part = os.fsdecode(path) + ".part"
    try:
        with open(part, "wb") as out:
            out.write(data)
        os.replace(part, path)
    except OSError:
        if os.path.exists(part):
            os.remove(part)
        raise


# --- modules ---


class _Contexts:
    """The contexts of a program, made when they are needed. text: the module in each; None: there is none."""

    def __init__(self, name: str, text: Optional[bytes], options: _Options, time_limit: Optional[float] = None):
        self.name = name
        self._text, self._options = text, options
        self._contexts: dict = {}
        self._lock, self._epoch = threading.Lock(), _epoch
        self._contexts[-1, False] = _Context(-1, options, name, text, _limit(time_limit))

    def _context(self, gpu: int, limited: bool = False) -> _Context:
        """Returns the context of the host (-1) or of a GPU; makes it on first use. limited: returns a separate one
        for calls with a time limit, because a limit ends all work in its context."""
        if self._epoch != _epoch:
            _lost.extend(self._contexts.values())
            self._contexts, self._lock, self._epoch = {}, threading.Lock(), _epoch
        key = gpu, limited
        context = self._contexts.get(key)
        if context:
            return context
        with self._lock:
            if key not in self._contexts:
                self._contexts[key] = _Context(gpu, self._options, self.name, self._text)
            return self._contexts[key]


class Module(_Contexts, Mapping):
    """The kernels of one text, by name: `module["matmul_v1"]`. load() and compile() make it."""

    def __init__(self, name: str, text: bytes, options: _Options, time_limit: Optional[float] = None):
        super().__init__(name, text, options, time_limit)
        self._kernels = {kernel: Kernel(self, kernel) for kernel in self._context(-1).kernels}

    def __getitem__(self, name: str) -> Kernel:
        try:
            return self._kernels[name]
        except KeyError:
            raise NotFound(f"{self.name} has no kernel {name!r}; there are: "
                           f"{_listed(self._kernels, name)}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._kernels)

    def __len__(self) -> int:
        return len(self._kernels)

    def __repr__(self) -> str:
        return f"<tilewright.Module {self.name}: {', '.join(self._kernels)}>"


def load(path: Any, threads: int = 0, time_limit: Optional[float] = None, *, import_path: Any = (),
         progress: Any = None, bind: Optional[str] = None, machine_bits: bool = False) -> Module:
    """Compiles a .tile file. `threads`: for the CPU; 0: one a core. time_limit: seconds. import_path: a folder or
    several, searched for imported files after the file's own folder. progress: True shows a line while a call
    takes long; a function is called with (done, total, text), from any thread, total 0 if it is not known. bind: processors
    of the threads, "0-7,16" or "all". machine_bits=True lets products of bf16 use Intel AMX, which adds them in its own order.
    Raises OSError, CompileError, ArgumentError, TimeLimit."""
    if not isinstance(path, (str, bytes, os.PathLike)):  # open() reads numbers as descriptors
        raise TypeError(f"load: `path` is {path!r}, expected the path of a .tile file")
    options = _options(threads, import_path, progress, bind, machine_bits)
    with open(path, "rb") as file:
        return Module(os.fsdecode(path), file.read(), options, time_limit)


def compile(text: Any, name: str = "<text>", threads: int = 0,  # noqa: A001
            time_limit: Optional[float] = None, *, import_path: Any = (), progress: Any = None,
            bind: Optional[str] = None, machine_bits: bool = False) -> Module:
    """Compiles a text (str, or bytes in UTF-8) as load() does; messages name `name` as its file."""
    if not isinstance(text, (str, bytes)):
        raise TypeError(f"compile: `text` is a {type(text).__name__}, expected the text of a program; "
                        "load(path) reads a file")
    return Module(name, text.encode() if isinstance(text, str) else text,
                  _options(threads, import_path, progress, bind, machine_bits), time_limit)


# --- kernels ---


class Param(NamedTuple):
    """A parameter. `type`: an element type or the name of a type variable; `shape`: the axes of an
    array as the kernel's first view of it writes them, () if the kernel has none."""
    name: str
    type: str
    is_array: bool
    is_const: bool
    is_static: bool
    shape: tuple
    default: Any = None  # the value unless a call gives one; None: a call gives it, or it follows from an array
    derived: Optional[str] = None  # the formula by which the launch computes it; None: a call gives it


class Verdict(NamedTuple):
    """The distance of the values from what `ensures` says: the largest difference, the tolerance at the worst element,
    the index of that element, the number of elements compared, the number of those that could not be judged,
    because rounding, overflow or division by zero may give any value, and the number of those that are NaN both in
    the array and in `ensures`, which test no value."""
    max_error: float
    tolerance: float
    got: float
    want: float
    view: str
    at: tuple
    checked: int
    undecided: int
    nans: int

    def _repr_html_(self) -> str:
        return _html_of(self._asdict())


class _Plan(NamedTuple):
    """How an entry or a family is started: tw_value[] is packed from a kind and a value for each argument."""
    context: _Context
    gpu: int
    start: str  # "tw_entry_start", or "tw_family_start"
    entry: int
    pack: Callable[..., bytes]
    template: list  # the kinds
    quick: list  # [whether the latest call was quick]: the calling thread then makes the next one itself


_SIZES_KEPT = 4096


def _new_plan(context: _Context, start: str, entry: int, values: list) -> _Plan:
    template: list = []
    text = "@"
    for value in values:
        kind = _POINTER if type(value) is tuple else _FLOAT if type(value) is float else _INTEGER
        template += [kind, None]
        text += {_POINTER: "i4xQ", _FLOAT: "i4xd", _INTEGER: "i4xq"}[kind]
    return _Plan(context, context.gpu, start, entry, struct.Struct(text).pack, template,
                 [context.gpu >= 0])  # a call on a GPU does not wait


def _packed(plan: _Plan, values: Sequence[Any]) -> bytes:
    flat = plan.template[:]
    flat[1::2] = [v[_ADDRESS] if type(v) is tuple else v for v in values]
    return plan.pack(*flat)


def _signature(values: Sequence[Any]) -> tuple:
    """Returns a key: two calls with the same key need one check. It has types, shapes and places, and the
    integers."""
    return tuple([v[_DTYPE:_WRITABLE] if type(v) is tuple else float if type(v) is float else v
                  for v in values])


class Trial(NamedTuple):
    """One choice of tuned values. `milliseconds`: None if it was refused or wrong, and `why` has the reason."""
    values: dict
    milliseconds: Optional[float]
    why: str


class Tuning(NamedTuple):
    """The result of tune(): the fastest kernel, its time, and all trials, the fastest first."""
    kernel: Kernel
    milliseconds: float
    trials: list

    def __repr__(self) -> str:
        return f"<tilewright.Tuning {self.milliseconds:.4g} ms of {len(self.trials)}: {self.kernel!r}>"

    def _repr_html_(self) -> str:
        names = list(self.trials[0].values)
        rows = [[*t.values.values(), "" if t.milliseconds is None else t.milliseconds, t.why] for t in self.trials]
        return _html_table([*names, "ms", "why not"], rows)


def progress_line(done: int, total: int, doing: str) -> None:
    """Shows progress as one line of standard output that is written over, on a terminal and in a notebook."""
    print(f"\r{f'{done}/{total}' if total else ''} {doing:<60.60}", end="\n" if done == total > 0 else "", flush=True)


class _Tunes(dict):
    """The lists of tuned values by name. Calling it tunes the kernel. repr() writes names that take their values
    together as the language does."""

    def __init__(self, lists: dict, groups: Sequence[tuple], kernel: Optional[Kernel] = None):
        super().__init__(lists)
        self.groups, self.kernel = groups, kernel

    def __call__(self, *args: Any, progress: Any = None, warmup: int = 2, repeat: int = 10, **names: Any) -> Tuning:
        """Tries every combination of the tuned values on these arguments of a call. Times those that compile and have
        right values by `ensures`, if the kernel has one. progress: True shows a line; a function is
        called with (done, total, text). Stores nothing: `tilewright tune` does, and tries thousands. Raises the
        first error if no combination runs."""
        show = progress_line if progress is True else progress or (lambda done, total, doing: None)
        choices = [[dict(zip(group, row)) for row in zip(*(self[n] for n in group))] for group in self.groups]
        combinations = [{n: v for part in parts for n, v in part.items()} for parts in itertools.product(*choices)]
        trials, first = [], None
        for done, values in enumerate(combinations):
            show(done, len(combinations), ", ".join(f"{n}={v}" for n, v in values.items()))
            kernel = self.kernel.with_(**values)
            try:
                if kernel.has_ensures:
                    kernel.verify(*args, **names)
                trials.append(Trial(values, bench(lambda: kernel(*args, **names), warmup, repeat), ""))
            except Error as error:
                first = first or error
                trials.append(Trial(values, None, str(error).split("\n")[0]))
        show(len(combinations), len(combinations), "done")
        trials.sort(key=lambda t: (t.milliseconds is None, t.milliseconds))
        if first and trials[0].milliseconds is None:
            raise first
        return Tuning(self.kernel.with_(**trials[0].values), trials[0].milliseconds, trials)

    def __repr__(self) -> str:
        parts = []
        for names in self.groups:
            if len(names) == 1:
                parts.append(f"{names[0]} = {{{', '.join(map(str, self[names[0]]))}}}")
            else:
                rows = (f"({', '.join(map(str, row))})" for row in zip(*(self[n] for n in names)))
                parts.append(f"({', '.join(names)}) = {{{', '.join(rows)}}}")
        return "<tune " + "; ".join(parts) + ">" if parts else "<tune: none>"


class Kernel:
    """A kernel of a module, with the choices made for it. Call it with its arguments, in
    its order or by name.

        k(m, n, k, a, b, c)                  sizes, then arrays
        k(a=a, b=b, c=c)                     without sizes that follow from the arrays' shapes
        k(None, None, None, a, b, c)         the same: None leaves a size out, or an array without a view
        k(m, n, k, a, b, c, BM=64, T="f16")  tuned values and types for this call
        k.with_(BM=64)                       the same for all calls: another Kernel

    `params`, `types` and `tune` list what it has. Names in one tuple of `tune_groups` take their values
    together: the first of each list, the second of each …

    A call on a GPU does not wait; `stream` is a handle, or an object of PyTorch or CuPy.
    time_limit=5 ends a call on the host after 5 seconds with TimeLimit.
    Raises ArgumentError, TypeError, CompileError, Fault, Unsupported."""

    _word = "kernel"

    def __init__(self, module: _Contexts, name: str, base: Optional[Kernel] = None):
        self.module, self.name = module, name
        self._types: tuple = base._types if base else ()
        self._tunes: tuple = base._tunes if base else ()
        self._bound: dict = dict(base._bound) if base else {}
        self._device: Optional[str] = base._device if base else None
        self._overlap: bool = base._overlap if base else False
        self._chosen: dict = {}  # with_() for the keywords of calls
        self._plans: dict = {}  # by _signature()
        self._entries: dict = {}  # entries by element types
        self._epoch = _epoch
        if base:
            self.params, self.types = base.params, base.types
            self._lists, self.tune_groups = base._lists, base.tune_groups
        else:
            self._read(_library(), self._handle())
        self._takers = [self._taker(p) for p in self.params]
        self._quick_takers = [_QUICK_TAKERS.get(take, take) for take in self._takers]
        self._find_free()

    def _find_free(self) -> None:
        """Finds the parameters that a call has, how many it needs, and the number of arguments that takes the
        quick way."""
        self._given = [i for i, p in enumerate(self.params) if not p.derived]
        self._free = [i for i in self._given if self.params[i].name not in self._bound]
        needed = [n for n, i in enumerate(self._free, 1) if self.params[i].default is None]
        self._needed = needed[-1] if needed else 0
        self._full = -1 if self._bound or len(self._given) < len(self.params) else len(self.params)

    # what it is

    def _handle(self) -> int:
        """Returns the library's kernel, for the host."""
        return self.module._context(-1).kernels[self.name]

    def _read(self, native: Any, handle: int) -> None:
        param, variable, tune = _Param(), _Type(), _Tune()
        self.params: list = []
        for i in range(native.tw_kernel_param_count(handle)):
            native.tw_kernel_param(handle, i, byref(param))
            kind = _DTYPES[param.dtype] if param.dtype >= 0 else _text(param.type_name)
            shape = tuple(_text(d) for d in param.dims[:param.rank])
            given = param.default_value
            default = _plain(given) if given.kind else None
            derived = _text(param.derived) if param.derived else None
            self.params.append(Param(_text(param.name), kind, param.is_pointer, param.is_const,
                                     param.is_static, shape, default, derived))
        self.types: dict = {}
        for i in range(native.tw_kernel_type_count(handle)):
            native.tw_kernel_type(handle, i, byref(variable))
            self.types[_text(variable.name)] = [_DTYPES[t] for t in variable.choices[:variable.count]]
        lists: dict = {}
        groups: dict = {}
        for i in range(native.tw_kernel_tune_count(handle)):
            native.tw_kernel_tune(handle, i, byref(tune))
            name = _text(tune.name)
            lists[name] = [_plain(v) for v in tune.values[:tune.count]]
            groups.setdefault(tune.group, []).append(name)
        self.tune_groups: list = [tuple(names) for names in groups.values()]
        self._lists: dict = lists

    @property
    def tune(self) -> _Tunes:
        """The lists of tuned values by name. `kernel.tune(…)`, with the arguments of a call, finds the fastest."""
        return _Tunes(self._lists, self.tune_groups, self)

    @property
    def has_ensures(self) -> bool:
        """True if the kernel states its result with `ensures`, so that verify() can check it."""
        return _library().tw_kernel_has_ensures(self._handle())

    def __repr__(self) -> str:
        chosen = [f"{n}={_DTYPES[t]}" for n, t in self._types] + [f"{n}={v}" for n, v in self._tunes]
        names = ", ".join(p.name for p in self.params)
        return f"<tilewright.Kernel {' '.join([f'{self.name}({names})', *chosen])}>"

    def _repr_html_(self) -> str:
        rows = [(p.name, p.type + "".join(f"[{d}]" for d in p.shape), "read" if p.is_const else "written" if p.is_array else "")
                for p in self.params]
        return f"<p>{html.escape(repr(self))}</p>" + _html_table(("parameter", "type", "use"), rows)

    # choosing

    def with_(self, device: Optional[str] = None, overlap: Optional[bool] = None,
              **choices: Any) -> Kernel:
        """Returns this kernel with types (`T="f16"`), tuned values (`BM=64`) and parameters (`n=4096`) fixed:
        a call then has the remaining parameters, in order. device: "cpu", "cuda", "cuda:1": runs there, wherever
        the arrays are (copied to the GPU and back if need be). overlap=True: an output may overlap an
        input in any way, even if the kernel then computes something else."""
        new = type(self)(self.module, self.name, self)
        types, tunes = dict(self._types), dict(self._tunes)
        for name, value in choices.items():
            if name in self.types:
                types[name] = _dtype_index(value)
            elif name in self.tune:
                tunes[name] = self._tuned_value(name, value)
            else:
                new._bound[self._param(name).name] = value
        new._types, new._tunes = tuple(types.items()), tuple(tunes.items())
        if device is not None:
            new._device = _device_name(device)
        if overlap is not None:
            new._overlap = bool(overlap)
        new._find_free()
        return new

    def _tuned_value(self, name: str, value: Any) -> Any:
        if isinstance(value, float):
            return value
        try:
            number = operator.index(value)
        except TypeError:
            number = None
        if number is None or not -2**63 <= number < 2**63:
            kind = TypeError if number is None else ArgumentError
            raise kind(f"tuned value `{name}` of {self.name} is {value!r}, expected a number, such as "
                       f"{' or '.join(map(str, dict.fromkeys(self.tune[name])))}")
        return number

    def _param(self, name: str) -> Param:
        for param in self.params:
            if param.name == name:
                return param
        names = [*(p.name for p in self.params), *self.tune, *self.types]
        raise TypeError(f"{self._word} {self.name} has no parameter, tuned value or type `{name}`; there "
                        f"are {_listed(names, name)}")

    def tuned(self, *args: Any, nearest: bool = False, store: Optional[str] = None,
              **names: Any) -> Kernel:
        """Returns this kernel with the fastest tuned values that `tilewright tune` has stored for such arguments
        and their device. nearest: accepts the values of the nearest sizes. store: the file, by default as
        tilewright_tuning.h says. Raises NotFound, an ArgumentError, if nothing is stored or there is no store;
        catch it to continue with the kernel's own values."""
        kernel, values, gpu = self._prepare(args, names)
        context, row, opened = self.module._context(gpu), _Tuned(), c_void_p()
        with context.lock:
            native = context.native
            launch = _Launch(context, kernel, context.new_launch(kernel, _target(gpu)))  # it gets the tuned values
            launch.set(values)
            context.check(native.tw_store_open_existing(
                context.handle, store and os.fsencode(store), byref(opened)))
            try:
                context.check(native.tw_launch_tuned(launch.handle, opened, None, nearest, byref(row)))
                text = _text(row.tune)
            finally:
                native.tw_store_close(opened)
                native.tw_launch_free(launch.handle)
        pairs = (pair.split("=") for pair in text.split(",") if pair)
        return kernel.with_(**{n: _number(v) for n, v in pairs})

    # arguments

    def _order(self, args: Sequence[Any], names: dict) -> tuple:
        """Returns (kernel, a value for each parameter). Keywords are choices, or arguments by name."""
        choices = {n: names.pop(n) for n in list(names) if n in self.types or n in self.tune}
        kernel = self._choose(choices) if choices else self
        free = kernel._free
        if len(args) > len(free) or (len(args) < kernel._needed and args and not names):
            raise self._wrong_count(args)
        given = {self.params[i].name: value for i, value in zip(free, args)}
        for name, value in names.items():
            if self._param(name).name in given:
                raise TypeError(f"{self._word} {self.name} is given `{name}` twice")
            given[name] = value
        axes = {axis for p in self.params for axis in p.shape}  # sizes that an array's shape may give
        default = {p.name: p.default for p in self.params if p.name not in axes}
        return kernel, [given.get(n, self._bound.get(n, default.get(n)))
                        for n in (p.name for p in self.params)]

    def _choose(self, choices: dict) -> Kernel:
        key = _key(choices.items())
        try:
            found = self._chosen.get(key)
        except TypeError:  # a list, say: the message below names it
            return self.with_(**choices)
        if not found:
            found = self._chosen[key] = self.with_(**choices)
        return found

    def _wrong_count(self, args: Sequence[Any]) -> TypeError:
        free = [self.params[i] for i in self._free]
        names = ", ".join(p.name for p in free)
        arrays = [p.name for p in free if p.is_array]
        axes = {axis for p in self.params for axis in p.shape}
        few = f"{self._needed} to " if self._needed < len(free) else ""
        text = f"{self._word} {self.name} takes {few}{len(free)} arguments ({names}); {len(args)} were given"
        if len(args) == len(arrays) and all(p.is_array or p.name in axes for p in free):
            text += (f". Arrays given by name have the sizes with them: {self.name}("
                     f"{', '.join(f'{name}=…' for name in arrays)})")
        return TypeError(text)

    def _taker(self, param: Param) -> Callable[[Any], Any]:
        """Returns the function that reads arguments for a parameter: an array as a tuple, or a number."""
        if not param.is_array:
            if param.type in self.types:
                return lambda value: value if isinstance(value, (int, float)) else value.item()
            if param.type == "bool":
                return _bool
            if param.type == "u64":
                return _u64_bits
            return _float if _IS_FLOAT[_DTYPES.index(param.type)] else operator.index
        choices = self.types.get(param.type, [param.type])
        take = _describe if param.is_const else _describe_writable
        if "tf32" in choices and "f32" not in choices:
            return lambda value: _f32_as_tf32(take(value))
        return take

    def _take(self, i: int, value: Any) -> Any:
        """Reads one argument; an error names its parameter."""
        param = self.params[i]
        if value is None:
            return None
        try:
            value = self._takers[i](value)
            if isinstance(value, int) and not -2**63 <= value < 2**63:
                raise OverflowError("beyond 64 bits")
            return value
        except _UNREAD as error:
            axes = "".join(f"[{d}]" for d in param.shape) or " *" * param.is_array
            what = f"argument {i + 1} of {self.name}, `{param.name}` ({param.type}{axes})"
            if param.is_array:
                kind = ArgumentError if isinstance(error, _Scattered) else type(error)
                raise kind(f"{what}, {error}") from None
            raise self._no_number(param, what, value, error) from None

    def _no_number(self, param: Param, what: str, value: Any, error: Exception) -> Exception:
        """Returns the error for a value that is not a number. It names an array by type and shape, since its text
        has any length."""
        kind = "number"
        if param.type not in self.types and not _IS_FLOAT[_DTYPES.index(param.type)]:
            kind = "number, 0 or 1" if param.type == "bool" else "whole number"
        if isinstance(error, OverflowError) or type(value) is int:
            return ValueError(f"{what}, is {reprlib.repr(value)}, expected a {kind} that fits")
        try:
            array = _describe(value)
        except Exception:  # noqa: BLE001 (the foreign object may raise anything: it is not an array)
            return TypeError(f"{what}, is {reprlib.repr(value)}, expected a {kind}")
        axes = "".join(f"[{extent}]" for extent in array[_SHAPE])
        names = ", ".join(p.name for p in self.params)
        return TypeError(f"{what}, is an array {_DTYPES[array[_DTYPE]]}{axes}, expected a {kind}; "
                         f"{self.name} takes ({names})")

    def _prepare(self, args: Sequence[Any], names: dict) -> tuple:
        """Returns (kernel, values, GPU or -1)."""
        if not names and len(args) == len(self.params) == len(self._free):
            kernel, given = self, args
        else:
            kernel, given = self._order(args, names)
        values = [self._take(i, value) for i, value in enumerate(given)]
        return kernel, values, kernel._place(values)

    def _place(self, values: Sequence[Any]) -> int:
        """Returns the GPU of the arrays, or -1, unless with_(device=…) chooses the device."""
        places = {v[_DEVICE] for v in values if type(v) is tuple}
        if self._device == "cpu" and max(places, default=-1) >= 0:
            raise ArgumentError(f"{self._where(values)}, and the kernel is to run on the cpu")
        if self._device:
            return _device_index(self._device)
        if len(places) > 1:
            raise ArgumentError(f"{self._where(values)}: put them on one device, or choose it by "
                                'with_(device="cuda")')
        return places.pop() if places else -1

    def _where(self, values: Sequence[Any]) -> str:
        return ", ".join(f"`{p.name}` is on {_target(v[_DEVICE])}"
                         for p, v in zip(self.params, values) if type(v) is tuple)

    def _renew(self) -> None:
        """Drops what was made before a fork."""
        if self._epoch != _epoch:
            self._plans, self._entries, self._epoch = {}, {}, _epoch

    def _set(self, context: _Context, gpu: int, values: Sequence[Any], target: str = "") -> _Launch:
        """Returns the launch with these values set, under the context's lock."""
        launch = context.launch(self, target or _target(gpu), tuple(v is not None for v in values))
        launch.set(values)
        return launch

    # running

    def __call__(self, *args: Any, stream: Any = None, time_limit: Optional[float] = None,
                 **names: Any) -> None:
        """Runs it. Arguments come in the kernel's order (`params`) or by name, without the sizes that arrays by
        name give; tuned values (`BM=64`) and types (`T="f16"`) by name, for this call. Arrays are used in
        place: an output may be an input only if each element is read, only by the block that writes it, before
        it is written; a product over its own operand is refused (with_(overlap=True) allows it). `stream`: of
        the GPU, where the call does not wait. time_limit: seconds, on the host."""
        if time_limit is not None:
            return self._run_limited(args, names, stream, _limit(time_limit))
        if len(args) == self._full and not names and self._epoch == _epoch:
            try:
                values = [take(value) for take, value in zip(self._quick_takers, args)]
                plan = self._plans.get(tuple([v[_DTYPE:_WRITABLE] if type(v) is tuple else float if type(v) is float else v
                                              for v in values]))  # _signature(), without its call
            except _UNREAD_QUICKLY:  # the call below raises it again with the parameter's name
                plan = None
            if plan:
                return self._start(plan, values, stream)
        kernel, values, gpu = self._prepare(args, names)
        if gpu < 0 and stream is not None:
            raise ArgumentError("`stream` is for a GPU, and the arrays are on the host")
        if (any(v is None or (type(v) is tuple and v[_DEVICE] != gpu) for v in kernel._arguments(values)) or
                any(v is not None for v, p in zip(values, kernel.params) if p.derived)):
            return kernel._run(values, gpu, stream)  # infers sizes, copies, or takes `device.sms` from the caller
        return kernel._start(kernel._make_ready(values, gpu), values, stream)

    def _arguments(self, values: Sequence[Any]) -> Sequence[Any]:
        """Returns the values that a caller passes by position, without the derived ones."""
        return values if len(self._given) == len(values) else [values[i] for i in self._given]

    def _run_limited(self, args: Sequence[Any], names: dict, stream: Any, limit: Optional[float]) -> None:
        kernel, values, gpu = self._prepare(args, names)
        if gpu >= 0:
            raise ArgumentError("`time_limit` is for the host: a call on a GPU does not wait")
        if stream is not None:
            raise ArgumentError("`stream` is for a GPU, and the arrays are on the host")
        context = self.module._context(gpu, True)
        with context.lock:
            launch = kernel._set(context, gpu, values)
            context.check(context.call("tw_launch_run", launch.handle, time_limit=limit))

    def _run(self, values: Sequence[Any], gpu: int, stream: Any) -> None:
        """Sets the values that have changed and runs. If nothing has to be copied to the GPU it runs in the stream;
        otherwise it waits."""
        context = self.module._context(gpu)
        there = gpu >= 0 and all(v[_DEVICE] == gpu for v in values if type(v) is tuple)
        if gpu >= 0:
            stream = _stream_of(values, stream)
            _used.last = (context, stream if there else 0)
        with context.lock:
            launch = self._set(context, gpu, values)
            if there:
                context.check(context.native.tw_launch_start(launch.handle, stream))
                return
            if gpu >= 0:  # first waits for the stream's work on the arrays
                context.check(context.native.tw_stream_wait(context.handle, stream))
            context.check(context.call("tw_launch_run", launch.handle))

    def _start(self, plan: _Plan, values: list, stream: Any) -> None:
        """Starts an entry: arguments by position, from several threads at once, without a lock."""
        if plan.gpu >= 0:
            stream = _stream_of(values, stream)
            _used.last = (plan.context, stream)
        elif stream is not None:
            raise ArgumentError("`stream` is for a GPU, and the arrays are on the host")
        if len(self._given) < len(values):
            values = self._arguments(values)
        packed = _packed(plan, values)
        try:
            error, at = _errors.latest
        except AttributeError:
            error, at = _error_of_thread()
        if plan.gpu >= 0:
            status = getattr(_loaded, plan.start)(plan.entry, packed, len(values), stream, at)
        elif plan.quick[0]:
            began = _now()
            status = getattr(_loaded, plan.start)(plan.entry, packed, len(values), None, at)
            if _now() - began >= _QUICK:
                plan.quick[0] = False
        else:  # it may take long
            began = _now()
            status = plan.context.call(plan.start, plan.entry, packed, len(values), None, at)
            plan.quick[0] = _now() - began < _QUICK
        if status:
            _raise(status, _text(error.text))

    def _make_ready(self, values: list, gpu: int) -> _Plan:
        """Makes an entry, one for each choice of element types. An entry does not know the lengths of arrays, so
        new sizes go through the checks of a launch."""
        self._renew()
        signature = _signature(values)
        plan = self._plans.get(signature)
        if plan:
            return plan
        context = self.module._context(gpu)
        types = (gpu, *[v[_DTYPE] if type(v) is tuple else type(v) for v in values])
        with context.lock:
            plan = self._entries[types] = self._checked(context, values, self._entries.get(types))
            if len(self._plans) >= _SIZES_KEPT:
                self._plans.clear()
            self._plans[signature] = plan
        return plan

    def _checked(self, context: _Context, values: list, plan: Optional[_Plan]) -> _Plan:
        """Checks and compiles a launch with these values, and makes its plan if there is none for such types."""
        launch, entry = self._set(context, context.gpu, values), c_void_p()
        context.check(context.call("tw_launch_prepare", launch.handle))
        if plan:
            return plan
        context.check(context.native.tw_entry_new(launch.handle, byref(entry)))
        return _new_plan(context, "tw_entry_start", entry.value, self._arguments(values))

    def verify(self, *args: Any, stream: Any = None, time_limit: Optional[float] = None,
               **names: Any) -> Verdict:
        """Runs the kernel with these arguments, waits, and compares its outputs with its `ensures`,
        evaluated in double precision with a tolerance from types and sizes. An input that the kernel
        overwrites is copied first. Raises WrongValues; raises Unsupported if the kernel has no `ensures`."""
        kernel, values, gpu = self._prepare(args, names)
        limit = _limit(time_limit)
        context, verdict = self.module._context(gpu, limit is not None), _Verdict()
        with context.lock:
            if gpu >= 0:  # work that the arrays wait for
                context.check(context.native.tw_stream_wait(context.handle,
                                                            _stream_of(values, stream)))
            launch = kernel._set(context, gpu, values)
            context.check(context.native.tw_launch_keep_inputs(launch.handle, True))
            began = time.monotonic()
            try:
                context.check(context.call("tw_launch_run", launch.handle, time_limit=limit))
            finally:
                context.native.tw_launch_keep_inputs(launch.handle, False)
            if limit is not None:
                limit = max(limit - (time.monotonic() - began), 1e-3)
            status = context.call("tw_launch_verify", launch.handle, byref(verdict), time_limit=limit)
            found = Verdict(verdict.max_error, verdict.tolerance, verdict.got, verdict.want,
                            _text(verdict.view), tuple(verdict.at[:verdict.rank]), verdict.checked,
                            verdict.undecided, verdict.nans)
            try:
                context.check(status)
            except WrongValues as error:
                error.verdict = found
                raise
        return found

    # looking

    def _earlier(self, word: str, names: dict, device: Any) -> Any:
        """Returns the value of `word`, an earlier name of the keyword `device`, if a call gives it and the kernel
        has no such name."""
        known = word in self.types or word in self.tune or any(p.name == word for p in self.params)
        return device if known else names.pop(word, device)

    def _look(self, device: str, sizes: dict, limited: bool = False) -> tuple:
        """Returns (context, launch) with these sizes and choices, without arrays."""
        target = _target_called(self._earlier("target", sizes, device))
        choices = {n: sizes.pop(n) for n in list(sizes) if n in self.types or n in self.tune}
        kernel = self._choose(choices) if choices else self
        given = {**kernel._bound, **{self._param(n).name: v for n, v in sizes.items()}}
        values = [kernel._take(i, given[p.name]) if p.name in given else None
                  for i, p in enumerate(self.params)]
        context = self.module._context(-1, limited)
        return context, kernel._set(context, -1, values, target)

    def check(self, device: str = "cpu", time_limit: Optional[float] = None, **sizes: Any) -> Optional[str]:
        """Compiles the kernel and checks its synchronisation. Raises CompileError, or RaceError with both source
        lines. Returns None if the check is complete, else the reason why it cannot tell of races in this kernel."""
        limit = _limit(time_limit)
        with self.module._context(-1, limit is not None).lock:
            context, launch = self._look(device, sizes, limit is not None)
            context.check(context.call("tw_launch_check", launch.handle, time_limit=limit))
            why = context.native.tw_launch_undecided(launch.handle)
            return _text(why) if why else None

    def show(self, after: Optional[str] = None, device: str = "cpu", time_limit: Optional[float] = None,
             **sizes: Any) -> str:
        """Returns the typed program after a pass (None: the last), as text that compiles again."""
        return self._ask("tw_launch_show", (after and after.encode(),), c_char_p(), device, time_limit, sizes, _said)

    def ptx(self, device: str = "sm_80", time_limit: Optional[float] = None, **sizes: Any) -> str:
        """Returns the PTX for an NVIDIA GPU: device is a target, "sm_90", or a GPU of gpus(), "h100". No GPU is
        needed."""
        return self._ask("tw_launch_show_stage", (1,), c_char_p(), device, time_limit, sizes, _said)

    def layouts(self, device: str = "sm_80", time_limit: Optional[float] = None, **sizes: Any) -> Record:
        """Returns how a GPU holds each tile: `block`, `shared_bytes`, `registers`, `tiles` and `accesses`, as in
        `tilewright show --stage layout --json` (docs/lowering.md). No GPU is needed."""
        return self._ask("tw_launch_layouts", (), _Layouts(), device, time_limit, sizes, _layouts)

    def explain(self, device: str = "h200", registers: int = 0, step_limit: int = 0,
                time_limit: Optional[float] = None, **sizes: Any) -> Record:
        """Predicts the time of a launch on a GPU of gpus(), which need not be present, and explains it. Returns
        the fields of tw_explanation (tilewright_model.h; docs/explain.md). registers: of a thread, if they are
        known; step_limit: warp instructions of one block."""
        device, found = str(self._earlier("gpu", sizes, device)), _Gpu()
        if not _library().tw_gpu_find(device.encode(), byref(found)):
            raise NotFound(f"the model knows no GPU {device!r}; it knows {_listed((g.name for g in gpus()), device)}")
        options = _ExplainOptions(gpu=device.encode(), registers=_natural("registers", registers, 2**31 - 1),
                                  step_limit=_natural("step_limit", step_limit))
        return self._ask("tw_launch_explain", (byref(options),), _Explanation(), _text(found.target), time_limit,
                         sizes, _explanation)

    def profile(self, *args: Any, runs: int = 1, time_limit: Optional[float] = None, **names: Any) -> Record:
        """Runs the kernel on the CPU engine `runs` times, on arrays of the host, in place, and returns the time and
        the work of each line, kind of step and product: the fields of tw_profile (tilewright_profile.h;
        docs/profile.md). Takes the arguments of a call.
        Raises what a call raises."""
        kernel, values, _ = self.with_(device="cpu")._prepare(args, names)
        limit = _limit(time_limit)
        context = self.module._context(-1, limit is not None)
        with context.lock:
            launch, out = kernel._set(context, -1, values, "cpu"), _Profile()
            context.check(context.call("tw_launch_profile", launch.handle, _natural("runs", runs, 2**31 - 1), byref(out),
                                       time_limit=limit))
            return _record(out)

    def _ask(self, function: str, between: tuple, out: Any, device: str, time_limit: Optional[float], sizes: dict,
             read: Callable[[Any], Any]) -> Any:
        """Calls function(launch, *between, out) and returns read(out), while the memory that `out` points to is
        valid."""
        limit = _limit(time_limit)
        with self.module._context(-1, limit is not None).lock:
            context, launch = self._look(device, sizes, limit is not None)
            context.check(context.call(function, launch.handle, *between, byref(out), time_limit=limit))
            return read(out)

    # simulating

    def simulate(self, *args: Any, device: str = "sim", time_limit: Optional[float] = None,
                 despite_races: bool = False, trace: Any = None, trace_block: Sequence[int] = (),
                 trace_from: int = 0, trace_events: int = 0, why: Optional[str] = None,
                 watch: Iterable[str] = ("races", "barriers", "memory", "counters"), seed: int = 0,
                 order: Sequence[Any] = (), copies: Any = "early", step_limit: int = 0,
                 same_value: str = "warning", volatile: str = "warning",
                 suppressions: Optional[str] = None, **names: Any) -> Simulation:
        """Runs the program that a GPU gets on the simulator, on arrays of the host, in place. Takes the arguments of a
        call. Findings raise no exception: they are in the result.

        watch: the checks and counters to run; there are "exits" and "outputs" too (TW_WATCH_… in tilewright_sim.h).
        `assume` and `inside` are checked unless "counters" or a trace is asked for.
        despite_races=True: runs a kernel that the compiler refuses for its races.
        seed: of a random order of warps and blocks; 0: in turn. order: the warps that get their turns first, or
        (warp, instructions). copies: asynchronous copies land at once ("early"), as "late" as the rules allow, or
        after that number of instructions of their warp.
        step_limit: warp instructions, 0: 2^40. time_limit: seconds.
        same_value, volatile: "warning", "error" or "ignore", for unordered writes of one value and for unordered
        volatile accesses. suppressions: findings to let pass, a line each (tilewright_sim.h).
        trace: the file that gets all events of the block trace_block (docs/trace.md); NAME.json is for Perfetto.
        why="c[0][1]": asks how the element got its value in that block; the result's `why` has the answer.
        A parameter of the kernel that has the name of an option is given by position.
        Raises ArgumentError, CompileError, RaceError, TimeLimit, Unsupported, OSError."""
        target = _target_called(self._earlier("target", names, device))
        if target == "cpu":
            raise ArgumentError('device: the simulator runs what a GPU gets: "sim", "sim:sm_90", "sm_90" or "h100"')
        kernel, values, _ = self.with_(device="cpu")._prepare(args, names)
        options = _sim_options(watch, seed, order, copies, step_limit, same_value, volatile, suppressions)
        if trace is not None or why is not None:
            options.trace = ctypes.pointer(_trace_options(trace, trace_block, trace_from, trace_events))
            if why is not None:
                _ask_why(options.trace.contents, kernel, values, why)
        elif trace_block or trace_from or trace_events:
            raise ArgumentError("trace_block, trace_from and trace_events are about a trace: name its file, trace=…")
        limit = _limit(time_limit)
        context = self.module._context(-1, limit is not None)
        with context.lock:
            launch = kernel._set(context, -1, values, target)
            return launch.simulate(options, despite_races, trace, limit)


# --- families ---


class _Sources(NamedTuple):
    """A family's path, and the results and limits that its choices follow from."""
    path: bytes
    tables: tuple = ()  # (path, device) each
    store: Any = True
    same_bits: bool = False
    gpu: str = ""  # the GPU of gpus() that the choices are for; "": the device of the call


def _add_store(context: _Context, family: c_void_p, store: Any) -> None:
    """Adds the results of a store (True: the user's, if there is one), if the family's device is here."""
    native, opened = context.native, c_void_p()
    status = native.tw_store_open_existing(context.handle, None if store is True else store, byref(opened))
    if store is True and status in (_NOT_FOUND, _UNSUPPORTED):
        return
    context.check(status)
    status = native.tw_family_add_store(family, opened, None)
    native.tw_store_close(opened)
    if status != _UNSUPPORTED:
        context.check(status)


def _load_family(context: _Context, name: Optional[str], target: str, types: tuple, sources: _Sources,
                 limit: Optional[float] = None) -> int:
    native, out = context.native, c_void_p()
    context.check(context.call("tw_family_from_file", context.handle, sources.path, name.encode() if name else None,
                               target.encode(), byref(out), time_limit=limit))
    for variable, dtype in types:
        context.check(native.tw_family_type(out, variable.encode(), dtype))
    if sources.gpu:
        context.check(native.tw_family_device(out, sources.gpu.encode()))
    context.check(native.tw_family_same_bits(out, sources.same_bits))
    for path, device in sources.tables:
        context.check(native.tw_family_add_table(out, path, device))
    if sources.store is not False:
        _add_store(context, out, sources.store)
    return out.value


class _FamilyContexts(_Contexts):
    members: Optional[dict] = None  # Kernels by name


class Family(Kernel):
    """Kernels that compute the same (docs/families.md). family() makes it. Call it as a kernel: the kernel and the
    tuned values that are the fastest for the sizes run, as measured or as predicted.

        matmul = tilewright.family("kernels/matmul.tile")
        matmul(m, n, k, a, b, c)
        matmul.choose(m, n, k, T="f16", device="cuda").kernel

    It has what a Kernel has, without tuned values: `kernels[name].with_(BM=64)` is one of its kernels with tuned
    values by hand."""

    _word = "family"

    def __init__(self, module: _Contexts, name: str, base: Optional[Family] = None, sources: Optional[_Sources] = None):
        self._sources = sources or base._sources
        super().__init__(module, name, base)

    def _handle(self) -> int:
        return self._members()[0]

    def _members(self) -> list:
        """Returns the library's kernels, for the host."""
        context, found = self.module._context(-1), []
        with context.lock:
            family = self._native(context, "cpu", ())
            while context.native.tw_family_kernel(family, len(found)):
                found.append(context.native.tw_family_kernel(family, len(found)))
        return found

    def _read(self, native: Any, handle: int) -> None:
        """Takes the types that any kernel lists, and none of the tuned values, which differ."""
        types: dict = {}
        for member in reversed(self._members()):
            super()._read(native, member)
            types = {n: list(dict.fromkeys([*choices, *types.get(n, ())])) for n, choices in self.types.items()}
        self.types, self._lists, self.tune_groups = types, {}, []
        self.params = [p._replace(is_static=False) for p in self.params]

    def _native(self, context: _Context, target: str, types: tuple) -> int:
        """Returns the library's family for a target and types. Each is made once, because the types of one do not
        change after its first start."""
        key = target, types, self._sources
        if key not in context.families:
            context.families[key] = _load_family(context, self.name, *key)
        return context.families[key]

    def __repr__(self) -> str:
        names = ", ".join(p.name for p in self.params)
        return f"<tilewright.Family {self.name}({names}): {', '.join(self.kernels)}>"

    @property
    def kernels(self) -> dict:
        """Its kernels by name, each an ordinary Kernel of its own file."""
        context = self.module._context(-1)
        with context.lock:
            if not self.module.members:
                native, found, files = context.native, {}, {}
                for i, member in enumerate(self._members()):
                    file = native.tw_family_file(self._native(context, "cpu", ()), i)
                    if file not in files:
                        with open(file, "rb") as text:
                            files[file] = Module(os.fsdecode(file), text.read(), self.module._options)
                    name = _text(native.tw_kernel_name(member))
                    found[name] = files[file][name]
                self.module.members = found
            return self.module.members

    def with_(self, device: Optional[str] = None, overlap: Optional[bool] = None, **choices: Any) -> Family:
        """As Kernel.with_, for types, parameters and the device."""
        if overlap:
            raise ArgumentError(f"overlap: a family's kernels read and write in different orders; take one of "
                                f"{', '.join(self.kernels)}: kernels[name].with_(overlap=True)")
        return super().with_(device, None, **choices)

    def tuned(self, *args: Any, **names: Any) -> Any:
        raise Unsupported("tuned: a family takes stored results by itself; kernels[name].tuned(…) is for one kernel")

    def add_table(self, path: Any, device: Optional[str] = None) -> None:
        """Adds the results of a table's file (docs/families.md), which replace earlier ones. device: results of this
        device count as those of the call's device. Raises OSError, CompileError with the line of the file."""
        added = os.fsencode(os.path.abspath(path)), device.encode() if device else None
        with open(path, "rb"):  # a missing file is an OSError, as in load()
            self._change(tables=(*self._sources.tables, added))

    def _change(self, **sources: Any) -> None:
        """Changes what choices follow from, if the family can be loaded so."""
        new, context = self._sources._replace(**sources), self.module._context(-1)
        old, self._sources = self._sources, new
        try:
            with context.lock:
                self._native(context, "cpu", ())
        except Error:
            self._sources = old
            raise
        self._plans, self._entries, self._chosen = {}, {}, {}

    def _for_gpu(self, device: Any) -> Family:
        """Returns a family that chooses for the GPU of gpus() that `device` names, "h100" or "sim:h100"."""
        word, found = str(device), _Gpu()
        word = word[4:] if word.startswith("sim:") else word
        if word == self._sources.gpu or not _library().tw_gpu_find(word.encode(), byref(found)):
            return self
        return type(self)(self.module, self.name, self, self._sources._replace(gpu=word))

    # choosing

    def choose(self, *args: Any, device: Optional[str] = None, **names: Any) -> Record:
        """Returns the choice for sizes, or for the arguments of a call: `kernel` and `variant` (names), `tune` (tuned
        values), `types`, `by` ("result", "nearest" or "model"), `device` (whose results decided), `nearest` (their
        sizes), `distance` (in octaves), `milliseconds` (measured or predicted; 0: not known), `compared` (the number
        of variants). device: "cpu", "cuda", "sm_90", "h100" … (default: that of the arrays, else the host)."""
        if device is not None:
            return self._for_gpu(device)._choice(_target_called(device), args, names)
        return self._choice("", args, names)

    def _choice(self, target: str, args: Sequence[Any], names: dict) -> Record:
        padded = list(args)  # arrays may be missing
        while len(padded) < len(self._free) and self.params[self._free[len(padded)]].name not in names:
            padded.append(None)
        family, given = self._order(padded, names)
        values = [family._take(i, value) for i, value in enumerate(given)]
        gpu = -1 if target else family._place(values)
        context = self.module._context(gpu)
        with context.lock:
            native, _, made, types = family._find(context, values, target or _target(gpu))
            kernel = _text(context.native.tw_kernel_name(made.kernel))
            pairs = (pair.split("=") for pair in _text(made.tune).split(",") if pair)
            return Record({"kernel": kernel, "variant": _text(made.variant), "tune": {n: _number(v) for n, v in pairs},
                           "types": {n: _DTYPES[t] for n, t in types}, "by": ("result", "nearest", "model")[made.by],
                           "device": _known(made.device), "nearest": _known(made.nearest), "distance": made.distance,
                           "milliseconds": made.milliseconds, "compared": made.compared,
                           "result_types": _known(made.types)})

    def _types_of(self, values: Sequence[Any]) -> tuple:
        """Returns the types of a call: those chosen, those of the arrays, the first ones listed."""
        found = dict(self._types)
        for param, value in zip(self.params, values):
            if type(value) is tuple and param.type in self.types:
                found.setdefault(param.type, value[_DTYPE])
        return tuple((n, found.get(n, _DTYPES.index(choices[0]))) for n, choices in self.types.items())

    def _find(self, context: _Context, values: Sequence[Any], target: str) -> tuple:
        """Returns (family, launch, choice, types) for a call, under the context's lock. The launch, of a kernel that
        takes the types, has the values, so they are checked."""
        types, made = self._types_of(values), _Choice()
        family = self._native(context, target, types)
        key = family, tuple(v is not None for v in values)
        launch = context.launches.get(key)
        if not launch:
            launch = context.launches[key] = _Launch(context, self, self._any_launch(context, family, types))
        launch.set(values)
        context.check(context.call("tw_family_choose_for", family, launch.handle, byref(made)))
        return family, launch, made, types

    def _any_launch(self, context: _Context, family: int, types: tuple) -> int:
        """Returns a launch of the first kernel that takes the types."""
        native, index, status = context.native, 0, _OK
        while native.tw_family_kernel(family, index):
            out = c_void_p()
            context.check(native.tw_launch_new(native.tw_family_kernel(family, index), byref(out)))
            for variable, dtype in types:
                status = native.tw_launch_type(out, variable.encode(), dtype)
                if status not in (_OK, _NOT_FOUND):
                    break
            else:
                return out.value
            native.tw_launch_free(out)
            index += 1
        raise ArgumentError(f"no kernel of the family {self.name} takes "
                            f"{', '.join(f'{n}={_DTYPES[t]}' for n, t in types)} together")

    def _set(self, context: _Context, gpu: int, values: Sequence[Any], target: str = "") -> _Launch:
        family, _, made, _ = self._find(context, values, target or _target(gpu))
        key = family, _text(made.variant), tuple(v is not None for v in values)
        launch, out = context.launches.get(key), c_void_p()
        if not launch:
            context.check(context.native.tw_family_launch(family, byref(made), byref(out)))
            launch = context.launches[key] = _Launch(context, self, out.value)
        launch.set(values)
        return launch

    def _checked(self, context: _Context, values: list, plan: Optional[_Plan]) -> _Plan:
        family = self._find(context, values, _target(context.gpu))[0]
        given = self._arguments(values)
        plan = plan or _new_plan(context, "tw_family_start", family, given)
        error = _error_of_thread()[0]
        status = context.call("tw_family_ready", family, _packed(plan, given), len(given), None, byref(error))
        if status:
            _raise(status, _text(error.text))
        return plan

    # looking

    def _look(self, device: str, sizes: dict, limited: bool = False) -> tuple:
        device = self._earlier("target", sizes, device)
        return Kernel._look(self._for_gpu(device), device, sizes, limited)

    def explain(self, device: str = "h200", *args: Any, **sizes: Any) -> Record:
        device = str(self._earlier("gpu", sizes, device))
        return Kernel.explain(self._for_gpu(device), device, *args, **sizes)

    def simulate(self, *args: Any, device: str = "sim", **names: Any) -> Simulation:
        device = self._earlier("target", names, device)
        return Kernel.simulate(self._for_gpu(device), *args, device=device, **names)


def family(path: Any, name: Optional[str] = None, threads: int = 0, time_limit: Optional[float] = None, *,
           import_path: Any = (), progress: Any = None, store: Any = True, same_bits: bool = False,
           bind: Optional[str] = None, machine_bits: bool = False) -> Family:
    """Loads a family: a file that declares one, a file with several kernels that compute the same, a folder, or the
    name of one that ships, "matmul". name: the family in a file that declares several. store: True counts the results
    that `tilewright tune` stored, if there are any; False does not; a path names the store. same_bits=True leaves out
    kernels whose results may differ in their last bits from run to run. The rest is as for load(). Raises OSError,
    CompileError, NotFound, TimeLimit."""
    if not isinstance(path, (str, bytes, os.PathLike)):
        raise TypeError(f"family: `path` is {path!r}, expected the path of a .tile file or of a folder")
    path = os.fsdecode(path)
    if re.search(r"[/.]", path) and not os.path.isdir(path):  # a name that ships has neither
        open(path, "rb").close()
    contexts = _FamilyContexts(path, None, _options(threads, import_path, progress, bind, machine_bits))
    sources = _Sources(os.fsencode(path), (), store if isinstance(store, bool) else os.fsencode(os.path.abspath(store)),
                       bool(same_bits))
    context = contexts._context(-1)
    handle = _load_family(context, name, "cpu", (), sources, _limit(time_limit))
    context.families["cpu", (), sources] = handle
    return Family(contexts, _text(context.native.tw_family_name(handle)), None, sources)


# --- devices and streams ---

_errors = threading.local()  # .latest: the error that the thread's calls on entries fill, and a reference to it
_now = time.perf_counter


def _error_of_thread() -> tuple:
    error = _Error()
    _errors.latest = error, byref(error)
    return _errors.latest


_used = threading.local()  # .last: (context, stream) of the thread's latest launch on a GPU


def _device_name(device: str) -> str:
    kind, _, number = device.partition(":")
    if kind not in ("cpu", "cuda") or (number and not (kind == "cuda" and number.isdigit())):
        raise ArgumentError(f'there is no device {device!r}; there are "cpu", "cuda", "cuda:1", …')
    return device


def _target_called(device: Any) -> str:
    """Returns the target for "sm_90", "sim", "sim:sm_90", or a GPU of gpus() such as "h100"; "cpu" and "cuda"
    stay."""
    word, found = str(device), _Gpu()
    word = "sm_80" if word == "sim" else word[4:] if word.startswith("sim:") else word
    return _text(found.target) if _library().tw_gpu_find(word.encode(), byref(found)) else word


def _device_index(device: str) -> int:
    return -1 if device == "cpu" else int(device.partition(":")[2] or 0)


def _target(gpu: int) -> str:
    return "cpu" if gpu < 0 else "cuda" if gpu == 0 else f"cuda:{gpu}"


def _stream_of(values: Sequence[Any], stream: Any) -> int:
    if stream is None:
        stream = next((v[_STREAM] for v in values if type(v) is tuple and v[_STREAM] is not None), 0)
    elif not isinstance(stream, int):
        if hasattr(stream, "__cuda_stream__"):
            stream = stream.__cuda_stream__()[1]
        else:
            stream = getattr(stream, "cuda_stream", None) or getattr(stream, "ptr", 0)
    return 0 if stream == _LEGACY_STREAM else stream


def devices() -> list:
    """Returns (name, description) of each device, "cpu" first."""
    found, one = [], _Device()
    while _library().tw_device_at(len(found), byref(one)):
        found.append((_text(one.name), _text(one.description)))
    return found


def gpus() -> list:
    """Returns the GPUs that explain() knows: a Record each, with the fields of tw_gpu."""
    found, one = [], _Gpu()
    while _library().tw_gpu_at(len(found), byref(one)):
        found.append(_record(one))
    return found


def passes() -> list:
    """Returns (name, summary) of the compiler's passes, for Kernel.show(), in their order."""
    native, found = _library(), []
    while native.tw_pass_name(len(found)):
        found.append((_text(native.tw_pass_name(len(found))), _text(native.tw_pass_summary(len(found)))))
    return found


# --- memory of a GPU ---

_gpu_contexts: dict = {}
_gpu_lock = threading.Lock()


def _gpu_context(gpu: int) -> _Context:
    with _gpu_lock:
        if gpu not in _gpu_contexts:
            _gpu_contexts[gpu] = _Context(gpu, _Options(0, None, None))
        return _gpu_contexts[gpu]


def _free_on_gpu(context: _Context, function: str, what: Any) -> None:
    if context.epoch != _epoch:
        return  # it belongs to the parent process
    with context.lock:
        getattr(context.native, function)(context.handle, what)


class DeviceArray:
    """An array on a GPU, made by empty() or to_device(), for programs without PyTorch or CuPy. Those accept it by its
    `__cuda_array_interface__`, without a copy."""

    def __init__(self, shape: Sequence[int], dtype: str, device: str = "cuda"):
        self.shape = tuple(operator.index(extent) for extent in shape)
        self._type = _dtype_index(dtype)
        self.dtype = _DTYPES[self._type]
        self.nbytes = math.prod(self.shape) * _SIZES[self._type]
        self.gpu = _device_index(_device_name(device))
        if self.gpu < 0:
            raise ArgumentError('a DeviceArray is on a GPU: "cuda", "cuda:1", …')
        self._context = _gpu_context(self.gpu)
        out = c_void_p()
        with self._context.lock:
            self._context.check(self._context.native.tw_device_allocate(
                self._context.handle, self.nbytes, byref(out)))
        self.address = out.value or 0
        weakref.finalize(self, _free_on_gpu, self._context, "tw_device_free",
                         self.address).atexit = False

    @property
    def __cuda_array_interface__(self) -> dict:
        code = _TYPESTR_OF.get(self.dtype)
        if not code:
            raise AttributeError(f"__cuda_array_interface__ has no {self.dtype}")
        return {"shape": self.shape, "typestr": ("|" if code[1] == "1" else _NATIVE) + code,
                "data": (self.address, False), "version": 3, "stream": _LEGACY_STREAM}

    def _copy(self, function: str, host: Any, needs_writing: bool) -> None:
        array = _describe_target(host, "the copy writes") if needs_writing else _describe(host)
        if (array[_DEVICE] >= 0 or array[_SHAPE] != self.shape or
                _SIZES[array[_DTYPE]] != _SIZES[self._type]):
            raise ArgumentError(f"a copy needs an array on the host with shape {self.shape} and elements "
                                f"of {_SIZES[self._type]} bytes")
        if needs_writing and not array[_WRITABLE]:
            raise ArgumentError("the array to copy to is read-only")
        pair = (self.address, array[_ADDRESS])
        if needs_writing:
            pair = (array[_ADDRESS], self.address)
        context = self._context
        with context.lock:
            context.check(context.native.tw_stream_wait(context.handle, None))
            context.check(getattr(context.native, function)(context.handle, *pair, self.nbytes, None))

    def copy_from(self, host: Any) -> DeviceArray:
        """Copies the values of an array on the host into this array. Returns itself."""
        self._copy("tw_device_copy_in", host, False)
        return self

    def copy_to(self, host: Any) -> Any:
        """Copies its values into an array on the host, and returns that array; waits for the default
        stream first."""
        self._copy("tw_device_copy_out", host, True)
        return host

    def numpy(self) -> Any:
        """Returns its values as a new NumPy array (bf16 and the like with the package ml_dtypes)."""
        import numpy
        code = _TYPESTR_OF.get(self.dtype)
        if not code:
            import ml_dtypes
            code = getattr(ml_dtypes, {v: k for k, v in _LONG_NAMES.items()}[self.dtype])
        return self.copy_to(numpy.empty(self.shape, code))

    def __repr__(self) -> str:
        return f"<tilewright.DeviceArray {self.dtype}{list(self.shape)} on {_target(self.gpu)}>"


def _from_device_array(x: DeviceArray) -> _Array:
    return x.address, x._type, x.shape, x.gpu, True, None


_readers[DeviceArray] = _from_device_array


def empty(shape: Sequence[int], dtype: str = "f32", device: str = "cuda") -> DeviceArray:
    """Returns an array on a GPU, not initialised."""
    return DeviceArray(shape, dtype, device)


def to_device(host: Any, device: str = "cuda") -> DeviceArray:
    """Returns a copy, on a GPU, of an array on the host."""
    array = _describe(host)
    return DeviceArray(array[_SHAPE], _DTYPES[array[_DTYPE]], device).copy_from(host)


# --- helpers for a main program ---


def cdiv(a: int, b: int) -> int:
    """Returns a / b, rounded up."""
    return -(-a // b)


def _gpu_timer(function: Callable[[], Any], context: _Context, stream: int) -> Callable[[], float]:
    """Returns a function that times one call on the GPU, by events in the stream that the last call used."""
    native, handle = context.native, context.handle
    events = [c_void_p(), c_void_p()]
    with context.lock:
        for event in events:
            context.check(native.tw_event_new(handle, byref(event)))

    def once() -> float:
        elapsed = c_double()
        with context.lock:
            context.check(native.tw_event_record(handle, events[0], stream))
        function()
        with context.lock:
            context.check(native.tw_event_record(handle, events[1], stream))
            context.check(native.tw_event_elapsed(handle, *events, byref(elapsed)))
        return elapsed.value

    for event in events:
        weakref.finalize(once, _free_on_gpu, context, "tw_event_free", event).atexit = False
    return once


def _torch_timer(function: Callable[[], Any], torch: Any) -> Callable[[], float]:
    def once() -> float:
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        function()
        end.record()
        end.synchronize()
        return start.elapsed_time(end)

    return once


def _host_timer(function: Callable[[], Any]) -> Callable[[], float]:
    def once() -> float:
        start = time.perf_counter()
        function()
        return (time.perf_counter() - start) * 1e3

    return once


def bench(function: Callable[[], Any], warmup: int = 5, repeat: int = 20) -> float:
    """Returns the median time of `function()` in milliseconds, over `repeat` calls after `warmup` calls.
    It uses the GPU's own clock in two cases: PyTorch uses a GPU in this process (then in its current stream), or the
    function's latest launch was on a GPU. It waits for each call and does not clear caches. On the host it uses the
    wall clock."""
    _used.last = None
    for _ in range(max(warmup, 1)):
        function()
    torch = sys.modules.get("torch")
    if torch and torch.cuda.is_available() and torch.cuda.is_initialized():
        once = _torch_timer(function, torch)
    elif _used.last:
        once = _gpu_timer(function, *_used.last)
    else:
        once = _host_timer(function)
    return statistics.median(once() for _ in range(repeat))


def _on_host(x: Any) -> Any:
    """Returns x as a NumPy array of doubles or integers."""
    import numpy
    if isinstance(x, DeviceArray):
        x = x.numpy()
    elif hasattr(x, "detach"):  # PyTorch
        x = x.detach().to("cpu", dtype=sys.modules["torch"].float64).numpy()
    elif hasattr(x, "get") and hasattr(x, "__cuda_array_interface__"):  # CuPy
        x = x.get()
    x = numpy.asarray(x)
    return x.astype("f8") if x.dtype.kind in "fV" else x


def allclose(actual: Any, expected: Any, rtol: float = 1e-3, atol: float = 1e-4) -> bool:
    """Returns True if |actual - expected| <= atol + rtol |expected| everywhere, the shapes are equal, and both have
    NaNs in the same places. Takes arrays of NumPy, PyTorch, CuPy, on the host or on a GPU."""
    import numpy
    a, b = _on_host(actual), _on_host(expected)
    return a.shape == b.shape and bool(numpy.allclose(a, b, rtol=rtol, atol=atol, equal_nan=True))


def table(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Returns the rows under a header, in columns, with numbers aligned right."""
    cells = [[f"{x:.3f}" if isinstance(x, float) else str(x) for x in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(header, *cells)]
    is_text = [any(not c.replace(".", "").lstrip("-").isdigit() for c in column) for column in zip(*cells)]
    lines = []
    for row in (list(header), *cells):
        parts = [cell.ljust(w) if text else cell.rjust(w)
                 for cell, w, text in zip(row, widths, is_text or [False] * len(widths))]
        lines.append("  ".join(parts).rstrip())
    return "\n".join(lines)


if __name__ == "__main__":
    try:
        _library()
    except ImportError as _error:
        sys.exit(f"tilewright.py: {_error}")
    print(f"tilewright {_library().tw_version().decode()}, {native_path()}")
    for _name, _description in devices():
        print(f"{_name:8} {_description}")
