#!/usr/bin/env python3
"""`play` serves the page's files on loopback with the kernel's state, and exports them; the page here is a small stand-in."""
import base64
import http.client
import json
import os
import re
import resource
import shlex
import socket
import subprocess
import sys
import tempfile
import time

from tile_runner import call, fail

INDEX = """<!doctype html>
<html><head>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'self' 'wasm-unsafe-eval'" />
<link rel="icon" href="data:,">
<script type="module" crossorigin src="./assets/page-1.js"></script>
<link rel="stylesheet" crossorigin href="./assets/page-1.css">
</head><body><!-- given --><!-- parts --></body></html>
"""
SCRIPT = 'const closing = "</script>", comment = /<!--/u; document.title = closing;\n'
KERNEL = "kernel one(f32 *c) grid(1) warps(1) { global f32 C[4] = c; C[0 +: 4] = 1.0; } // </script> <!-- é\n"


def write(path, data):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(data if isinstance(data, bytes) else data.encode())


def make_page(folder):
    page = f"{folder}/web/page/dist"
    write(f"{page}/index.html", INDEX)
    write(f"{page}/assets/page-1.js", SCRIPT)
    write(f"{page}/assets/page-1.css", "body { color: red }")
    write(f"{page}/assets/worker-1.js", "onmessage = () => 1;")
    write(f"{page}/engine.wasm", bytes(range(256)))
    write(f"{folder}/one.tile", KERNEL)


class Server:
    def __init__(self, tool, folder, *arguments, files=256):
        self.process = subprocess.Popen([tool, "play", *arguments, "--no-open", "--port", "0"], cwd=folder, stdout=subprocess.PIPE, text=True,
                                        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (files, files)))
        line = self.process.stdout.readline()
        self.port = int(re.match(r"http://127\.0\.0\.1:(\d+)/ ", line).group(1))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()

    def ask(self, path, method="GET", host=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        connection.putrequest(method, path, skip_host=host is not None)
        if host:
            connection.putheader("host", host)
        connection.endheaders()
        response = connection.getresponse()
        return response.status, response.getheader("Content-Type"), response.read()


    def header(self, path, name):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        connection.request("GET", path)
        return connection.getresponse().getheader(name)

    def processor_seconds(self):
        fields = open(f"/proc/{self.process.pid}/stat").read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def comes_to_rest(self):
        """Waits up to 20 s for a half second that takes nearly no processor time (sending takes some). Returns whether one came."""
        for _ in range(40):
            begun = self.processor_seconds()
            time.sleep(0.5)
            if self.processor_seconds() - begun < 0.05:
                return True
        return False


def given_of(html):
    found = re.search(rb'<script type="application/json" id="given">(.*?)</script>', html, re.S)
    return json.loads(found.group(1))


def expect(what, got, wanted):
    if got != wanted:
        fail(f"{what}: {got!r}, not {wanted!r}")


def test_served(tool, folder):
    with Server(tool, folder, "one.tile#line=17&event=3", "--set", "m=64,s=0.5", "--type", "T=f16") as server:
        status, kind, html = server.ask("/")
        expect("the page", (status, kind), (200, "text/html; charset=utf-8"))
        given = given_of(html)
        expect("its state", given, {"mode": "bench", "file": "one.tile", "source": KERNEL, "sizes": {"m": 64, "s": 0.5}, "tune": {},
                                    "types": {"T": "f16"}, "query": "line=17&event=3"})
        expect("the engine", server.ask("/engine.wasm?x=1"), (200, "application/wasm", bytes(range(256))))
        expect("its head", server.ask("/engine.wasm", "HEAD"), (200, "application/wasm", b""))
        expect("a script", server.ask("/assets/page-1.js")[1], "text/javascript; charset=utf-8")
        for path in ("/../one.tile", "/one.tile", "/assets/", "/%2e%2e/one.tile"):
            expect(path, server.ask(path)[0], 404)
        expect("POST", server.ask("/", "POST")[0], 405)
        for host, status in (("localhost:1", 200), ("[::1]:8017", 200), ("", 200), ("example.org", 421), ("127.0.0.1.example.org", 421)):
            expect(f"host {host}", server.ask("/", host=host)[0], status)
        expect("the policy", server.header("/", "Content-Security-Policy"), "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'")
        idle = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(40)]  # like connections that a browser opens ahead
        write(f"{folder}/one.tile", KERNEL.replace("1.0", "2.0"))
        expect("the text after an edit", given_of(server.ask("/")[2])["source"], KERNEL.replace("1.0", "2.0"))
        for connection in idle:
            connection.close()
        long = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
        long.request("GET", "/" + "x" * 9000)
        expect("a long request", long.getresponse().status, 431)
    write(f"{folder}/one.tile", KERNEL)
    with Server(tool, folder) as server:
        if b'id="given"' in server.ask("/")[2]:
            fail("without a file the page has its own state")


