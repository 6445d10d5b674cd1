#!/usr/bin/env python3
"""Random programs of thread IR, as they are and optimised, compute what this file computes: scalars, groups, loads, elements of global and shared memory
whose indices are sums of products, `if`, loops with their arguments and results.

    test_random_thread.py TILEWRIGHT [PROGRAMS [SEED]]

$THREAD_RUN is tests/thread/thread_run.c. A program that differs is printed.
"""
import os
import random
import subprocess
import sys
import tempfile

from tile_runner import fail

INPUTS, OUTPUTS, DEPTH = 8, 32, 3
WORDS = 64  # of %in, the inputs first; of the shared array
SMALL = 8   # small values are less; two of them times 4, and another, are the number of a word
RUNS = 2  # of each program, by thread_run
BITS = {"u32": 32, "i32": 32, "u64": 64, "i64": 64, "u16": 16, "i16": 16, "u8": 8, "i8": 8}
GROUPS = ["u32*2", "u32*3", "u32*6", "i16*3", "i16*6", "u8*3", "u8*6", "bool*3", "bool*6"]
TYPES = ["u32"] * 4 + ["i32", "u64", "i64", "u16", "i8", "bool"] + GROUPS + ["u32*3", "u32*6"]


class Leave(Exception):
    """Control leaves a region by the operation `how`, with values."""

    def __init__(self, how, values):
        super().__init__()
        self.how, self.values = how, values


def wrapped(kind, x):
    x &= (1 << BITS[kind]) - 1
    return x - (1 << BITS[kind]) if kind[0] == "i" and x >> (BITS[kind] - 1) else x


def shifted(kind, name, a, by):
    if name == "shl":
        return a << by if by < BITS[kind] else 0
    return a >> min(by, BITS[kind])


SCALAR = {
    "add": lambda k, a, b: a + b, "sub": lambda k, a, b: a - b, "mul": lambda k, a, b: a * b,
    "min": lambda k, a, b: min(a, b), "max": lambda k, a, b: max(a, b),
    "and": lambda k, a, b: a & b, "or": lambda k, a, b: a | b, "xor": lambda k, a, b: a ^ b,
    "div": lambda k, a, b: abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1),
    "rem": lambda k, a, b: abs(a) % abs(b) * (-1 if a < 0 else 1),
}
UNARY = {"abs": abs, "square": lambda a: a * a, "not": lambda a: ~a, "neg": lambda a: -a,
         "pow2_ceil": lambda a: 1 << (a - 1).bit_length() if a > 1 else 1}
