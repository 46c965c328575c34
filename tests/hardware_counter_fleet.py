"""A small fleet of two platforms that samples, counts and accounts, the same each time: what models' answers are kept of."""

from datetime import datetime, timedelta
from random import Random

from sqlalchemy import Connection, insert

from storage import inventory
from storage.schema import capture_counter, capture_cpu
from tests.fact_writer import Visit
from tests.sampled_campaign import Campaign

PLATFORMS = {"east": "Zen 3", "west": "Skylake"}
MACHINES = {"east": 40, "west": 20}
STEPS, STEP = 24, timedelta(minutes=5)
SECONDS = 5.0
LOGICAL_CPUS = 4
HERTZ = 2e9
PERIOD_NS = 10_000_000
CPI = {"Zen 3": {"web": 0.8, "batch": 1.1}, "Skylake": {"web": 1.2, "batch": 1.15}}
SHARES = {"web": 0.7, "batch": 0.3}
STACKS = (("main",), ("main", "parse"), ("main", "memcpy"), ("main", "parse", "memmove"))
SPLIT = {"web": (0.1, 0.4, 0.3, 0.2), "batch": (0.5, 0.1, 0.1, 0.3)}


def rate(place: str, step: int) -> float:
    """Requests per second of one machine, at which its CPUs are a fifth to three fifths busy."""
    wave = 1 + (step % 8) / 4
    return round({"east": 120.0, "west": 60.0}[place] * wave, 3)


def write_counting_fleet(connection: Connection, start: datetime) -> None:
    """Two hours of visits, one of each place every five minutes, but for some that failed or counted nothing."""
    draw = Random(5)
    campaign = Campaign(connection, MACHINES, random=Random(1))
    found = inventory.stratum_ids(connection, list(PLATFORMS.items()))
    campaign.strata = {(place, ""): found[place, platform] for place, platform in PLATFORMS.items()}
    write = campaign.write
    functions = {
        name: write.function(name, file=f"{name}.c", binary="prog") for name in ("main", "parse")
    } | {name: write.function(name, binary="libc.so.6") for name in ("memcpy", "memmove")}
    stacks = [write.stack([functions[name] for name in names]) for names in STACKS]
    for step in range(STEPS):
        for place, platform in PLATFORMS.items():
            at = start + STEP * step + timedelta(seconds=90)
            if step % 11 == 10:
                campaign.fail(at, place, utilisation=0.9)
                continue
            busy = 0.05 + 0.15 * rate(place, step) / rate(place, 0) + draw.uniform(-0.01, 0.01)
            visit = campaign.answer(
                at, place, utilisation=busy, seconds=SECONDS, machine=f"{place}-{(step * 5) % 8}"
            )
            _account(connection, visit, busy, draw)
            seconds = busy * LOGICAL_CPUS * SECONDS
            for application, share in SHARES.items():
                # A release that comes over the two hours, sooner in the east.
                new = draw.random() < (step + (6 if place == "east" else 0)) / STEPS
                labels = {"application": application, "version": "2.0" if new else "1.9"}
                # Labels that are no dimension are kept together: several sets have one team.
                labels |= {"team": {"web": "search", "batch": "data"}[application], "shard": str(step % 3)}
                if place == "east":
                    labels["compiler"] = "gcc 14"
                samples = {
                    stack: count
                    for stack, part in zip(stacks, SPLIT[application], strict=True)
                    if (count := round(seconds * share * part * 1e9 / PERIOD_NS * draw.uniform(0.8, 1.2)))
                }
                write.profile(visit, samples, labels=labels, period=PERIOD_NS)
            if step % 6 != 5:
                _count(campaign, visit, platform, seconds, draw)


def _account(connection: Connection, visit: Visit, busy: float, draw: Random) -> None:
    rows = []
    for cpu in range(LOGICAL_CPUS):
        own = min(max(busy + draw.uniform(-0.05, 0.05), 0.0), 1.0)
        user = round(own * SECONDS * 900)
        system = round(own * SECONDS * 100)
        rows.append(
            {
                "visit_id": visit.id, "cpu": cpu, "day": visit.drawn_at.date(), "core": cpu // 2, "package": 0,
                "core_cpu": cpu // 2 * 2, "user_ms": user, "system_ms": system,
                "idle_ms": round(SECONDS * 1000) - user - system, "iowait_ms": 0, "irq_ms": 0, "steal_ms": 0,
                "mhz": HERTZ / 1e6,
            }
        )  # fmt: skip
    connection.execute(insert(capture_cpu), rows)


def _count(campaign: Campaign, visit: Visit, platform: str, seconds: float, draw: Random) -> None:
    """Cycles, instructions and misses of the machine and of each application; one platform lacks branch misses."""
    rows = []
    whole: dict[str, float] = {}
    for application, share in SHARES.items():
        cycles = seconds * share * HERTZ
        instructions = cycles / (CPI[platform][application] * draw.uniform(0.9, 1.1))
        misses = instructions / 800 * draw.uniform(0.7, 1.3)
        counts = {"cycles": cycles, "instructions": instructions, "llc-misses": misses}
        value_id = campaign.write._value("application", application)
        rows += [_row(visit, name, value, value_id, f"/{application}") for name, value in counts.items()]
        whole = {name: whole.get(name, 0.0) + value for name, value in counts.items()}
    rows += [_row(visit, name, value) for name, value in whole.items()]
    if platform == "Zen 3":
        rows.append(_row(visit, "branch-misses", whole["instructions"] / 500 * draw.uniform(0.8, 1.2)))
    else:
        rows.append({**_row(visit, "branch-misses", 0.0), "status": "unsupported", "errno": 2} | _NOTHING)
    campaign.connection.execute(insert(capture_counter), rows)


_NOTHING = {"value": None, "scaled": None}


def _row(visit: Visit, name: str, value: float, application: int = 0, cgroup: str = "") -> dict[str, object]:
    return {
        "visit_id": visit.id, "reading": application, "name": name, "day": visit.drawn_at.date(), "cpus": LOGICAL_CPUS,
        "application": application, "cgroup": cgroup, "status": "ok", "errno": 0, "value": round(value),
        "scaled": value, "unit": "cycles" if name == "cycles" else "count", "source": "", "time_enabled_ns": 1,
        "time_running_ns": 1,
    }  # fmt: skip
