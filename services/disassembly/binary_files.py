"""Opens the places where the API finds binaries with instructions: the same as a worker's, within a reader's limits."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sqlalchemy import Engine

from storage.archive import Archive

if TYPE_CHECKING:
    from symbolizer.disassembly.disassembler import Disassembler

_DOWNLOAD_S: Final = 20.0
"""A user waits for the answer in front of a page."""


@dataclass(frozen=True, slots=True)
class BinaryFiles:
    """Places with binaries, and limits of their use; as in the settings."""

    cache_dir: Path
    symbol_dirs: Sequence[Path]
    debuginfod_urls: Sequence[str]
    fetches_per_hour: int
    """From debuginfod servers; 0: none."""
    download_bytes: int
    copies_bytes: int
    cache_bytes: int


def disassembler_of(files: BinaryFiles, engine: Engine, archive: Archive) -> Callable[[], "Disassembler"]:
    """A function that opens the places. Its first call imports the readers, which a start should not wait for."""

    def make() -> "Disassembler":
        from symbolizer.builds.builder import fleet_symcaches  # noqa: PLC0415 - see above
        from symbolizer.disassembly.disassembler import Disassembler  # noqa: PLC0415
        from symbolizer.source_text.fetch_quota import FetchQuota  # noqa: PLC0415
        from symbolizer.sources.chain import SourceSettings, make_chain  # noqa: PLC0415
        from symbolizer.sources.debuginfod_client import DownloadLimits  # noqa: PLC0415
        from symbolizer.sources.limited_debuginfod import LimitedDebuginfod  # noqa: PLC0415
        from symbolizer.sources.local_files import DEBUG_ROOTS  # noqa: PLC0415

        places = SourceSettings(
            files.cache_dir,
            debug_roots=(*files.symbol_dirs, *DEBUG_ROOTS),
            download_bytes=files.download_bytes,
            copies_bytes=files.copies_bytes,
        )
        quota = FetchQuota(files.fetches_per_hour)
        limits = DownloadLimits(bytes=files.download_bytes, seconds=_DOWNLOAD_S)
        urls = files.debuginfod_urls if files.fetches_per_hour else ()
        servers = [LimitedDebuginfod(url, quota, limits=limits) for url in urls]
        caches = fleet_symcaches(engine, archive, files.cache_dir, folder_bytes=files.cache_bytes)
        return Disassembler(make_chain(places, engine, archive, servers), caches)

    return make
