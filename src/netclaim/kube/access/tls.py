"""Make the TLS context of a connection to the API server.

Promise: a server that kubectl trusts is trusted here too, with every version of Python.
Limit: errors in a certificate or key are reported in OpenSSL's words.
"""

import os
import ssl
from collections.abc import Iterator
from contextlib import contextmanager

from netclaim.kube.access.cluster import Trust
from netclaim.kube.access.credentials import Identity
from netclaim.kube.errors import KubeConfigError


def tls_context(trust: Trust, identity: Identity) -> ssl.SSLContext:
    """Return a context that verifies the server by `trust` and shows our certificate."""
    try:
        context = ssl.create_default_context(cadata=trust.authority.decode() or None)
        # Python 3.13 made this the default. It refuses authorities that do not name their key,
        # which many clusters have, Amazon's among them, and which other clients accept.
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        if trust.insecure:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if identity.certificate:
            with _as_file(identity.certificate + b"\n" + identity.key) as pair:
                context.load_cert_chain(pair)
    except (ssl.SSLError, UnicodeDecodeError) as error:
        raise KubeConfigError(f"a certificate or key cannot be used: {error}") from error
    return context


@contextmanager
def _as_file(secret: bytes) -> Iterator[str]:
    """Lend OpenSSL, which reads keys only from files, a file that never touches a disk."""
    descriptor = os.memfd_create("client-certificate")
    try:
        os.write(descriptor, secret)  # a memfd takes it whole
        yield f"/proc/self/fd/{descriptor}"
    finally:
        os.close(descriptor)
