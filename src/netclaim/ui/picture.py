"""A status as the pieces that the page draws, each under its key.

Promise: everything of the status is there, and nothing that it does not say. Texts that anybody may
have written are on one line and printable. No I/O.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final

from netclaim.model.quantity import Quantity, QuantityError
from netclaim.network.devices.shares import WHOLE_LINK
from netclaim.plain_text import one_line, sentence
from netclaim.status import values as status_values
from netclaim.status.values import Status
from netclaim.ui.networks import Networks, network_key, pool_key
from netclaim.ui.values import (
    Amount,
    Claim,
    Given,
    Interface,
    Link,
    Node,
    Piece,
    Pod,
    Pool,
    Problem,
)

ABOUT: Final = ("kind", "driver")  # attributes shown beside a link, after its speed
UNITS: Final = ((10**12, "T"), (10**9, "G"), (10**6, "M"), (10**3, "k"))


def pieces_of(status: Status, networks: Networks) -> dict[str, Piece]:
    """Return the picture of a status, without its head."""
    links = {link_key(one.driver, one.pool, one.name): one for one in status.devices}
    found: dict[str, Piece] = {}
    found.update((node_key(one.name), _node(one)) for one in status.nodes)
    found.update((key, _link(one)) for key, one in links.items())
    found.update(networks.pieces)
    found.update((pool_key(one.name), _pool(one, networks)) for one in status.pools)
    nodes = {one.name for one in status.nodes}
    uses = {
        (use.namespace, use.claim, key, use.request, use.share_id): use
        for key, one in links.items()
        for use in one.used_by
    }
    for claim in status.claims:
        found[claim_key(claim.namespace, claim.name)] = _claim(claim, uses, networks, nodes)
    found.update((pod_key(one.namespace, one.name), _pod(one)) for one in status.pods)
    found.update(_problems(status, found))
    return found


def node_key(name: str) -> str:
    return f"node/{name}"


def link_key(driver: str, pool: str, device: str) -> str:
    return f"link/{driver}/{pool}/{device}"


def claim_key(namespace: str, name: str) -> str:
    return f"claim/{namespace}/{name}"


def pod_key(namespace: str, name: str) -> str:
    return f"pod/{namespace}/{name}"


def _pool(pool: status_values.AddressPool, networks: Networks) -> Pool:
    key = pool_key(pool.name)
    part = round(min(1.0, pool.used / pool.size), 4) if pool.size else 0.0
    return Pool(
        ready=pool.ready,
        message=sentence(pool.message) if not pool.ready else "",
        ranges=tuple(map(one_line, pool.ranges)),
        addresses=Amount(name="addresses", total=str(pool.size), used=str(pool.used), part=part),
        kept=pool.kept,
        free=pool.free,
        networks=tuple(name for name, one in networks.pieces.items() if one.pool == key),
    )


def _node(node: status_values.Node) -> Node:
    return Node(ready=node.ready, cordoned=node.cordoned)


def _link(device: status_values.Device) -> Link:
    by_name = {name.rpartition("/")[2]: value for name, value in device.attributes.items()}
    real = by_name.get("ifName")
    return Link(
        node=device.node,
        driver=device.driver,
        pool=device.pool,
        name=one_line(str(real)) if real else device.name,
        state=device.state,
        shareable=device.shareable,
        about=tuple(_about(by_name)),
        amounts=tuple(_amount(one) for one in device.capacity if not _is_lock(one.name)),
        taints=tuple(one_line(str(one)) for one in device.taints),
        claims=len(device.used_by),
    )


def _about(attributes: Mapping[str, str | int | bool]) -> Iterator[str]:
    speed = attributes.get("speed")
    if isinstance(speed, int) and not isinstance(speed, bool) and speed > 0:
        yield _bits(speed * 10**6)
    for name in ABOUT:
        value = attributes.get(name)
        if isinstance(value, str) and value:
            yield one_line(value)


def _bits(amount: int) -> str:
    for size, unit in UNITS:
        if amount >= size:
            return f"{amount / size:g} {unit}bit/s"
    return f"{amount} bit/s"


def _is_lock(name: str) -> bool:
    """Whether a capacity only says that somebody has the link alone, which its state shows."""
    return name.rpartition("/")[2] == WHOLE_LINK


def _amount(capacity: status_values.Capacity) -> Amount:
    return Amount(
        name=capacity.name.rpartition("/")[2],
        total=capacity.total,
        used=capacity.used,
        part=_part(capacity.used, capacity.total),
    )


def _part(used: str, total: str) -> float:
    try:
        whole = Quantity.parse(total).nanos
        return round(min(1.0, Quantity.parse(used).nanos / whole), 4) if whole > 0 else 0.0
    except QuantityError:
        return 0.0  # the API server takes none that is not one


def _claim(
    claim: status_values.ClaimStatus,
    uses: Mapping[tuple[str, str, str, str, str], status_values.ClaimUse],
    networks: Networks,
    nodes: Collection[str],
) -> Claim:
    devices = []
    for one in claim.devices:
        key = link_key(one.driver, one.pool, one.device)
        use = uses.get((claim.namespace, claim.name, key, one.request, one.share_id))
        consumed = use.consumed_capacity if use is not None else {}
        given = Given(
            link=key,
            amounts=tuple(
                (name.rpartition("/")[2], text)
                for name, text in consumed.items()
                if not _is_lock(name) and _part(text, "1")  # what was not asked for is 0
            ),
            ready=one.ready,
            unhealthy=sentence(one.unhealthy),
            node=one.node or (one.pool if one.pool in nodes else ""),  # a link that is in a pod
        )
        devices.append(given)
    return Claim(
        state=claim.state,
        deleting=claim.deleting,
        classes=claim.classes,
        network=networks.of_claims.get((claim.namespace, claim.name), ""),
        message=sentence(claim.message),
        since=claim.since,
        devices=tuple(devices),
        pods=tuple(pod_key(claim.namespace, name) for name in claim.pods),
    )


def _pod(pod: status_values.Pod) -> Pod:
    return Pod(
        node=pod.node,
        phase=pod.phase,
        state=pod.state,
        waiting=sentence(pod.waiting),
        claims=tuple(claim_key(pod.namespace, one.claim) for one in pod.claims if one.claim),
        unmade=tuple(one.template for one in pod.claims if not one.claim),
        interfaces=tuple(
            Interface(
                name=one_line(one.name),
                ips=tuple(map(one_line, one.ips)),
                mac=one_line(one.mac),
                claim=claim_key(pod.namespace, one.claim),
            )
            for one in pod.interfaces
        ),
    )


def _problems(status: Status, there: Mapping[str, Piece]) -> Iterator[tuple[str, Problem]]:
    """Yield the problems in their order, each under what it is about and a number within that."""
    devices = {
        f"{one.pool}/{one.name}": link_key(one.driver, one.pool, one.name) for one in status.devices
    }
    seen: Counter[str] = Counter()
    for order, one in enumerate(status.problems):
        about = next((key for key in _subjects(one, devices) if key in there), "")
        seen[one.about] += 1
        yield (
            f"problem/{one.about}/{seen[one.about]}",
            Problem(
                severity=one.severity,
                title=sentence(one.about),
                message=sentence(one.message),
                hint=sentence(one.hint),
                about=about,
                order=order,
            ),
        )


def _subjects(problem: status_values.Problem, devices: Mapping[str, str]) -> Iterable[str]:
    """Return the key of what a problem is about, if it is one thing."""
    match problem.kind:
        case "Pod":
            return [pod_key(problem.namespace, problem.name)]
        case "ResourceClaim":
            return [claim_key(problem.namespace, problem.name)]
        case "Device":
            return [devices[problem.name]] if problem.name in devices else []
    by_name = {"Node": node_key, "PodNetwork": network_key, "AddressPool": pool_key}
    name = problem.name
    if problem.kind == "Node":  # of several, the first
        name = name.partition(",")[0].partition(" ")[0]
    return [by_name[problem.kind](name)] if problem.kind in by_name else []
