"""Command lines as the interpreters of this machine read them: a name is what one says that it runs, or there is none."""

import json
import shutil
import subprocess
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import pytest

from gateway.process.node_options import ALONE, VALUED
from gateway.process.script_names import script_name

pytestmark = [pytest.mark.integration, pytest.mark.slow]

DEADLINE_S = 60
TRUTH = "TRUTH "


@dataclass(frozen=True)
class Interpreter:
    """`says` is code that prints what it believes to be the script. Options in `odd` may leave no name behind them."""

    program: str
    says: str
    options: tuple[tuple[str, ...], ...]
    code: tuple[tuple[str, ...], ...]
    """How code is given, which is appended."""
    odd: tuple[tuple[str, ...], ...] = ()


INTERPRETERS = [
    Interpreter(
        "python3",
        "import sys\nprint('TRUTH', __spec__.name if __spec__ else sys.argv[0])",
        (
            ("-u",), ("-I", "-u"), ("-bb",), ("-W", "ignore"), ("-Wignore",), ("-X", "dev"), ("-uXdev",), ("-OO",), ("-sW", "ignore"),
            ("--check-hash-based-pycs", "never"), ("--",),
        ),
        (("-c",), ("-Ic",), ("-uc",)),
        odd=(("-x",), ("-Z",), ("--frobnicate",), ("-q", "-i")),
    ),
    Interpreter(
        "perl",
        'print "TRUTH $0\\n";',
        (
            ("-w",), ("-I", "."), ("-I.",), ("-Mstrict",), ("-mstrict",), ("-wMstrict",), ("-l",), ("-l012",), ("-0777",), ("-0",),
            ("-CS",), ("-C7",), ("-T",), ("-tw",), ("-s",), ("-i.bak",), ("-0x0a",), ("--",),
        ),
        (("-e",), ("-we",), ("-0777e",), ("-le",), ("-Mstrict", "-E"), ("-l012e",)),
        odd=(("-M", "strict"), ("-Z",), ("--frobnicate",), ("-D0",), ("-g",), ("-f",), ("-CSe",)),
    ),
    Interpreter(
        "ruby",
        'puts "TRUTH #{$0}"',
        (
            ("-w",), ("-I", "."), ("-I.",), ("-r", "set"), ("-rset",), ("-W0",), ("-W:no-deprecated",), ("-Ku",), ("-E", "UTF-8"),
            ("-EUTF-8",), ("--encoding", "UTF-8"), ("--encoding=UTF-8",), ("--enable", "gems"), ("--enable=gems",), ("--disable-did_you_mean",),
            ("-F,",), ("-l",), ("-s",), ("-U",), ("--verbose",), ("-wW1",), ("-0",), ("-0777",), ("-i.bak",), ("--",),
        ),
        (("-e",), ("-we",), ("-W0e",), ("-Kue",), ("-0777e",), ("-rset", "-le")),
        odd=(("-Z",), ("--frobnicate",), ("--backtrace-limit", "3"), ("-T1",), ("-Wno",)),
    ),
    Interpreter(
        "node",
        "console.log('TRUTH', process.argv[1])",
        (
            ("--no-warnings",), ("--title", "x"), ("--title=x",), ("-r", "fs"), ("--require", "fs"), ("-C", "x"), ("--expose-gc",),
            ("--max-old-space-size=100",), ("--max_old_space_size=100",), ("--stack-trace-limit=5",), ("--input-type", "commonjs"),
            ("--trace_warnings",), ("--unhandled-rejections", "strict"), ("--",),
        ),
        (("-e",), ("--eval",), ("-p",), ("-pe",), ("--no-warnings", "--print")),
        odd=(("--frobnicate",), ("--harmony-weak-refs",), ("--stack-size", "900"), ("-i",), ("--input_type", "commonjs")),
    ),
]  # fmt: skip


def made(interpreter: Interpreter, folder: Path) -> str:
    program = shutil.which(interpreter.program)
    if program is None:
        pytest.skip(f"{interpreter.program} is not installed")
    for name in ("truth.py", "tool", "x"):
        (folder / name).write_text(interpreter.says)
    return program


def run(interpreter: Interpreter, folder: Path, arguments: tuple[str, ...]) -> tuple[str | None, str]:
    """What it believes to run, None: it ran nothing of ours; and the name that the gateway finds."""
    command = [interpreter.program, *arguments]
    done = subprocess.run(
        command, cwd=folder, input=interpreter.says, capture_output=True, text=True, timeout=DEADLINE_S, check=False
    )  # fmt: skip
    said = [line.partition(TRUTH)[2] for line in done.stdout.splitlines() if TRUTH in line]
    command_line = b"".join(argument.encode() + b"\0" for argument in command)
    return (said[0] if said else None), script_name(f"/usr/bin/{interpreter.program}", command_line)


def each(interpreter: Interpreter) -> object:
    return interpreter.program


