"""The TLS context of a connection to the API server."""

import ssl
from pathlib import Path

import pytest

from netclaim.kube.access.cluster import Trust
from netclaim.kube.access.credentials import Identity
from netclaim.kube.access.tls import tls_context
from tests.support.kube.certs import Authority

HOST = "api.example"


def shake_hands(client: ssl.SSLContext, server: ssl.SSLContext) -> None:
    """Let both sides talk until they trust each other; raises what one of them has against it."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    sides = [
        client.wrap_bio(to_client, to_server, server_hostname=HOST),
        server.wrap_bio(to_server, to_client, server_side=True),
    ]
    while sides:
        for side in tuple(sides):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
            sides.remove(side)


def a_context(authority: Authority, trusted: Authority) -> ssl.SSLContext:
    """A client's context that trusts one authority and has a certificate of another."""
    pair = authority.issue("client")
    return tls_context(
        Trust(authority=trusted.certificate), Identity(certificate=pair.certificate, key=pair.key)
    )


def test_an_authority_that_does_not_name_its_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A certificate without key identifiers is accepted, also with the defaults of Python 3.13."""
    default = ssl.create_default_context

    def strict(*, cadata: str) -> ssl.SSLContext:
        context = default(cadata=cadata)
        context.verify_flags |= ssl.VERIFY_X509_STRICT
        return context

    authority = Authority()
    server = authority.server_context(tmp_path, HOST)
    monkeypatch.setattr(ssl, "create_default_context", strict)
    shake_hands(a_context(authority, authority), server)


def test_an_authority_that_is_not_trusted(tmp_path: Path) -> None:
    """A certificate of another authority is refused."""
    authority = Authority()
    server = authority.server_context(tmp_path, HOST)
    with pytest.raises(ssl.SSLCertVerificationError):
        shake_hands(a_context(authority, Authority()), server)
