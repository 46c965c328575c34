"""Authentication of gRPC callers by the socket's mode, a token, or a certificate."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import cast

import grpc

from services.api.auth import Access
from services.api.problems import Problem
from services.api.request_auth import digest_of, undecided
from services.api.tokens import Role
from services.certificates.kinds import ROLE_PREFIX, Kind

_ROLES = {
    f"{ROLE_PREFIX}{Kind.DATA_VIEWER.value}": Role.VIEWER,
    f"{ROLE_PREFIX}{Kind.DATA_OPERATOR.value}": Role.OPERATOR,
}


@dataclass(frozen=True, slots=True)
class GrpcAuth:
    """Determines the roles of callers of one address."""

    access: Access
    own_user: bool
    """The address is a socket that only this process's user and root can open."""

    def demand(self, context: grpc.ServicerContext, least: Role) -> str:
        """A text that identifies the caller, equal for all calls with one token or certificate, or over the socket.

        Raises the Problem 401 for a caller without a role, 403 if the role is too low, and 503 if the records of tokens
        are too old to decide.
        """
        role, proof = max(self._proofs(context), default=(None, ""))
        if role is None:
            raise Problem(
                HTTPStatus.UNAUTHORIZED,
                "The call has no valid credentials.",
                kind="signed-out",
                hint="Send the metadata `authorization: Bearer TOKEN` with an API token.",
            )
        if role < least:
            raise Problem(
                HTTPStatus.FORBIDDEN,
                f"This call needs the role {least.name.lower()}. Your role: {role.name.lower()}.",
                kind="role",
            )
        return digest_of(proof)

    def _proofs(self, context: grpc.ServicerContext) -> list[tuple[Role, str]]:
        """The roles that the call proves, each with its token or certificate."""
        if self.own_user:
            return [(Role.ADMIN, "")]
        # The type stubs declare bytes, but it is a tuple of them: a certificate has several names.
        known = cast("Mapping[str, Sequence[bytes]]", context.auth_context())
        certificate = b"".join(known.get("x509_pem_cert", ())).decode("ascii", "replace")
        found = [
            (_ROLES.get(uri.decode("utf-8", "replace")), certificate) for uri in known.get("peer_uri", ())
        ]
        for key, value in context.invocation_metadata() or ():
            if key == "authorization" and isinstance(value, str):
                scheme, _, text = value.partition(" ")
                if scheme.lower() == "bearer":
                    found.append((self._role_of(text.strip()), text.strip()))
        return [(role, proof) for role, proof in found if role is not None]

    def _role_of(self, text: str) -> Role | None:
        token = self.access.find_token(text)
        if (token is None or token.token_id is not None) and not self.access.records.is_current:
            raise undecided()
        return None if token is None else token.role
