"""GIVEN alert rules and a dashboard WHEN no Prometheus is at hand THEN they speak of metrics that there are."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "infra/prometheus"
RULES = [
    rule
    for group in yaml.safe_load((FOLDER / "alerts.yaml").read_text())["groups"]
    for rule in group["rules"]
]
PANELS = json.loads((FOLDER / "dashboard.json").read_text())["panels"]
EXPRESSIONS = {rule["alert"]: rule["expr"] for rule in RULES} | {
    f"{panel['title']} {target['refId']}": target["expr"] for panel in PANELS for target in panel["targets"]
}
OPERATIONS = (ROOT / "docs/operations.md").read_text()


def documented() -> dict[str, set[str]]:
    """Labels by metric; another test compares the document with what the processes export."""
    cells = re.findall(r"^\| (`fleetprof_[^|]*) \|", OPERATIONS, re.MULTILINE)
    return {
        name: set(filter(None, labels.split(",")))
        for cell in cells
        for name, labels in re.findall(r"`(fleetprof_\w+)(?:\{([\w,]+)\})?`", cell)
    }


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_every_metric_and_label_exists(name: str):
    known = documented()
    used = re.findall(r"(fleetprof_\w+)(?:\{([^}]*)\})?", EXPRESSIONS[name])
    assert used
    for metric, matchers in used:
        base = re.sub(r"_(bucket|count|sum)$", "", metric)
        assert base in known, metric
        assert set(re.findall(r"(\w+)\s*[!=]", matchers)) <= known[base], metric
    for labels in re.findall(r"by \(([^)]*)\)", EXPRESSIONS[name]):
        there = {"le", "instance"}.union(
            *(known[re.sub(r"_(bucket|count|sum)$", "", metric)] for metric, _ in used)
        )
        assert {label.strip() for label in labels.split(",")} <= there


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_brackets_are_closed_and_counters_are_not_taken_as_they_are(name: str):
    expression = EXPRESSIONS[name]
    for opened, closed in ("()", "{}", "[]"):
        assert expression.count(opened) == expression.count(closed)
    for counter in re.findall(r"fleetprof_\w+_total", expression):
        assert re.search(rf"(rate|increase)\({counter}", expression), counter


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["alert"])
def test_every_alert_says_what_is_wrong_and_what_to_do(rule: dict):
    assert rule.keys() <= {"alert", "expr", "for", "labels", "annotations"}
    assert rule["labels"]["severity"] in {"critical", "warning"}
    assert rule["annotations"]["summary"].endswith(".")
    assert re.fullmatch(r"\d+[smh]", rule.get("for", "1m"))
    assert f"`{rule['alert']}`" in OPERATIONS


def test_panels_do_not_lie_on_each_other():
    places = {(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in PANELS}
    assert len(places) == len(PANELS)
    assert len({panel["id"] for panel in PANELS}) == len(PANELS)


@pytest.fixture
def promtool() -> str:
    program = shutil.which("promtool")
    if program is None:
        # Of Debian it comes with Prometheus itself: 100 MB, and a server that is started at once.
        pytest.skip(
            "rare: promtool is not installed; continuous integration does not install a Prometheus server for it"
        )
    return program


def test_prometheus_itself_accepts_the_rules(promtool: str):
    _check(promtool, "check", "rules", str(FOLDER / "alerts.yaml"))


def test_prometheus_itself_understands_the_dashboard(promtool: str, tmp_path: Path):
    """As rules, since nothing else of a dashboard is its own."""
    rules = [
        {"record": f"panel_{number}", "expr": target["expr"]}
        for number, target in enumerate(target for panel in PANELS for target in panel["targets"])
    ]
    file = tmp_path / "panels.yaml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": rules}]}))
    _check(promtool, "check", "rules", str(file))


def test_prometheus_itself_accepts_the_example_of_a_scrape(promtool: str):
    # Whether the token's file is there is the operator's to see.
    _check(promtool, "check", "config", "--syntax-only", str(FOLDER / "scrape.yaml"))


def _check(*words: str) -> None:
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
