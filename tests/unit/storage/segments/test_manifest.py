"""GIVEN a day's manifest WHEN it is written and read THEN it is the same, and nothing else is taken for one."""

import json
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.segments import manifest
from storage.segments.errors import LakeDamaged, LakeUnavailable
from storage.segments.location import Lake
from storage.segments.manifest import File, Ingested, Manifest, TypeTotals
from storage.segments.tables import TABLES

DAY = date(2026, 11, 18)
STAMP = manifest.stamp_of(datetime(2026, 11, 21, 1, 2, 3, 45, UTC), "0a1b2c3d")
SHA256 = "0f" * 32

counts = st.integers(0, 2**62)
files = st.builds(
    File,
    name=st.integers(0, 99999).map(lambda n: f"{STAMP}-{n:05d}.parquet"),
    rows=counts,
    bytes=counts,
    sha256=st.just(SHA256),
)
totals = st.builds(
    TypeTotals, campaign=st.text(max_size=9), event=st.text(max_size=9), unit=st.text(max_size=9), stacks=st.booleans(),
    profiles=counts, facts=counts, samples=counts, units=counts,
)  # fmt: skip
MIDNIGHT_US = int(datetime(2026, 11, 18, tzinfo=UTC).timestamp()) * 1_000_000
DAY_US = 86_400_000_000
runs = st.tuples(st.integers(0, DAY_US - 1), st.integers(1, DAY_US)).map(
    lambda run: (MIDNIGHT_US + run[0], MIDNIGHT_US + max(run[0] + 1, run[1]))
)
manifests = st.builds(
    Manifest,
    day=st.just(DAY),
    database=st.uuids().map(str),
    stamp=st.just(STAMP),
    ingested=st.builds(Ingested, counts, counts, counts, counts),
    totals=st.lists(totals, max_size=3).map(tuple),
    tables=st.fixed_dictionaries({name: st.lists(files, max_size=2).map(tuple) for name in TABLES}),
    begun=st.dictionaries(st.integers(1, 9), counts, max_size=3),
    covered=st.dictionaries(st.integers(1, 9), st.lists(runs, max_size=3).map(tuple), max_size=3),
)


@given(manifests)
def test_what_was_written_is_read(made: Manifest):
    assert manifest.parse(manifest.render(made), DAY) == made


def a_document() -> dict:
    made = Manifest(
        DAY,
        "7a1c",
        STAMP,
        Ingested(1, 1, 1, 1),
        (),
        {name: (File(f"{STAMP}-00000.parquet", 1, 2, SHA256),) for name in TABLES},
        {},
        {1: ((MIDNIGHT_US, MIDNIGHT_US + 60_000_000),)},
    )
    return json.loads(manifest.render(made))


@pytest.mark.parametrize(
    "name",
    [
        "../../../../etc/passwd",
        "x.parquet",
        f"{STAMP}-00000.parquet/../../x",
        f"{STAMP}-00000.parquet', '/etc/passwd",
        f"{STAMP}-*.parquet",
        f"{STAMP}-00000.parquet\n",
        7,
    ],
)
def test_a_file_of_another_name_is_never_opened(name: object):
    document = a_document()
    document["tables"]["samples"][0]["name"] = name
    with pytest.raises(LakeDamaged):
        manifest.parse(json.dumps(document), DAY)


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", "7", "{}", '{"format": 1}', "[" * 100_000, '{"format": 2, "day": "2026-11-18"}'],
)
def test_what_is_no_manifest_is_damaged(text: str):
    with pytest.raises(LakeDamaged):
        manifest.parse(text, DAY)


@pytest.mark.parametrize("digest", ["", SHA256.upper(), f"{SHA256}\n", None])
def test_a_file_has_a_digest(digest: object):
    document = a_document()
    document["tables"]["samples"][0]["sha256"] = digest
    with pytest.raises(LakeDamaged):
        manifest.parse(json.dumps(document), DAY)


@pytest.mark.parametrize("member", sorted(a_document()))
def test_no_member_may_be_missing(member: str):
    document = a_document()
    del document[member]
    with pytest.raises(LakeDamaged):
        manifest.parse(json.dumps(document), DAY)


def test_a_day_that_was_exported_before_rounds_times_were_kept_is_read():
    document = a_document()
    del document["covered"]
    document["format"] = 2
    assert manifest.parse(json.dumps(document), DAY).covered is None


@pytest.mark.parametrize(
    "run",
    [
        (MIDNIGHT_US - 1, MIDNIGHT_US + 1),
        (MIDNIGHT_US, MIDNIGHT_US + DAY_US + 1),
        (MIDNIGHT_US + 2, MIDNIGHT_US + 1),
        (MIDNIGHT_US, 2**80),
        (MIDNIGHT_US,),
        "ab",
    ],
)
def test_rounds_are_of_their_day(run: object):
    document = a_document()
    document["covered"]["1"] = [run]
    with pytest.raises(LakeDamaged):
        manifest.parse(json.dumps(document), DAY)


@pytest.mark.parametrize("campaign", ["0", "-1", "32768", "x"])
def test_rounds_are_of_a_campaign(campaign: str):
    document = a_document()
    document["covered"] = {campaign: document["covered"]["1"]}
    with pytest.raises(LakeDamaged):
        manifest.parse(json.dumps(document), DAY)


def test_the_manifest_of_another_day_is_not_taken():
    with pytest.raises(LakeDamaged, match="is for 2026-11-18"):
        manifest.parse(json.dumps(a_document()), date(2026, 11, 19))


def test_later_exports_have_greater_stamps():
    early, late = (
        manifest.stamp_of(datetime(2026, 11, 9, 23, 59, second, tzinfo=UTC), "00000000") for second in (9, 10)
    )
    assert early < late < STAMP


@pytest.mark.parametrize(
    "url", ["", "/lake/[a]", "s3://bucket/*", "/a'b", '/a"b', "/a\nb", "/a\\b", "/{a,b}"]
)
def test_a_lake_lies_where_readers_find_it(url: str):
    with pytest.raises(LakeUnavailable):
        Lake(url)


def test_a_folder_is_made_absolute_and_an_empty_lake_has_no_days(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    lake = Lake("lake")
    assert lake.root == str(tmp_path / "lake")
    assert manifest.days(lake) == []
    assert manifest.read(lake, DAY) is None
    assert not (tmp_path / "lake").exists(), "looking makes nothing"


def test_text_that_is_none_is_damaged(tmp_path: Path):
    lake = Lake(str(tmp_path))
    lake.put(manifest.key_of(DAY), b"\xff\xfe")
    with pytest.raises(LakeDamaged):
        manifest.read(lake, DAY)
    lake.put("manifests/notes.txt", b"what people leave")
    assert manifest.days(lake) == [DAY]
