"""PodNetworks, as their controller reports them, and what is wrong with them.

A network that was switched off or deleted is as somebody wants it. No I/O.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from netclaim.model.api.own_kinds.pod_network import PodNetwork
from netclaim.status.values import MissingNode, Network, Problem

MEANT: Final = ("Disabled", "Deleted")  # reasons of an admin
HINT: Final = "kubectl describe podnetwork {}"
NO_REPORT: Final = "the controller has not looked at it; is it running?"


def network_views(networks: Iterable[PodNetwork]) -> tuple[Network, ...]:
    """Return the networks by their names."""
    return tuple(sorted(map(_view, networks), key=lambda one: one.name))


def _view(network: PodNetwork) -> Network:
    status = network.status
    ready = next((each for each in status.conditions if each.type == "Ready"), None)
    return Network(
        name=network.name,
        type=network.spec.type,
        deleting=network.is_ending,
        ready=ready.status == "True" if ready is not None else None,
        reason=ready.reason if ready is not None else "",
        message=ready.message if ready is not None else "",
        nodes=status.nodes_available,
        namespaces=status.namespaces,
        interfaces=status.interfaces,
        pods=status.pods,
        users=status.users,
        missing=tuple(
            MissingNode(node=each.name, message=each.message)
            for each in status.nodes
            if not each.available
        ),
    )


def network_problems(networks: Iterable[Network]) -> Iterator[Problem]:
    """Yield the networks that new pods cannot use although an admin meant them to."""
    for one in networks:
        if one.ready or one.reason in MEANT:
            continue
        yield Problem(
            severity="error" if one.ready is False else "warning",
            kind="PodNetwork",
            name=one.name,
            message=one.message or NO_REPORT,
            hint=HINT.format(one.name),
        )
