"""The container's network namespace, opened for one call.

Promise: holds the namespace and a netlink socket in it for as long as it is open, whatever becomes
of the path. Never forks, never leaves a thread in there.
Limit: for one call, by one task.
"""

import errno
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
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
from netclaim.kernel.link_identity import LinkIdentity, identify_link
from netclaim.kernel.link_requests import LinkKind, create_link, set_link
from netclaim.kernel.removal import remove_link
from netclaim.kernel.sysctl import try_sysctl
from netclaim.plugins.errors import PluginError
from netclaim.plugins.names import random_name

__all__ = ["Pod", "delete_link", "open_pod"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Pod:
    """A container's namespace and a way to talk to the kernel in it."""

    netns: Netns
    rtnl: Rtnl

    @property
    def path(self) -> str:
        """Where the namespace was found, for the result's `sandbox`."""
        return self.netns.path

    def inside(self, action: Callable[[], T]) -> T:
        """Do something that does not wait, inside the namespace."""
        return call_in(self.netns, action)

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
        async with self.removed_on_failure(name):
            if sysctls:
                self.inside(lambda: _set_sysctls(sysctls))
            link = identify_link(self.rtnl, name)
            if link is None:
                raise PluginError(f"the new link {name!r} is gone")
            yield link

    @asynccontextmanager
    async def removed_on_failure(self, name: str) -> AsyncIterator[None]:
        """Remove a link of the pod when the block fails."""
        try:
            yield
        except Exception as error:
            try:
                await remove_link(self.netns, name)
            except NetclaimError as second:
                error.add_note(f"and the link {name} could not be removed: {second}")
            raise

    async def _make(self, maker: Rtnl, name: str, request: Callable[[str], Request]) -> None:
        try:
            await maker.call(request(name))
        except KernelError as error:
            # Kernels before 6.15 want the name to be free in the parent's namespace too.
            if error.errno != errno.EEXIST or await find_link(self.rtnl, name) is not None:
                raise
            passing = random_name()
            await maker.call(request(passing))
            async with self.removed_on_failure(passing):
                link = await self.link(passing)
                await self.rtnl.call(set_link(link.index, name=name))


def _set_sysctls(sysctls: Sequence[tuple[str, str]]) -> None:
    for setting, value in sysctls:
        try_sysctl(setting, value)


@contextmanager
def open_pod(path: str) -> Iterator[Pod]:
    """Open the namespace at `path`."""
    with open_netns(path) as netns, Rtnl.open(netns) as rtnl:
        yield Pod(netns, rtnl)


async def delete_link(path: str, name: str) -> None:
    """Remove a link from the namespace at `path`. Gone, or its namespace gone: that is fine too."""
    if not path:
        return
    try:
        with open_netns(path) as netns:
            await remove_link(netns, name)
    except NamespaceGoneError:
        return
