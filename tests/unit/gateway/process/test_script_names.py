from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.process.script_names import MAX_NAME, script_name


def name(exe: str, *arguments: str) -> str:
    return script_name(exe, b"".join(argument.encode() + b"\0" for argument in (exe, *arguments)))


@pytest.mark.parametrize(
    ("exe", "arguments", "script"),
    [
        ("/usr/bin/python3.11", ["/srv/app/main.py", "--token=secret"], "main.py"),
        ("/usr/bin/python3", ["-u", "-W", "error", "-Xdev", "run.py"], "run.py"),
        ("/usr/bin/python3", ["-X", "importtime", "run.py"], "run.py"),
        ("/usr/bin/python3", ["-m", "http.server", "8000"], "http.server"),
        ("/usr/bin/python3", ["-Im", "http.server"], "http.server"),
        ("/usr/bin/python3", ["-mhttp.server"], "http.server"),
        ("/usr/bin/python3", ["-c", "print('secret')"], ""),
        ("/usr/bin/python3", ["-Ic", "print('secret')"], ""),
        ("/usr/bin/python3", ["-cprint('secret')", "x.py"], ""),
        ("/usr/bin/python3", [], ""),
        ("/usr/bin/python3", ["-"], ""),
        ("/usr/bin/python3", ["-", "hunter2"], ""),
        ("/usr/bin/python3", ["--", "-", "hunter2"], ""),
        ("/usr/bin/python3", ["--", "-odd.py"], "-odd.py"),
        ("/usr/bin/python3", ["-Z", "hunter2"], ""),
        ("/usr/bin/python3", ["--frobnicate", "hunter2"], ""),
        ("/usr/bin/python3", ["", "hunter2"], ""),
        ("/usr/bin/python3", [".", "hunter2"], ""),
        ("/usr/bin/python3", ["/usr/bin/gunicorn", "app:app"], "gunicorn"),
        ("/usr/bin/python3", ["https://host/x.py?token=hunter2"], ""),
        ("/usr/bin/python3", ["--check-hash-based-pycs", "always", "run.py"], "run.py"),
        ("/opt/pypy/bin/pypy3.10", ["x.py"], "x.py"),
        (
            "/usr/bin/node",
            ["--max-old-space-size=4096", "-r", "ts-node/register", "/app/server.js"],
            "server.js",
        ),
        ("/usr/bin/node", ["-e", "process.env.SECRET"], ""),
        ("/usr/bin/node", ["--eval=process.env.SECRET", "x"], ""),
        ("/usr/bin/node", ["-", "hunter2"], ""),
        ("/usr/bin/node", ["--entry_url", "data:text/javascript,hunter2"], ""),
        ("/usr/bin/node", ["--input-type", "module", "-"], ""),
        ("/usr/bin/node", ["--frobnicate", "hunter2"], ""),
        ("/usr/bin/node", ["--frobnicate=hunter2", "app.js"], "app.js"),
        ("/usr/bin/node", ["--max_old_space_size=4096", "--no-warnings", "--", "app.js"], "app.js"),
        ("/usr/bin/node", ["inspect", "app.js"], ""),
        ("/usr/bin/node", ["/usr/bin/yarn", "start"], "yarn"),
        ("/usr/bin/nodejs", ["--inspect", "index.mjs"], "index.mjs"),
        (
            "/usr/lib/jvm/java-17/bin/java",
            ["-Xmx4g", "-Dpassword=x", "-jar", "/opt/kafka.jar", "a"],
            "kafka.jar",
        ),
        (
            "/usr/lib/jvm/java-17/bin/java",
            ["-cp", "/a:/b", "-ea", "org.example.Main", "x"],
            "org.example.Main",
        ),
        (
            "/usr/lib/jvm/java-17/bin/java",
            ["-cp", "@/app/jib-classpath-file", "--module", "m.app/org.example.Main"],
            "org.example.Main",
        ),
        ("/usr/bin/java", ["@args", "org.example.Main"], ""),
        ("/usr/bin/java", ["-jar", "-Xmx1g", "/opt/app-1.2.jar", "a"], "app-1.2.jar"),
        ("/usr/bin/java", ["--source", "17", "/srv/Main.java"], "Main.java"),
        ("/usr/bin/java", ["-XX:+UseZGC", "org.example.Main$Inner"], "org.example.Main$Inner"),
        ("/usr/bin/java", ["org.example.Main", "x.jar"], "org.example.Main"),
        ("/usr/bin/java", ["--frobnicate", "x.jar"], ""),
        ("/usr/bin/ruby3.1", ["-I", "lib", "-W0", "bin/rails", "s"], "rails"),
        ("/usr/bin/ruby", ["-e", "puts 1"], ""),
        ("/usr/bin/ruby", ["-ne", "print 'hunter2'"], ""),
        ("/usr/bin/ruby", ["-e'puts ARGV[0]'", "hunter2"], ""),
        ("/usr/bin/ruby", ["-lane", "pw code"], ""),
        ("/usr/bin/ruby", ["-W0e", "hunter2"], ""),
        ("/usr/bin/ruby", ["-Kue", "hunter2"], ""),
        ("/usr/bin/ruby", ["-0777ne", "hunter2"], ""),
        ("/usr/bin/ruby", ["-", "hunter2"], ""),
        ("/usr/bin/ruby", ["-rset", "-W:no-deprecated", "--enable", "yjit", "/srv/bin/puma"], "puma"),
        ("/usr/bin/perl", ["-w", "-Ilib", "tool.pl"], "tool.pl"),
        ("/usr/bin/perl", ["-ne", "print $secret"], ""),
        ("/usr/bin/perl", ["-", "hunter2"], ""),
        ("/usr/bin/perl", ["-M", "hunter2"], ""),
        ("/usr/bin/perl", ["-de", "0", "hunter2"], ""),
        ("/usr/bin/perl", ["-0777ne", "hunter2"], ""),
        ("/usr/bin/perl", ["-i.bak -e", "hunter2"], ""),
        ("/usr/bin/perl", ["-MList::Util=first", "-I", "lib", "-T", "tool.pl"], "tool.pl"),
        ("/usr/bin/perl", ["--", "-odd.pl"], "-odd.pl"),
        ("/usr/bin/cat", ["file.py"], ""),
        ("/usr/bin/pythonista", ["file.py"], ""),
        ("", ["file.py"], ""),
    ],
)
def test_names(exe, arguments, script):
    assert name(exe, *arguments) == script


