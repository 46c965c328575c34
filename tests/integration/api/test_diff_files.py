"""GIVEN two selections WHEN their comparison is asked for as a file THEN it is what `go tool pprof -diff_base` makes of two."""

import re
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest
from sqlalchemy import Engine
from starlette.testclient import TestClient

from tests import go_pprof
from tests.integration.api.fetch_answers import BEARER, NOON
from tests.integration.api.served import calling
from tests.sampled_campaign import Campaign

pytestmark = pytest.mark.integration

BEFORE = (("main",), ("main", "parse", "malloc"), ("main", "old"), ("init", "malloc"))
AFTER = (("main",), ("main", "parse", "malloc"), ("main", "parse", "new"), ("init", "malloc"))
TIMES = {"from": "2026-11-21T12:00:00Z", "to": "2026-11-21T13:00:00Z"}
BASE_TIMES = {"from": "2026-11-21T10:00:00Z", "to": "2026-11-21T11:00:00Z"}
NEVER = {"from": "2026-11-21T08:00:00Z", "to": "2026-11-21T09:00:00Z"}
NARROWED = {"hide": "^parse$", "ignore": "init"}
Both = dict[tuple[str, ...], tuple[int, int]]


@pytest.fixture(scope="module")
def shared(module_engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """Two hours of a random design, with other stacks in the second."""
    with module_engine.begin() as connection:
        campaign = Campaign(connection, {"east": 100, "west": 10}, random=Random(3))
        write = campaign.write
        names = sorted({name for stack in (*BEFORE, *AFTER) for name in stack})
        ids = {name: write.function(name, binary="prog") for name in names}
        draw = Random(5)
        for start, stacks in ((NOON - timedelta(hours=2), BEFORE), (NOON, AFTER)):
            for number in range(6):
                visit = campaign.answer(
                    start + timedelta(minutes=number), ("east", "west")[number % 2], machine=f"m{number}"
                )
                counts = {write.stack([ids[name] for name in stack]): draw.randint(1, 90) for stack in stacks}
                write.profile(visit, counts, labels={"application": "web"})
    with calling(module_engine, tmp_path_factory.mktemp("api")) as made:
        made.headers.update(BEARER)
        yield made


def asked(client: TestClient, route: str, query: dict[str, str], **more: str) -> bytes:
    answer = client.get(f"/api/v1/{route}", params={**query, **more})
    assert answer.status_code == 200, answer.text
    content: bytes = answer.content
    return content


def compared(base: dict[str, str], **more: str) -> dict[str, str]:
    return {**TIMES, **{f"base_{name}": text for name, text in base.items()}, **more}


def one_side(client: TestClient, times: dict[str, str], value: str, more: dict[str, str]) -> Counter[Any]:
    text = asked(client, "stacks", {**times, **more}, format="collapsed", value=value).decode()
    found: Counter[Any] = Counter()
    for line in text.splitlines():
        stack, count = line.rsplit(" ", 1)
        found[tuple(stack.split(";"))] += int(count)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("route", ["diff", "flame-diff"])
@pytest.mark.parametrize("more", [{}, NARROWED])
@pytest.mark.parametrize("base", [BASE_TIMES, NEVER, TIMES])
def test_collapsed_stacks_have_both_sides(
    shared: TestClient, route: str, more: dict[str, str], base: dict[str, str]
) -> None:
    for value in ("estimate", "observed", "samples"):
        text = asked(shared, route, compared(base, **more), format="collapsed", value=value).decode()
        rows = [re.fullmatch(r"(.*) (\d+) (\d+)", line) for line in text.splitlines()]
        found: Both = {tuple(row[1].split(";")): (int(row[2]), int(row[3])) for row in rows if row}
        assert len(found) == len(rows)
        sides = [one_side(shared, times, value, more) for times in (base, TIMES)]
        assert found == {stack: (sides[0][stack], sides[1][stack]) for stack in sides[0] | sides[1]}
        assert found


def top(text: str) -> dict[str, tuple[int, int]]:
    number = r"\s*(-?\d+)(?:ns)?"
    rows = re.finditer(rf"^{number}\s+-?[\d.]+%\s+-?[\d.]+%{number}\s+-?[\d.]+%  (.*)$", text, re.MULTILINE)
    return {row[3]: (int(row[1]), int(row[2])) for row in rows}


@pytest.mark.parametrize("more", [{}, NARROWED])
@pytest.mark.parametrize("route", ["diff", "flame-diff"])
def test_pprof_takes_the_file_for_its_own_difference(
    shared: TestClient, tmp_path: Path, route: str, more: dict[str, str]
) -> None:
    paths = {name: tmp_path / f"{name}.pb.gz" for name in ("base", "now", "both")}
    paths["base"].write_bytes(asked(shared, "stacks", {**BASE_TIMES, **more}, format="pprof"))
    paths["now"].write_bytes(asked(shared, "stacks", {**TIMES, **more}, format="pprof"))
    paths["both"].write_bytes(asked(shared, route, compared(BASE_TIMES, **more), format="pprof"))
    for index in ("samples", "cpu", "fleet_cpu"):
        how = ("-top", f"-sample_index={index}", "-unit=ns")
        theirs = go_pprof.ask(paths["now"], *how, f"-diff_base={paths['base']}")
        ours = go_pprof.ask(paths["both"], *how)
        assert top(ours) == top(theirs)
        assert any(flat < 0 for flat, _ in top(ours).values())
        assert any(flat > 0 for flat, _ in top(ours).values())
        (share,) = re.findall(r"Showing nodes accounting for .*", ours)
        assert share in theirs, "percentages are of the base"
    assert "base: " in go_pprof.ask(paths["both"], "-comments")
