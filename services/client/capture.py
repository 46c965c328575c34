"""One raw capture."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from fleetpb import data_pb2
from services.client.errors import NeedsPackage

if TYPE_CHECKING:
    from fleetpb import capture_pb2

_MOST_RAW_BYTES = 512 << 20


class Capture:
    """A capture as archived; `record` is the protobuf record (proto/fleetpb/data.proto)."""

    def __init__(self, record: data_pb2.VisitCapture) -> None:
        self.record = record

    @property
    def id(self) -> str:
        """Id of the visit."""
        return self.record.visit.visit_id

    @property
    def machine(self) -> str:
        """Name of the machine in the inventory."""
        return self.record.visit.machine

    @property
    def drawn_at(self) -> datetime:
        """Time of the visit's draw."""
        return self.record.visit.drawn_at.ToDatetime(UTC)

    @property
    def is_there(self) -> bool:
        """False: the capture is expired, missing, damaged or too large; see `status` and `detail`."""
        return self.record.status == data_pb2.RECORD_OK

    @property
    def status(self) -> str:
        """`ok`, `expired`, `missing`, `corrupt` or `too_large`."""
        return data_pb2.RecordStatus.Name(self.record.status).removeprefix("RECORD_").lower()

    @property
    def detail(self) -> str:
        """Why the capture is missing, a sentence."""
        return self.record.detail

    @property
    def blob(self) -> bytes:
        """The archived bytes: a `Capture` message, compressed with zstd."""
        return self.record.capture

    def message(self) -> "capture_pb2.Capture":
        """The decoded capture (proto/fleetpb/capture.proto). Raises `NeedsPackage`."""
        from fleetpb import capture_pb2  # noqa: PLC0415 - programs that only save captures do not need it

        try:
            import zstandard  # noqa: PLC0415
        except ImportError as error:
            raise NeedsPackage("Unpacking captures needs zstandard: pip install zstandard") from error
        raw = zstandard.ZstdDecompressor().decompress(self.blob, max_output_size=_MOST_RAW_BYTES)
        return capture_pb2.Capture.FromString(raw)
