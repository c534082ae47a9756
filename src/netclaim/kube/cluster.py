"""The value a client starts from: where the API server is, how to know it, who we are to it."""

from dataclasses import dataclass

from netclaim.kube.credentials import Credentials

__all__ = ["Cluster", "Trust"]


@dataclass(frozen=True, slots=True)
class Trust:
    """How to know the server: its authorities, the name to expect, or no check at all."""

    authority: bytes = b""  # PEM; empty means the machine's own authorities
    server_name: str = ""  # empty means the host in the URL
    insecure: bool = False


@dataclass(frozen=True, slots=True)
class Cluster:
    """Everything a client needs to know before its first request."""

    server: str  # a URL; may have a path, as behind a cluster manager's proxy
    credentials: Credentials
    trust: Trust = Trust()
    namespace: str = "default"
    proxy: str = ""
