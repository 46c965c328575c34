"""A debuginfod client for requests that readers cause, who may not store anything: with a quota."""

from pathlib import Path

from symbolizer.source_text.fetch_quota import FetchQuota
from symbolizer.sources.debuginfod_client import DebuginfodClient, DownloadLimits, Fetched, NotFetched


class LimitedDebuginfod(DebuginfodClient):
    """A client whose fetches take from a quota, which clients of several servers may share."""

    def __init__(self, server: str, quota: FetchQuota, *, limits: DownloadLimits | None = None) -> None:
        """Raises ValueError if `server` is not a URL of HTTP."""
        super().__init__(server, limits=limits)
        self._quota = quota

    def fetch(
        self, build_id: bytes, what: str, target: Path, *, limit: int | None = None
    ) -> Fetched | NotFetched:
        """As the base class, within the quota."""
        if self._quota.take() > 0:
            return NotFetched("The limit of fetches from debuginfod servers per hour is reached.", 0.0)
        return super().fetch(build_id, what, target, limit=limit)
