"""Where a claim stands, and what is said to one that asks for more.

Promise: a refusal names what is needed and who can grant it. No I/O.
"""

from dataclasses import dataclass

from netclaim.errors import RequestError
from netclaim.kernel.requests.ip import Network
from netclaim.network.errors import PolicyError
from netclaim.network.policy.levels import LABEL, Level
from netclaim.paths import Path


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a claim stands: how far it is trusted, and on which link."""

    level: Level
    namespace: str
    link: str = ""
    shared: str = ""  # why the link is not the claim's own, in words; empty: it is
    remedy: str = ""  # what the claim could write to have the link to itself; empty: nothing
    carries: str = ""  # why the node depends on the link; empty: it does not
    node_networks: tuple[Network, ...] = ()  # that the node lives in, on a link which carries it
    node_addresses: frozenset[str] = frozenset()  # that the node has where the link leads
    node_peers: frozenset[str] = frozenset()  # its gateways and API servers, where it uses the link
    claim_plugins: frozenset[str] = frozenset()  # programs that claims may name
    ceiling: Level = Level.PRIVILEGED  # that no label goes beyond

    @property
    def not_own(self) -> str:
        """Say why the link is not the claim's alone; empty where it is."""
        if self.carries:
            return f"the link {self.link!r} carries the node: {self.carries}"
        return self.shared


def needs_level(level: Level, where: Path, standing: Standing, what: str = "") -> RequestError:
    """Refuse what needs another level; `what` it is, where the path does not say so."""
    subject = f"{what} " if what else ""
    return PolicyError(
        f"{subject}needs the policy level {level}, but {_has(standing)}; leave it out, "
        f"{ask(standing, level)}",
        path=where,
    )


def needs_own(where: Path, standing: Standing, what: str = "") -> RequestError:
    """Refuse what needs a link that the claim has to itself."""
    subject = f"{what} " if what else ""
    remedy = f"{standing.remedy}, " if standing.remedy and not standing.carries else ""
    return PolicyError(
        f"{subject}needs a link that the claim has to itself, but {standing.not_own}; leave it "
        f"out, {remedy}{ask(standing)}",
        path=where,
    )


def needs_program(name: str, where: Path, standing: Standing) -> RequestError:
    """Refuse a type that is executed."""
    return PolicyError(
        f"{name!r} is a program of the node; to name it, a claim needs the policy level "
        f"{Level.PRIVILEGED}, but {_has(standing)}; ask a cluster admin to put the network "
        f"into a DeviceClass, or to list the type in the drivers' --claim-plugins",
        path=where,
    )


def _has(standing: Standing) -> str:
    return f"namespace {standing.namespace!r} has {standing.level}"


def ask(standing: Standing, level: Level = Level.PRIVILEGED) -> str:
    """Say who can grant a level, and how."""
    ask = "or ask a cluster admin to set it in the DeviceClass"
    if level > standing.ceiling:
        return f"{ask}; a namespace label cannot exceed --policy-ceiling, {standing.ceiling}"
    return f"{ask} or to label the namespace {LABEL}={level}"
