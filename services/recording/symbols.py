"""Names of a recording's frames, from this machine's files."""

import os
from pathlib import Path

from fleetpb import capture_pb2
from storage.ingest.symbolized import ResolvedFrames
from symbolizer.images.resolve import Resolver
from symbolizer.sources.chain import Chain
from symbolizer.sources.download_folder import DownloadFolder
from symbolizer.sources.joined_source import JoinedSource
from symbolizer.sources.joining.joiner import Joiner
from symbolizer.sources.local_files import LocalFiles


def cache_folder() -> Path:
    """The folder of this user's built symbols: $XDG_CACHE_HOME/fleetprof, default ~/.cache/fleetprof."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fleetprof"


def resolve(capture: capture_pb2.Capture, folder: Path) -> ResolvedFrames:
    """Name every frame. `folder` holds symbols built from debug data, for the next recording of the same binaries."""
    source = JoinedSource(Chain([LocalFiles()]), Joiner(DownloadFolder(folder / "downloads")))
    return Resolver(source, folder / "symbols").resolve(capture)
