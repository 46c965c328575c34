"""A flame graph drawn by parts: first its heavy nodes, then the rest of a node."""

import pytest
from sqlalchemy import Engine
from starlette.testclient import TestClient

from tests.fact_writer import FactWriter
from tests.flame_columns import decode
from tests.integration.api.fetch_answers import NOON, RANGE

pytestmark = pytest.mark.integration


@pytest.fixture
def graph(engine: Engine) -> list[int]:
    """The ids of main; a, which is 0.9 of it; b and c below a; and d beside a."""
    with engine.begin() as connection:
        write = FactWriter(connection)
        main, a, b, c, d = ids = [
            write.function(name, binary="prog") for name in ("main", "a", "b", "c", "d")
        ]
        counts = {(main, a): 500, (main, a, b): 391, (main, a, c): 9, (main, d): 100}
        samples = {write.stack(list(frames)): count for frames, count in counts.items()}
        write.profile(write.visit("m1", NOON), samples, labels={"application": "prog"})
    return ids


def fetch(client: TestClient, **query: str) -> tuple[dict, dict[str, tuple[float, float]], float]:
    """The head, total and self by function, and the total that was cut off."""
    response = client.get("/api/v1/flame", params={**RANGE, **query, "format": "columns"})
    assert response.status_code == 200, response.text
    head, nodes = decode(response.content)
    below = sum(total for total, _, parent, _ in nodes if parent >= 0)
    left = sum(total - own for total, own, _, _ in nodes) - below
    return head, {head["functions"][f]["name"]: (total, own) for total, own, _, f in nodes}, left


def test_light_nodes_are_cut_and_counted(client: TestClient, graph: list[int]):
    whole, everything, left = fetch(client)
    assert set(everything) == {"all", "main", "a", "b", "c", "d"}
    assert (whole["pruned"], left) == ({"nodes": 0, "share": 0.0}, pytest.approx(0.0, abs=1e-12))
    head, nodes, left = fetch(client, min_share="0.2")
    assert nodes == {name: everything[name] for name in ("all", "main", "a", "b")}
    assert head["pruned"] == {"nodes": 2, "share": pytest.approx(0.109)}
    assert left == pytest.approx(0.109 * nodes["all"][0])
    assert len(head["functions"]) == 4, "names of nodes that are cut off are not sent"


def test_the_share_is_one_of_the_root(client: TestClient, graph: list[int]):
    _, everything, _ = fetch(client)
    root = f"{graph[0]},{graph[1]}"
    head, nodes, left = fetch(client, root=root, min_share="0.0101")
    assert nodes == {name: everything[name] for name in ("a", "b")}, "c is 9 of 900"
    assert head["pruned"] == {"nodes": 1, "share": pytest.approx(0.01)}
    assert left == pytest.approx(everything["c"][0])
    head, nodes, _ = fetch(client, root=root, min_share="0.0099")
    assert nodes == {name: everything[name] for name in ("a", "b", "c")}
    assert head["pruned"] == {"nodes": 0, "share": 0.0}
    assert fetch(client, root=str(graph[2]), invert="true", min_share="1")[1].keys() == {"b", "a", "main"}
