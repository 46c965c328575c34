"""Names in certificates."""

import ipaddress
import re
from typing import Final

from cryptography import x509

from services.certificates.kinds import Kind
from services.errors import CertificateProblem

_LONGEST_COMMON_NAME: Final = 64  # ub-common-name, RFC 5280
_HOST: Final = re.compile(
    r"(?=.{1,253}\Z)(?:[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?\.)*[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?\Z"
)
_CALLER: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z")


def parse(kind: Kind, text: str) -> tuple[str, ...]:
    """The names of one certificate, the primary one first; raises CertificateProblem.

    A server has host names and IP addresses separated by commas; a caller has one word.
    """
    if not kind.is_server:
        if not _CALLER.match(text):
            raise CertificateProblem(
                f"Invalid name {text!r} of a {kind.value}: expected at most 64 letters, digits, dots, dashes and underscores."
            )
        return (text,)
    return tuple(dict.fromkeys(_host(part.strip()) for part in text.split(",")))


def _host(text: str) -> str:
    bare = text.removeprefix("[").removesuffix("]")
    try:
        return str(ipaddress.ip_address(bare))
    except ValueError:
        pass
    # A malformed address would count as a host name that no resolver finds.
    if not _HOST.match(text) or re.fullmatch(r"[0-9.]+", text):
        raise CertificateProblem(
            f"Invalid name {text!r}: expected the host name or IP address of the machine in the inventory, "
            "without the port, e.g. node7.example or 10.0.0.7; separate several names of one machine by commas."
        )
    return text.lower()


def subject(name: str) -> x509.Name:
    """O=fleetprof, CN=the name, truncated to the maximum length of a common name."""
    return x509.Name(
        [
            x509.NameAttribute(x509.NameOID.ORGANIZATION_NAME, "fleetprof"),
            x509.NameAttribute(x509.NameOID.COMMON_NAME, name[:_LONGEST_COMMON_NAME]),
        ]
    )


def alternatives(kind: Kind, names: tuple[str, ...]) -> x509.SubjectAlternativeName:
    """Alternative names: a server's names, and the role."""
    general: list[x509.GeneralName] = []
    for name in names if kind.is_server else ():
        try:
            general.append(x509.IPAddress(ipaddress.ip_address(name)))
        except ValueError:
            general.append(x509.DNSName(name))
    return x509.SubjectAlternativeName([*general, x509.UniformResourceIdentifier(kind.uri)])
