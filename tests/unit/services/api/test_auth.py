"""Links, sessions and tokens."""

import stat
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from services.api.access_records import RecordCopy, Records
from services.api.auth import Access
from services.api.login_links import LOGIN_SECONDS, LoginRefused
from services.api.sessions import LONGEST_SECONDS, Halves
from services.api.signing import session_secret
from services.api.tokens import BearerToken, Role, digest_of_token, new_token, parse_tokens
from services.errors import SettingsProblem
from storage.access.api_tokens import ApiToken
from tests.access_records import MemoryAccessRecords, access_of, login_url

VIEWER, OPERATOR = "v" * 20, "o" * 20


def token_of(url: str) -> str:
    return parse_qs(urlsplit(url).query)["token"][0]


@pytest.fixture
def access(tmp_path: Path) -> Access:
    return access_of(tmp_path, [f"viewer:{VIEWER}", f"operator:{OPERATOR}"])


def role_of(access: Access, halves: Halves) -> str | None:
    session = access.find_session(halves.cookie, halves.binding)
    return session and session.role


def known(access: Access, text: str) -> BearerToken:
    token = access.find_token(text)
    assert token is not None
    return token


def test_a_link_opens_one_session(access: Access, tmp_path: Path):
    url = login_url(tmp_path, "http://127.0.0.1:7070/")
    assert url.startswith("http://127.0.0.1:7070/login?token=")
    assert role_of(access, access.open_by_link(token_of(url))) == "admin"
    with pytest.raises(LoginRefused, match="already used"):
        access.open_by_link(token_of(url))


@pytest.mark.parametrize("role", Role)
def test_a_link_has_the_role_of_its_maker(access: Access, tmp_path: Path, role: Role):
    assert role_of(access, access.open_by_link(token_of(login_url(tmp_path, "http://x", role)))) == role.word


def test_the_role_of_a_link_is_signed(access: Access, tmp_path: Path):
    token = token_of(login_url(tmp_path, "http://x", Role.VIEWER))
    with pytest.raises(LoginRefused, match="not valid for this"):
        access.open_by_link(token.replace(".viewer.", ".admin."))


def test_links_of_another_secret_are_refused(access: Access, tmp_path: Path):
    with pytest.raises(LoginRefused, match="not valid for this"):
        access.open_by_link(token_of(login_url(tmp_path / "other", "http://x")))


def test_old_links_are_refused(access: Access, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    late = token_of(login_url(tmp_path, "http://x"))
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + LOGIN_SECONDS + 1)
    with pytest.raises(LoginRefused, match="has expired"):
        access.open_by_link(late)


def test_a_link_is_no_session_and_a_session_no_link(access: Access, tmp_path: Path):
    token = token_of(login_url(tmp_path, "http://x"))
    halves = access.open_by_link(token)
    assert access.find_session(token, halves.binding) is None
    with pytest.raises(LoginRefused):
        access.open_by_link(halves.cookie)


def test_the_secret_is_for_its_user_only(access: Access, tmp_path: Path):
    secret = tmp_path / "api-secret"
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600
    secret.write_bytes(b"short")
    with pytest.raises(SettingsProblem, match="damaged"):
        session_secret(tmp_path)


def test_one_secret_in_a_file_is_that_of_all_replicas(tmp_path: Path):
    file = tmp_path / "secret"
    file.write_text("s" * 64 + "\n")
    assert session_secret(tmp_path / "one", file) == session_secret(tmp_path / "other", file) == b"s" * 64
    assert not (tmp_path / "one").exists()


def test_a_short_or_missing_secret_is_refused_without_being_repeated(tmp_path: Path):
    file = tmp_path / "secret"
    with pytest.raises(SettingsProblem, match="FLEETPROF_SESSION_SECRET_FILE: cannot read"):
        session_secret(tmp_path, file)
    file.write_text("short-secret\n")
    with pytest.raises(SettingsProblem, match="has 12 bytes, fewer than 32") as caught:
        session_secret(tmp_path, file)
    assert "short-secret" not in str(caught.value)


def test_tokens_have_roles(access: Access):
    assert known(access, VIEWER).role is Role.VIEWER
    assert known(access, OPERATOR).role is Role.OPERATOR
    assert access.find_token("x" * 20) is None
    assert access.find_token("") is None


@pytest.mark.parametrize("text", ["no-colon-in-this-one", "god:" + "x" * 20, "viewer:short"])
def test_bad_tokens_are_refused_without_being_repeated(text: str):
    with pytest.raises(SettingsProblem, match="entry 2") as caught:
        parse_tokens(["viewer:" + "v" * 20, text])
    assert text.partition(":")[2] == "" or text.partition(":")[2] not in str(caught.value)


def test_a_session_of_a_token_has_its_role_and_reveals_nothing_of_it(access: Access):
    halves = access.open_by_token(known(access, OPERATOR))
    assert role_of(access, halves) == "operator"
    assert OPERATOR not in halves.cookie
    assert digest_of_token(OPERATOR).hex()[:16] not in halves.cookie


def test_a_session_ends_with_its_token_and_never_has_more_than_its_role(access: Access, tmp_path: Path):
    halves = access.open_by_token(known(access, OPERATOR))
    assert role_of(access_of(tmp_path, [f"viewer:{VIEWER}"]), halves) is None
    assert role_of(access_of(tmp_path, [f"viewer:{OPERATOR}"]), halves) == "viewer"


def test_a_link_of_a_token_is_void_without_it(access: Access, tmp_path: Path):
    path, _ = access.link_by_token(known(access, OPERATOR), Role.VIEWER)
    without = access_of(tmp_path, [f"viewer:{VIEWER}"])
    with pytest.raises(LoginRefused, match="no longer valid"):
        without.open_by_link(token_of(path))
    halves = access.open_by_link(token_of(path))
    assert role_of(access, halves) == "viewer"
    assert role_of(without, halves) is None


def recorded(text: str, expires_at: datetime | None = None) -> ApiToken:
    now = datetime.now(UTC)
    return ApiToken(7, "ci", "operator", digest_of_token(text), now, "", expires_at, None)


def test_recorded_tokens_are_accepted_until_they_expire_or_are_removed(tmp_path: Path):
    records, text = MemoryAccessRecords(), new_token()
    access = Access(session_secret(tmp_path), RecordCopy(records))
    assert access.find_token(text) is None
    row = recorded(text, datetime.now(UTC) + timedelta(hours=1))
    records.records = Records(tokens=(row,))
    access.records.refresh()
    token = known(access, text)
    assert (token.role, token.name, token.token_id) == (Role.OPERATOR, "ci", 7)
    halves = access.open_by_token(token)
    session = access.find_session(halves.cookie, halves.binding)
    assert session is not None
    assert session.end <= time.time() + 3600, "a session ends with its token"
    records.records = Records(tokens=(replace(row, expires_at=datetime.now(UTC) - timedelta(seconds=1)),))
    access.records.refresh()
    assert access.find_token(text) is None
    assert role_of(access, halves) is None
    records.records = Records()
    access.records.refresh()
    assert role_of(access, halves) is None


def test_a_session_without_a_token_behind_it_lasts_a_week(access: Access, tmp_path: Path):
    halves = access.open_by_link(token_of(login_url(tmp_path, "http://x")))
    session = access.find_session(halves.cookie, halves.binding)
    assert session is not None
    assert session.end > time.time() + LONGEST_SECONDS - 60


def test_created_tokens_are_random_and_recognisable():
    first, second = new_token(), new_token()
    assert first != second
    assert first.startswith("fleetprof_")
    assert len(first) >= 40
