from pathlib import Path

import pytest

from symbolizer.source_text.roots import SourceRoot, open_source


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    folder = tmp_path / "checkout"
    (folder / "src" / ".hidden").mkdir(parents=True)
    for name in ("src/main.c", "src/.hidden/key.c", "src/.env", "src/secret.pem", "src/Main.CPP"):
        (folder / name).write_text(name)
    (tmp_path / "outside.c").write_text("outside")
    (folder / "src" / "escape.c").symlink_to(tmp_path / "outside.c")
    (folder / "src" / "link.c").symlink_to("main.c")
    (folder / "src" / "loop.c").symlink_to("loop.c")
    return folder


def text(checkout: Path, path: str, *more: SourceRoot) -> str | None:
    opened = open_source([SourceRoot("/build/app", checkout), *more], path)
    if opened is None:
        return None
    with opened:
        return opened[0:100].decode()


@pytest.mark.parametrize(
    ("path", "there"),
    [
        ("/build/app/src/main.c", "src/main.c"),
        ("/build/app/lib/../src/main.c", "src/main.c"),
        ("/build/app/src/Main.CPP", "src/Main.CPP"),
        ("/build/app/src/link.c", "src/main.c"),
        ("/build/app/../../etc/passwd.c", None),
        ("/build/application/src/main.c", None),
        ("/build/app/src/escape.c", None),
        ("/build/app/src/loop.c", None),
        ("/build/app/src/.hidden/key.c", None),
        ("/build/app/src/.env", None),
        ("/build/app/src/secret.pem", None),
        ("/build/app/src", None),
        ("/build/app", None),
        ("src/main.c", None),
        ("/build/app/src/ma\0in.c", None),
    ],
)
def test_only_sources_below_a_root_are_read(checkout: Path, path: str, there: str | None) -> None:
    assert text(checkout, path) == there


def test_the_longest_root_is_asked_first(checkout: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "main.c").write_text("newer")
    assert text(checkout, "/build/app/src/main.c", SourceRoot("/build/app/src", other)) == "newer"


@pytest.mark.parametrize("written", ["/a", "a=/b", "/a=b", ""])
def test_a_root_is_two_absolute_paths(written: str) -> None:
    with pytest.raises(ValueError, match="FROM=TO"):
        SourceRoot.parse(written)


def test_a_root_is_written_as_from_and_to() -> None:
    assert SourceRoot.parse("/build//app/=/srv/app") == SourceRoot("/build/app", Path("/srv/app"))