def test_a_title_that_was_set_is_no_script():
    assert script_name("/usr/bin/python3", b"gunicorn: worker [app]") == ""


def test_long_names_are_none():
    assert name("/usr/bin/python3", "x" * MAX_NAME) == "x" * MAX_NAME
    assert name("/usr/bin/python3", "x" * (MAX_NAME + 1)) == ""
    assert name("/usr/bin/java", "x" * (MAX_NAME + 1)) == ""


def test_a_command_line_that_was_cut_names_nothing_by_half():
    assert script_name("/usr/bin/python3", b"python3\0-u\0/srv/main.py") == ""
    assert script_name("/usr/bin/python3", b"python3\0/srv/main.py\0secret") == "main.py"


# Whatever is no script holds this. A name is what it is allowed to be, or none.
SECRET = "hunter2"


@dataclass(frozen=True)
class Grammar:
    """Parts of an interpreter's command lines, in which S stands for a secret."""

    exe: str
    harmless: tuple[tuple[str, ...], ...]
    code: tuple[tuple[str, ...], ...]
    """With what no name can come behind."""
    runs: tuple[tuple[tuple[str, ...], str], ...]
    """With the name."""


EVERYWHERE = (
    ("-",),
    ("--frobnicate", "S"),
    ("--frobnicate", "-u", "S.py"),
    ("",),
    ("-\u00e9", "S"),
    ("S;S",),
)
GRAMMARS = [
    Grammar(
        "/usr/bin/python3",
        (("-u",), ("-W", "S"), ("-WS",), ("-X", "S"), ("-bbX", "S"), ("-IOO",), ("--check-hash-based-pycs", "S")),
        (("-c", "S"), ("-cS",), ("-Ic", "S"), ("-uXS", "-cS"), ("--", "-")),
        (
            (("/srv/S/main.py",), "main.py"),
            (("--", "gunicorn"), "gunicorn"),
            (("-m", "celery"), "celery"),
            (("-Imcelery",), "celery"),
        ),
    ),
    Grammar(
        "/usr/bin/node",
        (("--title", "S"), ("--title=S",), ("--unknown=S",), ("-r", "S"), ("--no-warnings",), ("--env_file", "S")),
        (
            ("-e", "S"), ("--eval", "S"), ("--eval=S",), ("-p", "S"), ("-pe", "S"), ("--test", "S.js"), ("--run", "S"),
            ("inspect", "S.js"), ("--entry_url=S",), ("--entry-url", "S"), ("-i", "S"), ("--", "-"),
        ),
        ((("/S/server.js",), "server.js"), (("--", "yarn"), "yarn")),
    ),
    Grammar(
        "/usr/bin/java",
        (("-DS=S",), ("-cp", "S"), ("-cp", "@S"), ("--add-opens=S",), ("--add-opens", "S"), ("-javaagent:S",), ("-ea",)),
        (("@S",), ("@S", "org.S.Main"), ("-Unknown", "S.jar"), ("--", "S")),
        (
            (("-jar", "/S/app.jar"), "app.jar"),
            (("org.example.Main",), "org.example.Main"),
            (("-m", "S/Main"), "Main"),
        ),
    ),
    Grammar(
        "/usr/bin/ruby",
        (("-w",), ("-I", "S"), ("-IS",), ("-r", "S"), ("-W0",), ("-WwI", "S"), ("-FS",), ("-i.S",), ("--encoding", "S")),
        (("-e", "S"), ("-eS",), ("-ne", "S"), ("-lane", "S"), ("-W0e", "S"), ("-Kue", "S"), ("-0777e", "S"), ("--", "-")),
        ((("/S/bin/rails",), "rails"), (("--", "app.rb"), "app.rb")),
    ),
    Grammar(
        "/usr/bin/perl",
        (("-w",), ("-I", "S"), ("-IS",), ("-MS",), ("-wMS",), ("-FS",), ("-i.S",), ("-0777",), ("-d:S",), ("-CS",)),
        (("-e", "S"), ("-eS",), ("-ne", "S"), ("-pi", "-e", "S"), ("-de", "S"), ("-0777E", "S"), ("-M", "S"), ("--", "-")),
        ((("/S/tool.pl",), "tool.pl"), (("--", "ack"), "ack")),
    ),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("grammar", GRAMMARS, ids=lambda grammar: grammar.exe)
@given(data=st.data())
def test_no_argument_but_the_script_is_ever_a_name(grammar: Grammar, data: st.DataObject):
    options = data.draw(st.lists(st.sampled_from(grammar.harmless), max_size=5))
    expected = ""
    last: tuple[str, ...] = ()
    if data.draw(st.booleans()):
        last, expected = data.draw(st.sampled_from(grammar.runs))
    else:
        last = data.draw(st.sampled_from((*EVERYWHERE, *grammar.code)))
    behind = data.draw(
        st.lists(st.sampled_from(["S", "S.py", "S.jar", "-S", "-m", "org.S", "@S"]), max_size=3)
    )
    arguments = [argument.replace("S", SECRET) for argument in (*sum(options, ()), *last, *behind)]
    assert name(grammar.exe, *arguments) == expected


@pytest.mark.parametrize("grammar", GRAMMARS, ids=lambda grammar: grammar.exe)
@given(arguments=st.lists(st.text(max_size=12) | st.text("-emIWcX0=@ .S", max_size=6), max_size=5))
def test_any_name_is_one_of_the_arguments_and_looks_like_a_name(grammar: Grammar, arguments: list[str]):
    arguments = [argument.replace("\0", "").encode("utf-8", "replace").decode() for argument in arguments]
    found = name(grammar.exe, *arguments)
    assert len(found) <= MAX_NAME
    assert found.isprintable()
    assert not set(found) & set(" ;:'\"(){}?&=/")
    assert any(argument.rstrip("/").endswith(found) for argument in arguments) or not found
