"""The kinds of objects that the embedded API server knows, and under which paths it serves them.

An object is stored once, in the form of its kind's first address. The other addresses serve the
same object in other forms.
"""

from dataclasses import dataclass
from typing import Final

from netclaim.manifests.kinds import CLUSTER_WIDE, GROUP
from netclaim.model.api.own_kinds import address_pool, kept_address
from netclaim.model.api.own_kinds.pod_network import GROUP as NETWORK_GROUP
from netclaim.model.api.own_kinds.pod_network import KIND, PLURAL, VERSION
from netclaim.model.claims.claim import JsonObject


@dataclass(frozen=True, slots=True)
class Address:
    """A group and version that a kind is served in; the core group's name is empty."""

    group: str
    version: str

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version


@dataclass(frozen=True, slots=True)
class Kind:
    name: str
    plural: str
    addresses: tuple[Address, ...]
    has_status: bool = False  # written through a path of its own
    selectable: tuple[str, ...] = ()  # fields beyond name and namespace
    short: str = ""  # what people type instead of the plural

    @property
    def namespaced(self) -> bool:
        return self.name not in CLUSTER_WIDE

    @property
    def group(self) -> str:
        return self.addresses[0].group

    @property
    def full_plural(self) -> str:
        """The plural as messages have it: `resourceclaims.resource.k8s.io`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural


_CORE: Final = (Address("", "v1"),)
_APPS: Final = (Address("apps", "v1"),)
_BATCH: Final = (Address("batch", "v1"),)
_DRA: Final = tuple(Address(GROUP, version) for version in ("v1", "v1beta2", "v1beta1"))

NAMESPACE: Final = Kind("Namespace", "namespaces", _CORE, has_status=True, short="ns")
NODE: Final = Kind("Node", "nodes", _CORE, has_status=True, short="no")
POD: Final = Kind(
    "Pod",
    "pods",
    _CORE,
    has_status=True,
    selectable=("spec.nodeName", "status.phase", "status.podIP"),
    short="po",
)
DEPLOYMENT: Final = Kind("Deployment", "deployments", _APPS, has_status=True, short="deploy")
REPLICA_SET: Final = Kind("ReplicaSet", "replicasets", _APPS, has_status=True, short="rs")
STATEFUL_SET: Final = Kind("StatefulSet", "statefulsets", _APPS, has_status=True, short="sts")
DAEMON_SET: Final = Kind("DaemonSet", "daemonsets", _APPS, has_status=True, short="ds")
JOB: Final = Kind("Job", "jobs", _BATCH, has_status=True)
CLASS: Final = Kind("DeviceClass", "deviceclasses", _DRA)
CLAIM: Final = Kind("ResourceClaim", "resourceclaims", _DRA, has_status=True)
TEMPLATE: Final = Kind("ResourceClaimTemplate", "resourceclaimtemplates", _DRA)
SLICE: Final = Kind(
    "ResourceSlice",
    "resourceslices",
    _DRA,
    selectable=("spec.driver", "spec.nodeName"),
)
RULE: Final = Kind(
    "DeviceTaintRule",
    "devicetaintrules",
    tuple(Address(GROUP, version) for version in ("v1", "v1beta2", "v1alpha3")),
    has_status=True,
)
POD_NETWORK: Final = Kind(
    KIND, PLURAL, (Address(NETWORK_GROUP, VERSION),), has_status=True, short="podnet"
)
SERVICE: Final = Kind("Service", "services", _CORE, has_status=True, short="svc")
ENDPOINT_SLICE: Final = Kind(
    "EndpointSlice", "endpointslices", (Address("discovery.k8s.io", "v1"),)
)
DEFINITION: Final = Kind(  # Multus' own
    "NetworkAttachmentDefinition",
    "network-attachment-definitions",
    (Address("k8s.cni.cncf.io", "v1"),),
    short="net-attach-def",
)
IPAM_CLAIM: Final = Kind(  # likewise
    kept_address.IPAM_CLAIM,
    "ipamclaims",
    (Address(kept_address.IPAM_CLAIM_GROUP, kept_address.IPAM_CLAIM_VERSION),),
    has_status=True,
)
ADDRESS_POOL: Final = Kind(
    address_pool.KIND,
    address_pool.PLURAL,
    (Address(NETWORK_GROUP, VERSION),),
    has_status=True,
    short="pool",
)
ADDRESS_LEASE: Final = Kind(
    address_pool.LEASE_KIND, address_pool.LEASE_PLURAL, (Address(NETWORK_GROUP, VERSION),)
)
LEASE: Final = Kind("Lease", "leases", (Address("coordination.k8s.io", "v1"),))
EVENT: Final = Kind(
    "Event",
    "events",
    (Address("events.k8s.io", "v1"), *_CORE),
    selectable=(
        "reason",
        "type",
        *(
            f"{about}.{key}"
            for about in ("regarding", "involvedObject")
            for key in ("kind", "name", "uid")
        ),
    ),
)

KINDS: Final = (
    NAMESPACE, NODE, POD, DEPLOYMENT, REPLICA_SET, STATEFUL_SET, DAEMON_SET, JOB, CLASS, CLAIM,
    TEMPLATE, SLICE, RULE, POD_NETWORK, ADDRESS_POOL, ADDRESS_LEASE, DEFINITION, IPAM_CLAIM,
    SERVICE, ENDPOINT_SLICE, LEASE, EVENT,
)  # fmt: skip


def kind_of(found: JsonObject) -> Kind | None:
    """The kind that an object says it is of; None if that is not served."""
    for kind in KINDS:
        served = [address.api_version for address in kind.addresses]
        if found.get("kind") == kind.name and str(found.get("apiVersion")) in served:
            return kind
    return None
