#!/usr/bin/env python3
"""`fmt`: shipped files have its style; texts with other white space return to it; tokens and comments remain; files are safe."""
import glob
import os
import random
import re
import subprocess
import sys
import tempfile

from tile_runner import call, expect

SHIPPED = ["kernels/*/*.tile", "puzzles/*/*.tile", "puzzles/*/*/*.tile", "examples/**/*.tile", "tools/templates/*.tile"]
OTHERS = ["tests/parity/*.tile", "tests/golden/*.tile", "tests/errors/*.tile", "tests/sync/**/*.tile", "docs/**/*.tile"]
TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\n])*"|[A-Za-z_]\w*|0[xX][0-9A-Fa-f]+|(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?'
                   r"|<<=|>>=|\+:|\+\+|--|->|[-+*/%&|^<>=!]=|<<|>>|&&|\|\||\S", re.S)
MESSY = """


  // first
const   i32 N=2*8 ,M = - N;   // one
  type T={ f32,f16 } ;
tune( A,B )={(1,2),( 3 , 4 )};tune (cpu) C={5};tune C={6};
fn( i32,i32 )split( i32 v ){ return( v/A,v%A ); }
kernel k( i32 n ,static bool all,const T*a,T *c )grid( cdiv( n,N ) )warps( B )
{

    global T X[ n ]=a,Y[n] = c;
\ti32( q,r )=split( block . x );
    if( n>3 ) { if(q==1)q=-q; else if(!(r==2)&&all){ r = ~r; } else { q++ ; --r; }
    }
    // about the loop
    unroll( 2 )for( i32 p=0;p<n;p+=N ) Y[ p +:N ]=( T )-X[p+:N inside]else( T )0;
    do q--; while( q>0 ) ;
    do { q++; } /* why */ while (q < 3);
    u32 b=bits<u32>( (f32)q );   /* block
       comment */
    t=dot( t,t )by( mma.m16n8k16,left   staged )+dot(t,t)by(cp.async.16 );
    C[0+:N]by(st.128)=A[ 0+:N ] by (ld.64)  else 1;
    for(;;){break;}

}
"""
TIDY = """// first
const i32 N = 2 * 8, M = -N;  // one
type T = {f32, f16};
tune (A, B) = {(1, 2), (3, 4)};
tune(cpu) C = {5};
tune C = {6};
fn (i32, i32) split(i32 v)
{
    return (v / A, v % A);
}

kernel k(i32 n, static bool all, const T *a, T *c) grid(cdiv(n, N)) warps(B)
{
    global T X[n] = a, Y[n] = c;
    i32 (q, r) = split(block.x);
    if (n > 3) {
        if (q == 1)
            q = -q;
        else if (!(r == 2) && all) {
            r = ~r;
        } else {
            q++;
            --r;
        }
    }
    // about the loop
    unroll(2) for (i32 p = 0; p < n; p += N)
        Y[p +: N] = (T) -X[p +: N inside] else (T) 0;
    do
        q--;
    while (q > 0);
    do {
        q++;
    } /* why */ while (q < 3);
    u32 b = bits<u32>((f32) q); /* block
      comment */
    t = dot(t, t) by(mma.m16n8k16, left staged) + dot(t, t) by(cp.async.16);
    C[0 +: N] by(st.128) = A[0 +: N] by(ld.64) else 1;
    for (;;) {
        break;
    }
}
"""


def formatted(tool, text, status=0):
    """Returns the standard output for a text on standard input; checks the status, and that formatting it again changes nothing."""
    done = subprocess.run([tool, "fmt", "-"], input=text, capture_output=True, timeout=300)
    expect(done.returncode == status, f"status {done.returncode}, not {status}: {done.stderr.decode()}\n{text.decode()}")
    if status == 0:
        again = subprocess.run([tool, "fmt", "-"], input=done.stdout, capture_output=True, timeout=300)
        expect(again.stdout == done.stdout, f"formatted again it differs:\n{done.stdout.decode()}\n---\n{again.stdout.decode()}")
    return done.stdout


def tokens(text):
    """Returns tokens, and comments without regard to white space."""
    return [re.sub(r"\s+", "", t) if t.startswith(("//", "/*")) else t for t in TOKEN.findall(text)]


def check_tokens(old, new):
    expect(tokens(old) == tokens(new), f"other tokens:\n{old}\n---\n{new}")


def test_shipped(tool):
    files = sorted(path for pattern in SHIPPED for path in glob.glob(pattern, recursive=True))
    expect(len(files) > 300, f"{len(files)} files")
    found = call([tool, "fmt", "--check", *files])
    expect(found.status == 0 and not found.out, f"not in the style (`tilewright fmt` mends them): {found}")
    return files


