"""Permits or denies each call by the roles in the caller's certificate, before any other code handles it."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final, NoReturn, cast

import grpc

from gateway.roles import Role, permits, roles_of
from gateway.serving.log_rate_limit import LogRateLimit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

_TLS: Final = b"ssl"
_LOCAL: Final = b"insecure"
_TRANSPORT: Final = "transport_security_type"

_log: Final = logging.getLogger("gateway.authorisation")

Identity = dict[str, list[bytes]]
"""gRPC's properties of a caller: ServicerContext.auth_context()."""


class Authorisation(grpc.ServerInterceptor):
    """Answers PERMISSION_DENIED to calls that the caller's roles do not permit."""

    def __init__(
        self,
        allowed: Sequence[tuple[str, Role]],
        *,
        sockets: bool,
        on_permitted: Callable[[str], None] = lambda _: None,
    ) -> None:
        """`allowed`: caller names that the operator lists. `sockets`: Unix sockets are served; their callers are us.

        `on_permitted` is called with gRPC's name of the peer for each permitted call.
        """
        self._allowed = tuple(allowed)
        self._sockets = sockets
        self._on_permitted = on_permitted
        self._log_limit = LogRateLimit()

    def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], grpc.RpcMethodHandler[Any, Any] | None],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> grpc.RpcMethodHandler[Any, Any] | None:
        """Wrap the method's handler: the caller is known only when the handler runs."""
        handler = continuation(handler_call_details)
        if handler is None:
            return None
        method = handler_call_details.method.rpartition("/")[2]
        if handler.unary_unary is not None:
            answer = handler.unary_unary

            def answer_one(request: Any, context: grpc.ServicerContext) -> Any:
                self._require(context, method)
                return answer(request, context)

            return grpc.unary_unary_rpc_method_handler(
                answer_one, handler.request_deserializer, handler.response_serializer
            )
        if handler.unary_stream is not None:
            stream = handler.unary_stream

            def answer_many(request: Any, context: grpc.ServicerContext) -> Iterator[Any]:
                self._require(context, method)
                yield from stream(request, context)

            return grpc.unary_stream_rpc_method_handler(
                answer_many, handler.request_deserializer, handler.response_serializer
            )
        return None  # the service has no other kind of method; a new kind would bypass the check

    def _require(self, context: grpc.ServicerContext, method: str) -> None:
        # The stubs declare bytes; the value is a tuple of bytes, because a certificate has several names.
        known = cast("Mapping[str, Sequence[bytes]]", context.auth_context())
        identity = {key: list(values) for key, values in known.items()}
        if self.may(identity, method):
            self._on_permitted(context.peer())
            return
        self._deny(context, identity, method)

    def may(self, identity: Identity, method: str) -> bool:
        """Whether this caller may call this method."""
        transport = identity.get(_TRANSPORT, [])
        if transport == [_LOCAL]:
            # Only a Unix socket of mode 0600 leads to an insecure port: the caller is root or the gateway's user.
            return self._sockets and permits([Role.COLLECTOR], method)
        if transport != [_TLS]:
            return False
        return permits(roles_of(_names(identity), _texts(identity, "peer_uri"), self._allowed), method)

    def _deny(self, context: grpc.ServicerContext, identity: Identity, method: str) -> NoReturn:
        who = ", ".join(_names(identity)) or "a caller without a name"
        if (suppressed := self._log_limit.admit("denied")) is not None:
            _log.warning(
                "call denied", extra={"fields": {"method": method[:64], "caller": who[:200]} | suppressed}
            )
        context.abort(
            grpc.StatusCode.PERMISSION_DENIED,
            f"the certificate of {who[:200]} has no role that permits {method[:64]}; `fleetprof certs "
            "issue collector` creates a suitable certificate, and fleetprof-gateway --allow-caller "
            "NAME admits one of another authority",
        )


def _names(identity: Mapping[str, Sequence[bytes]]) -> list[str]:
    """The common name and the alternative names."""
    names = _texts(identity, "x509_common_name") + _texts(identity, "x509_subject_alternative_name")
    return list(dict.fromkeys(names))


def _texts(identity: Mapping[str, Sequence[bytes]], key: str) -> list[str]:
    return [value.decode("utf-8", "backslashreplace") for value in identity.get(key, ())]
