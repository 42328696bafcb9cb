"""Whose connection it is, by the address of its other end."""

from __future__ import annotations

import ipaddress


def is_local(peer: object) -> bool:
    """Is it the address of a connection from this very machine?"""
    found = _ip(peer)
    return found is not None and found.is_loopback


def address_of(peer: object) -> str:
    """Whose connection it is, for limits: a machine's address, or the network of 64 bits that is given to one in IPv6."""
    found = _ip(peer)
    if found is None:
        return str(peer[0]) if isinstance(peer, tuple) and peer else str(peer or "")
    if isinstance(found, ipaddress.IPv6Address):
        return str(ipaddress.IPv6Network((found, 64), strict=False))
    return str(found)


def _ip(peer: object) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    if not isinstance(peer, tuple) or not peer:
        return None
    try:
        return ipaddress.ip_address(str(peer[0]).partition("%")[0].removeprefix("::ffff:"))
    except ValueError:
        return None
