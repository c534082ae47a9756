"""Health and metrics on an address of the network, in a network namespace of the test's own."""

import asyncio
import ssl
import subprocess
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from netclaim.controller.process.serve import Process as Controller
from netclaim.controller.process.serve import watched
from netclaim.errors import HostError
from netclaim.framework.process.http import Place
from netclaim.framework.tools.clock import SystemClock
from netclaim.kernel.host.syscalls import CLONE_NEWNET, unshare
from tests.pure.framework.process.test_http import Process, ask
from tests.support.framework.accounts import Accounts
from tests.support.kube.certs import Authority

pytestmark = pytest.mark.embedded

ADDRESS = "192.0.2.1:9178"
LOCAL = "127.0.0.1:9178"


def in_own_network(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run a test in a thread with a network of its own, where a node has an address."""

    def run() -> None:
        unshare(CLONE_NEWNET)
        for command in ("ip link set lo up", "ip address add 192.0.2.1/24 dev lo"):
            subprocess.run(command.split(), check=True)
        asyncio.run(work())

    with ThreadPoolExecutor(1) as threads:
        threads.submit(run).result()


def test_network_needs_a_token() -> None:
    """From the network, only accounts that may get the path are answered; the node itself always.

    The node's own port is open too, which is where `kubectl port-forward` leads.
    """

    async def work() -> None:
        process = Process()
        async with process.serving(ADDRESS):
            for path in ("metrics", "healthz", "readyz"):
                assert (await ask(ADDRESS, path))[0] == 401
                assert (await ask(LOCAL, path))[0] == 200
            assert (await ask(ADDRESS, "metrics", "guess"))[0] == 401
            forbidden = "web may not get the nonResourceURL /metrics"
            assert await ask(ADDRESS, "metrics", "web") == (403, forbidden)
            assert (await ask(ADDRESS, "readyz", "prometheus"))[0] == 403
            assert "netclaim_attachments" in (await ask(ADDRESS, "metrics", "prometheus"))[1]

    in_own_network(work)


def test_every_address() -> None:
    """An address that stands for all of the node's is guarded as each of them would be."""

    async def work() -> None:
        async with Process().serving("0.0.0.0:9178"):
            assert (await ask(ADDRESS, "metrics"))[0] == 401
            assert (await ask(LOCAL, "metrics"))[0] == 200

    in_own_network(work)


def test_https(tmp_path: Path) -> None:
    """With a certificate, the network's address is HTTPS; a wrong one is said at the start."""
    authority = Authority()
    pair = authority.issue("driver", "192.0.2.1")
    files = {"certificate": tmp_path / "tls.crt", "key": tmp_path / "tls.key"}
    files["certificate"].write_bytes(pair.certificate)
    files["key"].write_bytes(pair.key)
    given = {name: str(path) for name, path in files.items()}

    async def work() -> None:
        async with Process().serving(ADDRESS, **given):
            tls = ssl.create_default_context(cadata=authority.certificate.decode())
            assert (await ask(ADDRESS, "metrics", "prometheus", tls=tls))[0] == 200
            assert (await ask(LOCAL, "readyz"))[0] == 200
        files["key"].write_text("no key")
        with pytest.raises(HostError, match="cannot use the certificate"):
            async with Process().serving(ADDRESS, **given):
                pass

    in_own_network(work)


def test_the_controllers_metrics() -> None:
    """Those of the controller are guarded as the driver's are."""

    async def work() -> None:
        async with watched(Controller(), Place(ADDRESS), Accounts(), SystemClock()):
            for path in ("metrics", "healthz", "readyz"):
                assert (await ask(ADDRESS, path))[0] == 401
                assert (await ask(LOCAL, path))[0] == 200
            assert (await ask(ADDRESS, "metrics", "web"))[0] == 403
            shown = (await ask(ADDRESS, "metrics", "prometheus"))[1]
            assert "netclaim_controller_leading 0.0" in shown

    in_own_network(work)
