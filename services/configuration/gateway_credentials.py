"""Credentials of the collector side for gateways, from the settings."""

from collector.channel import Credentials
from services.configuration.settings import Settings
from services.errors import SettingsProblem


def gateway_credentials(settings: Settings) -> Credentials | None:
    """The three files of mutual TLS; None: only Unix sockets can be visited.

    Raises `SettingsProblem` if only some of them are set.
    """
    given = {
        "FLEETPROF_GATEWAY_CA": settings.gateway_ca,
        "FLEETPROF_GATEWAY_CERT": settings.gateway_cert,
        "FLEETPROF_GATEWAY_KEY": settings.gateway_key,
    }
    ca, certificate, key = given.values()
    if ca is not None and certificate is not None and key is not None:
        return Credentials(ca, certificate, key)
    missing = [name for name, value in given.items() if value is None]
    if len(missing) < len(given):
        raise SettingsProblem(f"Also set {' and '.join(missing)}: connections to gateways use mutual TLS.")
    return None
