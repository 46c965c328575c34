"""Register of issued certificates: a folder with a copy of each certificate (but not of keys stored elsewhere).

FOLDER/ca.crt  ca.key             of the fleet: gateways and their callers
FOLDER/api-ca.crt  api-ca.key     of the API, created on first use
FOLDER/gateway/node7.crt  .key    likewise collector/, viewer/, api/
"""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from services.certificates import key_files
from services.certificates.authority import (
    AUTHORITY_DAYS,
    LEAF_DAYS,
    Authority,
    certificate_pem,
    key_pem,
    new_key,
    read_certificate,
)
from services.certificates.kinds import AUTHORITIES, Kind
from services.errors import CertificateProblem


@dataclass(frozen=True, slots=True)
class Entry:
    """A certificate in the folder."""

    kind: Kind | None
    """None for an authority."""
    names: tuple[str, ...]
    path: Path
    begins: datetime
    ends: datetime
    fingerprint: str
    """SHA-256 of the certificate, hexadecimal."""

    def left(self, now: datetime) -> timedelta:
        """Time until it expires; negative once expired."""
        return self.ends - now


@dataclass(frozen=True, slots=True)
class Issued:
    """An issued certificate and the paths of its files."""

    entry: Entry
    certificate: Path
    key: Path | None
    """None: the key stays where it is stored."""
    is_new: bool


