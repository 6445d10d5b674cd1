#!/usr/bin/env python3
"""The files of `cmake --install`: manual page and completions with every option, examples built with the installed library by pkg-config
and by find_package, and a .deb that runs in a root that has only libc."""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

from tile_runner import PATIENCE, fail

EXAMPLES = {
    "callbacks": r"the kernel says: .*\n(.*\n){2}cancelled by the caller; the library holds memory\nthen 0 bytes\n",
    "other_arrays": r"in: y = 2 4 6\nout: 8 x 8, on device 0 of type 2\n",
    "launches": r"[\d.]+ microseconds a launch\ny\[255\] = 15000\n",
    "matmul": r"c\[3\]\[4\] = 14, c\[49\]\[39\] = 49\n",
    "messages": r"the program compiles, but .* race:\nerror line 6, column 20: (.*\n)*note line 6, .*sync\(\)(.*\n)*.*: note: did you mean `return`\?\n(.*\n)*.*\^~+\n",
    "own_threads": r"4 tasks: success; y\[99\] = 9801\n",
    "tuned_values": r"BM: 3 values, group 0\n(.*\n)*BM = 64 is not allowed\ny\[31\] = 1000\n",
    "verified": r"20 values are right: 1\nY\[19\] is 18\.9369, expected 19\.0000\n",
}
INSTALLED = """bin/tilewright include/tilewright.h include/tilewright_entry.h include/tilewright_model.h
    include/tilewright_family.h
    share/man/man1/tilewright.1 share/tilewright/python/tilewright.py
    share/bash-completion/completions/tilewright share/zsh/site-functions/_tilewright share/tilewright/kernels/matmul/shared.tile
    share/tilewright/examples/c/matmul.c share/tilewright/examples/python/matmul.py share/doc/tilewright/docs/language.md
    share/doc/tilewright/README.md share/doc/tilewright/copyright share/tilewright/bench/suite/squares.txt
    share/tilewright/bench/triton_matmul.py"""