@pytest.mark.parametrize("interpreter", INTERPRETERS, ids=each)
def test_the_script_is_found_behind_every_option(interpreter: Interpreter, tmp_path: Path):
    made(interpreter, tmp_path)
    tool = f"{tmp_path}/tool"
    for options, script in (((), "truth.py"), *((options, tool) for options in interpreter.options)):
        if options == ("--input-type", "commonjs"):
            continue  # node takes it for code and standard input only
        truth, name = run(interpreter, tmp_path, (*options, script, "x"))
        assert truth is not None, (options, script)
        assert name == Path(truth).name == Path(script).name, (options, script)


@pytest.mark.parametrize("interpreter", INTERPRETERS, ids=each)
def test_code_and_standard_input_have_no_name(interpreter: Interpreter, tmp_path: Path):
    """Behind them there are files that could be scripts."""
    made(interpreter, tmp_path)
    for options in ((), *interpreter.options):
        truth, name = run(interpreter, tmp_path, (*options, "-", "truth.py"))
        assert truth is not None, options
        assert (truth[:1], name) == ("-", ""), options
    for code in interpreter.code:
        truth, name = run(interpreter, tmp_path, (*code, interpreter.says, "truth.py"))
        assert truth is not None, code
        # Node has the first argument behind its code where a script's name would be.
        assert truth in {"-c", "-e", "undefined", str(tmp_path / "truth.py"), "truth.py"}, code
        assert name == "", code


@pytest.mark.parametrize("interpreter", INTERPRETERS, ids=each)
def test_behind_what_is_not_known_there_is_the_script_or_no_name(interpreter: Interpreter, tmp_path: Path):
    made(interpreter, tmp_path)
    for options, first in product(interpreter.odd, ("truth.py", "-", "x")):
        truth, name = run(interpreter, tmp_path, (*options, first, "truth.py"))
        assert name in {"", Path(first if truth is None else truth).name}, (options, first)


def test_pythons_modules_are_found(tmp_path: Path):
    (interpreter,) = [each for each in INTERPRETERS if each.program == "python3"]
    made(interpreter, tmp_path)
    for options in (("-m", "truth"), ("-mtruth",), ("-um", "truth"), ("-W", "ignore", "-mtruth")):
        assert run(interpreter, tmp_path, (*options, "tool")) == ("truth", "truth")


def test_nodes_options_are_what_it_says_they_are():
    """Its own table, of the version that is installed: an option that is listed takes the next argument, or does not."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    script = """
        const {internalBinding} = require('internal/test/binding');
        const {getCLIOptionsInfo, getCLIOptions, types} = internalBinding('options');
        const names = Object.fromEntries(Object.entries(types).map(([name, type]) => [type, name]));
        const {options} = (getCLIOptionsInfo ?? getCLIOptions)();
        console.log(JSON.stringify([...options].map(([name, {type}]) => [name, names[type]])));
    """
    command = [node, "--no-warnings", "--expose-internals", "-e", script]
    done = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE_S, check=False)
    if done.returncode:
        pytest.skip(f"rare: this version's table has another form: {done.stderr[-300:]}")
    kinds = dict(json.loads(done.stdout))
    alone = {name for name, kind in kinds.items() if kind in {"kBoolean", "kNoOp", "kV8Option"}}
    assert len(alone) > 50
    assert not VALUED & alone
    assert not ALONE & (set(kinds) - alone)


JAVA = """public class Truth { public static void main(String[] all) {
    System.out.println("TRUTH " + System.getProperty("sun.java.command").split(" ")[0]); } }"""


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (("-cp", ".", "Truth", "x"), "Truth"),
        (("-cp", "@classes", "-Xmx64m", "-Dx=y", "-ea", "Truth", "x"), "Truth"),
        (
            ("--class-path=.", "--add-opens", "java.base/java.lang=ALL-UNNAMED", "-showversion", "Truth"),
            "Truth",
        ),
        (("-jar", "-XX:+UseSerialGC", "truth.jar", "x"), "truth.jar"),
        (("@all", "Truth"), ""),
        (("-cp", ".", "--frobnicate", "Truth"), ""),
        (("-cp", ".", "--", "Truth"), ""),
    ],
)
def test_javas_class_or_jar(tmp_path: Path, arguments: tuple[str, ...], name: str):
    if shutil.which("java") is None or shutil.which("javac") is None or shutil.which("jar") is None:
        pytest.skip("no JDK is installed")
    (tmp_path / "Truth.java").write_text(JAVA)
    (tmp_path / "classes").write_text(".")
    (tmp_path / "all").write_text("-cp . Truth hidden")
    subprocess.run(["javac", "Truth.java"], cwd=tmp_path, check=True, timeout=DEADLINE_S)
    jar = ["jar", "--create", "--file", "truth.jar", "--main-class", "Truth", "Truth.class"]
    subprocess.run(jar, cwd=tmp_path, check=True, timeout=DEADLINE_S)
    truth, found = run(Interpreter("java", "", (), ()), tmp_path, arguments)
    assert found == name
    assert found in {"", truth}
