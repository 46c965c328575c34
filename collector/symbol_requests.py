"""Requests from gateways the symbols of binaries that lack them (DIGEST G11).

Off unless the operator sets a rate. There is one request at a time in the whole fleet, and one to each gateway
for a binary (`storage.symbols.requests` records the requests of all collectors). The response is written to a
file and passed on; the receiver decides whether it is useful or needs confirmation by another machine.
"""

import asyncio
import tempfile
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import IO, Final

import grpc
import structlog
from google.protobuf.message import DecodeError
from sqlalchemy import Engine

from collector.blocking_executor import TRANSIENT_ERRORS, BlockingExecutor
from collector.channel import Credentials, open_channel
from collector.errors import BadAddress, BadCredentials, MalformedReply
from collector.outcome import one_line
from collector.symbol_reply import MAX_RAW_BYTES, SymbolsReader
from fleetpb import gateway_pb2
from storage import inventory
from storage.symbols import requests
from storage.symbols.kinds import FileKind
from storage.symbols.requests import RequestOutcome, SymbolRequest

PATIENCE_S: Final = 600.0
"""Time limit of one response: a gateway reads and packs 25 MB a second with the tenth of a core that it may use."""
_SYMBOLS: Final = "/fleetpb.v1.Gateway/Symbols"

_log = structlog.get_logger("collector")
_Request = gateway_pb2.SymbolsRequest
_Refusal = gateway_pb2.SymbolsRefusal
_WHAT: Final = {
    FileKind.SYMBOLS: _Request.SYMBOLS,
    FileKind.EXECUTABLE: _Request.SYMBOLS,  # the vdso, which a gateway sends whole
    FileKind.KALLSYMS: _Request.KERNEL,
}
_OUTCOMES: Final = {
    _Refusal.NOT_ALLOWED: RequestOutcome.REFUSED,
    _Refusal.NOT_SEEN: RequestOutcome.ABSENT,
    _Refusal.GONE: RequestOutcome.ABSENT,
    _Refusal.HIDDEN: RequestOutcome.ABSENT,
}

Accept = Callable[[SymbolRequest, Path, str], tuple[RequestOutcome, str]]
"""Takes a gateway's file and the file's name there, and leaves the file in place; the outcome, and why as a sentence.

An exception fails this one request, unless it is one of `TRANSIENT_ERRORS`: the call is then repeated."""


@dataclass(frozen=True, slots=True)
class SymbolRequestTerms:
    """Limits of requests to gateways, and the receiver of responses."""

    accept: Accept
    per_hour: int
    """Requests in an hour, by all collectors of the fleet together."""
    limit: int = MAX_RAW_BYTES
    """Size limit of one response in bytes, unpacked."""
    patience_s: float = PATIENCE_S


