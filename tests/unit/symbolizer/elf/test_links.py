"""GIVEN sections that name other files WHEN they are read THEN what they say can be stored and shown."""

from symbolizer.elf.links import MAX_BUILD_ID_BYTES, AltLink, alt_link_in, debug_link_in


def test_links_are_read() -> None:
    assert alt_link_in(b"common.dwz\0" + b"\x01" * 20) == AltLink("common.dwz", b"\x01" * 20)
    link = debug_link_in(b"a.debug\0" + b"\x02\0\0\0", "little")
    assert link is not None
    assert (link.name, link.crc32) == ("a.debug", 2)


def test_names_that_are_no_utf8_can_be_encoded() -> None:
    link, alternate = debug_link_in(b"\xff\0\0\0" + bytes(4), "little"), alt_link_in(b"/\xff\0\x01")
    assert link is not None
    assert alternate is not None
    assert (link.name.encode(), alternate.path.encode()) == ("\ufffd".encode(), "/\ufffd".encode())


def test_a_build_id_has_a_limit() -> None:
    assert alt_link_in(b"x\0" + bytes(MAX_BUILD_ID_BYTES)) is not None
    assert alt_link_in(b"x\0" + bytes(MAX_BUILD_ID_BYTES + 1)) is None
    assert alt_link_in(b"x\0") is None
