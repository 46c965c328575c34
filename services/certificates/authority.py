"""The authority: a signing key and its own certificate. Uses no files."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Self

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from services.certificates.kinds import Kind
from services.certificates.names import alternatives, subject
from services.errors import CertificateProblem

AUTHORITY_DAYS: Final = 3650
LEAF_DAYS: Final = 397
"""Default lifetime of a certificate: the CA/Browser Forum's limit until 2026, and suits yearly renewal."""
_CLOCK_SLACK: Final = timedelta(hours=1)  # for machines whose clocks are behind the signing machine's

PublicKey = ec.EllipticCurvePublicKey


def new_key() -> ec.EllipticCurvePrivateKey:
    """A key on P-256, which every TLS library of the last ten years supports."""
    return ec.generate_private_key(ec.SECP256R1())


def key_pem(key: ec.EllipticCurvePrivateKey, passphrase: str = "") -> bytes:
    """PKCS #8, encrypted if there is a passphrase."""
    encryption: serialization.KeySerializationEncryption = serialization.NoEncryption()
    if passphrase:
        encryption = serialization.BestAvailableEncryption(passphrase.encode())
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption)


def certificate_pem(certificate: x509.Certificate) -> bytes:
    """PEM with a final line break."""
    return certificate.public_bytes(serialization.Encoding.PEM)


@dataclass(frozen=True, slots=True)
class Authority:
    """Signs certificates. Construct with `create`, or `load` certificate and key from PEM."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    @classmethod
    def create(cls, common_name: str, now: datetime, *, days: int = AUTHORITY_DAYS) -> Self:
        """A new authority with a new key."""
        key = new_key()
        return cls(_self_signed(common_name, key, now, days), key)

    @classmethod
    def load(cls, certificate: bytes, key: bytes, passphrase: str = "") -> Self:
        """Load from PEM; raises CertificateProblem if the two are damaged, locked or do not match."""
        try:
            private = serialization.load_pem_private_key(key, passphrase.encode() or None)
        except TypeError as error:
            # cryptography's own messages: one with and one without a passphrase.
            what = (
                "is encrypted: give its passphrase with --passphrase-file or FLEETPROF_CA_PASSPHRASE"
                if not passphrase
                else "is not encrypted: omit the passphrase"
            )
            raise CertificateProblem(f"The authority's key {what}.") from error
        except ValueError as error:
            why = "the passphrase is wrong, or the file is damaged" if passphrase else "the file is damaged"
            raise CertificateProblem(f"Cannot read the authority's key: {why}.") from error
        loaded = read_certificate(certificate)
        if not isinstance(private, ec.EllipticCurvePrivateKey) or loaded.public_key() != private.public_key():
            raise CertificateProblem(
                "The authority's key and certificate do not match: restore ca.key and ca.crt of the same authority."
            )
        return cls(loaded, private)

    def renewed(self, common_name: str, now: datetime, *, days: int = AUTHORITY_DAYS) -> Self:
        """The same key and name for longer: existing signatures stay valid, with the old certificate and the new."""
        return type(self)(_self_signed(common_name, self.key, now, days), self.key)

    def sign(
        self, kind: Kind, names: tuple[str, ...], key: PublicKey, now: datetime, *, days: int = LEAF_DAYS
    ) -> x509.Certificate:
        """A certificate for `days`, at most until the authority's own end."""
        ends = min(now + timedelta(days=days), self.certificate.not_valid_after_utc)
        own = self.certificate.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
        return (
            _builder(subject(names[0]), self.certificate.subject, key, now, ends)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_usage(signs_certificates=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage([kind.usage]), critical=False)
            .add_extension(alternatives(kind, names), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(own), critical=False
            )
            .sign(self.key, hashes.SHA256())
        )


def read_certificate(pem: bytes) -> x509.Certificate:
    """The first certificate of a chain; raises CertificateProblem."""
    try:
        return x509.load_pem_x509_certificate(pem)
    except ValueError as error:
        raise CertificateProblem(f"Invalid certificate: expected PEM. {error}") from error


def _self_signed(
    common_name: str, key: ec.EllipticCurvePrivateKey, now: datetime, days: int
) -> x509.Certificate:
    name = subject(common_name)
    return (
        _builder(name, name, key.public_key(), now, now + timedelta(days=days))
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs_certificates=True), critical=True)
        .sign(key, hashes.SHA256())
    )


def _builder(
    subject_: x509.Name, issuer: x509.Name, key: PublicKey, now: datetime, ends: datetime
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject_)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _CLOCK_SLACK)
        .not_valid_after(ends)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
    )


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
