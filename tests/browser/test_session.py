"""GIVEN a browser WHEN somebody signs in and out THEN both hold in every tab, and on no other port of the host."""

import http.client
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, expect
from sqlalchemy import Engine

from services.access.view_service import ViewService
from services.api.sessions import SESSION_HEADER
from tests.browser.conftest import VIEWER_TOKEN, Server, Visitor
from tests.browser.ingested import IngestedFleet
from tests.browser.test_states import violations


@pytest.fixture
def signed_in(new_visitor: Callable[..., Visitor], fleet: IngestedFleet) -> Visitor:
    """By a link, as it is printed."""
    fleet.visit()
    visitor = new_visitor(logged_in=False)
    visitor.page.goto(visitor.server.login_url())
    shows_data(visitor.page)
    return visitor


def shows_data(page: Page) -> None:
    expect(page.get_by_role("main")).to_contain_text("malloc")


def is_logged_out(page: Page) -> None:
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()


def test_a_link_signs_in_and_leaves_nothing_in_the_address(signed_in: Visitor):
    page = signed_in.page
    assert page.url == f"{signed_in.server.url}/"
    assert page.evaluate("document.cookie") == ""
    page.reload()
    shows_data(page)
    page.go_back()
    assert "session" not in page.url
    assert signed_in.complaints == []


def test_a_second_tab_is_signed_in_too_and_another_page(signed_in: Visitor):
    second = signed_in.page.context.new_page()
    second.goto(signed_in.server.url)
    shows_data(second)
    second.get_by_role("button", name="Fleet ▾").click()
    second.get_by_role("link", name="Symbols", exact=True).click()
    expect(second.get_by_role("heading", name="Symbols")).to_be_visible()
    expect(second.get_by_role("button", name="Sign out")).to_be_visible()


def test_a_page_elsewhere_signs_no_browser_out(signed_in: Visitor):
    page, url = signed_in.page.context.new_page(), signed_in.server.url
    with another_port() as (elsewhere, _):
        page.goto(elsewhere)
        page.evaluate("url => { location.href = url }", f"{url}/#session=x")
        shows_data(page)
    assert page.url == f"{url}/"
    signed_in.page.reload()
    shows_data(signed_in.page)


def test_a_link_signs_in_where_an_older_session_has_ended(signed_in: Visitor):
    page, server = signed_in.page, signed_in.server
    page.evaluate("localStorage.setItem('fleetprof:session', 'ended')")
    page.goto(server.login_url())
    shows_data(page)


@pytest.mark.parametrize("path", ["", "symbols"])
def test_signing_out_ends_it_in_every_tab_and_for_every_copy(signed_in: Visitor, path: str):
    page, context = signed_in.page, signed_in.page.context
    page.goto(f"{signed_in.server.url}/{path}")
    copied = {cookie["name"]: cookie["value"] for cookie in context.cookies()}
    binding = page.evaluate("localStorage.getItem('fleetprof:session')")
    assert status(signed_in.server, copied, binding) == 200
    second = context.new_page()
    second.goto(signed_in.server.url)
    shows_data(second)
    page.get_by_role("button", name="Sign out").click()
    is_logged_out(page)
    second.reload()
    is_logged_out(second)
    assert context.cookies() == []
    assert page.evaluate("localStorage.getItem('fleetprof:session')") is None
    assert status(signed_in.server, copied, binding) == 401


def test_a_server_that_does_not_answer_has_ended_nothing(signed_in: Visitor):
    page = signed_in.page
    page.route("**/logout", lambda route: route.abort())
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("alert")).to_contain_text("You are still signed in. The server is unreachable.")
    page.reload()
    shows_data(page)


def status(server: Server, cookies: dict[str, str], binding: str) -> int:
    """Of an answer to whoever has these."""
    connection = http.client.HTTPConnection(urlsplit(server.url).netloc, timeout=20)
    cookie = "; ".join(f"{name}={value}" for name, value in cookies.items())
    connection.request("GET", "/api/v1/status", headers={"Cookie": cookie, SESSION_HEADER: binding})
    found = connection.getresponse().status
    connection.close()
    return found