class SymbolRequester:
    """Requests symbols, one binary after the other."""

    def __init__(
        self,
        engine: Engine,
        *,
        stop: asyncio.Event,
        executor: BlockingExecutor,
        credentials: Credentials | None,
        terms: SymbolRequestTerms,
    ) -> None:
        """When `stop` is set, a response in progress is abandoned."""
        self._engine = engine
        self._stop = stop
        self._executor = executor
        self._credentials = credentials
        self._terms = terms

    async def look(self) -> bool:
        """Request the symbols that are wanted most, if there are any; whether a gateway got a request."""
        ask = await self._executor.run(self._claim)
        if ask is None:
            return False
        outcome, detail = await self._request_symbols(ask)
        await self._executor.run(self._note, ask, outcome, detail)
        log = _log.warning if outcome is RequestOutcome.DISPUTED else _log.info
        log(
            "symbols requested",
            binary=ask.name,
            key=ask.binary_key,
            machine=ask.machine,
            outcome=outcome.value,
            why=detail,
        )
        return True

    def _claim(self) -> SymbolRequest | None:
        with self._engine.begin() as connection:
            rest = machine_rest(len(inventory.machines(connection)), self._terms.per_hour)
            return requests.claim_request(connection, per_hour=self._terms.per_hour, machine_rest=rest)

    def _note(self, ask: SymbolRequest, outcome: RequestOutcome, detail: str) -> None:
        with self._engine.begin() as connection:
            requests.note_answer(connection, ask, outcome, detail)

    async def _request_symbols(self, ask: SymbolRequest) -> tuple[RequestOutcome, str]:
        """The outcome and, unless it is GOT, the reason as a sentence.

        Raises only one of `TRANSIENT_ERRORS`, if `stop` is set while the database is unavailable.
        """
        request = _request(ask, self._terms.limit)
        if request is None:
            return RequestOutcome.ABSENT, "Only its path is known, so no file can be matched to it."
        try:
            return await self._request_and_accept(ask, request)
        except TRANSIENT_ERRORS:
            raise
        except Exception as error:  # noqa: BLE001 - an untrusted file, an archive or disk that is away: visits go on
            _log.warning("symbols from a gateway were not stored", machine=ask.machine, exc_info=error)
            return RequestOutcome.FAILED, one_line(str(error)) or type(error).__name__

    async def _request_and_accept(
        self, ask: SymbolRequest, request: gateway_pb2.SymbolsRequest
    ) -> tuple[RequestOutcome, str]:
        reader = SymbolsReader(limit=self._terms.limit)
        with tempfile.TemporaryDirectory(prefix="fleetprof-symbols-") as folder:
            path = Path(folder) / "answer"
            try:
                with path.open("wb") as file:
                    if not await self._unless_stopped(self._receive(ask.address, request, reader, file)):
                        return RequestOutcome.FAILED, "The collector was stopped."
            except TimeoutError:  # TimeoutError is an OSError, too
                return (
                    RequestOutcome.FAILED,
                    f"Its response was not complete within {self._terms.patience_s:g} s.",
                )
            except (MalformedReply, BadAddress, BadCredentials, OSError) as error:
                return RequestOutcome.FAILED, one_line(str(error))
            except grpc.aio.AioRpcError as error:
                return _of_status(error)
            if reader.refusal is not None:
                outcome = _OUTCOMES.get(reader.refusal.reason, RequestOutcome.FAILED)
                return outcome, one_line(reader.refusal.message or "The gateway refused it without a reason.")
            return await self._executor.run(self._terms.accept, ask, path, reader.name)

    async def _unless_stopped(self, work: Coroutine[None, None, None]) -> bool:
        """Whether the work was finished; it is cancelled when `stop` is set."""
        working, stopping = asyncio.ensure_future(work), asyncio.ensure_future(self._stop.wait())
        try:
            await asyncio.wait({working, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if working.done():
                working.result()
                return True
            return False
        finally:
            working.cancel()
            stopping.cancel()
            await asyncio.gather(working, stopping, return_exceptions=True)

    async def _receive(
        self, address: str, request: gateway_pb2.SymbolsRequest, reader: SymbolsReader, file: IO[bytes]
    ) -> None:
        async with (
            open_channel(address, self._credentials) as channel,
            asyncio.timeout(self._terms.patience_s),
        ):
            # Replies are parsed here: grpc.aio turns a message that it cannot parse into None.
            stub: grpc.aio.UnaryStreamMultiCallable[gateway_pb2.SymbolsRequest, bytes] = channel.unary_stream(
                _SYMBOLS, request_serializer=gateway_pb2.SymbolsRequest.SerializeToString
            )
            stream = stub(request)
            while isinstance(message := await stream.read(), bytes):  # otherwise grpc.aio.EOF
                await asyncio.to_thread(_write, message, reader, file)
        if not reader.is_finished:
            raise MalformedReply("The stream stopped before its end.")


def machine_rest(machines: int, per_hour: int) -> timedelta:
    """Time between two requests to a machine: an hour, less if the fleet has fewer machines than `per_hour`."""
    return min(requests.MACHINE_REST, timedelta(hours=machines / max(per_hour, 1)))


def _write(message: bytes, reader: SymbolsReader, file: IO[bytes]) -> None:
    try:
        reply = gateway_pb2.SymbolsReply.FromString(message)
    except DecodeError as error:
        raise MalformedReply("The response is not a message of the gateway's protocol.") from error
    file.writelines(reader.take(reply))


def _request(ask: SymbolRequest, limit: int) -> gateway_pb2.SymbolsRequest | None:
    """The request; None: a gateway could not identify the file."""
    what = _WHAT.get(ask.kind)
    if what is None:
        return None
    if what == _Request.KERNEL:  # the key may be a module's; the response has the kernel's
        return _Request(what=what, max_bytes=limit)
    if ask.binary_key.startswith(("go:", "sha256:")):
        return _Request(what=what, content_key=ask.binary_key, max_bytes=limit)
    try:
        return _Request(what=what, build_id=bytes.fromhex(ask.binary_key), max_bytes=limit)
    except ValueError:
        return None


def _of_status(error: grpc.aio.AioRpcError) -> tuple[RequestOutcome, str]:
    if error.code() == grpc.StatusCode.UNIMPLEMENTED:
        return RequestOutcome.REFUSED, "Its gateway is too old to send symbols."
    return RequestOutcome.FAILED, f"{error.code().name}: {one_line(error.details() or 'no details')}"
