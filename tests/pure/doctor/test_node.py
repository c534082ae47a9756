"""What the doctor finds on a node: one that is put together of real sockets and files."""

import json
import shutil
import socket
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from grpclib.const import Cardinality, Handler
from grpclib.server import Server, Stream

from netclaim.chained import program_path
from netclaim.chained.conflist import with_plugin
from netclaim.cri import runtime_pb2 as pb
from netclaim.cri.client import SERVICE
from netclaim.doctor.examine import run_checks
from netclaim.doctor.finding import Check, Finding, Outcome
from netclaim.doctor.node import cni, driver, kubelet, runtime
from netclaim.doctor.node.network_types import types_in
from netclaim.doctor.node.sight import NodeSight, seconds_of
from netclaim.framework.journal.journal import open_journal
from netclaim.framework.journal.store import SCHEMA_VERSION
from netclaim.framework.process.http import Place, http_serving
from netclaim.framework.process.http_access import HttpAccess
from netclaim.framework.settings.fields import Settings
from netclaim.framework.telemetry.metrics import Metrics
from netclaim.framework.tools.clock import SystemClock
from tests.support.framework.accounts import Accounts
from tests.support.framework.parts import BOOT, booking_of, claim_of, lease_of
from tests.support.kubelet_parts import DRIVER, Answering, kubelet_directory, leave_behind, served

PRIMARY = {
    "cniVersion": "1.0.0",
    "name": "pods",
    "plugins": [{"type": "ptp", "ipam": {"type": "host-local"}}],
}


class Runtime:
    """What a container runtime says of itself."""

    def __init__(self) -> None:
        self.version = "v2.3.4"
        self.network_ready = True
        self.config: dict[str, Any] = {}

    def __mapping__(self) -> dict[str, Handler]:
        unary = Cardinality.UNARY_UNARY
        return {
            f"{SERVICE}/Version": Handler(
                self._version, unary, pb.VersionRequest, pb.VersionResponse
            ),
            f"{SERVICE}/Status": Handler(self._status, unary, pb.StatusRequest, pb.StatusResponse),
        }

    async def _version(self, stream: Stream[Any, Any]) -> None:
        await stream.recv_message()
        await stream.send_message(
            pb.VersionResponse(runtime_name="containerd", runtime_version=self.version)
        )

    async def _status(self, stream: Stream[Any, Any]) -> None:
        await stream.recv_message()
        ready = pb.RuntimeCondition(
            type="NetworkReady", status=self.network_ready, reason="Why", message="because"
        )
        info = {"config": json.dumps(self.config)}
        status = pb.RuntimeStatus(conditions=[ready])
        await stream.send_message(pb.StatusResponse(status=status, info=info))


class Site:
    """A node whose driver is healthy, and what to break of it."""

    def __init__(self, root: Path, address: str) -> None:
        self.root = root
        self.runtime = Runtime()
        self.not_ready = ""
        self.unhealthy = ""
        self.sight = NodeSight(
            Settings(
                node_name="n",
                state_dir=root / "s",
                kubelet_dir=root,
                run_dir=root / "r",
                cni_conf_dir=root / "net.d",
                cni_program_dir=root / "bin",
                nri_socket=root / "nri.sock",
                runtime_socket=root / "cri.sock",
                cdi_dir=root / "cdi",
                http_address=address,
            ),
            DRIVER,
            root / "leases",
            (root / "bin",),
            containerd_config=root / "config.toml",
            crio_config=root / "crio.conf",
        )
        self.conflist = root / "net.d/10-pods.conflist"
        self.nri = socket.socket(socket.AF_UNIX)

    def lay_out(self) -> None:
        """Make the files."""
        for name in ("net.d", "bin", "cdi", f"r/{DRIVER}", f"s/{DRIVER}"):
            (self.root / name).mkdir(parents=True)
        self.conflist.write_text(with_plugin(json.dumps(PRIMARY), self.sight.places.entry(DRIVER)))
        shutil.copy(program_path(), self.root / "bin")
        for name in ("ptp", "host-local"):
            shutil.copy(program_path(), self.root / "bin" / name)
        self.nri.bind(str(self.sight.settings.nri_socket))
        self.nri.listen()

    async def look(self, check: Check[NodeSight]) -> Finding:
        """What a check finds now."""
        (result,) = await run_checks("node", (check,), self.sight)
        return result.finding


