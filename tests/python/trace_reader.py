"""Reads a trace (docs/trace.md): `head`, the columns as NumPy arrays, and values computed from them."""

import json
import struct

import numpy as np

NO_EVENT = 0xFFFFFFFF
ROW, COPY, PAST_L1, MATRIX, MBARRIER, AGAIN, UNDEFINED = 1, 2, 4, 8, 16, 32, 64


class Trace:
    def __init__(self, path):
        with open(path, "rb") as file:
            data = file.read()
        magic, version, length, zero = struct.unpack_from("<4sIII", data)
        assert (magic, version, zero) == (b"TWTR", 1, 0), (magic, version, zero)
        self.size = len(data)
        self.head = json.loads(data[16 : 16 + length])
        start = (16 + length + 7) // 8 * 8
        self.sections = {}
        for s in self.head["sections"]:
            assert s["offset"] % 8 == 0
            dtype = np.dtype({"u8": "<u1", "u16": "<u2", "u32": "<u4", "i32": "<i4"}[s["type"]])
            self.sections[s["name"]] = np.frombuffer(data, dtype, s["count"], start + s["offset"])
        self.count = self.head["events"]
        self.kinds = [self.head["kinds"][k] for k in self.column("kind")]
        self.values_at = dict(zip(self.column("value_event").tolist(), self.column("value_start").tolist()))

    def column(self, name):
        return self.sections.get(name, np.zeros(0, np.int64))

    def site(self, event):
        return self.head["sites"][self.column("site")[event]]

    def lanes(self, event):
        mask = int(self.column("mask")[event])
        return [lane for lane in range(32) if mask >> lane & 1]

    def address(self, event, lane):
        base, stride = int(self.column("base")[event]), int(self.column("stride")[event])
        if self.column("flags")[event] & ROW:
            return base + int(self.column("rows")[32 * stride + lane])
        return base + (lane - self.lanes(event)[0]) * stride

    def events(self, *kinds):
        return [i for i in range(self.count) if self.kinds[i] in kinds]

    def values(self, event):
        """Returns a row of bytes for each lane, or None."""
        start = self.values_at.get(event)
        if start is None:
            return None
        lanes, each = len(self.lanes(event)), self.site(event)["bytes"]
        return self.column("values")[start : start + lanes * each].reshape(lanes, each)

    def by_thread(self, space):
        return sum(self.site(i)["bytes"] * len(self.lanes(i))
                   for i in self.events("read", "write") if self.site(i)["space"] == space)

    def units(self, space):
        """Returns the number of sectors (global memory) or of wavefronts (shared memory) that all accesses took."""
        return sum(int(self.column("units")[i])
                   for i in self.events("read", "write") if self.site(i)["space"] == space)

    def flops(self):
        return sum(int(self.column("base")[i]) for i in self.events("compute", "mma"))

    def replay(self):
        """Returns shared memory and the list of arrays after all events; an array that the trace does not hold is
        None."""
        shared = np.zeros(self.head["shared_bytes"], np.uint8)
        start = self.column("shared")
        shared[: len(start)] = start
        arrays = []
        for a in self.head["arrays"]:
            at = a["initial"]
            arrays.append(None if at is None else self.column("initial")[at : at + a["bytes"]].copy())
        for i in self.events("write", "update"):
            for lane, value in zip(self.lanes(i), self.values(i)):
                at = self.address(i, lane)
                if at < len(shared):
                    shared[at : at + len(value)] = value
                    continue
                for a, data in zip(self.head["arrays"], arrays):
                    if data is not None and a["address"] <= at < a["address"] + a["bytes"]:
                        data[at - a["address"] : at - a["address"] + len(value)] = value
        return shared, arrays

    def snapshots(self, name):
        """Yields (event, warp, words of 32 lanes as bytes) of a variable, in order."""
        for event, number, start in zip(self.column("snapshot_event").tolist(),
                                        self.column("snapshot_variable").tolist(),
                                        self.column("snapshot_start").tolist()):
            v = self.head["variables"][number]
            if v["name"] == name:
                size = len(v["registers"]) * 32 * v["word_bytes"]
                data = self.column("snapshots")[start : start + size]
                yield event, int(self.column("warp")[event]), data.reshape(len(v["registers"]), 32, v["word_bytes"])
