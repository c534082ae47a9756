"""The value a client starts from: where the API server is, how to verify it, our credentials."""

from dataclasses import dataclass

from netclaim.kube.access.credentials import Credentials


@dataclass(frozen=True, slots=True)
class Trust:
    """How to verify the server: its authorities, the name to expect, or no check at all."""

    authority: bytes = b""  # PEM; empty means the machine's own authorities
    server_name: str = ""  # empty means the host in the URL
    insecure: bool = False


@dataclass(frozen=True, slots=True)
class Cluster:
    """Everything that a client has to know before its first request."""

    server: str  # a URL; may have a path, for example behind a cluster manager's proxy
    credentials: Credentials
    trust: Trust = Trust()
    namespace: str = "default"
    proxy: str = ""
