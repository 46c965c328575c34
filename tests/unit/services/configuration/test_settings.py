"""GIVEN an environment WHEN settings are read THEN they mean the same in every process and folder."""

from pathlib import Path

import pytest

from services.configuration.settings import Settings, read_settings
from services.errors import SettingsProblem


def test_paths_are_absolute_since_parts_work_in_other_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    fields = {name: str(field.annotation) for name, field in Settings.model_fields.items()}
    paths = [name for name, kind in fields.items() if "Path" in kind and "tuple" not in kind]
    assert len(paths) >= 7
    settings = Settings(**dict.fromkeys(paths, "here"))
    assert {name: getattr(settings, name) for name in paths} == dict.fromkeys(paths, tmp_path / "here")


def test_folders_of_symbols_are_a_list_like_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FLEETPROF_SYMBOL_DIRS", "/srv/symbols:here:")
    assert read_settings().symbol_dirs == (Path("/srv/symbols"), tmp_path / "here")
    monkeypatch.delenv("FLEETPROF_SYMBOL_DIRS")
    assert read_settings().symbol_dirs == ()


@pytest.mark.parametrize(
    ("url", "archive"),
    [("blobs", "{here}/blobs"), ("/srv/blobs", "/srv/blobs"), ("s3://bucket/x", "s3://bucket/x")],
)
def test_an_archive_is_a_directory_from_here_or_a_url(
    url, archive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    assert read_settings(archive_url=url).archive == archive.format(here=tmp_path)


def test_a_user_without_a_home_is_told_what_to_set(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.delenv("FLEETPROF_STATE_DIR", raising=False)
    monkeypatch.setattr("os.geteuid", lambda: 1)

    def homeless(*_: object) -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", homeless)
    with pytest.raises(SettingsProblem, match="FLEETPROF_STATE_DIR"):
        read_settings()


def test_places_for_symbols_are_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLEETPROF_DEBUGINFOD_URLS", "https://one.example http://two.example:8002/")
    monkeypatch.setenv("FLEETPROF_SOURCE_ROOTS", "/build/app=/srv/app:/build/lib=/srv/lib")
    settings = read_settings()
    assert settings.debuginfod_urls == ("https://one.example", "http://two.example:8002/")
    assert settings.source_roots == ("/build/app=/srv/app", "/build/lib=/srv/lib")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DEBUGINFOD_URLS", "ftp://one.example"),
        ("DEBUGINFOD_URLS", "https://user:word@one.example"),
        ("DEBUGINFOD_URLS", "one.example"),
        ("SOURCE_ROOTS", "/build/app"),
        ("SOURCE_ROOTS", "build=/srv"),
    ],
)
def test_a_place_that_is_none_is_refused(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(f"FLEETPROF_{name}", value)
    with pytest.raises(SettingsProblem, match=name) as refused:
        read_settings()
    assert "word" not in str(refused.value)
