"""The processes of one lab: start them, remember them, end them.

Everything that is started is written down before the next is started. The error of a failed
component shows the end of its own log.
"""

import os
import signal
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path

from lab.errors import BootError, UsageError
from lab.nodes.components import API_PORT, Component
from lab.nodes.linux import (
    Process,
    find_marked,
    kill_all,
    spawn,
    spawn_here,
    spawn_init,
    uninterrupted,
)
from lab.nodes.state import LabState, Running

__all__ = ["CLOSET", "RELAY", "STOP_S", "Processes", "listen"]

CLOSET = "wiring-closet"  # holds the network namespace of the bridges
RELAY = "relay"
LOG_TAIL_LINES = 12  # enough for a Go program's last words, little enough to be read
POLL_S = 0.1
STOP_S = 60.0  # a driver lets calls that are under way finish
WAIT_S = 180.0  # generous: two busy cores may stall a boot for a while; an exit shows a failure


class Processes:
    """Starts and ends what a lab runs."""

    def __init__(self, state: LabState) -> None:
        self._state = state
        self.running: Running = state.load()

    def start_init(self, name: str, init_program: Path, disk: Path | None) -> Process:
        """Start process 1 of a node, or of the closet, which has no disk; waits until it is up."""
        readable, writable = os.pipe()
        command = [sys.executable, "-m", "lab.nodes.first_process", "--name", name]
        command += ["--ready", str(writable), "--init", str(init_program)]
        command += ["--disk", str(disk)] if disk else []
        log = self._log(f"{name}/init")
        with uninterrupted(), log.open("ab") as stream:
            try:
                process = spawn_init(command, self._state.name, stream, writable)
            finally:
                os.close(writable)
            self.running.inits[name] = process
            self._state.save(self.running)
        with os.fdopen(readable, "rb") as ready:
            if ready.read() != b"ready":
                raise BootError(f"the namespaces of {name} could not be created:", _tail(log))
        return process

    def start(self, component: Component) -> Process:
        """Start a component inside its node; fine if it runs already."""
        known = self.running.components.get(component.full_name)
        if known is not None and known.alive:
            return known
        init = self.running.inits.get(component.node)
        if init is None or not init.alive:
            raise UsageError(f"node {component.node!r} is not up")
        with uninterrupted(), self._log(component.full_name).open("ab") as stream:
            process = spawn(
                init, component.command, self._state.name, stream, component.environment
            )
            self._remember(component.full_name, process)
        return process

    def start_relay(self, listening: socket.socket, node: str, address: str) -> None:
        """Relay the API server's port to the machine's loopback address."""
        command = [sys.executable, "-m", "lab.nodes.relay", "--listening", str(listening.fileno())]
        command += ["--namespace", f"/proc/{self.running.inits[node].pid}/ns/net"]
        command += ["--host", address, "--port", str(API_PORT)]
        with uninterrupted(), self._log(RELAY).open("ab") as stream:
            self._remember(RELAY, spawn_here(command, self._state.name, stream, listening.fileno()))

    def wait(self, what: Callable[[], bool], *needs: str, failure: str) -> None:
        """Wait until `what` holds, as long as the components it needs are alive."""
        deadline = time.monotonic() + WAIT_S
        while not what():
            for name in needs:
                if not self.running.components[name].alive:
                    raise BootError(f"{name} ended; last log lines:", self.tail(name))
            if time.monotonic() > deadline:
                tails = "\n".join(f"{name}:\n{self.tail(name)}" for name in needs)
                raise BootError(f"{failure} after {WAIT_S:.0f} s; last log lines:", tails)
            time.sleep(POLL_S)

    def end(self, name: str) -> None:
        """End a component and forget it."""
        process = self.running.components.pop(name, None)
        if process is not None:
            kill_all([process])
        self._state.save(self.running)

    def stop(self, name: str) -> None:
        """Ask a component to end, wait for it, and forget it."""
        process = self.running.components.get(name)
        if process is not None and process.alive:
            process.send(signal.SIGTERM)
            if not process.wait_gone(STOP_S):
                raise BootError(f"{name} did not end after SIGTERM:", self.tail(name))
        self.end(name)

    def rename(self, name: str, to: str) -> None:
        """Give a component the name of another one that is gone."""
        self.running.components[to] = self.running.components.pop(name)
        self._state.save(self.running)

    def end_node(self, node: str) -> None:
        """End a node's process 1, and with it everything inside."""
        inside = [name for name in self.running.components if name.startswith(f"{node}/")]
        ending = [self.running.components.pop(name) for name in inside]
        init = self.running.inits.pop(node, None)
        kill_all([*ending, *([init] if init else [])])  # process 1 last, see Process.wait_gone
        self._state.save(self.running)

    def end_all(self) -> None:
        """End everything of this lab, written down or not; node by node, then what is left."""
        for node in list(self.running.inits):
            self.end_node(node)
        while left := find_marked(self._state.name):  # a process may start another meanwhile
            kill_all(sorted(left, key=lambda process: process.start, reverse=True))

    def tail(self, component: str) -> str:
        """Return the last lines of a component's log."""
        return _tail(self._state.log(component))

    def _remember(self, name: str, process: Process) -> None:
        self.running.components[name] = process
        self._state.save(self.running)

    def _log(self, component: str) -> Path:
        log = self._state.log(component)
        log.parent.mkdir(parents=True, exist_ok=True)
        return log


def listen(port: int) -> socket.socket:
    """Return a listening socket on the loopback address; port 0 takes a free one."""
    listening = socket.socket()
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind(("127.0.0.1", port))
    except OSError as error:
        listening.close()
        raise UsageError(
            f"port {port} is in use on 127.0.0.1; choose another with --port, or 0 for any free one"
        ) from error
    listening.listen(128)
    return listening


def _tail(log: Path) -> str:
    if not log.exists():
        return "  (no log)"
    lines = log.read_text(errors="replace").splitlines()[-LOG_TAIL_LINES:]
    return "\n".join(f"  {line[:300]}" for line in lines)
