"""A lab as a whole: boot it, look at it, break it, remove it.

Every command may be given twice. An `up` that fails or is interrupted removes what it started;
`down` also removes what a killed `up` left behind.
"""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from lab.api import LabApi
from lab.drivers.driver import driver_component
from lab.errors import BootError, StoppedError, UsageError
from lab.images.oci import lab_images, write_images
from lab.kubectl import Kubectl
from lab.nodes import cgroups
from lab.nodes.components import Component, control_plane, node_components, node_files, write_pki
from lab.nodes.hardware import plug_cards
from lab.nodes.linux import Process, find_marked, kill_all
from lab.nodes.pki import Authority, kubeconfig
from lab.nodes.processes import CLOSET, RELAY, STOP_S, Processes, listen
from lab.nodes.state import LabState, Running
from lab.nodes.wiring import plug, set_carrier, set_up, unplug, wire_closet, wire_node
from lab.parts.binaries import CNI_PLUGINS, Binaries
from lab.progress import Progress
from lab.topology import Hardware, Link, Topology, load_topology

__all__ = ["DEFAULT_PORT", "RELEASE_VARIABLE", "Lab"]

DEFAULT_PORT = 6443  # where a Kubernetes API is expected
RELEASE_VARIABLE = "NETCLAIM_LAB_KUBERNETES"  # of the environment; for labs that do not ask for one


