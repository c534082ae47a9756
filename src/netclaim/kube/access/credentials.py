"""Our credentials for the API server: a token or a client certificate, from bytes or files.

Promise: a secret that rotates on disk is read again within a minute, and at once after a refusal.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeAlias

from netclaim.kube.errors import KubeConfigError

REREAD_S = 60.0  # kubelet rewrites a projected token at 80% of its hour; a minute late is harmless

Clock: TypeAlias = Callable[[], float]
Secret: TypeAlias = bytes | Path  # a path is read again


@dataclass(frozen=True, slots=True)
class Identity:
    """The credentials of one request; every field may be empty."""

    token: str = ""
    certificate: bytes = b""  # PEM
    key: bytes = b""  # PEM


class Credentials(Protocol):
    """Where a client gets its credentials from."""

    async def identity(self) -> Identity:
        """Return the credentials to use now."""

    async def renew(self) -> bool:
        """Forget what is remembered; returns whether asking again may give something else."""


class StoredSecrets:
    """Secrets that are given as bytes, or as files which rotate."""

    def __init__(
        self,
        *,
        token: Secret = b"",
        certificate: Secret = b"",
        key: Secret = b"",
        clock: Clock = time.monotonic,
    ) -> None:
        self._secrets = (token, certificate, key)
        self._clock = clock
        self._read_at: float | None = None
        self._identity = Identity()

    async def identity(self) -> Identity:
        """Return the secrets, read again when a minute has passed."""
        now = self._clock()
        if self._read_at is None or now - self._read_at >= REREAD_S:
            token, certificate, key = (read_secret(secret) for secret in self._secrets)
            self._identity = Identity(token.decode().strip(), certificate, key)
            self._read_at = now
        return self._identity

    async def renew(self) -> bool:
        """Read the files at the next use."""
        self._read_at = None
        return any(isinstance(secret, Path) for secret in self._secrets)


def read_secret(secret: Secret) -> bytes:
    """Return a secret's bytes as they are now."""
    if isinstance(secret, bytes):
        return secret
    try:
        return secret.read_bytes()
    except OSError as error:
        raise KubeConfigError(f"{secret}: {error.strerror}") from error
