"""Where plugins keep files for claims: a directory of the driver's own, apart for each namespace.

    ROOT/namespace/NAMESPACE/leases/NETWORK/…    of networks that claims write themselves
    ROOT/class/leases/NETWORK/…                  of networks that classes write
    …/tuning/…                                   how links were before they were tuned

So a claim cannot use up, or take over, the addresses of another namespace's network or of an
admin's by giving its own the same name; and no file of the node is in its reach.
Promise: a namespace has a bounded number of networks on a node. Limit: what another process keeps
elsewhere, as the primary network does, is not looked at.
"""

import shutil
from pathlib import Path
from typing import Final

from netclaim.errors import HostError
from netclaim.network.errors import PolicyError

__all__ = ["PluginFiles"]

NETWORKS_MAX: Final = 64  # of one namespace on one node: a claim can name a new one every time


class PluginFiles:
    """The directories below `root`."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def directory(self, namespace: str, *, trusted: bool) -> str:
        """Where the plugins of a network keep their files; `trusted`: a class wrote the network."""
        if trusted:
            return str(self._root / "class")
        return str(self._root / "namespace" / namespace)

    def make_room(self, namespace: str, network: str) -> None:
        """See that a namespace may have one more network here, forgetting some that are unused.

        Again: the same.
        """
        leases = self._root / "namespace" / namespace / "leases"
        try:
            self._root.mkdir(mode=0o700, parents=True, exist_ok=True)
            there = [path for path in leases.iterdir() if path.is_dir()] if leases.exists() else []
            if len(there) < NETWORKS_MAX or (leases / network) in there:
                return
            unused = [path for path in there if not _is_used(path)]
            for path in unused:
                shutil.rmtree(path)
        except OSError as error:
            raise HostError(f"cannot look after the files of networks: {error}") from error
        if not unused:
            raise PolicyError(
                f"namespace {namespace!r} has addresses of {len(there)} networks in use on this "
                f"node, and may have {NETWORKS_MAX}: use one of them",
                field="config.name",
            )


def _is_used(network: Path) -> bool:
    """Whether a network has leases: files that are named after addresses."""
    return any(":" in path.name or path.name[0].isdigit() for path in network.iterdir())