class Lab:
    """One lab by name. Changing commands need root and run one at a time."""

    def __init__(self, name: str, progress: Progress) -> None:
        self.state = LabState(name)
        self.progress = progress

    @property
    def binaries(self) -> Binaries:
        """The programs of the release that this lab runs."""
        return Binaries(self.progress, self.state.load().kubernetes)

    # -- up and down ---------------------------------------------------------------------------

    def up(self, topology_file: Path, port: int = DEFAULT_PORT, kubernetes: str = "") -> None:
        """Boot the topology; if it is up already, start only what does not run.

        `kubernetes` is a release that is pinned; if it is empty, the environment may name one.
        """
        require_root()
        topology = load_topology(topology_file)
        wanted = kubernetes or os.environ.get(RELEASE_VARIABLE, "")
        binaries = Binaries(self.progress, wanted)
        with self.state.alone():
            running = self.state.load()
            if running.up and all(init.alive for init in running.inits.values()):
                if wanted and binaries.kubernetes != running.kubernetes:
                    raise UsageError("the lab is up with another release; take it down first")
                self._complete(topology)
                return
            binaries.require_cluster()
            self._clean()  # what an earlier run that was killed left behind
            with listen(port) as listening, self._all_or_nothing():
                started = time.monotonic()
                self.state.directory.mkdir(parents=True)
                shutil.copyfile(topology_file, self.state.topology)
                port = listening.getsockname()[1]
                self.state.save(Running(kubernetes=binaries.kubernetes, port=port))
                self._boot(topology, port, listening)
                self.progress.note(
                    f"up in {time.monotonic() - started:.1f} s:"
                    f" export KUBECONFIG={self.state.kubeconfig}"
                )

    def down(self) -> None:
        """Remove everything: processes, namespaces, links, mounts, control groups, state."""
        require_root()
        with self.state.alone():
            self._clean()

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        try:
            yield
        except KeyboardInterrupt:
            self._clean()
            raise StoppedError("interrupted; nothing was left running") from None
        except BaseException:
            self._clean()
            raise

    def _clean(self) -> None:
        Processes(self.state).end_all()
        cgroups.remove(self.state.cgroup)
        self.state.remove()

    def leftovers(self) -> list[str]:
        """Return what is still there of this lab; empty after `down`."""
        found = [f"process {process.pid}" for process in find_marked(self.state.name)]
        found += [f"control group {path}" for path in cgroups.remaining(self.state.cgroup)]
        return found + ([f"directory {self.state.directory}"] if self.state.exists else [])

    # -- booting -------------------------------------------------------------------------------

    def _boot(self, topology: Topology, port: int, listening: socket.socket) -> None:
        processes = Processes(self.state)
        with self.progress.step("certificates, configuration and images"):
            write_pki(Authority(self.state.pki), topology)
            server = f"https://127.0.0.1:{port}"
            self.state.kubeconfig.touch(mode=0o600)
            self.state.kubeconfig.write_text(
                kubeconfig(self.state.pki, "admin", server, f"netclaim-{self.state.name}")
            )
            images = lab_images(self.binaries.path("busybox"), self.binaries.path("pause"))
            write_images(images, self.state.images)
            for node in topology.nodes:
                self._write_disk(topology, node)
        with self.progress.step(f"{len(topology.nodes)} nodes: namespaces and links"):
            closet = processes.start_init(CLOSET, self.binaries.path("pause"), None)
            wire_closet(closet, topology)
            for node in topology.nodes:
                self._power_on(processes, topology, node)
        processes.start_relay(
            listening, topology.control_plane, topology.address(topology.control_plane)
        )
        self._start_components(processes, topology, topology.nodes)
        processes.running.up = True
        self.state.save(processes.running)

    def _write_disk(self, topology: Topology, node: str) -> None:
        disk = self.state.disk(node)
        for directory in ("var/lib", "var/log", "var/tmp", "opt/cni/bin"):
            (disk / directory).mkdir(parents=True)
        (disk / "var/run").symlink_to("/run")
        files = node_files(topology, node, self.state.pki, self.binaries.release)
        for path, text in files.items():
            file = disk / path.lstrip("/")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.touch(mode=0o600 if file.suffix in (".key", ".conf") else 0o644)
            file.write_text(text)
        for plugin in self.binaries.path(CNI_PLUGINS).iterdir():
            (disk / "opt/cni/bin" / plugin.name).symlink_to(plugin)

    def _power_on(self, processes: Processes, topology: Topology, node: str) -> None:
        cgroups.make(self.state.cgroup, node)
        init = processes.start_init(node, self.binaries.path("pause"), self.state.disk(node))
        wire_node(processes.running.inits[CLOSET], init, topology, node)
        plug_cards(init, topology.all_links(node))

    def _components(self, topology: Topology) -> list[Component]:
        components = control_plane(topology, self.binaries)
        drivers = self.state.load().drivers.values()
        for node in topology.nodes:
            cgroup = f"/{self.state.cgroup}/{node}"
            components += node_components(topology, node, cgroup, self.binaries)
            components += [driver_component(record, node) for record in drivers]
        return components

    def _start_components(
        self, processes: Processes, topology: Topology, nodes: Sequence[str]
    ) -> None:
        """Start what belongs on `nodes`, each as soon as what it needs is there."""
        wanted = [c for c in self._components(topology) if c.node in nodes]
        api = LabApi(processes.running.port, self.state.pki)
        early = [c for c in wanted if c.name in ("etcd", "kube-apiserver", "containerd")]
        for component in early:
            processes.start(component)
        with self.progress.step("container runtimes and images") as step:
            for node in nodes:
                step.waits_for(f"containerd on {node}")
                self._wait_containerd(processes, node)
            with ThreadPoolExecutor() as pool:
                list(pool.map(self._load_lab_images, nodes))
        with self.progress.step("control plane") as step:
            step.waits_for("the API server's /readyz")
            server = f"{topology.control_plane}/kube-apiserver"
            etcd = f"{topology.control_plane}/etcd"
            processes.wait(api.ready, server, etcd, failure="the API server is not ready")
        for component in wanted:
            if component not in early:
                processes.start(component)
        self._wait_ready(processes, api, nodes)

    def _wait_containerd(self, processes: Processes, node: str) -> None:
        socket_path = self.root(node) / "run/containerd/containerd.sock"
        processes.wait(
            socket_path.exists, f"{node}/containerd", failure=f"containerd on {node} has no socket"
        )

    def _wait_ready(self, processes: Processes, api: LabApi, nodes: Sequence[str]) -> None:
        boots = {node: self._boot_id(node) for node in nodes}
        with self.progress.step(f"{len(nodes)} nodes Ready") as step:

            def ready() -> bool:
                states = api.nodes()
                missing = [n for n in nodes if not states.get(n) or api.node_boot_id(n) != boots[n]]
                step.waits_for(", ".join(missing))
                return not missing and api.takes_pods()

            kubelets = [f"{node}/kubelet" for node in nodes]
            processes.wait(ready, *kubelets, failure="not every node is Ready")

    def _boot_id(self, node: str) -> str:
        """Return the boot id that kubelet will report; it makes this boot's Ready recognizable."""
        return (self.root(node) / "proc/sys/kernel/random/boot_id").read_text().strip()

    def root(self, node: str) -> Path:
        """Return a running node's root directory, as it is seen from outside."""
        return Path(f"/proc/{self.state.load().inits[node].pid}/root")

    @property
    def python(self) -> str:
        """The interpreter that drivers run with; it is there on every node."""
        return sys.executable

    def kubectl(self, namespace: str = "") -> Kubectl:
        """Return kubectl with the admin's rights."""
        binaries = self.binaries
        version = binaries.release.resource_version
        return Kubectl(binaries.path("kubectl"), self.state.kubeconfig, namespace, version)

    # -- while it runs -------------------------------------------------------------------------

    def _complete(self, topology: Topology) -> None:
        if topology != load_topology(self.state.topology):
            raise UsageError(
                f"the lab {self.state.name!r} is up with another topology; take it down first"
            )
        processes = Processes(self.state)
        dead = [
            c for c in self._components(topology)
            if not processes.running.components[c.full_name].alive
        ]  # fmt: skip
        for component in dead:
            processes.start(component)
        api = LabApi(processes.running.port, self.state.pki)
        self._wait_ready(processes, api, topology.nodes)
        self.progress.note(f"already up: export KUBECONFIG={self.state.kubeconfig}")

    def require_up(self) -> Topology:
        """Return the topology of the running lab."""
        if not self.state.load().up:
            raise UsageError(f"the lab {self.state.name!r} is not up; run `make lab-up` first")
        return load_topology(self.state.topology)

    def reboot(self, node: str) -> None:
        """Cut a node's power and switch it on again: processes, /run and namespaces are lost."""
        topology = self._topology_with(node)
        with self.state.alone():
            processes = Processes(self.state)
            processes.end_node(node)
            cgroups.remove(self.state.cgroup, node)
            self._power_on(processes, topology, node)
            if node == topology.control_plane:
                processes.end(RELAY)
                with listen(processes.running.port) as listening:
                    processes.start_relay(listening, node, topology.address(node))
            self._start_components(processes, topology, [node])

    def power_off(self, node: str) -> None:
        """Cut a node's power, for good unless it is rebooted."""
        self._topology_with(node)
        with self.state.alone():
            Processes(self.state).end_node(node)
            cgroups.remove(self.state.cgroup, node)

    def _topology_with(self, node: str) -> Topology:
        require_root()
        topology = self.require_up()
        if node not in topology.nodes:
            raise UsageError(f"unknown node {node!r}; the nodes are {', '.join(topology.nodes)}")
        return topology

    def component(self, name: str) -> Component:
        """Return a component by NODE/NAME, or by NAME alone where only one node has it."""
        topology = self.require_up()
        known = self._components(topology)
        found = [c for c in known if name in (c.full_name, c.name, c.name.removeprefix("kube-"))]
        if len(found) != 1:
            why = "is on several nodes" if found else "is unknown"
            names = ", ".join(c.full_name for c in (found or known))
            raise UsageError(f"component {name!r} {why}; name one of {names}")
        return found[0]

    def kill(self, name: str) -> None:
        """End a component by SIGKILL and leave it dead."""
        process = self._process(name)
        with self.state.alone():
            kill_all([process, *process.children])

    def stop(self, name: str) -> None:
        """Ask a component to end by SIGTERM, wait for it, and leave it dead."""
        process = self._process(name)
        with self.state.alone():
            process.send(signal.SIGTERM)
            if not process.wait_gone(STOP_S):
                tail = Processes(self.state).tail(self.component(name).full_name)
                raise BootError(f"{name} did not end after SIGTERM:", tail)

    def pause(self, name: str) -> None:
        """Freeze a component by SIGSTOP: it exists and does not answer."""
        process = self._process(name)
        for each in (process, *process.children):
            each.send(signal.SIGSTOP)

    def resume(self, name: str) -> None:
        """Let a paused component go on; harmless if it was not paused."""
        process = self._process(name)
        for each in (*process.children, process):
            each.send(signal.SIGCONT)

    def kept_process(self, name: str) -> Process | None:
        """Return the process that a driver's keeper runs; None while there is none."""
        return next(iter(self._process(name).children), None)

    def _process(self, name: str) -> Process:
        require_root()
        return self.state.load().components[self.component(name).full_name]

    def restart(self, name: str) -> None:
        """End a component and start it again."""
        self.kill(name)
        component = self.component(name)
        with self.state.alone():
            Processes(self.state).start(component)

    def plug(
        self, node: str, link: str, network: str = "", hardware: Hardware | None = None
    ) -> None:
        """Give a node one more link, on a network of the topology or on the last one.

        With `hardware`, it looks like a card, the only one on its PCIe root.
        """
        topology = self._topology_with(node)
        by_name = {each.name: each for each in topology.networks}
        if network and network not in by_name:
            raise UsageError(f"unknown network {network!r}; the networks are {', '.join(by_name)}")
        inits = self.state.load().inits
        plug(inits[CLOSET], inits[node], by_name.get(network, topology.networks[-1]), link)
        plug_cards(inits[node], [Link(node, link, hardware=hardware)])
        set_up(inits[node], link)  # last: the change makes drivers look at it as it is now

    def unplug(self, node: str, link: str) -> None:
        """Pull a link out of a node."""
        self._topology_with(node)
        unplug(self.state.load().inits[node], link)

    def set_carrier(self, node: str, link: str, *, on: bool) -> None:
        """Give a node's link a carrier, or take it away, as a cable that is pulled would."""
        self._topology_with(node)
        inits = self.state.load().inits
        set_carrier(inits[CLOSET], inits[node], link, on=on)

    def enter_command(self, node: str, command: Sequence[str]) -> list[str]:
        """Return the command line that runs `command` inside a node."""
        self._topology_with(node)
        init = self.state.load().inits[node]
        return ["nsenter", "-t", str(init.pid), "-m", "-n", "-u", "-p", "--wd=/", "--", *command]

    def load_image(self, image: BinaryIO, nodes: Sequence[str]) -> None:
        """Import an OCI tar into the nodes' containerd."""
        content = image.read()
        with ThreadPoolExecutor() as pool:
            list(pool.map(lambda node: self._import(node, content), nodes))

    def _load_lab_images(self, node: str) -> None:
        self._import(node, self.state.images.read_bytes())

    def _import(self, node: str, content: bytes) -> None:
        init = self.state.load().inits[node]
        command = ["nsenter", "-t", str(init.pid), "-m", "-n", "-p", "--wd=/", "--"]
        command += [str(self.binaries.path("ctr")), "-n", "k8s.io", "images", "import", "-"]
        done = subprocess.run(command, input=content, capture_output=True, check=False)
        if done.returncode != 0:
            raise BootError(f"{node} did not accept the image:", done.stderr.decode().strip())


def require_root() -> None:
    """Raise UsageError unless we are root, who alone has namespaces, mounts and control groups."""
    if os.geteuid() != 0:
        raise UsageError("the lab needs root: run it with sudo")