class Register:
    """One folder. Every method raises CertificateProblem; writing methods hold the folder's lock."""

    def __init__(self, folder: Path, passphrase: str = "", *, now: datetime | None = None) -> None:
        self.folder = folder
        self._passphrase = passphrase
        self._now = now or datetime.now(UTC)

    def init(self, *, days: int = AUTHORITY_DAYS, keep: bool = False) -> Entry:
        """Create the fleet's authority; an existing one is kept if `keep`, else an error."""
        with key_files.only_one(self.folder):
            path = self.folder / "ca.crt"
            if path.exists() or path.with_suffix(".key").exists():
                if not keep:
                    raise CertificateProblem(
                        f"{path} already exists; a new authority would invalidate every certificate that it signed. "
                        "List them: fleetprof certs show. To keep the authority add --keep."
                    )
                self._authority("ca")
            else:
                self._make("ca", days)
            return self._entry(path, None)

    def issue(
        self,
        kind: Kind,
        names: tuple[str, ...],
        *,
        days: int = LEAF_DAYS,
        into: Path | None = None,
        keep_days: int | None = None,
        replace: bool = False,
    ) -> Issued:
        """Create a key and its certificate, in the folder or, with the authority's certificate, in `into`.

        An existing certificate with the same names that is valid for more than `keep_days` days is kept.
        """
        with key_files.only_one(self.folder):
            kept = self._path(kind, names[0])
            target = kept if into is None else into / kept.name
            if keep_days is not None and (found := self._usable(kind, names, target, keep_days)):
                return Issued(found, target, None, is_new=False)
            if kept.exists() and not replace and keep_days is None:
                ends = self._entry(kept, kind).ends
                raise CertificateProblem(
                    f"{kept} already exists, valid until {ends:%Y-%m-%d}. To extend it: fleetprof certs renew. "
                    "For another key or other names add --replace."
                )
            authority = self._authority(kind.authority)
            key = new_key()
            certificate = authority.sign(kind, names, key.public_key(), self._now, days=days)
            key_files.write(target.with_suffix(".key"), key_pem(key), key_files.PRIVATE)
            for path in {kept, target}:
                key_files.write(path, certificate_pem(certificate), key_files.PUBLIC)
            if into is not None:
                key_files.write(into / "ca.crt", certificate_pem(authority.certificate), key_files.PUBLIC)
            return Issued(self._entry(kept, kind), target, target.with_suffix(".key"), is_new=True)

    def renew(self, *, within_days: int, days: int = LEAF_DAYS, new_keys: bool = False) -> list[Issued]:
        """Re-sign certificates that expire within `within_days`, for the same names; authorities with the same key."""
        renewed = []
        with key_files.only_one(self.folder):
            soon = self._now + timedelta(days=within_days)
            ending = [entry for entry in self.entries() if entry.ends <= soon]
            if new_keys:
                _require_keys(ending)
            for entry in ending:
                if entry.kind is None:
                    before = self._authority(entry.path.stem)
                    after = before.renewed(AUTHORITIES[entry.path.stem], self._now)
                    key_files.write(entry.path, certificate_pem(after.certificate), key_files.PUBLIC)
                    renewed.append(Issued(self._entry(entry.path, None), entry.path, None, is_new=True))
                else:
                    renewed.append(self._renew(entry, entry.kind, days, new_keys=new_keys))
        return renewed

    def entries(self) -> Iterator[Entry]:
        """Authorities first, then their certificates by kind and name."""
        if not (self.folder / "ca.crt").exists():
            raise CertificateProblem(
                f"{self.folder} contains no authority. Create one: fleetprof certs init --folder {self.folder}"
            )
        for stem in AUTHORITIES:
            if (path := self.folder / f"{stem}.crt").exists():
                yield self._entry(path, None)
        for kind in Kind:
            for path in sorted((self.folder / kind.value).glob("*.crt")):
                yield self._entry(path, kind)

    def _renew(self, entry: Entry, kind: Kind, days: int, *, new_keys: bool) -> Issued:
        public = read_certificate(key_files.read(entry.path)).public_key()
        key_path = entry.path.with_suffix(".key")
        if new_keys:
            key = new_key()
            public = key.public_key()
            # Key first: a gateway that reads in between finds a mismatched pair and keeps the old one.
            key_files.write(key_path, key_pem(key), key_files.PRIVATE)
        if not isinstance(public, ec.EllipticCurvePublicKey):
            raise CertificateProblem(
                f"This authority did not sign {entry.path}: give the folder of its own authority with --folder."
            )
        signed = self._authority(kind.authority).sign(kind, entry.names, public, self._now, days=days)
        key_files.write(entry.path, certificate_pem(signed), key_files.PUBLIC)
        return Issued(self._entry(entry.path, kind), entry.path, key_path if new_keys else None, is_new=True)

    def _usable(self, kind: Kind, names: tuple[str, ...], path: Path, days: int) -> Entry | None:
        """Entry at `path` if names, remaining lifetime and authority match and its key lies beside it; else None."""
        try:
            entry = self._entry(path, kind)
            certificate = read_certificate(key_files.read(path))
            key = serialization.load_pem_private_key(key_files.read(path.with_suffix(".key")), None)
            certificate.verify_directly_issued_by(
                read_certificate(key_files.read(self.folder / f"{kind.authority}.crt"))
            )
        except (CertificateProblem, InvalidSignature, ValueError, TypeError):
            return None
        good = (
            entry.names == names
            and entry.left(self._now) > timedelta(days=days)
            and certificate.public_key() == key.public_key()
        )
        return entry if good else None

    def _authority(self, stem: str) -> Authority:
        path = self.folder / f"{stem}.crt"
        if stem != "ca" and not path.exists():
            return self._make(stem, AUTHORITY_DAYS)
        if not path.exists():
            raise CertificateProblem(
                f"{self.folder} contains no authority. Create one: fleetprof certs init --folder {self.folder}"
            )
        return Authority.load(
            key_files.read(path), key_files.read(path.with_suffix(".key")), self._passphrase
        )

    def _make(self, stem: str, days: int) -> Authority:
        authority = Authority.create(AUTHORITIES[stem], self._now, days=days)
        path = self.folder / f"{stem}.crt"
        key_files.write(path.with_suffix(".key"), key_pem(authority.key, self._passphrase), key_files.PRIVATE)
        key_files.write(path, certificate_pem(authority.certificate), key_files.PUBLIC)
        return authority

    def _path(self, kind: Kind, name: str) -> Path:
        return self.folder / kind.value / f"{name}.crt"

    def _entry(self, path: Path, kind: Kind | None) -> Entry:
        certificate = read_certificate(key_files.read(path))
        return Entry(
            kind,
            _names(certificate),
            path,
            certificate.not_valid_before_utc,
            certificate.not_valid_after_utc,
            certificate.fingerprint(hashes.SHA256()).hex(),
        )


def _require_keys(entries: list[Entry]) -> None:
    """Raise CertificateProblem for the first entry whose key is stored elsewhere: all or none are replaced."""
    for entry in entries:
        if entry.kind is not None and not entry.path.with_suffix(".key").exists():
            raise CertificateProblem(
                f"The key of {entry.path} is not in this folder, so this command cannot replace it. Issue a new one: "
                f"fleetprof certs issue {entry.kind.value} {','.join(entry.names)} --replace --into FOLDER"
            )


def _names(certificate: x509.Certificate) -> tuple[str, ...]:
    """Host names and addresses in order; for a caller its common name."""
    with contextlib.suppress(x509.ExtensionNotFound):
        stated = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        kinds = (x509.DNSName, x509.IPAddress)
        if names := tuple(str(name.value) for name in stated if isinstance(name, kinds)):
            return names
    common = certificate.subject.get_attributes_for_oid(x509.NameOID.COMMON_NAME)
    return tuple(str(attribute.value) for attribute in common[:1])
