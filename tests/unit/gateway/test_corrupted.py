"""GIVEN input that is damaged WHEN a parser of the gateway reads it THEN it ends soon, with a value or its own error."""

import resource
from pathlib import Path

import pytest

from tests.corrupted_gateway.trials import trials

COUNT = 60


def test_a_few_inputs_of_every_parser(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    tried = list(trials(tmp_path, count=COUNT, seed=3))
    assert len(tried) >= 25
    assert not [each.name for each in tried if each.findings], capsys.readouterr().out
    for each in tried:
        assert each.inputs == COUNT
        # Some input gets past the first check, or nothing is tried.
        assert each.outcomes["used"] > 0, each
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 << 10


def test_a_finding_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(_text: str) -> None:
        raise KeyError("no error of ours")

    monkeypatch.setattr("tests.corrupted_gateway.parsers.parse_stat", breaks)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (found,) = trials(tmp_path, count=5, seed=1, only=["/proc/stat"])
    assert found.findings == 5
    assert len(list(tmp_path.glob("corrupted-gateway-*"))) == 3
