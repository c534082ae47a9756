"""The process above the driver that outlives it: netclaim-keeper, and this process's side of it.

The program is compiled from native/keeper/ into this directory; native/keeper/netclaim-keeper.c
lists the messages. It holds listening sockets while the driver is between two lives, so that
callers queue, and relays kubelet's connections, so that a call under way is made again to the next
life. Calls that cannot wait for so long get an answer that was prepared.

Promise: without a keeper everything works as if there were none. A socket whose path leads to
somebody else meanwhile is not taken over.
"""

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from hpack import Encoder

from netclaim.errors import HostError
from netclaim.unix_socket import BoundSocket, inode_of

__all__ = ["NO_KEEPER", "Keeper", "KeptSocket", "program_path"]

PROGRAM: Final = "netclaim-keeper"
VARIABLE: Final = "NETCLAIM_KEEPER"  # the number of the file descriptor
MESSAGE_MAX: Final = 1024  # bytes, as the program has it
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
        self._calls: dict[str, asyncio.Queue[socket.socket | HostError]] = {}
        self.note = ""  # what the last life left
        self.stopping = False  # we were asked to end, and there is no next life

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

    @contextmanager
    def relayed(self, name: str) -> Iterator[AsyncIterator[socket.socket]]:
        """Have a kept socket relayed to this process; yields the connections to serve.

        When this is entered, its callers are the keeper's, whatever becomes of this process.
        """
        assert self._channel is not None, "there is a keeper"
        loop, number = asyncio.get_running_loop(), self._channel.fileno()
        calls = self._calls[name] = asyncio.Queue()
        loop.add_reader(number, self._pass_on, self._channel)  # for another name: the same again
        try:
            self.send("relay", name)
            yield _each(calls)
        finally:
            del self._calls[name]
            if not self._calls:
                loop.remove_reader(number)
            while not calls.empty():
                if isinstance(call := calls.get_nowait(), socket.socket):
                    call.close()

    def answer(self, name: str, path: str, message: bytes) -> None:
        """Have a gRPC call of a relayed socket answered so while no process serves it.

        A second answer to a call replaces the first. They are forgotten with the socket, or by
        `silence`.
        """
        # As a string of HPACK; what is before it stands for the name ":path".
        encoded = Encoder().encode([(":path", path)])[1:]
        body = b"\0" + len(message).to_bytes(4, "big") + message  # not compressed, and how long
        self._send(f"answer {name} ".encode() + bytes([len(encoded)]) + encoded + body)

    def silence(self, name: str) -> None:
        """Have no call of a socket answered any more while no process serves it."""
        self.send("silence", name)

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
        self._send(f"{verb} {rest}".encode(), attached)

    def _send(self, message: bytes, attached: socket.socket | None = None) -> None:
        if self._channel is None:
            return
        assert len(message) < MESSAGE_MAX, "names, notes and answers are ours, and short"
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

    def _pass_on(self, channel: socket.socket) -> None:
        """Give what the keeper sent to those who serve it, and to all of them if it has ended."""
        while True:
            try:
                _, words, fds = _receive(channel)
            except BlockingIOError:
                return
            except OSError as error:
                asyncio.get_running_loop().remove_reader(channel.fileno())
                for calls in self._calls.values():
                    calls.put_nowait(HostError(f"{PROGRAM} does not answer: {error}"))
                return
            for fd in fds:
                connection = socket.socket(fileno=fd)
                if words[0] in self._calls:
                    self._calls[words[0]].put_nowait(connection)
                else:
                    connection.close()  # its service has ended meanwhile


NO_KEEPER: Final = Keeper()


async def _each(calls: asyncio.Queue[socket.socket | HostError]) -> AsyncIterator[socket.socket]:
    while not isinstance(call := await calls.get(), HostError):
        yield call
    raise call


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