def test_slow_client(tool, folder):
    """A client that does not read keeps no other client waiting, and gets the whole file when it reads."""
    large = os.urandom(1 << 20) * 24
    write(f"{folder}/web/page/dist/large.bin", large)
    with Server(tool, folder) as server:
        slow = socket.socket()
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        slow.connect(("127.0.0.1", server.port))
        slow.sendall(b"GET /large.bin HTTP/1.1\r\n\r\n")
        slow.recv(16)
        begun = time.monotonic()
        expect("the page meanwhile", server.ask("/")[0], 200)
        if time.monotonic() - begun > 8:
            fail("the page waits for a client that does not read")
        slow.close()
        expect("a large file", server.ask("/large.bin")[2] == large, True)
    os.remove(f"{folder}/web/page/dist/large.bin")


def test_no_descriptors(tool, folder):
    """Without a descriptor for another client the server waits, and goes on when a client has gone."""
    with open(f"{folder}/web/page/dist/large.bin", "wb") as file:
        file.truncate(24 << 20)
    with Server(tool, folder, files=6) as server:
        idle = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(20)]
        expect("the page while others ask nothing", server.ask("/")[0], 200)
        slow = []
        for _ in range(2):  # each sent a request before the next came, so both keep their places
            slow.append(socket.create_connection(("127.0.0.1", server.port)))
            slow[-1].sendall(b"GET /large.bin HTTP/1.1\r\n\r\n")
            expect("the beginning of a large file", slow[-1].recv(8), b"HTTP/1.1")
        slow += [socket.create_connection(("127.0.0.1", server.port)) for _ in range(2)]
        if not server.comes_to_rest():
            fail("the server spins while it has no descriptors")
        for connection in idle + slow:
            connection.close()
        expect("the page afterwards", server.ask("/")[0], 200)
    os.remove(f"{folder}/web/page/dist/large.bin")


def test_exported(tool, folder):
    expect("an export", call([tool, "play", "one.tile", "--export", "site"], cwd=folder).status, 0)
    for path in ("index.html", "assets/page-1.js", "assets/page-1.css", "assets/worker-1.js", "engine.wasm"):
        if not os.path.exists(f"{folder}/site/{path}"):
            fail(f"the exported folder has no {path}")
    expect("its state", given_of(open(f"{folder}/site/index.html", "rb").read())["source"], KERNEL)
    expect("one file", call([tool, "play", "one.tile", "--export", "one.html"], cwd=folder).status, 0)
    html = open(f"{folder}/one.html", "rb").read().decode()
    if "./assets/" in html or "body { color: red }" not in html or 'id="engine">AAECAwQF' not in html or "onmessage = () => 1;" not in html:
        fail(f"the page as one file: {html}")
    scripts = re.findall(r"<script[^>]*>(.*?)</script>", html, re.S)
    expect("scripts", len(scripts), 4)
    expect("a script that has the tag in it", scripts[0], SCRIPT.replace("</script", "\\x3c/script").replace("<!--", "\\x3c!--"))
    nonce = re.search("script-src 'nonce-([0-9a-f]{32})' 'wasm-unsafe-eval'", html)
    if not nonce or f'<script type="module" nonce="{nonce.group(1)}">' not in html or html.count("nonce") != 2:
        fail(f"the policy of the page as one file: {html}")
    write(f"{folder}/broken/assets", "a file in the folder's place")
    refused = call([tool, "play", "one.tile", "--export", "broken"], cwd=folder)
    if refused.status != 1 or "broken/assets/" not in refused.err or os.path.exists(f"{folder}/broken/index.html"):
        fail(f"an export that fails: {refused}")
    refused = call([tool, "play", "one.tile", "--export", "no/where.html"], cwd=folder)
    if refused.status != 1 or "no/where.html cannot be written" not in refused.err:
        fail(f"an export into no folder: {refused}")


