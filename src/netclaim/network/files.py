"""Where plugins keep files for claims: a directory of the driver's own, apart for each namespace.

    ROOT/namespace/NAMESPACE/leases/NETWORK/…    of networks that claims write themselves
    ROOT/class/leases/NETWORK/…                  of networks that classes write
    …/tuning/…                                   how links were before they were tuned

So a claim cannot use up, or take over, the addresses of another namespace's network or of an
admin's by giving its own the same name; and no file of the node is in its reach.
Promise: what is kept is bounded by what is in use: a claim can name a new network every time, and
those that nobody uses any more are forgotten. Limit: what another process keeps
elsewhere, as the primary network does, is not looked at.
"""

import shutil
from pathlib import Path
from typing import Final

from netclaim.errors import HostError

__all__ = ["PluginFiles"]

UNUSED_MAX: Final = (
    64  # networks of one namespace on one node that are kept without being looked at
)


class PluginFiles:
    """The directories below `root`."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def directory(self, namespace: str, *, trusted: bool) -> str:
        """Where the plugins of a network keep their files; `trusted`: a class wrote the network."""
        if trusted:
            return str(self._root / "class")
        return str(self._root / "namespace" / namespace)

    def tidy(self, namespace: str, network: str) -> None:
        """Forget networks that a namespace used to have, if there are many, but for one.

        Again: the same.
        """
        leases = self._root / "namespace" / namespace / "leases"
        try:
            self._root.mkdir(mode=0o700, parents=True, exist_ok=True)
            there = [path for path in leases.iterdir() if path.is_dir()] if leases.exists() else []
            if len(there) > UNUSED_MAX:
                for path in there:
                    if path.name != network and not _is_used(path):
                        shutil.rmtree(path)
        except OSError as error:
            raise HostError(f"cannot look after the files of networks: {error}") from error


def _is_used(network: Path) -> bool:
    """Whether a network has leases: files that are named after addresses."""
    return any(":" in path.name or path.name[0].isdigit() for path in network.iterdir())