COMPARE = {"eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "lt": lambda a, b: a < b,
           "le": lambda a, b: a <= b, "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b}


def converted(kind, x):
    return x != 0 if kind == "bool" else wrapped(kind, int(x))


def parts(kind):
    """Returns the type of a group's elements, and their number."""
    element, count = kind.split("*")
    return element, int(count)


class Program:
    """A program as text, and as a function of its inputs. A region is a list of functions of the values by name."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.lines, self.names, self.outputs = [], 0, 0
        self.visible = {t: [] for t in set(TYPES) | set(BITS) | {"small", "u32*4"}}
        self.kinds = {}  # by name

    # --- pieces of text ---

    def put(self, text):
        self.lines.append(text)

    def new(self):
        self.names += 1
        return f"%v{self.names}"

    def show(self, kind, name):
        self.kinds[name] = kind
        self.visible[kind].append(name)

    def value(self, kind):
        """Returns the name of a visible value; recent ones are likelier."""
        names = self.visible[kind]
        return names[-1 - min(int(self.random.expovariate(0.2)), len(names) - 1)]

    def constant(self, kind):
        low, high = {"u": (0, 1 << BITS[kind]), "i": (-1 << (BITS[kind] - 1), 1 << (BITS[kind] - 1))}[kind[0]]
        return self.random.choice([0, 1, 2, 5, high - 1, low, self.random.randrange(low, high)])

    def operand(self, kind):
        """Returns text, and a function of the values."""
        if self.random.random() < 0.25:
            c = self.constant(kind)
            text = str(c - (1 << BITS[kind])) if kind == "u32" and c >> 31 and self.random.random() < 0.5 else str(c)
            return text, lambda env: c
        name = self.value(kind)
        return name, lambda env: env[name]

    # --- operations on values ---

    def define(self, region, kind, text, function):
        name = self.new()
        self.put(f"{name} = {text}")
        self.show(kind, name)
        region.append(lambda env: env.__setitem__(name, function(env)))
        return name

    def arithmetic(self, region):
        kind = self.random.choice(list(BITS))
        name = self.random.choice(list(SCALAR) + list(UNARY) + ["shl", "shr", "fma", "select", "clip", "cdiv"])
        (ta, a), (tb, b), (tc, c) = (self.operand(kind) for _ in range(3))
        if name in ("div", "rem"):
            tb = str(self.random.choice([1, 2, 3, 7, 100]))
            b = lambda env, v=int(tb): v
        if name in ("shl", "shr"):
            tb, b = self.operand("u32")
            self.define(region, kind, f"{name}.{kind} {ta}, {tb}", lambda env: wrapped(kind, shifted(kind, name, a(env), b(env))))
        elif name == "fma":
            self.define(region, kind, f"fma.{kind} {ta}, {tb}, {tc}", lambda env: wrapped(kind, a(env) * b(env) + c(env)))
        elif name == "select":
            p = self.value("bool")
            self.define(region, kind, f"select.{kind} {p}, {ta}, {tb}", lambda env: a(env) if env[p] else b(env))
        elif name in UNARY:
            self.define(region, kind, f"{name}.{kind} {ta}", lambda env: wrapped(kind, UNARY[name](a(env))))
        elif name == "clip":
            self.define(region, kind, f"clip.{kind} {ta}, {tb}, {tc}", lambda env: min(max(a(env), b(env)), c(env)))
        elif name == "cdiv":
            by = self.random.choice([1, 2, 3, 7, 100])
            self.define(region, kind, f"cdiv.{kind} {ta}, {by}", lambda env: wrapped(kind, -(-a(env) // by)))
        else:
            self.define(region, kind, f"{name}.{kind} {ta}, {tb}", lambda env: wrapped(kind, SCALAR[name](kind, a(env), b(env))))

    def comparison(self, region):
        if self.random.random() < 0.1:
            kind = self.random.choice(["bool", "bool*3"])
            a = self.value(kind)
            return self.define(region, kind, f"not.bool {a}", lambda env: [not x for x in env[a]] if "*" in kind else not env[a])
        if self.random.random() < 0.3:
            name, a, b = self.random.choice(["and", "or", "xor"]), self.value("bool"), self.value("bool")
            return self.define(region, "bool", f"{name}.bool {a}, {b}", lambda env: bool(SCALAR[name](None, env[a], env[b])))
        kind, name = self.random.choice(list(BITS)), self.random.choice(list(COMPARE))
        (ta, a), (tb, b) = self.operand(kind), self.operand(kind)
        return self.define(region, "bool", f"{name}.{kind} {ta}, {tb}", lambda env: COMPARE[name](a(env), b(env)))

    def conversion(self, region):
        to, source = self.random.choice(list(BITS)), self.random.choice(list(BITS))
        a = self.value(source)
        self.define(region, to, f"convert.{to}.{source} {a}", lambda env: wrapped(to, env[a]))

    def on_group(self, region):
        self.random.choice([self.group_arithmetic, self.group_arithmetic, self.group_comparison, self.group_part, self.group_parts, self.group_of_parts,
                            self.group_conversion, self.group_reduction])(region)

    def group_operand(self, kind):
        """Returns text, and a function of the values that gives a list: a group, or a scalar that serves each element."""
        element, count = parts(kind)
        if self.random.random() < 0.6:
            name = self.value(kind)
            return name, lambda env: env[name]
        text, one = self.operand(element)
        return text, lambda env: [one(env)] * count

    def group_arithmetic(self, region):
        kind = self.random.choice([g for g in GROUPS if g[0] != "b"])
        element, count = parts(kind)
        a, (tb, b) = self.value(kind), self.group_operand(kind)
        name = self.random.choice(["add", "mul", "and", "xor", "min", "max", "fma", "shl", "shr", "select", *UNARY])
        if name in UNARY:
            self.define(region, kind, f"{name}.{element} {a}", lambda env: [wrapped(element, UNARY[name](x)) for x in env[a]])
        elif name == "fma":
            tc, c = self.group_operand(kind)
            self.define(region, kind, f"fma.{element} {a}, {tb}, {tc}", lambda env: [wrapped(element, x * y + z) for x, y, z in zip(env[a], b(env), c(env))])
        elif name == "select":
            p = self.value(f"bool*{count}" if count > 2 and self.random.random() < 0.7 else "bool")
            self.define(region, kind, f"select.{element} {p}, {a}, {tb}",
                        lambda env: [x if c else y for c, x, y in zip(env[p] if "*" in self.kinds[p] else [env[p]] * count, env[a], b(env))])
        elif name in ("shl", "shr"):
            tb, b = self.group_operand(f"u32*{count}")
            self.define(region, kind, f"{name}.{element} {a}, {tb}", lambda env: [wrapped(element, shifted(element, name, x, y)) for x, y in zip(env[a], b(env))])
        else:
            self.define(region, kind, f"{name}.{element} {a}, {tb}", lambda env: [wrapped(element, SCALAR[name](element, x, y)) for x, y in zip(env[a], b(env))])

    def group_comparison(self, region):
        kind = self.random.choice([g for g in GROUPS if g != "u32*2"])
        element, count = parts(kind)
        if element == "bool":
            name, a, b = self.random.choice(["and", "or", "xor"]), self.value(kind), self.value(kind)
            return self.define(region, kind, f"{name}.bool {a}, {b}", lambda env: [bool(SCALAR[name](None, x, y)) for x, y in zip(env[a], env[b])])
        name, a, (tb, b) = self.random.choice(list(COMPARE)), self.value(kind), self.group_operand(kind)
        return self.define(region, f"bool*{count}", f"{name}.{element} {a}, {tb}", lambda env: [COMPARE[name](x, y) for x, y in zip(env[a], b(env))])

    def group_part(self, region):
        kind = self.random.choice(GROUPS)
        element, count = parts(kind)
        a, first = self.value(kind), self.random.randrange(count)
        self.define(region, element, f"part.{element} {a}, {first}, 1, 1", lambda env: env[a][first])

    def group_parts(self, region):
        step, first = self.random.choice([(1, 0), (1, 3), (1, 1), (2, 0), (2, 1)])
        element = self.random.choice(["u32", "i16", "u8", "bool"])
        g = self.value(f"{element}*6")
        self.define(region, f"{element}*3", f"part.{element} {g}, {first}, 3, {step}", lambda env: env[g][first:first + 2 * step + 1:step])

    def group_of_parts(self, region):
        element = self.random.choice(["u32", "i16", "u8", "bool"])
        if self.random.random() < 0.3:
            some = [self.value(element) for _ in range(2 if element == "u32" else 3)]
            self.define(region, f"{element}*{len(some)}", f"join.{element} {', '.join(some)}", lambda env: [env[x] for x in some])
            return
        x, y = self.value(f"{element}*3"), self.value(f"{element}*3")
        name = self.random.choice(["join", "weave"])
        self.define(region, f"{element}*6", f"{name}.{element} {x}, {y}",
                    lambda env: env[x] + env[y] if name == "join" else [v for pair in zip(env[x], env[y]) for v in pair])

    def group_conversion(self, region):
        count = self.random.choice([3, 6])
        to, source = self.random.choice(["u32", "i16", "u8", "bool"]), self.random.choice(["u32", "i16", "u8", "bool"])
        a = self.value(f"{source}*{count}")
        self.define(region, f"{to}*{count}", f"convert.{to}.{source} {a}", lambda env: [converted(to, x) for x in env[a]])

    def group_reduction(self, region):
        kind = self.random.choice([g for g in GROUPS if g[0] != "b"])
        element, a = parts(kind)[0], self.value(kind)
        name, function = self.random.choice([("reduce_add", sum), ("reduce_max", max), ("reduce_min", min)])
        self.define(region, element, f"{name}.{element} {a}", lambda env: wrapped(element, function(env[a])))

    def load(self, region):
        """An input, or two of them: as a value, and then a part of it."""
        at = self.random.randrange(INPUTS // 2)
        if self.random.random() < 0.5:
            return self.define(region, "u32", f"load.u32 %in, 0, {at}", lambda env: self.inputs[at])
        return self.define(region, "u32*2", f"load.u32 %in, 0, {2 * at} * 2", lambda env: self.inputs[2 * at:2 * at + 2])

    # --- elements: their indices are what thread_reach takes apart ---

    def small(self, region):
        """Returns the name of a small value, such as a loop's counter."""
        if not self.visible["small"] or self.random.random() < 0.2:
            a = self.value("u32")
            self.show("small", self.define(region, "u32", f"and.u32 {a}, {SMALL - 1}", lambda env: env[a] & (SMALL - 1)))
        return self.value("small")

    def index(self, region, most):
        """Returns the name of a u32, at most that, and a bound of it."""
        name, bound = self.small(region), SMALL - 1
        if self.random.random() < 0.7 and bound * 4 <= most:
            name, bound = self.scaled(region, name, self.random.randrange(5)), bound * 4
        if self.random.random() < 0.6 and bound + (SMALL - 1) * 4 <= most:
            other, before = self.scaled(region, self.small(region), self.random.randrange(5)), name
            name = self.define(region, "u32", f"add.u32 {before}, {other}", lambda env: env[before] + env[other])
            bound += (SMALL - 1) * 4
        if self.random.random() < 0.4:
            top, taken = self.random.randrange(bound, most + 1), name
            return self.define(region, "u32", f"sub.u32 {top}, {taken}", lambda env: top - env[taken]), top
        return name, bound

    def scaled(self, region, name, factor):
        if factor == 4 and self.random.random() < 0.5:
            return self.define(region, "u32", f"shl.u32 {name}, 2", lambda env: env[name] << 2)
        return self.define(region, "u32", f"mul.u32 {name}, {factor}", lambda env: env[name] * factor)

    def load_element(self, region):
        name, bound = self.index(region, WORDS - 1)
        more = self.random.randrange(WORDS - bound)
        operation = self.random.choice(["load", "load_const"])
        if self.random.random() < 0.7:
            at = self.define(region, "i64", f"index.i64.u32 {name}", lambda env: env[name])
            if self.random.random() < 0.3:
                by = self.define(region, "i64", f"add.i64 {at}, {more}", lambda env: env[at] + more)
                return self.define(region, "u32", f"{operation}.u32 %in, {by}, 0", lambda env: self.inputs[env[by]])
            return self.define(region, "u32", f"{operation}.u32 %in, {at}, {more}", lambda env: self.inputs[env[at] + more])
        return self.define(region, "u32", f"{operation}.u32 %in, {name}, {more}", lambda env: self.inputs[env[name] + more])

    def shared_elements(self, region):
        """Loads or stores of neighbours in any order, which thread_combine makes one, unless an access comes between."""
        if self.random.random() < 0.6:
            a = self.small(region)
            name, bound = self.scaled(region, a, 4), 4 * (SMALL - 1)
        else:
            name, bound = self.index(region, WORDS - 4)
        first = min(self.random.choice([0, 0, 4, 8, 2, 1]), WORDS - 4 - bound)
        stores = self.random.random() < 0.5
        places = [first + p for p in self.random.choices(range(4), k=self.random.randrange(1, 9))]
        if self.random.random() < 0.5:
            places = [first + p for p in self.random.sample(range(4), 4)]
        for at in places:
            if stores != (self.random.random() < 0.1):
                self.store_shared(region, name, at)
            else:
                self.define(region, "u32", f"load_shared.u32 s[{name} + {at}]", lambda env, at=at: env["shared"][env[name] + at])

    def store_shared(self, region, name, at):
        text, value = self.operand("u32")
        self.put(f"store_shared.u32 s[{name} + {at}], {text}")
        region.append(lambda env: env["shared"].__setitem__(env[name] + at, value(env)))

    def choose_load(self, region):
        """One arm gives values that it loads, and others; the other arm gives values of before."""
        p = self.value("bool")
        kinds = self.random.choices(["u32", "u32", "u32*2", "bool"], k=self.random.randrange(1, 4))
        sides = []

        def loads(r):
            for _ in range(self.random.randrange(3)):
                self.random.choice([self.load, self.load, self.arithmetic])(r)
            self.leave(r, "yield", *self.passed(kinds))

        def rest():
            sides.append(self.scoped(loads))
            self.put("} else {")
            sides.append(self.scoped(lambda r: self.leave(r, "yield", *self.passed(kinds))))
            self.put("}")

        def act(env):
            try:
                for step in sides[0 if env[p] else 1]:
                    step(env)
            except Leave as left:
                return left.values
        self.results(region, kinds, f"if {p} {{", rest, act)

    def store(self, region):
        if self.outputs < OUTPUTS - 1:
            self.store_word(region, self.value("u32"))

    def store_word(self, region, name):
        at = self.outputs
        self.outputs += 1
        self.put(f"store.u32 %out, 0, {at}, {name}")
        region.append(lambda env: env["out"].__setitem__(at, env[name]))

    # --- control ---

    def passed(self, kinds, first=None):
        """Returns the texts of values of these types, and a function that gives them."""
        names = [self.value(k) for k in kinds]
        if first:
            names[0] = first
        return ", ".join(names), lambda env: [env[n] for n in names]

    def scoped(self, write):
        """Returns the region that `write` writes; its values are hidden after it."""
        before = {k: list(v) for k, v in self.visible.items()}
        region = []
        write(region)
        self.visible = before
        return region

    def leave(self, region, how, text, values):
        self.put(f"{how} {text}" if text else how)

        def act(env):
            raise Leave(how, values(env))
        region.append(act)

    def results(self, region, kinds, head, write_rest, act):
        """Writes an operation with regions and these results."""
        names = [self.new() for _ in kinds]
        self.put((", ".join(names) + " = " if names else "") + head)
        write_rest()
        for kind, name in zip(kinds, names):
            self.show(kind, name)
        region.append(lambda env: env.update(zip(names, act(env))))

    def branch(self, region, depth, loop):
        p, kinds = self.value("bool"), self.random.choices(TYPES, k=self.random.randrange(4))
        sides = []

        def side(r):
            self.operations(r, depth + 1, loop)
            if loop and (sides or not kinds) and self.random.random() < 0.3:
                self.leave_loop(r, loop)
            elif kinds:
                self.leave(r, "yield", *self.passed(kinds))

        def rest():
            for start in ["{", "} else {"][:1 + (bool(kinds) or self.random.random() < 0.5)]:
                if start != "{":
                    self.put(start)
                sides.append(self.scoped(side))
            self.put("}")

        def act(env):
            try:
                for step in sides[0] if env[p] else sides[1] if len(sides) > 1 else []:
                    step(env)
            except Leave as left:
                if left.how != "yield":
                    raise
                return left.values
            return []
        self.results(region, kinds, f"if {p} {{", rest, act)

    def leave_loop(self, region, loop):
        kinds, results, step, can_continue = loop
        if not can_continue or self.random.random() < 0.5:
            self.leave(region, "break", *self.passed(results))
        else:
            after = self.define(region, "u32", f"add.u32 {step}, 1", lambda env: env[step] + 1)
            self.leave(region, "continue", *self.passed(kinds, after))

    def loop(self, region, depth):
        kinds = ["u32"] + self.random.choices(TYPES, k=self.random.randrange(6))
        if self.random.random() < 0.5:
            self.small(region)
            kinds.append("small")
        results = self.random.choices(TYPES, k=self.random.randrange(4))
        names, turns = [self.new() for _ in kinds], self.random.randrange(1, 5)
        starts = [self.value(k) for k in kinds]
        body = []
        unroll = self.random.choice(["", "", "unroll 2 ", "unroll 3 "])  # then the only `continue` is the last operation

        def write(r):
            for kind, name in zip(kinds[1:], names[1:]):
                self.show(kind, name)
            if self.random.random() < 0.5:
                self.operations(r, depth + 1, (kinds, results, names[0], False))
            done = self.define(r, "bool", f"ge.u32 {names[0]}, {turns}", lambda env: env[names[0]] >= turns)
            text, values = self.passed(results)
            self.put(f"break_if {done}" + (f", {text}" if text else ""))

            def act(env):
                if env[done]:
                    raise Leave("break", values(env))
            r.append(act)
            self.visible["small"].append(names[0])
            self.operations(r, depth + 1, (kinds, results, names[0], not unroll))
            after = self.define(r, "u32", f"add.u32 {names[0]}, 1", lambda env: env[names[0]] + 1)
            self.leave(r, "continue", *self.passed(kinds, after))

        def rest():
            body.extend(self.scoped(write))
            self.put("}")

        def run(env):
            values = [0] + [env[s] for s in starts[1:]]
            while True:
                env.update(zip(names, values))
                try:
                    for step in body:
                        step(env)
                except Leave as left:
                    if left.how == "yield":
                        raise
                    values = left.values
                    if left.how == "break":
                        return values
        arguments = ", ".join(f"{n}: {k.replace('small', 'u32')} = {s}" for n, k, s in zip(names, kinds, ["0"] + starts[1:]))
        self.results(region, results, f"loop {unroll}({arguments}) {{", rest, run)

    def operations(self, region, depth, loop):
        for _ in range(self.random.randrange(1, 7)):
            choice = self.random.random()
            if choice < 0.12 and depth < DEPTH:
                self.branch(region, depth, loop)
            elif choice < 0.27 and depth < DEPTH:
                self.loop(region, depth)
            else:
                self.random.choice([self.arithmetic, self.comparison, self.conversion, self.on_group, self.on_group, self.store, self.load, self.choose_load,
                                    self.load_element, self.shared_elements])(region)

    # --- the program ---

    def first_group(self, region, element, count):
        if element != "u32":
            g = self.value(f"u32*{count}")
            self.define(region, f"{element}*{count}", f"convert.{element}.u32 {g}", lambda env: [converted(element, x) for x in env[g]])
            return
        some = [self.value("u32") for _ in range(min(count, 3))]
        g = self.define(region, f"u32*{len(some)}", f"join.u32 {', '.join(some)}", lambda env: [env[s] for s in some])
        if count > 3:
            self.define(region, f"u32*{count}", f"join.u32 {g}, {g}", lambda env: env[g] * 2)

    def write(self):
        """Returns its text, its inputs and the words that it writes."""
        inputs = self.inputs = [self.random.choice([self.random.randrange(8), self.random.randrange(1 << 32)]) for _ in range(WORDS)]
        self.put("// " + " ".join(map(str, inputs)))
        self.put("kernel f(u64 %in, u64 %out) threads 1 target sm_90a {")
        self.put(f"shared u32 s[{WORDS}] at 0")
        region = []
        for i in range(INPUTS):
            self.define(region, "u32", f"load.u32 %in, 0, {i}", lambda env, i=i: inputs[i])
        for kind in list(BITS)[1:]:
            a = self.value("u32")
            self.define(region, kind, f"convert.{kind}.u32 {a}", lambda env, a=a, kind=kind: wrapped(kind, env[a]))
        x, y = self.value("u32"), self.value("u32")
        self.define(region, "bool", f"lt.u32 {x}, {y}", lambda env: env[x] < env[y])
        for kind in GROUPS:
            self.first_group(region, *parts(kind))
        for _ in range(3):
            self.operations(region, 0, None)
        for kind in GROUPS:
            g, element = self.value(kind), parts(kind)[0]
            if element != "u32":
                g = self.define(region, f"u32*{parts(kind)[1]}", f"convert.u32.{element} {g}", lambda env, g=g: [wrapped("u32", int(x)) for x in env[g]])
            self.define(region, "u32", f"reduce_add.u32 {g}", lambda env, g=g: wrapped("u32", sum(env[g])))
            self.store(region)
        total = self.value("u32")
        for i in range(0, WORDS, 4):
            g = self.define(region, "u32*4", f"load_shared.u32 s[{i}] * 4", lambda env, i=i: env["shared"][i:i + 4])
            more = self.define(region, "u32", f"reduce_add.u32 {g}", lambda env, g=g: wrapped("u32", sum(env[g])))
            before = self.define(region, "u32", f"mul.u32 {total}, 3", lambda env, v=total: wrapped("u32", env[v] * 3))
            total = self.define(region, "u32", f"xor.u32 {before}, {more}", lambda env, a=before, b=more: env[a] ^ env[b])
        self.store_word(region, total)
        self.put("}")
        env = {"out": [0] * OUTPUTS, "shared": [0] * WORDS}
        for step in region:
            step(env)
        return "\n".join(self.lines) + "\n", env["out"]


def main():
    count, seed = (int(x) for x in (sys.argv[2:] + ["300", "1"][len(sys.argv[2:]):]))
    programs = [Program(seed * 1000003 + i).write() for i in range(count)]
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/programs", "w") as file:
            file.write("".join(text for text, _ in programs))
        done = subprocess.run([os.environ["THREAD_RUN"], f"{folder}/programs"], capture_output=True, text=True)
    lines = done.stdout.splitlines()
    for (text, wanted), line in zip((p for p in programs for _ in range(RUNS)), lines):
        if line != " ".join(map(str, wanted)):
            fail(f"{text}gives\n{line}, not\n{' '.join(map(str, wanted))}\n{done.stdout[-400:] if done.returncode else ''}")
    if done.returncode or len(lines) != RUNS * count:
        fail(f"{done.returncode}: {len(lines)} of {RUNS * count} runs: {done.stderr}")


if __name__ == "__main__":
    main()
