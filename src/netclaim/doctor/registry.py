"""All checks, in the order in which they are shown: module by module, as each declares them."""

from collections.abc import Iterator
from types import ModuleType
from typing import Any, Final

from netclaim.doctor.cluster import api_server, claims, devices, nodes, permissions, policies
from netclaim.doctor.cluster import controller as cluster_controller
from netclaim.doctor.cluster import driver as cluster_driver
from netclaim.doctor.cluster.sight import ClusterSight
from netclaim.doctor.finding import Check
from netclaim.doctor.node import cni, kernel, kubelet, runtime, system
from netclaim.doctor.node import driver as node_driver
from netclaim.doctor.node.sight import NodeSight


def _declared(*modules: ModuleType) -> Iterator[Check[Any]]:
    for module in modules:
        yield from (each for each in vars(module).values() if isinstance(each, Check))


CLUSTER_CHECKS: Final[tuple[Check[ClusterSight], ...]] = tuple(
    _declared(
        *(api_server, nodes, permissions, policies),
        *(cluster_driver, devices, claims, cluster_controller),
    )
)
NODE_CHECKS: Final[tuple[Check[NodeSight], ...]] = tuple(
    _declared(node_driver, kubelet, runtime, cni, kernel, system)
)
