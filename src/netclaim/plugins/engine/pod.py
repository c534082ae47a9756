"""The container's network namespace, opened for one call.

Promise: holds the namespace for as long as it is open, whatever becomes of the path. Never forks,
never leaves a thread in there; goes in as seldom as it can, each time being 0.03 ms.
Limit: for one call, by one task.
"""

import errno
import secrets
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import TypeVar

from netclaim.errors import NetclaimError
from netclaim.kernel import (
    KernelError,
    Link,
    NamespaceGoneError,
    Netns,
    Request,
    Rtnl,
    call_in,
    find_link,
    open_netns,
)
from netclaim.kernel.host.closing import Closing
from netclaim.kernel.host.sysctls.sysctl import try_sysctl
from netclaim.kernel.requests.links import LinkKind, create_link, set_link
from netclaim.kernel.state.link_identity import LinkIdentity, identify_link
from netclaim.kernel.state.removal import remove_link
from netclaim.plugins.engine.errors import PluginError

T = TypeVar("T")


class Pod(Closing):
    """A container's namespace and a way to talk to the kernel in it."""

    def __init__(self, netns: Netns) -> None:
        """Take over `netns`."""
        self.netns = netns
        self._rtnl: Rtnl | None = None

    def close(self) -> None:
        if self._rtnl is not None:
            self._rtnl.close()
        self.netns.close()

    @property
    def rtnl(self) -> Rtnl:
        """The netlink socket in the namespace, opened when it is first wanted."""
        if self._rtnl is None:
            self._rtnl = Rtnl.open(self.netns)
        return self._rtnl

    @property
    def path(self) -> str:
        """Where the namespace was found, for the result's `sandbox`."""
        return self.netns.path

    def inside(self, action: Callable[[], T]) -> T:
        """Do something that does not wait, inside the namespace."""

        def visit() -> T:
            if self._rtnl is None:
                self._rtnl = Rtnl.open()  # it is wanted sooner or later, and here we are
            return action()

        return call_in(self.netns, visit)

    async def link(self, name: str) -> Link:
        """Look up a link that has to be there."""
        link = await find_link(self.rtnl, name)
        if link is None:
            raise PluginError(f"there is no link {name!r} in the container")
        return link

    @asynccontextmanager
    async def new_link(
        self,
        name: str,
        kind: LinkKind,
        *,
        maker: Rtnl,
        parent_index: int | None = None,
        mac: str = "",
        mtu: int = 0,
        sysctls: Sequence[tuple[str, str]] = (),
    ) -> AsyncIterator[LinkIdentity]:
        """Make a link in the pod for what the block does; remove it when that fails.

        `maker` talks to the namespace where the link's parent is, if it has one. `sysctls` are nice
        to have.
        """

        def request(link_name: str) -> Request:
            return create_link(
                link_name,
                kind,
                parent_index=parent_index,
                netns_fd=self.netns.fd,
                mac=mac,
                mtu=max(mtu, 0) or None,
            )

        await self._make(maker, name, request)
        try:
            if sysctls:
                self.inside(lambda: _set_sysctls(sysctls))
            link = identify_link(self.rtnl, name)
            if link is None:
                raise PluginError(f"the new link {name!r} is gone")  # noqa: TRY301 (as the others)
            yield link
        except Exception as error:
            await self._remove_after(error, name)
            raise

    @asynccontextmanager
    async def removed_on_failure(self, name: str) -> AsyncIterator[None]:
        """Remove a link of the pod when the block fails."""
        try:
            yield
        except Exception as error:
            await self._remove_after(error, name)
            raise

    async def _remove_after(self, error: Exception, name: str) -> None:
        try:
            await remove_link(self.netns, name)
        except NetclaimError as second:
            error.add_note(f"and the link {name} could not be removed: {second}")

    async def _make(self, maker: Rtnl, name: str, request: Callable[[str], Request]) -> None:
        try:
            await maker.call(request(name))
        except KernelError as error:
            # Kernels before 6.15 want the name to be free in the parent's namespace too.
            if error.errno != errno.EEXIST or await find_link(self.rtnl, name) is not None:
                raise
            passing = random_name()
            try:
                await maker.call(request(passing))
            except KernelError:
                raise error from None  # it is not the name that is taken
            async with self.removed_on_failure(passing):
                link = await self.link(passing)
                await self.rtnl.call(set_link(link.index, name=name))


def _set_sysctls(sysctls: Sequence[tuple[str, str]]) -> None:
    for setting, value in sysctls:
        try_sysctl(setting, value)


def open_pod(path: str) -> Pod:
    """Open the namespace at `path`."""
    return Pod(open_netns(path))


async def delete_link(path: str, name: str) -> None:
    """Remove a link from the namespace at `path`. Gone, or its namespace gone: that is fine too."""
    if not path:
        return
    try:
        with open_netns(path) as netns:
            await remove_link(netns, name)
    except NamespaceGoneError:
        return


def random_name() -> str:
    """A name for a link that nobody has to know, as the reference plugins choose it.

    NetworkManager leaves links of such names alone.
    """
    return f"veth{secrets.token_hex(4)}"
