"""Checks of resources that expire or may be unreachable: certificates, debuginfod servers."""

import urllib.error
import urllib.request
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from gateway.doctor.findings import Finding, Grade
from services.configuration.settings import Settings
from services.errors import CertificateProblem
from symbolizer.sources.debuginfod_client import SameServer

PATIENCE_S: Final = 5.0
_SOON_DAYS: Final = 30


def certificates(settings: Settings) -> Iterator[Finding]:
    """Certificates of the settings and of `fleetprof certs` here; a problem from thirty days before expiry."""
    from services.certificates.authority import read_certificate  # noqa: PLC0415
    from services.certificates.key_files import read  # noqa: PLC0415

    now = datetime.now(UTC)
    files: dict[str, Path | None] = {
        "gateways' authority": settings.gateway_ca,
        "collector's certificate": settings.gateway_cert,
        "API's certificate": settings.api_tls_cert,
    }
    folder = settings.state_dir / "certs"
    for kept in sorted(folder.glob("*.crt")) + sorted(folder.glob("*/*.crt")):
        files[f"certs {kept.relative_to(folder)}"] = kept
    for subject, path in files.items():
        if path is None:
            continue
        costs = (
            "every visit over the network" if "API" not in subject else "the API, for browsers and programs"
        )
        remedy = "fleetprof certs renew, then copy the certificate to its machine"
        try:
            ends = read_certificate(read(path)).not_valid_after_utc
        except CertificateProblem as error:
            yield Finding(subject, Grade.BAD, str(error), costs, "fleetprof certs --help")
            continue
        left = (ends - now).days
        if ends <= now:
            yield Finding(subject, Grade.BAD, f"{path} expired on {ends:%Y-%m-%d}", costs, remedy)
        elif left < _SOON_DAYS:
            yield Finding(
                subject, Grade.BAD, f"{path} expires in {left} days", f"from then on {costs}", remedy
            )
        else:
            yield Finding(subject, Grade.FINE, f"valid for {left} days")


def debuginfod(settings: Settings) -> Iterator[Finding]:
    """Whether each server responds as a debuginfod server."""
    opener = urllib.request.build_opener(SameServer())
    for url in settings.debuginfod_urls:
        subject = f"debuginfod {url}"
        # An id that no binary has: a debuginfod server responds "not found".
        request = urllib.request.Request(f"{url.rstrip('/')}/buildid/{'0' * 40}/debuginfo", method="GET")  # noqa: S310 - http or https, as the settings check
        try:
            with opener.open(request, timeout=PATIENCE_S):
                pass
            answered = True
        except urllib.error.HTTPError as error:
            error.close()
            answered = error.code == 404
            why = f"returns {error.code} {error.reason}"
        except (urllib.error.URLError, OSError, ValueError) as error:
            answered, why = False, f"unreachable: {getattr(error, 'reason', error)}"
        if answered:
            yield Finding(subject, Grade.FINE, "responds")
        else:
            yield Finding(
                subject,
                Grade.BAD,
                why,
                "names of functions without uploaded symbols",
                "set FLEETPROF_DEBUGINFOD_URLS to other servers",
            )
