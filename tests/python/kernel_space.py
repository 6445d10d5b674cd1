"""Kernels of .tile files, their types, and their tuned configurations, read from the text and listed like the tuner's."""
import itertools
import re


class Kernel:
    def __init__(self, path, name, statics, types, thread_level):
        self.path, self.name, self.statics, self.types, self.thread_level = path, name, statics, types, thread_level

    def __str__(self):
        return self.name


def groups(text, body):
    """Returns (names, rows) of each tune list that the kernel's text uses, except a target's own lists."""
    found = []
    for names, rows in re.findall(r"^tune\s+(\w+|\([\w, ]+\))\s*=\s*\{(.*?)\};", text, re.M | re.S):
        names = re.findall(r"\w+", names)
        if not any(re.search(rf"\b{n}\b", body) for n in names):
            continue
        rows = re.findall(r"\(([^)]*)\)", rows) if len(names) > 1 else rows.split(",")
        found.append((names, [[v.strip() for v in row.split(",")] for row in rows]))
    return found


def types_of(variables):
    """Returns the values of --type: the types of the one type variable; with several, one of them at a time has another type than its first."""
    if len(variables) < 2:
        return next(iter(variables.values()), [None])
    return [f"{v}={t}" for turn, (v, types) in enumerate(variables.items()) for t in types[turn > 0:]]


def kernels(path):
    text = re.sub(r"//.*", "", open(path).read())
    variables = dict(re.findall(r"^type\s+(\w+)\s*=\s*\{(.*?)\}", text, re.M))
    found = []
    for name, parameters, attributes in re.findall(r"^kernel\s+(\w+)\s*\((.*?)\)\s*(grid.*?)^\{", text, re.M | re.S):
        types = types_of({v: [t.strip() for t in variables[v].split(",")] for v in variables if re.search(rf"\b{v}\b", parameters)})
        statics = re.findall(r"static\s+(\w+)\s+(\w+)", parameters)
        found.append(Kernel(path, name, statics, types, "threads(" in attributes))
    return found


def configurations(kernel):
    """Returns all combinations of tuned values as dictionaries, the default first."""
    text = re.sub(r"//.*", "", open(kernel.path).read())
    start = re.search(rf"^kernel\s+{kernel.name}\b", text, re.M).start()
    body = re.split(r"^\}", text[start:], maxsplit=1, flags=re.M)[0]
    lists = groups(text, body)
    for rows in itertools.product(*[rows for _, rows in lists]):
        yield {name: value for (names, _), row in zip(lists, rows) for name, value in zip(names, row)}
