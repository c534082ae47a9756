"""Judge AddressPools in manifests, and the networks that want addresses of one.

The API's rules look at the fields of a range; here is what they cannot: whether a range has an
address left, whether the pool of a network is there, and whether a claim that brings its own
network may have its addresses. A pool that the files do not have may be in the cluster.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from netclaim.check.claims.policy import namespace_labels
from netclaim.check.references import absent
from netclaim.manifests.finding import Finding, Severity
from netclaim.manifests.objects import Index, Object, inside
from netclaim.model.api.base import ObjectError
from netclaim.model.api.own_kinds.address_pool import KIND, AddressPool
from netclaim.model.pools.address_space import range_faults, space_of
from netclaim.network.plan.interface_plan import pooled_at
from netclaim.network.policy.levels import Level
from netclaim.network.policy.standing import Standing
from netclaim.network.request.parameters import InterfaceRequest
from netclaim.paths import Path


@dataclass(frozen=True, slots=True)
class PoolUse:
    """A request whose network has its addresses from a pool."""

    pool: str
    path: Path  # where the network names it
    trusted: bool  # whether an admin wrote the network


def pools_wanted(request: InterfaceRequest) -> Iterator[PoolUse]:
    """Yield the pools of which a request wants addresses; the driver allows only one."""
    for number in pooled_at(request.network):
        name = request.network.plugins[number].config["ipam"].get("pool")
        if name and isinstance(name, str):
            path = (*request.plugin_paths[number], "ipam", "pool")
            yield PoolUse(name, path, request.trusted)


def check_pool(subject: Object) -> Iterator[Finding]:
    """Yield what the controller would find wrong with a pool whose fields are right."""
    pool = _read(subject)
    if pool is None:
        return
    for number, each in enumerate(pool.spec.ranges):
        if any(range_faults(each)):
            return  # the API's own rules report it
        if not any(space_of([each], version).size for version in (4, 6)):
            message = "no address is left for pods between start and end"
            yield subject.error(("spec", "ranges", number), message)


def check_pool_of_network(network: Object, index: Index) -> Iterator[Finding]:
    """Yield a warning about the pool of a PodNetwork that is not in the files."""
    spec = inside(network.object, ("spec",))
    config = inside(spec, ("config",))
    plugins = config.get("plugins")
    for path, plugin in (
        (("spec",), spec),
        (("spec", "config"), config),
        *(
            (("spec", "config", "plugins", number), one)
            for number, one in enumerate(plugins if isinstance(plugins, list) else ())
        ),
    ):
        name = _pool_in(plugin)
        if name and index.find(KIND, name, near=network) is None:
            yield absent(network, (*path, "ipam", "pool"), KIND, name, index)


def pool_doubts(
    use: PoolUse, subject: Object, index: Index, standing: Standing | None
) -> Iterator[tuple[str, Severity]]:
    """Yield what is wrong with a pool that a claim or a class names, in words."""
    found = index.find(KIND, use.pool, near=subject)
    if found is None:
        yield absent(subject, (), KIND, use.pool, index).message, Severity.WARNING
        return
    pool = _read(found)
    if pool is None or use.trusted:
        return
    namespaces = pool.spec.namespaces
    known = index.find("Namespace", subject.namespace, near=subject) is not None
    if namespaces is None and standing is not None and standing.level is not Level.PRIVILEGED:
        message = (
            f"the pool {pool.name} is for networks that an admin wrote; write `namespaces` into"
            " the AddressPool, or name a PodNetwork"
        )
        yield message, Severity.ERROR
    if namespaces and known and not namespaces.selects(namespace_labels(subject, index)):
        message = (
            f"the namespace {subject.namespace} may not have addresses of the pool {pool.name};"
            " give it the labels that the pool's `namespaces` selects"
        )
        yield message, Severity.ERROR


def _pool_in(plugin: object) -> str:
    """The pool that a network or a plugin names; empty if it has its addresses elsewhere."""
    ipam = inside(plugin, ("ipam",)) if isinstance(plugin, dict) else {}
    name = ipam.get("pool") if ipam.get("type") == "netclaim" else None
    return name if isinstance(name, str) else ""


def _read(subject: Object) -> AddressPool | None:
    """A pool; None for what the API's rules refuse."""
    try:
        return AddressPool.read(subject.object)
    except ObjectError:
        return None
