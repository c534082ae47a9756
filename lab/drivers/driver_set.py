"""Drivers of a running lab, as a DaemonSet would have them: one process on every node."""

import secrets
from collections.abc import Mapping, Sequence
from functools import partial

import msgspec

from lab.cluster import Lab, require_root
from lab.drivers.driver import driver_component, give_credentials, grant, is_ready
from lab.errors import UsageError
from lab.nodes.processes import Processes
from lab.nodes.state import DriverRecord

__all__ = ["DriverSet"]

TAKEN_OVER = '"event":"seat.taken"'  # what a driver logs when it begins to work
FIRST_PORT = 9178  # inside a node; each further driver takes the next


class DriverSet:
    """Starts and ends drivers. Every call may be given twice."""

    def __init__(self, lab: Lab) -> None:
        self._lab = lab
        self._state = lab.state

    def up(self, driver: DriverRecord) -> None:
        """Run a driver on every node and wait until kubelet and the runtime have it."""
        require_root()
        topology = self._lab.require_up()
        with self._state.alone():
            processes = Processes(self._state)
            record = _with_port(driver, processes.running.drivers)
            other = processes.running.drivers.get(record.name)
            if other is not None and other.command != record.command:
                raise UsageError(
                    f"the driver {record.name} is up with other options; run `driver down` first"
                )
            kubectl = self._lab.kubectl()
            grant(kubectl, [*processes.running.drivers, record.name])
            processes.running.drivers[record.name] = record
            for node in topology.nodes:
                give_credentials(kubectl, node, self._lab.root(node))
                processes.start(driver_component(record, node))
            self._wait_ready(processes, record, topology.nodes)

    def down(self, name: str) -> None:
        """End a driver on every node and forget it; harmless if there is none."""
        require_root()
        topology = self._lab.require_up()
        with self._state.alone():
            processes = Processes(self._state)
            record = processes.running.drivers.pop(name, None)
            if record is not None:
                for node in topology.nodes:
                    processes.stop(f"{node}/{record.component}")

    def roll(self, name: str, *nodes: str) -> None:
        """Replace a driver's processes as a rolling update does: the next one starts first."""
        require_root()
        topology = self._lab.require_up()
        if not self._lab.binaries.release.rolls_drivers:
            raise UsageError(
                "kubelet knows two processes of a driver from Kubernetes 1.33 on; use `restart`"
            )
        with self._state.alone():
            processes = Processes(self._state)
            record = processes.running.drivers.get(name)
            if record is None:
                raise UsageError(f"no driver {name} is up")
            for node in nodes or topology.nodes:
                following = driver_component(record, node, secrets.token_hex(4))
                log = self._state.log(following.full_name)
                before = log.read_text().count(TAKEN_OVER) if log.exists() else 0
                processes.start(following)
                processes.wait(
                    lambda log=log, before=before: log.read_text().count(TAKEN_OVER) > before,  # type: ignore[misc]
                    following.full_name,
                    failure=f"the next driver on {node} did not take over",
                )
                processes.stop(f"{node}/{record.component}")
                processes.rename(following.full_name, f"{node}/{record.component}")
            self._wait_ready(processes, record, nodes or topology.nodes)

    def wait_ready(self, name: str, *nodes: str) -> None:
        """Wait until the driver is in place on these nodes, as after a restart."""
        processes = Processes(self._state)
        self._wait_ready(processes, processes.running.drivers[name], nodes)

    def _wait_ready(self, processes: Processes, record: DriverRecord, nodes: Sequence[str]) -> None:
        with self._lab.progress.step(f"driver {record.name} on {len(nodes)} nodes") as step:
            for node in nodes:
                step.waits_for(node)
                processes.wait(
                    partial(is_ready, processes.running.inits[node], record),
                    f"{node}/{record.component}",
                    failure=f"the driver on {node} is not ready",
                )


def _with_port(driver: DriverRecord, others: Mapping[str, DriverRecord]) -> DriverRecord:
    if driver.name in others:
        port = others[driver.name].port
    else:
        port = max((record.port for record in others.values()), default=FIRST_PORT - 1) + 1
    return msgspec.structs.replace(driver, port=port)
