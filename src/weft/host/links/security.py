"""TLS 1.3 with certificates on both sides, and whose a certificate is.

The authority of the domains file vouches for the certificates; the name in one (subject CN, or a DNS name among the alternatives)
says which server it belongs to.
"""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any

from weft.fabric import Domains
from weft.model.errors import SettingsError


def link_context(domains: Domains, node: str, folder: Path, server_side: bool) -> ssl.SSLContext | None:
    """None where the domains file has no certificates.  File names in it are relative to its folder."""
    if not domains.ca:
        return None
    own = domains.certificates[node]
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER if server_side else ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.check_hostname = (
        False  # Servers go by their names in the domains file, not by those of their hosts.
    )
    context.verify_mode = ssl.CERT_REQUIRED
    try:
        context.load_verify_locations(folder / domains.ca)
    except (OSError, ssl.SSLError) as error:
        raise SettingsError(
            f"{folder / domains.ca}: the authority of [certificates] cannot be used: {error}"
        ) from error
    try:
        context.load_cert_chain(folder / own.cert, folder / own.key)
    except (OSError, ssl.SSLError) as error:
        raise SettingsError(
            f"{folder / own.cert}, {folder / own.key}: the certificate of {node} or its key cannot be used: {error}"
        ) from error
    return context


def names_of(certificate: dict[str, Any] | None) -> frozenset[str]:
    """The servers that a certificate, as `getpeercert` gives it, can belong to."""
    if not certificate:
        return frozenset()
    found = {value for kind, value in certificate.get("subjectAltName", ()) if kind == "DNS"}
    for parts in certificate.get("subject", ()):
        found.update(value for key, value in parts if key == "commonName")
    return frozenset(found)
