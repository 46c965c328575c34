"""GIVEN another confidence level WHEN anything is estimated or compared THEN its interval is of that level."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from analysis import confidence

PROGRAM = """
import json, sys
from analysis import confidence
confidence.LEVEL = float(sys.argv[1])
confidence.ERROR = round(1 - confidence.LEVEL, 12)
import numpy as np
from analysis import diff, estimate, least_squares, reliability, repeated_measurements, table_shares
from analysis.audits.rollout import rollout
from analysis.smt import overlap
from tests.unit.analysis.test_visit_subsample import some

a, b = some(11, 200), some(12, 200, first=10_000)
shares, halves, entropy = table_shares.shares(a), reliability.halves(a, 1), reliability.entropy_of(a)
found = diff.compare(a, b, seed=1)
mean = repeated_measurements.mean_of("times", [1.0, 1.1, 0.9, 1.2])
coefficient = overlap.from_throughput([100.0, 101.0, 99.0, 102.0], [130.0, 128.0, 131.0, 129.0])
x = np.arange(20.0)
line = least_squares.fit(x[:, None], x + np.sin(7 * x))
print(json.dumps({
    "share": float(shares.hi[0] - shares.lo[0]),
    "halves": halves.hi - halves.lo,
    "entropy": entropy.hi - entropy.lo,
    "difference": float(found.hi[0] - found.lo[0]),
    "level of differences": found.level,
    "mean": mean.hi - mean.lo,
    "overlap": coefficient.hi - coefficient.lo,
    "line": float(line.half_width(np.array([[3.0]]))[0]),
    "stated share": (lambda ends: float(ends[1] - ends[0]))(estimate.share_at(0.1, 100.0)),
}))
"""


def widths(level: float) -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(level)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, float] = json.loads(done.stdout)
    return found


@pytest.mark.slow
def test_every_interval_follows_the_level() -> None:
    usual, wider = widths(0.95), widths(0.99)
    assert usual.keys() == wider.keys()
    assert [name for name in usual if wider[name] <= usual[name]] == []
    assert usual["level of differences"] >= 0.95
    assert wider["level of differences"] == pytest.approx(0.99, abs=0.0101)


def test_the_web_ui_has_the_same_quantile() -> None:
    source = Path(__file__).parents[3] / "webui" / "src" / "estimates" / "interval.ts"
    (found,) = re.findall(r"const Z = ([0-9.]+);", source.read_text())
    assert float(found) == pytest.approx(confidence.normal(), rel=1e-15)