def test_mangled(tool, files):
    """White space at the start of lines and within them is restored; with one token a line, tokens remain."""
    chance = random.Random(7)
    for path in chance.sample(files, 60):
        text = open(path, newline="").read()
        flat = "\n".join(line.lstrip() for line in text.split("\n"))
        expect(formatted(tool, flat.encode()).decode() == text, f"{path} does not come back from its lines without indentation")
        parts = [t + ("\n" if t.startswith("//") else "") for t in TOKEN.findall(text)]
        for blanks in ([" "], ["\n"], [" ", "", "\n", "\t", "\n\n\n", "  "]):
            mangled = parts[0]
            for before, part in zip(parts, parts[1:]):
                blank = chance.choice(blanks)
                joins = TOKEN.match(before.rstrip("\n") + part).group() != before.rstrip("\n")
                joins = joins or (before[0].isdigit() and re.match(r"\w", part))  # `0 clean`
                mangled += (blank or (" " if joins else "")) + part
            check_tokens(text, formatted(tool, mangled.encode()).decode())


def test_others(tool):
    """Texts that do not follow the grammar are refused; all others keep their tokens."""
    refused = 0
    for path in sorted(path for pattern in OTHERS for path in glob.glob(pattern, recursive=True)):
        text = open(path, newline="").read()
        done = subprocess.run([tool, "fmt", "-"], input=text.encode(), capture_output=True, timeout=300)
        refused += done.returncode == 2
        expect(done.returncode == 0 or (done.returncode == 2 and b"error: " in done.stderr and not done.stdout),
               f"{path}: {done.returncode} {done.stderr}")
        if done.returncode == 0:
            check_tokens(text, done.stdout.decode())
    expect(refused > 3, "texts with errors were formatted")


def test_style(tool):
    new = formatted(tool, MESSY.encode()).decode()
    expect(new == TIDY, f"{new}")
    check_tokens(MESSY, new)
    for old, want in (("", ""), ("\n\n", ""), ("// only", "// only\n"), ("\ufeff// mark", "// mark\n"),
                      ("const i32 N = 1;\r\n\r\n\r\n// x  \r\n", "const i32 N = 1;\r\n\r\n// x\r\n"),
                      ("const i32 N = 1;    // a\n                    // b\nconst i32 LONGER = 2; // c\n",) * 2,
                      ("const i32 N=1;//é\n", "const i32 N = 1; //é\n"),
                      ("const i32 N = - -1;", "const i32 N = - -1;\n"),
                      ("const i32 N = // why\n1;", "const i32 N = // why\n    1;\n"),
                      ("kernel k() grid(1) threads(1) {}", "kernel k() grid(1) threads(1)\n{\n}\n")):
        got = formatted(tool, old.encode()).decode()
        expect(got == want, f"{old!r} became {got!r}, not {want!r}")
    long = "const i32 N = " + " + ".join(f"number_{i}" for i in range(30)) + ";"
    lines = formatted(tool, long.encode()).decode().split("\n")
    expect(max(map(len, lines)) <= 100 and len(lines) == 5 and all(line.startswith("    ") for line in lines[1:-1]), lines)


def test_files(tool, folder):
    messy, good, broken = (f"{folder}/{name}.tile" for name in ("messy", "good", "broken"))
    for path, text in ((messy, MESSY), (good, TIDY), (broken, "kernel k( {")):
        with open(path, "w") as out:
            out.write(text)
    os.chmod(messy, 0o640)
    os.symlink("messy.tile", f"{folder}/link.tile")
    done = call([tool, "fmt", "--check", messy, good])
    expect(done.status == 1 and done.out == f"{messy}\n" and open(messy).read() == MESSY, done)
    done = call([tool, "fmt", "--diff", messy, good])
    expect(done.status == 0 and open(messy).read() == MESSY, done)
    patched = subprocess.run(["patch", "-s", "-o", "-", messy], input=done.out, capture_output=True, text=True)
    expect(patched.stdout == TIDY, patched)
    done = call([tool, "fmt", f"{folder}/link.tile", broken, good])
    expect(done.status == 2 and done.out == f"{folder}/link.tile\n" and f"{broken}:1:" in done.err, done)
    expect(open(messy).read() == TIDY and open(broken).read() == "kernel k( {", "the files")
    expect(os.stat(messy).st_mode & 0o777 == 0o640 and os.path.islink(f"{folder}/link.tile"), "mode or link")
    done = call([tool, "fmt", messy, good])
    expect(done.status == 0 and not done.out, done)
    done = call([tool, "fmt", "-", "--check"], given=MESSY)
    expect(done.status == 1 and done.out == "-\n", done)
    with open(messy, "w") as out:
        out.write(MESSY)
    os.chmod(messy, 0o440)
    done = call([tool, "fmt", messy])
    expect(done.status == 1 and "cannot be written" in done.err and open(messy).read() == MESSY, done)
    for arguments, why in (([], "which FILE?"), ([f"{folder}/none.tile"], "cannot be read")):
        done = call([tool, "fmt", *arguments])
        expect(done.status == 2 and why in done.err, done)
    left = sorted(os.listdir(folder))
    expect(left == ["broken.tile", "good.tile", "link.tile", "messy.tile"], left)


def main():
    tool = os.path.abspath(sys.argv[1])
    files = test_shipped(tool)
    test_style(tool)
    test_mangled(tool, files)
    test_others(tool)
    with tempfile.TemporaryDirectory() as folder:
        test_files(tool, folder)


if __name__ == "__main__":
    main()
