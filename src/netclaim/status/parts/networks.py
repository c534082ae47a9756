"""PodNetworks, as their controller reports them, and what is wrong with them. No I/O."""

from collections.abc import Iterable, Iterator

from netclaim.model.api.own_kinds.pod_network import PodNetwork
from netclaim.status.values import MissingNode, Network, Problem
from netclaim.survey.offered import network_fault


def network_views(networks: Iterable[PodNetwork]) -> tuple[Network, ...]:
    """Return the networks by their names."""
    return tuple(sorted(map(_view, networks), key=lambda one: one.name))


def _view(network: PodNetwork) -> Network:
    status, ready = network.status, network.ready
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


def network_problems(networks: Iterable[PodNetwork]) -> Iterator[Problem]:
    """Yield the networks that new pods cannot use although an admin meant them to."""
    for one in sorted(networks, key=lambda one: one.name):
        if fault := network_fault(one):
            yield Problem(
                severity="error" if fault.is_error else "warning",
                kind="PodNetwork",
                name=one.name,
                message=fault.message,
                hint=fault.hint,
            )
