"""GIVEN a port that is taken WHEN `up` starts THEN one that was asked for is an error, and the usual one gives way and says so."""

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from services.deployment.ports import choose_port, listener, listening
from services.errors import CannotStart

TABLE = """\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1B9E 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 4711 1 0000000000000000 100
   1: 0100007F:1B9E 0100007F:C350 01 00000000:00000000 00:00000000 00000000  1000        0 4712 1 0000000000000000 20
   2: 0100007F:1B9F 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4713 1 0000000000000000 100
"""
TABLE_6 = """\
  sl  local_address                         remote_address                        st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 00000000000000000000000000000000:1B9E 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000    33        0 99 1 0
"""


@pytest.fixture
def taken() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as listening_:
        yield listening_.getsockname()[1]


def made_proc(folder: Path, table: str, processes: dict[int, tuple[str, str]] | None = None) -> Path:
    """A /proc with processes that have socket 4711: name and command line by process id."""
    (folder / "net").mkdir()
    (folder / "net" / "tcp").write_text(table)
    for pid, (name, command) in (processes or {}).items():
        process = folder / str(pid)
        (process / "fd").mkdir(parents=True)
        (process / "fd" / "0").symlink_to("/dev/null")
        (process / "fd" / "3").symlink_to("socket:[4711]")
        (process / "comm").write_text(f"{name}\n")
        (process / "cmdline").write_bytes(command.replace(" ", "\0").encode() + b"\0")
    return folder


def test_a_port_that_was_asked_for_and_is_taken_is_said(taken: int) -> None:
    with pytest.raises(CannotStart, match=rf"Port {taken} .* by .* \(process {os.getpid()}\)\. .* --port"):
        choose_port(taken, explicit=True)


def test_the_usual_port_gives_way_and_says_to_which_why_and_how_to_choose(taken: int) -> None:
    chosen = choose_port(taken, explicit=False)
    assert chosen.number not in {0, taken}
    assert chosen.instead is not None
    for said in (f"Port {taken} is in use by ", f"(process {os.getpid()})", str(chosen.number), "--port"):
        assert said in chosen.instead


def test_a_free_port_is_taken_as_it_is(taken: int) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    chosen = choose_port(port, explicit=False)
    assert (chosen.number, chosen.instead) == (port, None)
    chosen = choose_port(0, explicit=True)
    assert chosen.number not in {0, taken}
    assert chosen.instead is None


def test_only_sockets_that_listen_have_a_port() -> None:
    assert listening(TABLE, 7070) == {4711: 1000}
    assert listening(TABLE_6, 7070) == {99: 33}
    assert listening("", 7070) == {}


def test_another_fleetprof_is_called_by_its_name(tmp_path: Path) -> None:
    proc = made_proc(tmp_path, TABLE, {12: ("python", "python -P -m services api")})
    assert listener(7070, proc) == "another fleetprof (process 12)"


def test_any_other_program_by_its_own(tmp_path: Path) -> None:
    assert (
        listener(7070, made_proc(tmp_path, TABLE, {12: ("nginx", "nginx: master")})) == "nginx (process 12)"
    )


def test_of_a_process_that_may_not_be_looked_into_the_user_is_told(tmp_path: Path) -> None:
    assert listener(7071, made_proc(tmp_path, TABLE)) == "a process of root"
    (tmp_path / "net" / "tcp").write_text(TABLE.replace(" 1000 ", " 54321 "))
    assert listener(7070, tmp_path) == "a process of user 54321"


def test_where_nothing_can_be_seen_nothing_is_said(tmp_path: Path) -> None:
    assert listener(7070, made_proc(tmp_path, TABLE.splitlines()[0])) is None
    assert listener(7070, tmp_path / "nothing") is None
