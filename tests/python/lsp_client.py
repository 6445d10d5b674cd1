"""A client of the language server protocol: requests, notifications, and messages that the server sends by itself."""
import json
import queue
import subprocess
import threading

from tile_runner import PATIENCE, fail


class Server:
    def __init__(self, tool, *arguments):
        self.process = subprocess.Popen([tool, "lsp", *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.messages = queue.Queue()
        self.kept = []
        self.number = 0
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        out = self.process.stdout
        while True:
            length = None
            while (line := out.readline().strip()):
                name, value = line.split(b": ")
                if name != b"Content-Length":
                    fail(f"a header {line}")
                length = int(value)
            if length is None:
                self.messages.put(None)
                return
            self.messages.put(json.loads(out.read(length).decode()))

    def send_bytes(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send_text(self, text):
        data = text.encode()
        self.send_bytes(b"Content-Length: %d\r\n\r\n" % len(data) + data)

    def send(self, **message):
        self.send_text(json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False))

    def next_where(self, fits):
        """Returns the first message, received or still to come, that fits; the others are kept."""
        for i, message in enumerate(self.kept):
            if fits(message):
                return self.kept.pop(i)
        while True:
            message = self.messages.get(timeout=PATIENCE)
            if message is None:
                fail(f"the server ended: {self.process.wait()} {self.process.stderr.read().decode()}")
            if fits(message):
                return message
            self.kept.append(message)

    def notify(self, method, **params):
        self.send(method=method, params=params)

    def ask(self, method, **params):
        """The whole answer."""
        self.number += 1
        number = self.number
        self.send(id=number, method=method, params=params)
        return self.next_where(lambda m: m.get("id") == number and "method" not in m)

    def result(self, method, **params):
        answer = self.ask(method, **params)
        if "result" not in answer:
            fail(f"{method} {params}: {answer}")
        return answer["result"]

    def initialize(self, **options):
        found = self.result("initialize", processId=None, rootUri=None, capabilities={}, initializationOptions=options)
        self.notify("initialized")
        return found

    def open(self, uri, text, version=1):
        self.notify("textDocument/didOpen", textDocument={"uri": uri, "languageId": "tile", "version": version, "text": text})

    def change(self, uri, version, *changes):
        self.notify("textDocument/didChange", textDocument={"uri": uri, "version": version}, contentChanges=list(changes))

    def diagnostics(self, uri, version):
        """Returns the diagnostics of that version of a document."""
        fits = lambda m: m.get("method", "").endswith("publishDiagnostics") and m["params"]["uri"] == uri and (
            m["params"].get("version") == version)
        return self.next_where(fits)["params"]["diagnostics"]

    def at(self, method, uri, line, character, **more):
        return self.result(f"textDocument/{method}", textDocument={"uri": uri}, position={"line": line, "character": character}, **more)

    def end(self):
        """Ends the session by the protocol; returns the exit status."""
        self.result("shutdown")
        self.notify("exit")
        return self.process.wait(PATIENCE)
