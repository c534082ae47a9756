"""The process above the driver that outlives it: netclaim-keeper, and this process's side of it.

The program is compiled from native/keeper/ into this directory; native/keeper/netclaim-keeper.c
lists the messages. It holds listening sockets while the driver is between two lives, so that
callers queue, and relays kubelet's connections, so that a call under way is made again to the next
life.

Promise: without a keeper everything works as if there were none. A socket whose path leads to
somebody else meanwhile is not taken over. Limit: one socket at a time is relayed.
"""

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from netclaim.errors import HostError
from netclaim.unix_socket import BoundSocket, inode_of

__all__ = ["NO_KEEPER", "Keeper", "KeptSocket", "program_path"]

PROGRAM: Final = "netclaim-keeper"
VARIABLE: Final = "NETCLAIM_KEEPER"  # the number of the file descriptor
MESSAGE_MAX: Final = 512  # bytes, as the program has it
INHERIT_S: Final = 10.0  # the keeper sends what it has before the driver starts
ALIVE_S: Final = 2.0  # the keeper kills a driver that is silent for 20 s


def program_path() -> Path:
    """Return the program that this package contains."""
    path = Path(__file__).with_name(PROGRAM)
    if not path.is_file():
        raise HostError(f"{path} is missing; `make native` compiles it, and wheels contain it")
    return path


@dataclass(frozen=True, slots=True)
class KeptSocket:
    """A listening socket, which outlives this process if there is a keeper."""

    keeper: "Keeper"
    name: str
    bound: BoundSocket
    inherited: bool  # from the life before

    def end(self, *, failed: bool) -> None:
        """Remove the path. A process that failed leaves it, and its callers, to the next life.

        The listener is for the caller to close.
        """
        if failed and self.keeper.has_next_life:
            self.keeper.send("hold", self.name)
        else:
            self.bound.unlink()
            self.keeper.send("drop", self.name)


class Keeper:
    """The keeper of this process, or none."""

    def __init__(self, channel: socket.socket | None = None) -> None:
        self._channel = channel
        self._kept: dict[str, tuple[str, socket.socket]] = {}
        self.note = ""  # what the last life left
        self.stopping = False  # we were told to end, and there is no next life

    @classmethod
    def from_environment(cls) -> Self:
        """Return the keeper that started this process; one that is not there, if none did."""
        number = os.environ.pop(VARIABLE, "")  # what we start has no keeper
        if not number.isdigit():
            return cls()
        os.set_inheritable(int(number), False)
        keeper = cls(socket.socket(fileno=int(number)))
        try:
            keeper._inherit()
        except OSError as error:
            raise HostError(f"{PROGRAM} does not answer: {error}") from error
        return keeper

    @property
    def present(self) -> bool:
        return self._channel is not None

    @property
    def has_next_life(self) -> bool:
        """Whether another process follows when this one ends now."""
        return self.present and not self.stopping

    def listen(self, name: str, path: Path, bind: Callable[[Path], BoundSocket]) -> KeptSocket:
        """Return the last life's socket, if the path still leads to it, or else bind a new one."""
        inode, listener = self._kept.pop(name, ("", None))
        if listener is not None:
            try:
                found = inode_of(path)
            except FileNotFoundError:
                found = (0, 0)
            if inode == _text(found):
                return KeptSocket(self, name, BoundSocket(listener, path, found), inherited=True)
            self.send("drop", name)  # its callers try again, at what is there now
            listener.close()
        bound = bind(path)
        self.send("keep", f"{name} {_text(bound.inode)}", bound.listener)
        return KeptSocket(self, name, bound, inherited=False)

    async def connections(self, name: str) -> AsyncIterator[socket.socket]:
        """Have a kept socket relayed to this process; yields the connections to serve."""
        assert self._channel is not None, "there is a keeper"
        readable, loop = asyncio.Event(), asyncio.get_running_loop()
        loop.add_reader(self._channel.fileno(), readable.set)
        try:
            self.send("relay", name)
            while True:
                await readable.wait()
                readable.clear()
                for connection in self._received():
                    yield connection
        finally:
            loop.remove_reader(self._channel.fileno())

    def write_note(self, text: str) -> None:
        """Leave a word to the next life, if there can be one."""
        if self.present:
            self.note = text
            self.send("note", text)

    async def stay_known(self, sleep: Callable[[float], Awaitable[None]]) -> None:
        """Say again and again that this process's event loop runs."""
        while self.present:
            self.send("alive")
            await sleep(ALIVE_S)

    def send(self, verb: str, rest: str = "", attached: socket.socket | None = None) -> None:
        if self._channel is None:
            return
        message = f"{verb} {rest}".encode()
        assert len(message) < MESSAGE_MAX, "names and notes are ours, and short"
        fds = [attached.fileno()] if attached is not None else []
        try:
            socket.send_fds(self._channel, [message], fds)
        except OSError as error:
            raise HostError(f"{PROGRAM} does not answer: {error.strerror}") from error

    def _inherit(self) -> None:
        assert self._channel is not None, "called with a channel"
        self._channel.settimeout(INHERIT_S)
        while True:
            verb, words, fds = _receive(self._channel)
            if verb == "kept" and fds:
                self._kept[words[0]] = (words[1], socket.socket(fileno=fds[0]))
            elif verb == "begin":
                self.note = words[0]
                break
        self._channel.setblocking(False)

    def _received(self) -> list[socket.socket]:
        assert self._channel is not None, "called with a channel"
        found: list[socket.socket] = []
        while True:
            try:
                _, _, fds = _receive(self._channel)
            except BlockingIOError:
                return found
            except OSError as error:
                raise HostError(f"{PROGRAM} does not answer: {error}") from error
            found += [socket.socket(fileno=fd) for fd in fds]


NO_KEEPER: Final = Keeper()


def _receive(channel: socket.socket) -> tuple[str, list[str], list[int]]:
    """Receive a message: its verb, two more words, and what came with it."""
    message, fds, _, _ = socket.recv_fds(channel, MESSAGE_MAX, 1)
    if not message:
        raise ConnectionResetError("it has ended")
    verb, _, rest = message.decode().partition(" ")
    for fd in fds:
        os.set_inheritable(fd, False)
    return verb, [*rest.split(" ", 1), ""], fds


def _text(inode: tuple[int, int]) -> str:
    return f"{inode[0]}:{inode[1]}"
