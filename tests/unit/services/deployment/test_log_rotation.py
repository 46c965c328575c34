"""GIVEN a log that grows WHEN it is cut THEN its writer goes on, and only so many files are kept."""

from pathlib import Path

from services.deployment.log_rotation import rotate_if_long


def test_a_writer_that_holds_it_open_goes_on_at_its_beginning(tmp_path: Path):
    log = tmp_path / "part.log"
    with log.open("ab", buffering=0) as writer:
        writer.write(b"x" * 100)
        assert not rotate_if_long(log, longest=100)
        writer.write(b"y")
        assert rotate_if_long(log, longest=100)
        writer.write(b"after")
    assert log.read_bytes() == b"after"
    assert (tmp_path / "part.log.1").read_bytes() == b"x" * 100 + b"y"


def test_the_oldest_go(tmp_path: Path):
    log = tmp_path / "part.log"
    for number in range(6):
        log.write_text(str(number) * 10)
        assert rotate_if_long(log, longest=5, rotated_files=3)
    rotated_files = {path.name: path.read_text()[0] for path in tmp_path.iterdir() if path != log}
    assert rotated_files == {"part.log.1": "5", "part.log.2": "4", "part.log.3": "3"}


def test_what_cannot_be_cut_stays(tmp_path: Path):
    assert not rotate_if_long(tmp_path / "none.log")
    log = tmp_path / "part.log"
    log.write_text("long enough")
    (tmp_path / "part.log.0").mkdir()  # in the way
    assert not rotate_if_long(log, longest=5)
    assert log.read_text() == "long enough"