def run(command, **more):
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, **more)
    if done.returncode != 0:
        fail(f"{command}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def commands(tool):
    """Returns {command: (options with dashes, letters with a dash)} from `help`."""
    names = re.findall(r"^  ([a-z]+) ", run([tool, "help"]), re.M)
    found = {}
    for name in names:
        text = run([tool, "help", name])
        found[name] = (re.findall(r"^ {2}.{4}(--[\w-]+)", text, re.M), re.findall(r"^ {2}(-\w),", text, re.M))
    return found


def environment_variables(tool):
    return re.findall(r"^  ([A-Z_]+) ", run([tool, "help"]), re.M)


def test_man(page, options, tool):
    """The page has exactly the commands, options and variables, and a formatter, if installed, gives no warning."""
    text = open(page).read().replace("\\-", "-")
    for name, (long, letters) in options.items():
        section = re.search(rf"^\.SS tilewright {name} .*?(?=^\.S[SH])", text, re.M | re.S)
        if not section:
            fail(f"tilewright(1) has no {name}")
        shown = re.findall(r"^(?:\\fB(-\w)\\fR, )?\\fB(--[\w-]+)\\fR", section.group(), re.M)
        if [o for _, o in shown] != long or [o for o, _ in shown if o] != letters:
            fail(f"tilewright(1), {name}: {shown}, help has {long}")
    missing = [v for v in environment_variables(tool) if f".B {v}\n" not in text]
    if missing:
        fail(f"tilewright(1) has no {missing}")
    if shutil.which("groff"):
        done = subprocess.run(["groff", "-man", "-Kutf8", "-Tutf8", "-ww", page], capture_output=True, text=True)
        if done.returncode != 0 or done.stderr or "NAME" not in done.stdout:
            fail(f"groff: {done.stderr}")


def complete(script, words):
    """Returns bash's completions for the last word."""
    program = f'. "{script}"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _tilewright; printf "%s\\n" "${{COMPREPLY[@]}}"'
    return run(["bash", "--norc", "-c", program, "bash", *words]).split()


def test_completion(share, options, tool):
    script = f"{share}/bash-completion/completions/tilewright"
    zsh = open(f"{share}/zsh/site-functions/_tilewright").read()
    for name, (long, letters) in options.items():
        part = re.search(rf"^        {name}\)\n(.*?) ;;\n", zsh, re.M | re.S).group(1)
        missing = [o for o in long + letters if not re.search(rf"{o}=?\[", part)]
        if missing:
            fail(f"zsh, {name}: no {missing}")
    if shutil.which("zsh"):
        run(["zsh", "-n", f"{share}/zsh/site-functions/_tilewright"])
    if not shutil.which("bash"):
        return
    if sorted(complete(script, ["tilewright", ""])) != sorted(options) or complete(script, ["tilewright", "b"]) != ["bench", "build"]:
        fail("bash does not complete commands")
    for name, (long, _) in options.items():
        offered = complete(script, ["tilewright", name, "x", "--"])
        if sorted(offered) != sorted([*long, "--help"]):
            fail(f"bash, {name}: {offered}, help has {long}")
    values = {"stage": complete(script, ["tilewright", "show", "f", "--stage", ""]), "fill": complete(script, ["tilewright", "run", "f", "--fill", ""])}
    for stage in values["stage"]:
        run([tool, "show", "kernels/matmul/shared.tile", "--stage", stage])
    for kind in values["fill"]:
        run([tool, "run", "kernels/matmul/shared.tile", "--fill", kind, "--set", "m=4,n=4,k=4"])
    if complete(script, ["tilewright", "run", "f", "--device", "cu"]) != ["cuda"] or len(values["stage"]) != 3 or len(values["fill"]) != 10:
        fail(f"bash does not complete values: {values}")
    if complete(script, ["tilewright", "show", "f", "--after", ""]) != [line.split()[0] for line in run([tool, "show", "--passes"]).splitlines()]:
        fail("bash does not complete passes")
    if complete(script, ["tilewright", "run", "f", "--device", "sm_80"]) != ["sm_80"] or "--sm" in complete(script, ["tilewright", "run", "f", "--s"]):
        fail("bash completes --device without targets, or an earlier word")
    if complete(script, ["tilewright", "check", "kernels/matmul/sha"]) != ["kernels/matmul/shared.tile"]:
        fail("bash does not complete files")
    if "cpu" in complete(script, ["tilewright", "build", "f", "--device", ""]):
        fail("bash completes a target that build does not take")
    suites = {os.path.basename(path)[:-4] for path in glob.glob("bench/suite/*.txt")}
    if set(complete(script, ["tilewright", "bench", "--suite", ""])) != suites | {"all"}:
        fail("bash does not complete suites")
    puzzles = re.findall(r"^ *([1-9]\d*)  ", run([tool, "learn"], env={**os.environ, "TILEWRIGHT_LEARN": f"{share}/none"}), re.M)
    if len(puzzles) < 20 or complete(script, ["tilewright", "learn", ""]) != puzzles or f"'1:puzzle:({' '.join(puzzles)})'" not in zsh:
        fail(f"the puzzles are {puzzles}")
    if "--hint" not in complete(script, ["tilewright", "learn", "--"]) or complete(script, ["tilewright", "learn", "3", "READ"]) != ["README.md"]:
        fail("bash completes numbers of puzzles in another place")
    file = "tests/parity/dot_types.tile"
    kernels = re.findall(r"^kernel (\w+)", open(file).read(), re.M)
    for parted in ([file, ":"], [file, ":", ""], [f"{file}:"]):  # split by bash, or not
        lead = "" if len(parted) > 1 else f"{file}:"
        if complete(script, ["tilewright", "run", *parted]) != [lead + name for name in kernels]:
            fail(f"bash does not complete kernels after {parted}")
    tuned = "kernels/matmul/tuned.tile"
    for words, names in (([tuned, "--tune", ""], "BK= BM= BN= WARPS="), ([f"{tuned}:matmul_v2", "--tune", "B"], "BK= BM= BN="), ([tuned, "--set", ""], "k= m= n="),
                         (["none.tile", "--set", ""], ""), (["kernels/matmul/shared.tile", "--tune", ""], ""), (["--set", ""], "")):
        for command in ("run", "bench", "tune"):
            if complete(script, ["tilewright", command, *words]) != names.split():
                fail(f"bash completes {words} to {complete(script, ['tilewright', command, *words])}")
    if zsh.count("_tilewright_tune' ") < 5 or zsh.count("_tilewright_set' ") < 5:
        fail("zsh does not complete names of --tune and --set")
    if complete(script, ["tilewright", "run", file, ":", "dot_fl"]) != ["dot_float"] or complete(script, ["tilewright", "run", "none.tile:"]):
        fail("bash does not complete a kernel")


def test_examples(prefix, library, folder, environment):
    """Each has at most 60 lines; one is built by pkg-config, all by find_package. The GPU is the driver of the tests."""
    source = f"{prefix}/share/tilewright/examples/c"
    names = {os.path.basename(path)[:-2]: len(open(path).readlines()) for path in glob.glob(f"{source}/*.c")}
    if set(names) != set(EXAMPLES) or max(names.values()) > 60:
        fail(f"examples/c: {names}")
    compiler, flags = os.environ.get("CC", "cc"), os.environ.get("CFLAGS", "")
    environment = dict(environment, TILEWRIGHT_CUDA_DRIVER=os.environ["FAKE_CUDA"])
    pc = open(f"{library}/pkgconfig/tilewright.pc").read()
    if f"prefix={prefix}\n" not in pc or ".." in pc:
        fail(f"tilewright.pc: {pc}")
    if shutil.which("pkg-config"):
        where = dict(environment, PKG_CONFIG_PATH=f"{library}/pkgconfig", LD_LIBRARY_PATH=library)
        line = f"{compiler} {flags} -std=c11 -Wall -Wextra -Werror {source}/matmul.c $(pkg-config --cflags --libs tilewright) -o {folder}/matmul"
        run(["sh", "-c", line], env=where)
        if not re.fullmatch(EXAMPLES["matmul"], run([f"{folder}/matmul"], env=where)):
            fail("matmul by pkg-config")
    run(["cmake", "-S", source, "-B", f"{folder}/examples", f"-DCMAKE_PREFIX_PATH={prefix}", f"-DCMAKE_C_COMPILER={compiler}",
         f"-DCMAKE_C_FLAGS=-Wall -Wextra -Werror {flags}"], env=environment)
    run(["cmake", "--build", f"{folder}/examples", "-j2"], env=environment)
    for name, expected in EXAMPLES.items():
        out = run([f"{folder}/examples/{name}"], env=environment)
        if not re.fullmatch(expected, out):
            fail(f"{name} prints\n{out}")


def test_subdirectory(folder):
    """A program that adds the folder of the sources finds the targets of an installed library. Nothing is built."""
    os.mkdir(f"{folder}/inside")
    with open(f"{folder}/inside/CMakeLists.txt", "w") as out:
        out.write(f"""cmake_minimum_required(VERSION 3.21)
project(program C)
add_subdirectory({os.getcwd()} tilewright EXCLUDE_FROM_ALL)
file(WRITE main.c "int main(void) {{ return 0; }}")
foreach(kind static shared tilewright)
    add_executable(with_${{kind}} main.c)
    target_link_libraries(with_${{kind}} PRIVATE tilewright::${{kind}})
endforeach()
""")
    run(["cmake", "-S", f"{folder}/inside", "-B", f"{folder}/inside/build"])


def test_cuda_project(prefix, folder):
    """A project without C and C++, as one of CUDA alone is, finds the package and its function. Nothing is built."""
    os.mkdir(f"{folder}/cuda")
    with open(f"{folder}/cuda/CMakeLists.txt", "w") as out:
        out.write("""cmake_minimum_required(VERSION 3.21)
project(app NONE)
enable_testing()
find_package(tilewright REQUIRED)
add_executable(app IMPORTED)
set_target_properties(app PROPERTIES IMPORTED_LOCATION /bin/true)
tilewright_add_cuda_check(app OPTIONS --strict)
""")
    run(["cmake", "-S", f"{folder}/cuda", "-B", f"{folder}/cuda/build", f"-DCMAKE_PREFIX_PATH={prefix}"])
    test = open(f"{folder}/cuda/build/CTestTestfile.cmake").read()
    if f'"{os.path.realpath(prefix)}/bin/tilewright" "check" "--strict" "--" "/bin/true")' not in test:
        fail(f"the test of a project of CUDA alone is\n{test}")


def test_cpp(prefix, library, folder, environment):
    """The program in C++, under 60 lines, with the warnings that users turn on."""
    compiler = next(filter(shutil.which, [os.environ.get("CXX", ""), "g++", "clang++", "c++"]), None)
    if not compiler or not shutil.which("pkg-config"):
        print(f"skipped: examples/cpp is not built: there is no {'pkg-config' if compiler else 'C++ compiler'}")
        return
    source = f"{prefix}/share/tilewright/examples/cpp/scale.cpp"
    if len(open(source).readlines()) >= 60:
        fail(f"{source} is long")
    where = dict(environment, PKG_CONFIG_PATH=f"{library}/pkgconfig", LD_LIBRARY_PATH=library)
    warnings = "-Wall -Wextra -Wpedantic -Wconversion -Wold-style-cast -Werror"
    for standard in ("c++11", "c++17"):
        run(["sh", "-c", f"{compiler} {os.environ.get('CFLAGS', '')} -std={standard} {warnings} {source} "
                         f"$(pkg-config --cflags --libs tilewright) -o {folder}/scale"], env=where)
        out = run([f"{folder}/scale"], env=where)
        if out != "y[999] = 10\nerror: `n` is 1000 by `x` (axis 0) but 10 by `y` (axis 0)\n":
            fail(f"scale.cpp prints\n{out}")


def test_python(prefix, environment):
    """The installed file finds the installed library, and runs the installed example."""
    here = dict(environment, PYTHONPATH=f"{prefix}/share/tilewright/python")
    here.pop("TILEWRIGHT_LIBRARY", None)
    path = run([sys.executable, "-c", "import tilewright; print(tilewright.native_path())"], env=here).strip()
    if not os.path.realpath(path).startswith(os.path.realpath(prefix)):
        fail(f"the installed tilewright.py takes {path}")
    run([sys.executable, f"{prefix}/share/tilewright/examples/python/matmul.py", "-s", "32"], env=here)


IMPORTS = """#include <stdio.h>
#include <tilewright.h>
int main(void)
{
    static const char text[] = "import \\"lib/activations.tile\\";\\nkernel k(i32 n, f32 *y) grid(1) warps(1) { global f32 Y[n] = y; Y[0] = silu(1.0); }\\n";
    tw_context *ctx;
    tw_module *module;
    if (tw_context_new(NULL, &ctx) != TW_OK || tw_module_from_text(ctx, "text", text, sizeof text - 1, &module) != TW_OK)
        fputs(tw_context_messages(ctx), stdout);
    tw_context_free(ctx);
    return 0;
}
"""


def test_moved(prefix, library, folder, build, environment):
    """Imports of the kernels that ship work in a prefix that was moved, from any folder, and with the library of a build folder."""
    moved, away = f"{folder}/moved", f"{folder}/elsewhere"
    os.makedirs(f"{away}/kernels")  # the user's own, without the files that ship
    os.rename(prefix, moved)
    with open(f"{away}/k.tile", "w") as out:
        out.write(re.search(r'"(import.*)\\n";', IMPORTS).group(1).replace("\\\"", '"').replace("\\n", "\n"))
    environment = {name: value for name, value in environment.items() if name != "TILEWRIGHT_PATH"}
    run([f"{moved}/bin/tilewright", "check", "k.tile"], cwd=away, env=environment)
    with open(f"{away}/imports.c", "w") as out:
        out.write(IMPORTS)
    compiler, flags = os.environ.get("CC", "cc"), os.environ.get("CFLAGS", "")
    library = moved + library[len(prefix):]
    for place, link in ((library, "-ltilewright"), (library, "-l:libtilewright.a"), (build, "-ltilewright")):
        line = f"{compiler} {flags} -I{moved}/include imports.c -L{place} {link} -lm -lpthread -ldl -o {moved}/bin/imports"
        run(["sh", "-c", line], cwd=away)
        out = run([f"{moved}/bin/imports"], cwd=away, env=dict(environment, LD_LIBRARY_PATH=place))
        if out:
            fail(f"a program with {place} {link} prints\n{out}")
        os.remove(f"{moved}/bin/imports")


def test_documents(prefix):
    """Links lead to installed files; nothing else is changed."""
    documents = f"{prefix}/share/doc/tilewright"
    link = re.compile(r"\]\((?!\w+:)([^)#]+)[^)]*\)")
    seen = 0
    for name in glob.glob("*.md") + glob.glob("docs/**/*.md", recursive=True):
        text, source = open(f"{documents}/{name}").read(), open(name).read()
        beside = os.path.dirname(f"{documents}/{name}")
        prose = re.sub(r"`[^`\n]*`", "", re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S))
        dead = [to for to in link.findall(prose) if not os.path.exists(f"{beside}/{to}")]
        if dead:
            fail(f"{documents}/{name} leads to {dead}, which is not there")
        if link.sub("", text) != link.sub("", source):
            fail(f"{documents}/{name} differs from the sources")
        seen += len(link.findall(text))
    if seen < 30:
        fail(f"the documents have {seen} links?")


