"""GIVEN a command line WHEN it makes no sense THEN the daemon says what does, and exits with 2."""

import logging
from pathlib import Path

import pytest

from gateway.daemon import main
from gateway.log_format import LogfmtFormatter


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "--listen"),
        (["--listen", "nowhere"], "must be unix:/PATH, HOST:PORT or systemd"),
        (["--listen", "unix:/x/y", "--max-rate-hz", "0"], "invalid value '0': expected a positive number"),
        (
            ["--listen", "unix:/x/y", "--max-rate-hz", "inf"],
            "invalid value 'inf': expected a positive number",
        ),
        (
            ["--listen", "unix:/x/y", "--max-concurrent", "0"],
            "invalid value '0': expected an integer of at least 1",
        ),
        (["--listen", "unix:/x/y", "--max-cpu-percent", "101"], "invalid value '101': expected at most 100"),
        (["--listen", "unix:/x/y", "--label", "rack"], "invalid label 'rack': expected KEY=VALUE"),
        (["--listen", "unix:/x/y", "--label", "7=b"], "invalid label '7=b': expected KEY=VALUE"),
        (["--listen", "h:1", "--tls-cert", "/x"], "must be given together"),
        (
            ["--listen", "h:1", "--tls-cert", "/none", "--tls-key", "/none", "--tls-client-ca", "/none"],
            "cannot read /none",
        ),
    ],
)
def test_arguments_without_sense(arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert says in capsys.readouterr().err


def test_an_address_that_anybody_could_use(capsys: pytest.CaptureFixture[str]):
    assert main(["--listen", "0.0.0.0:7411"]) == 1
    assert "needs mutual TLS" in capsys.readouterr().err


def test_a_path_that_is_too_long_for_a_socket(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["--listen", f"unix:{tmp_path}/{'x' * 100}.sock"]) == 1
    assert "longer than 107 bytes" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        ({}, "info capture finished"),
        ({"visit": "a-b", "samples": 7}, "info capture finished visit=a-b samples=7"),
        ({"message": 'say "no"\nnow'}, 'info capture finished message="say \\"no\\"\\nnow"'),
        ({"campaign": ""}, 'info capture finished campaign=""'),
        ({"campaign": "x=1"}, 'info capture finished campaign="x=1"'),
    ],
)
def test_an_event_is_one_line_whatever_a_caller_put_into_it(fields: dict[str, object], line: str):
    record = logging.LogRecord("gateway", logging.INFO, "", 0, "capture %s", ("finished",), None)
    record.fields = fields
    formatted = LogfmtFormatter().format(record)
    assert "\n" not in formatted
    assert formatted.split(" ", 2)[2].partition(",")[2].partition(" ")[2] == line or formatted.endswith(line)
