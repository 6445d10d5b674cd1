"""Runs `tune`, with a store of its own, for the tests of the command."""
import json
import os
import sqlite3

from tile_runner import call, fail


class Tuner:
    def __init__(self, tool, folder):
        self.tool, self.folder = tool, folder
        self.store = os.path.join(folder, "tuned.db")
        self.environment = {**os.environ, "TILEWRIGHT_STORE": self.store}

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w") as out:
            out.write(text)
        return path

    def command(self, status, *arguments, program="tune", **more):
        result = call([self.tool, program, *arguments], env={**self.environment, **more})
        if status is not None and result.status != status:
            fail(f"{program} {arguments}: expected status {status}: {result}")
        return result

    def tune(self, status, *arguments, **more):
        """On a busy machine a candidate takes longer."""
        return json.loads(self.command(status, "--timeout", "100s", *arguments, "--json", **more).out)

    def rows(self, where="1"):
        with sqlite3.connect(self.store, timeout=20) as db:
            if db.execute("PRAGMA integrity_check").fetchone()[0] != "ok":
                fail("the store is damaged")
            return db.execute(f"SELECT tune, status, milliseconds, why FROM result WHERE {where}").fetchall()


def of_result(report, result):
    return [c for c in report["candidates"] if c["result"] == result]
