"""The money that a selection costs: cores by platform at the prices of the platforms."""

from datetime import UTC, datetime, timedelta
from random import Random

import pytest
from sqlalchemy import Engine
from starlette.testclient import TestClient

from tests.integration.api.fetch_answers import ADMIN, DESIGNED
from tests.integration.api.test_sign_in import bearer
from tests.sampled_campaign import Campaign

ZEN, XEON = "Zen 3", "Xeon"


@pytest.fixture
def platforms(engine: Engine) -> None:
    """Twelve visits of 5 s: each third machine is a Xeon."""
    start = datetime(2026, 11, 18, 12, 0, tzinfo=UTC)
    with engine.begin() as connection:
        campaign = Campaign(connection, {"east": 100}, random=Random(1))
        write = campaign.write
        stack = write.stack([write.function("main", binary="prog")])
        for number in range(12):
            at = start + timedelta(minutes=5 * number)
            visit = campaign.answer(at, "east", utilisation=0.9, machine=f"m{number}")
            labels = {"application": "prog", "platform": ZEN if number % 3 else XEON}
            write.profile(visit, {stack: 100 + number}, labels=labels)


def set_prices(client: TestClient, prices: dict[str, float]) -> None:
    response = client.put("/api/v1/prices", json={"platforms": prices}, headers=bearer(ADMIN))
    assert response.is_success


def cost_of(client: TestClient, **query: str) -> dict:
    return client.get("/api/v1/cost", params={**DESIGNED, **query}).json()


def test_without_a_price_there_is_no_money_and_the_platforms_are_named(client: TestClient, platforms: None):
    assert client.get("/api/v1/status").json()["priced"] is False
    found = cost_of(client)
    assert (found["price_per_core_hour"], found["money"], found["unpriced_share"]) == (None, None, 1.0)
    assert {row["platform"]: row["price_per_core_hour"] for row in found["rows"]} == {ZEN: None, XEON: None}
    assert all(row["cores"]["hi"] > 0 for row in found["rows"])


def test_the_mean_price_is_weighted_by_the_cpu_time_of_the_platforms(client: TestClient, platforms: None):
    set_prices(client, {ZEN: 0.04, XEON: 0.1})
    found = cost_of(client)
    rows = {row["platform"]: row for row in found["rows"]}
    assert found["price_per_core_hour"] == pytest.approx(
        0.04 * rows[ZEN]["share"] + 0.1 * rows[XEON]["share"]
    )
    assert rows[ZEN]["share"] > rows[XEON]["share"] > 0.2
    parts = [row["money"]["value"] for row in found["rows"]]
    assert found["money"]["value"] == pytest.approx(sum(parts))
    hours = {end: found["totals"]["core_seconds"][end] / 3600 for end in ("value", "lo", "hi")}
    expected = {end: value * found["price_per_core_hour"] for end, value in hours.items()}
    assert found["money"] == pytest.approx(expected)


def test_a_platform_without_a_price_counts_as_0_and_is_said(client: TestClient, platforms: None):
    set_prices(client, {ZEN: 0.04})
    assert client.get("/api/v1/status").json()["priced"] is True
    found = cost_of(client)
    rows = {row["platform"]: row for row in found["rows"]}
    assert rows[XEON]["money"] is None
    assert found["unpriced_share"] == pytest.approx(rows[XEON]["share"])
    assert found["money"]["value"] == pytest.approx(rows[ZEN]["money"]["value"])
    alone = cost_of(client, select=f'{{platform="{ZEN}"}}')
    assert (alone["price_per_core_hour"], alone["unpriced_share"]) == (pytest.approx(0.04), 0)


def test_shared_code_has_the_same_price(client: TestClient, platforms: None):
    set_prices(client, {ZEN: 0.04, XEON: 0.1})
    everything = {**DESIGNED, "applications": "1", "cold": "1"}
    answer = client.get("/api/v1/shared-code", params=everything).json()
    price = cost_of(client)["price_per_core_hour"]
    assert answer["price_per_core_hour"] == pytest.approx(price)
    cost = answer["rows"][0]["cost"]
    assert cost["money"]["hi"] == pytest.approx(cost["core_hours"]["hi"] * price)
