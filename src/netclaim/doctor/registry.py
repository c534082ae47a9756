"""All checks, in the order in which they are shown: as modules declare them, module by module."""

from collections.abc import Iterator
from types import ModuleType
from typing import Any, Final

from netclaim.doctor import (
    cluster_access,
    cluster_api,
    cluster_driver,
    cluster_nodes,
    cluster_pods,
    cluster_policies,
    node_driver,
    node_files,
    node_kernel,
    node_kubelet,
    node_runtime,
)
from netclaim.doctor.cluster_sight import ClusterSight
from netclaim.doctor.finding import Check
from netclaim.doctor.node_sight import NodeSight

__all__ = ["CLUSTER_CHECKS", "NODE_CHECKS"]


def _declared(*modules: ModuleType) -> Iterator[Check[Any]]:
    for module in modules:
        yield from (each for each in vars(module).values() if isinstance(each, Check))


CLUSTER_CHECKS: Final[tuple[Check[ClusterSight], ...]] = tuple(
    _declared(
        cluster_api, cluster_nodes, cluster_access, cluster_policies, cluster_pods, cluster_driver
    )
)
NODE_CHECKS: Final[tuple[Check[NodeSight], ...]] = tuple(
    _declared(node_driver, node_kubelet, node_runtime, node_files, node_kernel)
)
