"""The kinds that we read: their versions, where they hold claims and pods, which have no namespace.

Values, and one question: whether an apiVersion and a kind go together. Limit: nothing is known, and
therefore nothing reported, of groups that are not Kubernetes' own.
"""

from collections.abc import Mapping
from typing import Final

from netclaim.manifests.near import near
from netclaim.model.api.own_kinds.pod_network import API_VERSION as NETWORK_API_VERSION
from netclaim.model.api.own_kinds.pod_network import KIND as NETWORK_KIND
from netclaim.model.api.own_kinds.pod_network import SEEDS_API_VERSION
from netclaim.paths import Path

GROUP: Final = "resource.k8s.io"
KINDS: Final = ("DeviceClass", "ResourceClaim", "ResourceClaimTemplate", "ResourceSlice")
CLUSTER_WIDE: Final = (
    "AddressLease", "AddressPool", "DeviceClass", "DeviceTaintRule", "Namespace", "Node",
    "PodNetwork", "ResourceSlice",
)  # fmt: skip
SCALED: Final = ("Deployment", "ReplicaSet", "ReplicationController", "StatefulSet")  # by replicas

CLAIM_SPECS: Final[Mapping[str, Path]] = {
    "ResourceClaim": ("spec",),
    "ResourceClaimTemplate": ("spec", "spec"),
}
CONFIGS: Final[Mapping[str, Path]] = {
    "DeviceClass": ("spec", "config"),
    **{kind: (*spec, "devices", "config") for kind, spec in CLAIM_SPECS.items()},
}
_TEMPLATED: Final = ("spec", "template", "spec")
POD_SPECS: Final[Mapping[str, Path]] = {
    "Pod": ("spec",),
    "CronJob": ("spec", "jobTemplate", *_TEMPLATED),
    **dict.fromkeys(("DaemonSet", "Job", *SCALED), _TEMPLATED),
}

# All kinds of the groups that have kinds we read; a List is unfolded before this is used.
_OF_VERSION: Final[Mapping[str, tuple[str, ...]]] = {
    "v1": (
        "Binding", "ComponentStatus", "ConfigMap", "Endpoints", "Event", "LimitRange", "Namespace",
        "Node", "PersistentVolume", "PersistentVolumeClaim", "Pod", "PodTemplate",
        "ReplicationController", "ResourceQuota", "Secret", "Service", "ServiceAccount", "Status",
    ),
    "apps/v1": ("ControllerRevision", "DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"),
    "batch/v1": ("CronJob", "Job"),
    f"{GROUP}/v1": KINDS,
    NETWORK_API_VERSION: ("AddressLease", "AddressPool", "PodNetwork"),
}  # fmt: skip
# The kinds that we read, and the version that we read them in.
API_VERSIONS: Final[Mapping[str, str]] = {
    kind: version
    for version, kinds in _OF_VERSION.items()
    for kind in kinds
    if kind in (*POD_SPECS, *CLUSTER_WIDE, *KINDS)
}
TYPO: Final = 0.85  # how alike a group must be to ours to be a typo; nobody uses resources.k8s.io


def kind_fault(api_version: str, kind: str) -> tuple[Path, str] | None:
    """Return what to write instead, and where, if Kubernetes has no such kind there.

    Versions of our own group are not judged here: `migration` knows them all.
    """
    group = api_version.rpartition("/")[0]
    right = API_VERSIONS.get(kind)
    almost_ours = kind in KINDS and bool(near(group, [GROUP], cutoff=TYPO))
    if group == GROUP or not (_is_kubernetes(group) or almost_ours):
        return None
    if (api_version, kind) == (SEEDS_API_VERSION, NETWORK_KIND):
        return None  # as talks about KEP-3698 spell it
    if right not in (None, api_version):
        return ("apiVersion",), f"there is no {kind} in {api_version}; write {right}"
    return _unknown_kind(api_version, kind)


def _unknown_kind(api_version: str, kind: str) -> tuple[Path, str] | None:
    known = _OF_VERSION.get(api_version, ())
    if kind in known or kind.removesuffix("List") in known:
        return None
    everywhere = {one.lower(): one for one in API_VERSIONS}
    guess = everywhere.get(kind.lower()) or near(kind, known)
    if not known and kind.lower() not in everywhere:
        return None
    meant = f'; did you mean "{guess}"?' if guess else f"; it has {', '.join(known)}"
    return ("kind",), f'{api_version} has no kind "{kind}"{meant}'


def _is_kubernetes(group: str) -> bool:
    """Whether a group is, or could only be, Kubernetes' own: others need a domain."""
    return "." not in group or group.endswith(".k8s.io")
