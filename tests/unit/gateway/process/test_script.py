import pytest

from gateway.process.script import MAX_NAME, script_name


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
        ("/opt/pypy/bin/pypy3.10", ["x.py"], "x.py"),
        (
            "/usr/bin/node",
            ["--max-old-space-size=4096", "-r", "ts-node/register", "/app/server.js"],
            "server.js",
        ),
        ("/usr/bin/node", ["-e", "process.env.SECRET"], ""),
        ("/usr/bin/node", ["--eval=process.env.SECRET", "x"], ""),
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
            ["@args", "--module", "m.app/org.example.Main"],
            "org.example.Main",
        ),
        ("/usr/bin/ruby3.1", ["-I", "lib", "-W0", "bin/rails", "s"], "rails"),
        ("/usr/bin/ruby", ["-e", "puts 1"], ""),
        ("/usr/bin/perl", ["-w", "-Ilib", "tool.pl"], "tool.pl"),
        ("/usr/bin/perl", ["-ne", "print $secret"], ""),
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


def test_long_names_are_cut():
    assert len(name("/usr/bin/python3", "x" * 5000)) == MAX_NAME