def test_bench(prefix, folder, environment):
    """The defaults of `bench`: kernels and suites are found next to the installed program, from any folder."""
    away = f"{folder}/away"
    os.makedirs(away)
    alone = dict(environment, TILEWRIGHT_BLAS="", TILEWRIGHT_BLIS="", TILEWRIGHT_ONEDNN="")
    for arguments, expected in (("sim -s 32 --repeat 1", r"^sgemm_tiled for sm_80"), ("-s 16 --warmup 0 --repeat 1", r" matmul_v4 .*PASS")):
        out = run([f"{prefix}/bin/tilewright", "bench", *arguments.split()], cwd=away, env=alone)
        if not re.search(expected, out, re.M):
            fail(f"the installed bench {arguments} prints\n{out}")
    # A whole suite; the GPU of the tests only loads its kernels.
    gpu = dict(alone, TILEWRIGHT_CUDA_DRIVER=os.environ["FAKE_CUDA"])
    kernel = f"{prefix}/share/tilewright/kernels/matmul/shared.tile"
    out = run([f"{prefix}/bin/tilewright", "bench", "--device", "cuda", "--load", kernel, "--suite", "squares"], cwd=away, env=gpu)
    if len(re.findall(r" matmul_v1 ", out)) < 3:
        fail(f"the installed bench --suite squares prints\n{out}")
    # There is no ./dev to fetch missing libraries, so no message mentions it.
    out = run([f"{prefix}/bin/tilewright", "bench", kernel, "-s", "16", "--warmup", "0", "--repeat", "1"], cwd=away, env=environment)
    if "./dev" in out:
        fail(f"the installed bench prints\n{out}")