@asynccontextmanager
async def node_site() -> AsyncIterator[Site]:
    """A node with a kubelet directory, a driver, a runtime and its files."""
    with kubelet_directory() as root, socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
        free.close()
        site = Site(root, address)
        site.lay_out()
        async with AsyncExitStack() as stack:
            clock = SystemClock()
            await stack.enter_async_context(
                http_serving(
                    Place(address),
                    Metrics(DRIVER, clock),
                    lambda: site.not_ready,
                    unhealthy=lambda: site.unhealthy,
                    refresh=lambda: None,
                    access=HttpAccess(Accounts(), clock),
                    clock=clock,
                )
            )
            await stack.enter_async_context(served(Answering(), root=root))
            attach = stack.enter_context(socket.socket(socket.AF_UNIX))
            attach.bind(str(site.sight.places.socket))
            attach.listen()
            server = Server([site.runtime])
            await server.start(path=str(site.sight.settings.runtime_socket))
            stack.callback(server.close)
            with site.nri:
                yield site


HEALTHY: tuple[Check[NodeSight], ...] = (
    driver.driver_live,
    driver.driver_ready,
    driver.driver_socket,
    driver.state_disk,
    kubelet.kubelet_dirs,
    kubelet.registered,
    kubelet.kubelet_state,
    runtime.runtime,
    runtime.runtime_network,
    runtime.nri_socket,
    runtime.cdi_dirs,
    cni.cni_list,
    cni.cni_program,
    cni.cni_programs,
    cni.claim_programs,
)


async def test_healthy_node() -> None:
    """On a healthy node everything is ok."""
    async with node_site() as site:
        for check in HEALTHY:
            finding = await site.look(check)
            assert finding.outcome is Outcome.OK, f"{check.id}: {finding.found}"
        assert (await site.look(driver.journal)).outcome is Outcome.SKIPPED


def edited(change: Callable[[list[Any]], list[Any]]) -> Callable[[Site], None]:
    """Change the plugins of the primary network's list."""

    def edit(site: Site) -> None:
        network = json.loads(site.conflist.read_text())
        site.conflist.write_text(json.dumps({**network, "plugins": change(network["plugins"])}))

    return edit


def set_to(name: str, value: Any) -> Callable[[Site], None]:
    """Change what the driver says of itself."""
    return lambda site: setattr(site, name, value)


def runtime_says(name: str, value: Any) -> Callable[[Site], None]:
    """Change what the runtime says of itself."""
    return lambda site: setattr(site.runtime, name, value)


def gone(name: str) -> Callable[[Site], None]:
    """Remove a file."""
    return lambda site: (site.root / name).unlink()


def written(name: str, text: str) -> Callable[[Site], None]:
    """Write a file."""

    def write(site: Site) -> None:
        (site.root / name).write_text(text)

    return write


def nri_left_behind(site: Site) -> None:
    """A runtime that was killed leaves its socket."""
    site.nri.close()


def registration_left_behind(site: Site) -> None:
    """Nobody listens on the registration socket any more."""
    path = site.root / f"plugins_registry/{DRIVER}-reg.sock"
    path.unlink()
    leave_behind(path)


def linked_elsewhere(site: Site) -> None:
    """A program is a symbolic link to what is not to be seen here."""
    (site.root / "bin/ptp").unlink()
    (site.root / "bin/ptp").symlink_to("/nowhere/ptp")


def linked_elsewhere_in_pod(site: Site) -> None:
    """The same, looked at from the driver's container."""
    linked_elsewhere(site)
    site.sight = replace(site.sight, in_pod=True)


def only_nri(site: Site) -> None:
    """The driver runs with --runtime-hook=nri, and the runtime has CDI off."""
    settings = replace(site.sight.settings, runtime_hook="nri")
    site.sight = replace(site.sight, settings=settings)
    site.runtime.config = {"enableCDI": False}


NRI = '[plugins."io.containerd.nri.v1.nri"]\n'


