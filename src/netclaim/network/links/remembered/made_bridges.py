"""Remember the bridges that plugins make for claims, so that they are not offered to others.

A bridge stays when its last pod has gone, as CNI has it, and looks like any other link of the node.
Were it offered, anybody who may claim a link could join the network behind it.
Promise: known before it is made, and until the node reboots, which ends all bridges. Limit: a
bridge that was there before is the node's own, and offered like any link.
"""

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Final

from netclaim.cni import NetworkList
from netclaim.errors import HostError
from netclaim.kernel.host.boot import boot_id

DEFAULT: Final = "cni0"  # what the plugin makes where no name is given


class MadeBridges:
    """One file for each bridge in `directory`; in it, the boot in which it was made."""

    def __init__(self, directory: Path, boot: str = "") -> None:
        self._directory = directory
        self._boot_id = boot or boot_id()
        self._known: set[str] | None = None

    def names(self) -> frozenset[str]:
        """The bridges that were made since the node was booted."""
        if self._known is None:
            paths = self._directory.glob("*")
            self._known = {path.name for path in paths if _read(path) == self._boot_id}
        return frozenset(self._known)

    def note(self, network: NetworkList, there: Collection[str]) -> None:
        """Remember the bridges that a network will make, beyond the links that are `there`."""
        for name in _bridges(network):
            if name not in there and name not in self.names():
                self._keep(name)

    def _keep(self, name: str) -> None:
        try:
            self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            draft = self._directory / ".draft"
            draft.write_text(self._boot_id)
            draft.replace(self._directory / name)
        except OSError as error:
            raise HostError(f"cannot record the bridge {name}: {error}") from error
        assert self._known is not None, "names() has read them"
        self._known.add(name)


def _read(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError as error:
        raise HostError(f"cannot read the record of bridges: {error}") from error


def _bridges(network: NetworkList) -> Iterable[str]:
    for plugin in network.plugins:
        if plugin.type == "bridge":
            named = plugin.config.get("bridge") or DEFAULT
            if isinstance(named, str) and "/" not in named and named not in {".", ".."}:
                yield named