def test_deb(build, folder, version):
    """dpkg unpacks it into an empty root with a copy of libc: nothing else is needed."""
    run(["cpack", "-G", "DEB", "-D", "CPACK_DEBIAN_COMPRESSION_TYPE=none", "-B", f"{folder}/deb"], cwd=build)
    package, = glob.glob(f"{folder}/deb/*.deb")
    root = f"{folder}/root"
    for part in ("var/lib/dpkg/updates", "var/lib/dpkg/info"):
        os.makedirs(f"{root}/{part}")
    open(f"{root}/var/lib/dpkg/status", "w").close()
    if run(["dpkg-deb", "-f", package, "Version"]).strip() != version:
        fail("the package is of another version")
    maintainer = run(["dpkg-deb", "-f", package, "Maintainer"])
    if not re.fullmatch(r"Tilewright developers <\w+@\w+(\.\w+)+>\n", maintainer):
        fail(f"the package is maintained by {maintainer}")
    depends = run(["dpkg-deb", "-f", package, "Depends"])
    if not re.fullmatch(r"libc6 \(>= [\d.]+\)\n", depends):
        fail(f"the package depends on {depends}")
    if os.geteuid() != 0:
        run(["dpkg-deb", "-x", package, root])
    else:
        run(["dpkg", f"--root={root}", "--force-depends", "--unpack", package])
    for file in ("lib/python3/dist-packages/tilewright.py", "share/zsh/vendor-completions/_tilewright", "lib/libtilewright.so.1"):
        if not os.path.exists(f"{root}/usr/{file}"):
            fail(f"the package has no /usr/{file}")
    pc, = glob.glob(f"{root}/usr/lib/**/tilewright.pc", recursive=True)
    if "prefix=/usr\n" not in open(pc).read():
        fail("the package's tilewright.pc has another prefix")
    for library in re.findall(r"(/\S+) \(0x", run(["ldd", f"{root}/usr/bin/tilewright"])):
        os.makedirs(root + os.path.dirname(library), exist_ok=True)
        shutil.copy(library, root + library)
    command = ["/usr/bin/tilewright", "run", "/usr/share/tilewright/kernels/matmul/shared.tile", "--set", "m=40,n=50,k=60", "--fill", "rand", "--verify"]
    inside = ["chroot", root] if os.geteuid() == 0 else ["unshare", "--map-root-user", "chroot", root]
    if "verified: 2000 elements" not in run([*inside, *command], env={"PATH": "/usr/bin:/usr/sbin:/bin:/sbin"}):
        fail("the program of the package does not verify")