@pytest.mark.parametrize(
    ("break_it", "check", "outcome", "words"),
    [
        (set_to("unhealthy", "the loop hangs"), driver.driver_live, "error", "the loop hangs"),
        (set_to("not_ready", "NRI is not connected"), driver.driver_ready, "error",
         "NRI is not connected"),
        (lambda site: site.sight.places.socket.unlink(), driver.driver_socket, "error",
         "does not exist"),
        (registration_left_behind, kubelet.registered, "error", "no driver"),
        (gone(f"plugins/{DRIVER}/dra.sock"), kubelet.registered, "error", "nobody listens"),
        (written("dra_manager_state", "{"), kubelet.kubelet_state, "warning",
         "cannot be read"),
        (runtime_says("version", "1.7.2"), runtime.runtime, "warning", "NRI off by default"),
        (gone("cri.sock"), runtime.runtime, "error", "no socket"),
        (runtime_says("network_ready", False), runtime.runtime_network, "error",
         "Why: because"),
        (gone("nri.sock"), runtime.nri_socket, "error", "does not exist"),
        (nri_left_behind, runtime.nri_socket, "error", "nobody listens"),
        (written("config.toml", f"{NRI}disable = true\n"), runtime.nri_config, "error",
         "switches NRI off"),
        (written("config.toml", f'{NRI}plugin_request_timeout = "500ms"\n'),
         runtime.nri_config, "warning", "waits 500ms"),
        (written("config.toml", "nonsense"), runtime.nri_config, "unknown", "config.toml"),
        (written("config.toml", "version = 3\n"), runtime.nri_config, "ok", "waits 2s"),
        (runtime_says("config", {"cdiSpecDirs": ["/etc/cdi"]}), runtime.cdi_dirs, "error",
         "the runtime reads /etc/cdi, and not"),
        (only_nri, runtime.cdi_dirs, "error", "CDI switched off"),
        (only_nri, cni.cni_list, "skipped", "--runtime-hook=nri"),
        (gone("net.d/10-pods.conflist"), cni.cni_list, "error", "no network configuration"),
        (edited(lambda plugins: plugins[:1]), cni.cni_list, "error", "does not list"),
        (edited(lambda plugins: [*plugins, {"type": "tuning"}]), cni.cni_list, "warning",
         "has tuning behind netclaim-attach"),
        (edited(lambda plugins: [plugins[0], {**plugins[1], "socket": "/other"}]),
         cni.cni_list, "warning", "is not the one that this version writes"),
        (written("net.d/00-one.conf", '{"type": "ptp"}'), cni.cni_list, "error",
         "is a single plugin"),
        (runtime_says("config", {"cni": {"confDir": "/etc/other"}}), cni.cni_list, "error",
         "the runtime reads /etc/other"),
        (gone("bin/netclaim-attach"), cni.cni_program, "error", "is missing"),
        (lambda site: (site.root / "bin/netclaim-attach").chmod(0o600), cni.cni_program,
         "error", "not executable"),
        (written("bin/netclaim-attach", "old"), cni.cni_program, "warning",
         "of another version"),
        (gone("bin/host-local"), cni.cni_programs, "error", "names host-local"),
        (linked_elsewhere, cni.cni_programs, "error", "names ptp"),
        (linked_elsewhere_in_pod, cni.cni_programs, "ok", "host-local, ptp"),
    ],
)  # fmt: skip
async def test_findings(
    break_it: Callable[[Site], Any], check: Check[NodeSight], outcome: str, words: str
) -> None:
    """What is broken is found, in words, with what to do."""
    async with node_site() as site:
        break_it(site)
        finding = await site.look(check)
    assert (str(finding.outcome), words in finding.found) == (outcome, True), finding
    assert bool(finding.remedy) == (outcome not in ("ok", "skipped"))


async def test_journal(monkeypatch: pytest.MonkeyPatch) -> None:
    """The journal is counted while its driver has it open; what stays to be undone is a warning."""
    monkeypatch.setattr(driver, "UNDO_S", 0.0)
    async with node_site() as site, open_journal(site.sight.journal, BOOT) as journal:
        await journal.put_booking(booking_of(claim_of()))
        await journal.put_leases([lease_of("red", "s1")])
        finding = await site.look(driver.journal)
        assert (finding.outcome, finding.found) == (Outcome.OK, "1 claim, 1 attachment")
        await journal.put_leases([lease_of("red", "s2", "detaching")])
        finding = await site.look(driver.journal)
        assert finding.outcome is Outcome.WARNING
        assert "1 attachment could not be undone" in finding.found


async def test_journal_that_cannot_be_used() -> None:
    """A damaged journal and one of another schema are errors that say what to do."""
    async with node_site() as site:
        site.sight.journal.write_bytes(b"this is no database, it is only a text" * 100)
        finding = await site.look(driver.journal)
        assert finding.outcome is Outcome.ERROR
        assert "move the file away" in finding.remedy
        site.sight.journal.unlink()
        async with open_journal(site.sight.journal, BOOT):
            pass
        with sqlite3.connect(site.sight.journal) as database:
            database.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
        database.close()
        finding = await site.look(driver.journal)
        assert f"has schema {SCHEMA_VERSION + 1}" in finding.found


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("2s", 2.0), ("1m30s", 90.0), ("500ms", 0.5), ("2", None), ("", None), ("2s!", None)],
)
def test_durations(text: str, seconds: float | None) -> None:
    """Durations are read as Go writes them."""
    assert seconds_of(text) == seconds


def test_a_network_that_cannot_be_read_names_no_types() -> None:
    """A claim's author may write a string that no decoder follows."""
    assert list(types_in("[" * 5000 + "]" * 5000)) == []
    assert list(types_in('{"type": "macvlan"}')) == ["macvlan"]