@contextmanager
def another_port() -> Iterator[tuple[str, list[dict[str, str]]]]:
    """A server of somebody else on this host; its address, and the headers of what it is asked."""
    heard: list[dict[str, str]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            heard.append({name.lower(): value for name, value in self.headers.items()})
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(b"<!doctype html><title>elsewhere</title>")

        def log_message(self, *_: object) -> None:
            """Nothing."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", heard
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_another_port_gets_the_cookie_and_can_do_nothing_with_it(signed_in: Visitor):
    api = signed_in.server
    page = signed_in.page.context.new_page()
    with another_port() as (elsewhere, heard):
        page.goto(elsewhere)
        sent = next(each["cookie"] for each in heard if "cookie" in each)
        assert sent.startswith("fleetprof_session=admin."), "browsers send it to every port"
        assert all(SESSION_HEADER.lower() not in each for each in heard)
        assert page.evaluate("localStorage.length") == 0
        stolen = dict([sent.split("=", 1)])
        assert status(api, stolen, "") == 401
        assert status(api, stolen, sent) == 401
        # And its page makes the browser ask in vain, with both cookie and a header of its own.
        asked = (
            "url => fetch(url, {credentials: 'include', headers: {'X-Fleetprof-Session': 'x'}}).catch(String)"
        )
        assert "TypeError" in page.evaluate(asked, f"{api.url}/api/v1/status")
        out = "url => fetch(url, {method: 'POST', credentials: 'include', mode: 'no-cors'}).catch(String)"
        page.evaluate(out, f"{api.url}/logout")
    signed_in.page.reload()
    shows_data(signed_in.page)


def enter(page: Page, token: str) -> None:
    page.get_by_label("Token").fill(token)
    page.get_by_role("button", name="Sign in").click()


def test_a_token_signs_in_where_the_reader_is(new_visitor: Callable[..., Visitor], fleet: IngestedFleet):
    fleet.visit()
    visitor = new_visitor(logged_in=False)
    page, url = visitor.page, f"{visitor.server.url}/symbols?which=all"
    page.goto(url)
    is_logged_out(page)
    enter(page, "not-a-token-of-this-server")
    expect(page.get_by_role("alert")).to_contain_text("This token is not valid")
    assert page.get_by_label("Token").input_value() != "", "a reader corrects what is mistyped"
    enter(page, VIEWER_TOKEN)
    expect(page.get_by_role("heading", name="Symbols")).to_be_visible()
    assert page.url == url
    assert VIEWER_TOKEN not in page.evaluate("JSON.stringify(localStorage)")
    cookies = {cookie["name"]: cookie["value"] for cookie in page.context.cookies()}
    assert cookies["fleetprof_session"].startswith("viewer.")


def test_a_link_in_another_tab_leads_to_the_address_and_signs_both_in(
    new_visitor: Callable[..., Visitor], fleet: IngestedFleet
):
    fleet.visit()
    visitor = new_visitor(logged_in=False)
    first, url = visitor.page, f"{visitor.server.url}/symbols?which=all"
    first.goto(url)
    is_logged_out(first)
    second = first.context.new_page()
    second.goto(visitor.server.login_url())
    expect(second.get_by_role("heading", name="Symbols")).to_be_visible()
    assert second.url == url
    expect(first.get_by_role("heading", name="Symbols")).to_be_visible()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_spent_link_offers_both_ways_in_the_chosen_theme(
    new_visitor: Callable[..., Visitor], fleet: IngestedFleet, theme: str
):
    fleet.visit()
    other = {"light": "dark", "dark": "light"}[theme]
    visitor = new_visitor(logged_in=False, color_scheme=other)
    page, link = visitor.page, visitor.server.login_url()
    page.goto(f"{visitor.server.url}/symbols?which=all")
    is_logged_out(page)
    page.evaluate("theme => localStorage.setItem('fleetprof:theme', theme)", theme)
    assert page.context.request.get(link, max_redirects=0).status == 303
    page.context.clear_cookies()
    page.goto(link)
    expect(page.get_by_role("heading", name="Not signed in")).to_be_visible()
    expect(page.get_by_role("link", name="fleetprof")).to_be_visible()
    expect(page.get_by_role("button", name="copy the command fleetprof url --api URL")).to_be_visible()
    assert page.evaluate("getComputedStyle(document.documentElement).colorScheme") == theme
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert paper == {"light": "rgb(244, 245, 247)", "dark": "rgb(14, 16, 19)"}[theme]
    assert violations(page) == []
    enter(page, "not-a-token-of-this-server")
    expect(page.get_by_role("alert")).to_contain_text("This token is not valid")
    enter(page, VIEWER_TOKEN)
    expect(page.get_by_role("heading", name="Symbols")).to_be_visible()
    assert page.url == f"{visitor.server.url}/symbols?which=all"


def test_the_command_can_be_copied(new_visitor: Callable[..., Visitor]):
    visitor = new_visitor(logged_in=False)
    page = visitor.page
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    for address in ("", "login?token=x"):
        page.goto(f"{visitor.server.url}/{address}")
        page.get_by_role("button", name="copy the command fleetprof url").click()
        expect(page.get_by_text("Copied")).to_be_visible()
        assert page.evaluate("navigator.clipboard.readText()").startswith("fleetprof url --api ")


def test_a_short_link_waits_for_the_sign_in(
    new_visitor: Callable[..., Visitor], engine: Engine, fleet: IngestedFleet
):
    fleet.visit()
    saved = ViewService(engine).save(None, "/symbols?which=all", role="operator")
    visitor = new_visitor(logged_in=False)
    page = visitor.page
    page.goto(visitor.server.url + saved["short"])
    is_logged_out(page)
    enter(page, VIEWER_TOKEN)
    expect(page.get_by_role("heading", name="Symbols")).to_be_visible()
    assert page.url == f"{visitor.server.url}/symbols?which=all"
