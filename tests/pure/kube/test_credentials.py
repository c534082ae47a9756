"""Tokens and certificates that rotate, and plugins that make them."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from netclaim.kube import KubeConfigError, StoredSecrets, UnreachableError
from netclaim.kube.access.exec_plugin import ExecCommand, ExecPlugin
from tests.support.kube.stub import Reply, client_of, serve_stub, status

V1 = "client.authentication.k8s.io/v1"
EXPIRY = "2026-01-01T00:00:00Z"
EXPIRY_S = 1767225600.0  # the same, as the clock counts


class Clock:
    """A clock that stands where it is put."""

    def __init__(self, now: float = 0.0) -> None:
        self.now = now

    def __call__(self) -> float:
        """Return the time."""
        return self.now


async def test_a_token_file_is_read_again_after_a_minute(tmp_path: Path) -> None:
    """A rotated token is taken up when a minute has passed, and not read for each request."""
    token = tmp_path / "token"
    token.write_text("one\n")
    clock = Clock()
    secrets = StoredSecrets(token=token, clock=clock)
    assert (await secrets.identity()).token == "one"
    token.write_text("two\n")
    clock.now = 59.9
    assert (await secrets.identity()).token == "one"
    clock.now = 60.0
    assert (await secrets.identity()).token == "two"


async def test_a_rotated_token_is_used_at_once_after_a_refusal(tmp_path: Path) -> None:
    """A 401 makes the client read the token file anew and succeed with what it finds."""
    token = tmp_path / "token"
    token.write_text("one")
    async with serve_stub() as stub:
        stub.on("GET", "/x", Reply(), Reply(status(401), status=401), Reply())
        async with client_of(stub, credentials=StoredSecrets(token=token)) as client:
            await client.get_path("/x")
            token.write_text("two")
            await client.get_path("/x")
    tokens = [seen.headers["Authorization"] for seen in stub.seen]
    assert tokens == ["Bearer one", "Bearer one", "Bearer two"]


async def test_a_fixed_token_cannot_be_renewed() -> None:
    """Secrets without a file have nothing new to offer after a refusal."""
    assert await StoredSecrets(token=b"x").renew() is False


async def test_a_token_file_that_is_gone_is_named(tmp_path: Path) -> None:
    """A missing token file is an error that names it."""
    with pytest.raises(KubeConfigError, match=r"token: No such file"):
        await StoredSecrets(token=tmp_path / "token").identity()


class Plugin:
    """A credential plugin of shell that counts its runs and prints an answer from a file."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.path = folder / "plugin"
        self.path.write_text(
            f'#!/bin/sh\necho "$KUBERNETES_EXEC_INFO" >> {folder}/runs\n'
            f"cat {folder}/answer\necho complaint >&2\nexit $(cat {folder}/code)\n"
        )
        self.path.chmod(0o755)
        self.answers("tok")

    def answers(self, token: str, *, code: int = 0, **more: Any) -> None:
        """Print this from now on."""
        answer = {
            "apiVersion": V1,
            "kind": "ExecCredential",
            "status": {"token": token, **more},
        }
        self.prints(json.dumps(answer), code=code)

    def prints(self, text: str, *, code: int = 0) -> None:
        """Print this text from now on."""
        (self._folder / "answer").write_text(text)
        (self._folder / "code").write_text(str(code))

    def runs(self) -> list[Any]:
        """Return what each run so far was told."""
        lines = (self._folder / "runs").read_text().splitlines()
        return [json.loads(line) for line in lines]

    def command(self, **changes: Any) -> ExecCommand:
        """Return how to start it."""
        how: dict[str, Any] = {
            "api_version": V1,
            "command": str(self.path),
            "arguments": (),
            "environment": {},
            "install_hint": "",
            "cluster": None,
        }
        return ExecCommand(**{**how, **changes})


async def test_a_plugin_runs_once_until_its_answer_expires(tmp_path: Path) -> None:
    """The answer is kept until just before its expiry, also for requests at the same time."""
    plugin = Plugin(tmp_path)
    plugin.answers("first", expirationTimestamp=EXPIRY)
    clock = Clock(EXPIRY_S - 60)
    credentials = ExecPlugin(plugin.command(), clock=clock)
    identities = await asyncio.gather(*(credentials.identity() for _ in range(3)))
    assert {identity.token for identity in identities} == {"first"}
    assert len(plugin.runs()) == 1
    plugin.answers("second", expirationTimestamp=EXPIRY)
    clock.now = EXPIRY_S - 5
    assert (await credentials.identity()).token == "second"


async def test_a_refused_answer_is_asked_for_again(tmp_path: Path) -> None:
    """After a refusal the plugin runs again although its answer had not expired."""
    plugin = Plugin(tmp_path)
    credentials = ExecPlugin(plugin.command())
    await credentials.identity()
    plugin.answers("other")
    assert await credentials.renew()
    assert (await credentials.identity()).token == "other"


async def test_a_plugin_may_give_a_certificate(tmp_path: Path) -> None:
    """A client certificate and key are taken as the PEM text that they are."""
    plugin = Plugin(tmp_path)
    plugin.answers("", clientCertificateData="CERT", clientKeyData="KEY")
    identity = await ExecPlugin(plugin.command()).identity()
    assert (identity.certificate, identity.key) == (b"CERT", b"KEY")


async def test_a_plugin_is_told_the_cluster_if_it_asks(tmp_path: Path) -> None:
    """The plugin learns of the cluster only where the kubeconfig says so; never interactive."""
    plugin = Plugin(tmp_path)
    await ExecPlugin(plugin.command()).identity()
    await ExecPlugin(plugin.command(cluster={"server": "https://x"})).identity()
    plain, informed = (run["spec"] for run in plugin.runs())
    assert plain == {"interactive": False}
    assert informed["cluster"] == {"server": "https://x"}


async def test_a_plugin_that_is_not_installed(tmp_path: Path) -> None:
    """A missing plugin is named together with the kubeconfig's own hint, in one line."""
    command = Plugin(tmp_path).command(command="/no/such/plugin", install_hint="apt install\nit")
    with pytest.raises(KubeConfigError, match=r"/no/such/plugin: No such .* \(apt install it\)$"):
        await ExecPlugin(command).identity()


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("oops", "printed no valid ExecCredential"),
        ('{"apiVersion": "client.authentication.k8s.io/v1beta1"}', "answered in .*v1beta1"),
        (f'{{"apiVersion": "{V1}"}}', "neither a token nor a certificate"),
        (f'{{"apiVersion": "{V1}", "status": {{}}}}', "neither a token nor a certificate"),
    ],
)
async def test_a_plugin_that_answers_nonsense(tmp_path: Path, text: str, complaint: str) -> None:
    """An answer that is no usable ExecCredential is the machine's fault to fix."""
    plugin = Plugin(tmp_path)
    plugin.prints(text)
    with pytest.raises(KubeConfigError, match=complaint):
        await ExecPlugin(plugin.command()).identity()


async def test_a_plugin_that_fails(tmp_path: Path) -> None:
    """A plugin's failure is worth another try, and shows its own complaint."""
    plugin = Plugin(tmp_path)
    plugin.answers("x", code=3)
    with pytest.raises(UnreachableError, match="ended with 3: complaint"):
        await ExecPlugin(plugin.command()).identity()