def main():
    tool = os.path.abspath(sys.argv[1])
    build = os.path.dirname(tool)
    plain = "-fsanitize" not in os.environ.get("CFLAGS", "")
    with tempfile.TemporaryDirectory() as folder:
        prefix = f"{folder}/usr"
        run(["cmake", "--install", build, "--prefix", prefix])
        missing = [file for file in INSTALLED.split() if not os.path.exists(f"{prefix}/{file}")]
        if missing:
            fail(f"not installed: {missing}")
        options = commands(tool)
        test_man(f"{prefix}/share/man/man1/tilewright.1", options, tool)
        test_completion(f"{prefix}/share", options, tool)
        config, = glob.glob(f"{prefix}/lib*/**/tilewright.pc", recursive=True)
        environment = dict(os.environ, PYTHONPATH="")
        library = os.path.dirname(os.path.dirname(config))
        test_examples(prefix, library, folder, environment)
        test_subdirectory(folder)
        test_cuda_project(prefix, folder)
        test_cpp(prefix, library, folder, environment)
        test_documents(prefix)
        test_bench(prefix, folder, environment)
        if plain:
            test_python(prefix, environment)
        if plain and all(shutil.which(program) for program in ("cpack", "dpkg-deb", "dpkg-shlibdeps", "chroot", "ldd")):
            test_deb(build, folder, run([tool, "version"]).split()[1])
        test_moved(prefix, library, folder, build, environment)


if __name__ == "__main__":
    main()
