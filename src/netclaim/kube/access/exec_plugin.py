"""Credentials from a command that prints an ExecCredential, as kubeconfigs of clouds use them.

Promise: the command runs only when its last answer has expired or was refused, and once for all
requests that wait for it. Limit: `client.authentication.k8s.io/v1` and `v1beta1`, and no command
that needs a person at the terminal.
"""

import asyncio
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

import msgspec

from netclaim.kube.access.credentials import Clock, Identity
from netclaim.kube.errors import KubeConfigError, UnreachableError

DEADLINE_S = 60.0  # a plugin may ask a cloud; after a minute it is taken to hang
EXPIRY_MARGIN_S = 10.0  # renew before the server refuses: clocks differ by seconds
OUTPUT_SHOWN = 200  # characters of a failed plugin's stderr in our one line
EXEC_VERSIONS = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")


@dataclass(frozen=True, slots=True)
class ExecCommand:
    """How to start the plugin, from the kubeconfig's `exec`."""

    api_version: str
    command: str
    arguments: tuple[str, ...]
    environment: Mapping[str, str]
    install_hint: str
    cluster: Mapping[str, object] | None  # passed to the plugin if it asks for it


class _Status(msgspec.Struct, frozen=True, rename="camel"):
    token: str = ""
    client_certificate_data: str = ""
    client_key_data: str = ""
    expiration_timestamp: datetime | None = None


class _ExecCredential(msgspec.Struct, frozen=True, rename="camel"):
    api_version: str
    status: _Status | None = None


class ExecPlugin:
    """The command, and its last answer for as long as that is valid."""

    def __init__(self, command: ExecCommand, *, clock: Clock = time.time) -> None:
        self._command = command
        self._clock = clock  # wall time, because the plugin's expiry is a date
        self._answer: _Status | None = None
        self._running = asyncio.Lock()

    async def identity(self) -> Identity:
        """Return the plugin's answer, from a new run if none is valid."""
        async with self._running:
            answer = self._answer
            if answer is None or self._expired(answer):
                answer = self._answer = self._parse(await self._run())
        return Identity(
            answer.token,
            answer.client_certificate_data.encode(),
            answer.client_key_data.encode(),
        )

    async def renew(self) -> bool:
        """Run the plugin at the next use."""
        self._answer = None
        return True

    def _expired(self, answer: _Status) -> bool:
        expiry = answer.expiration_timestamp
        return expiry is not None and expiry.timestamp() - EXPIRY_MARGIN_S <= self._clock()

    async def _run(self) -> bytes:
        name = self._command.command
        process = await self._start()
        try:
            async with asyncio.timeout(DEADLINE_S):
                output, complaint = await process.communicate()
        except TimeoutError as error:
            raise UnreachableError(
                f"credential plugin {name} gave no answer in {DEADLINE_S:.0f} s"
            ) from error
        finally:
            if process.returncode is None:  # timed out, or we are being cancelled
                process.kill()
                await process.wait()
        if process.returncode != 0:
            text = " ".join(complaint.decode(errors="replace").split())[:OUTPUT_SHOWN]
            raise UnreachableError(
                f"credential plugin {name} ended with {process.returncode}: {text}"
            )
        return output

    async def _start(self) -> asyncio.subprocess.Process:
        command = self._command
        try:
            return await asyncio.create_subprocess_exec(
                command.command,
                *command.arguments,
                env={**os.environ, **command.environment, "KUBERNETES_EXEC_INFO": self._info()},
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
            )
        except OSError as error:
            hint = f" ({' '.join(command.install_hint.split())})" if command.install_hint else ""
            raise KubeConfigError(
                f"credential plugin {command.command}: {error.strerror}{hint}"
            ) from error

    def _info(self) -> str:
        spec: dict[str, object] = {"interactive": False}
        if self._command.cluster is not None:
            spec["cluster"] = self._command.cluster
        info = {"apiVersion": self._command.api_version, "kind": "ExecCredential", "spec": spec}
        return msgspec.json.encode(info).decode()

    def _parse(self, output: bytes) -> _Status:
        plugin = f"credential plugin {self._command.command}"
        try:
            credential = msgspec.json.decode(output, type=_ExecCredential)
        except msgspec.DecodeError as error:
            raise KubeConfigError(f"{plugin} printed no valid ExecCredential: {error}") from error
        if credential.api_version != self._command.api_version:
            raise KubeConfigError(
                f"{plugin} answered in {credential.api_version},"
                f" the kubeconfig says {self._command.api_version}"
            )
        status = credential.status
        if status is None or not (status.token or status.client_certificate_data):
            raise KubeConfigError(f"{plugin} gave neither a token nor a certificate")
        return status
