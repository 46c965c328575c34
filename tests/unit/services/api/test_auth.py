"""Links, sessions and tokens."""

import stat
import time
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from services.api import auth
from services.api.auth import Access, LoginRefused, Role, mint_login_url, parse_tokens
from services.api.sessions import Halves
from services.errors import SettingsProblem


def token_of(url: str) -> str:
    return parse_qs(urlsplit(url).query)["token"][0]


@pytest.fixture
def access(tmp_path: Path) -> Access:
    return Access(tmp_path)


def role_of(access: Access, halves: Halves) -> str | None:
    session = access.sessions.find(halves.cookie, halves.binding)
    return session and session.role


def test_a_link_opens_one_session(access: Access, tmp_path: Path):
    url = mint_login_url(tmp_path, "http://127.0.0.1:7070/")
    assert url.startswith("http://127.0.0.1:7070/login?token=")
    assert role_of(access, access.open_session(token_of(url))) == "admin"
    with pytest.raises(LoginRefused, match="already used"):
        access.open_session(token_of(url))


def test_what_the_process_asks_itself_it_asks_as_a_viewer(access: Access, tmp_path: Path):
    assert role_of(access, access.own_session()) == "viewer"
    assert role_of(Access(tmp_path / "other"), access.own_session()) is None


def test_a_spent_link_stays_spent_after_a_restart_and_sessions_go_on(tmp_path: Path):
    token = token_of(mint_login_url(tmp_path, "http://x"))
    halves = Access(tmp_path).open_session(token)
    again = Access(tmp_path)
    assert role_of(again, halves) == "admin"
    with pytest.raises(LoginRefused, match="already used"):
        again.open_session(token)


def test_links_of_another_state_directory_are_refused(access: Access, tmp_path: Path):
    with pytest.raises(LoginRefused, match="not valid for this"):
        access.open_session(token_of(mint_login_url(tmp_path / "other", "http://x")))


def test_old_links_are_refused(access: Access, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    late = token_of(mint_login_url(tmp_path, "http://x"))
    real = time.time
    monkeypatch.setattr(auth.time, "time", lambda: real() + auth.LOGIN_SECONDS + 1)
    with pytest.raises(LoginRefused, match="has expired"):
        access.open_session(late)


def test_a_link_is_no_session_and_a_session_no_link(access: Access, tmp_path: Path):
    token = token_of(mint_login_url(tmp_path, "http://x"))
    halves = access.open_session(token)
    assert access.sessions.find(token, halves.binding) is None
    with pytest.raises(LoginRefused):
        access.open_session(halves.cookie)


def test_the_secret_is_for_its_user_only(access: Access, tmp_path: Path):
    secret = tmp_path / "api-secret"
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600
    secret.write_bytes(b"short")
    with pytest.raises(SettingsProblem, match="damaged"):
        Access(tmp_path)


def test_tokens_have_roles(tmp_path: Path):
    access = Access(tmp_path, parse_tokens(["viewer:" + "v" * 20, "operator:" + "o" * 20]))
    assert access.role_of_token("v" * 20) is Role.VIEWER
    assert access.role_of_token("o" * 20) is Role.OPERATOR
    assert access.role_of_token("x" * 20) is None
    assert access.role_of_token("") is None


@pytest.mark.parametrize("text", ["no-colon-in-this-one", "god:" + "x" * 20, "viewer:short"])
def test_bad_tokens_are_refused_without_being_repeated(text: str):
    with pytest.raises(SettingsProblem, match="entry 2") as caught:
        parse_tokens(["viewer:" + "v" * 20, text])
    assert text.partition(":")[2] == "" or text.partition(":")[2] not in str(caught.value)