def test_refused(tool, folder):
    refused = call([tool, "play", "none.tile", "--no-open"], cwd=folder)
    if refused.status != 2 or "none.tile cannot be read" not in refused.err:
        fail(f"a file that is not there: {refused}")
    refused = call([tool, "play", "#line=17", "--no-open"], cwd=folder)
    if refused.status != 2 or "which FILE? `#line=17` is only where to look in it: `tilewright play FILE#line=17`" not in refused.err:
        fail(f"a state without a file: {refused}")
    for option in (["--port", "1"], ["--no-open"]):
        refused = call([tool, "play", "one.tile", "--out", "x", *option], cwd=folder)
        if refused.status != 2 or f"{option[0]} is about the server" not in refused.err:
            fail(f"{option} with an export: {refused}")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        refused = call([tool, "play", "--no-open", "--port", str(port)], cwd=folder)
        if refused.status != 1 or f"port {port} cannot be used" not in refused.err or "--port 0" not in refused.err:
            fail(f"a port that is taken: {refused}")


def test_browser(tool, folder):
    """The browser gets the address, but neither the server's socket nor its Ctrl-C."""
    with open(f"{folder}/browser", "w") as script:
        script.write('#!/bin/sh\nls -l /proc/self/fd > said.part; echo "$1" >> said.part; cut -d" " -f6 /proc/$$/stat >> said.part; mv said.part said\n')
    os.chmod(f"{folder}/browser", 0o755)
    process = subprocess.Popen([tool, "play", "--port", "0"], cwd=folder, stdout=subprocess.PIPE, text=True,
                               env={**os.environ, "BROWSER": f"{folder}/browser"})
    address = process.stdout.readline().split()[0]
    for _ in range(200):
        if os.path.exists(f"{folder}/said"):
            break
        time.sleep(0.05)
    process.terminate()
    process.wait()
    said = open(f"{folder}/said").read()
    if address not in said or "socket:" in said or said.split()[-1] == str(os.getsid(0)):
        fail(f"the browser of {address}: {said}")


def test_links(tool, folder):
    """Reports tell where the page shows the finding, and with TILEWRIGHT_PLAY_URL they have a link that contains the program."""
    racy = open("kernels/sgemm/tiled.tile").read().split("\n")
    write(f"{folder}/racy.tile", "\n".join(racy[:15] + racy[16:]))
    environment = {**os.environ, "TILEWRIGHT_PLAY_URL": "https://example.org/page/"}
    for arguments, stream, state in ((["check", "racy.tile"], "stderr", "line=17"), (["explain", "one.tile"], "stdout", "card=roofline")):
        quiet = subprocess.run([tool, *arguments], cwd=folder, capture_output=True, text=True)
        if "tilewright play" in quiet.stdout + quiet.stderr:
            fail(f"{arguments}: no terminal asked for it: {quiet}")
        said = getattr(subprocess.run([tool, *arguments], cwd=folder, env=environment, capture_output=True, text=True), stream)
        found = re.search(rf"see it: tilewright play {arguments[1]}#{state}\n +https://example.org/page/#0([\w-]+)\n", said)
        if not found:
            fail(f"{arguments}: {said}")
        given = json.loads(base64.urlsafe_b64decode(found.group(1) + "==="))
        expect("the link's state", given, {"file": arguments[1], "source": open(f"{folder}/{arguments[1]}").read(), "query": state})
    quoted = f"{folder}/it's one.tile"
    write(quoted, KERNEL)
    said = subprocess.run([tool, "explain", quoted], env=environment, capture_output=True, text=True).stdout
    words = shlex.split(re.search(r"see it: (.*)\n", said).group(1))
    expect("the words of a shell", words, ["tilewright", "play", f"{quoted}#card=roofline"])


def main():
    tool = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        make_page(folder)
        test_served(tool, folder)
        test_slow_client(tool, folder)
        test_no_descriptors(tool, folder)
        test_exported(tool, folder)
        test_refused(tool, folder)
        test_browser(tool, folder)
        test_links(tool, folder)


if __name__ == "__main__":
    main()
