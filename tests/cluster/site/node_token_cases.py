"""What somebody with a stolen token may try, and the words in which it must be refused.

A change is an RFC 7386 patch of what the driver itself would write.
"""

from collections.abc import Callable

from lab.drivers.driver import ACCOUNT, NAMESPACE
from tests.cluster.site.node_token import NODE, OTHER_DRIVER, OTHER_NODE, Object, entry

NOWHERE = "kind-worker9"  # no driver there to tidy up
SELECTOR = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "Exists"}]}]}
OWNER = {"apiVersion": "v1", "kind": "Node", "name": NODE, "uid": "0"}
OTHER_OWNER = {**OWNER, "name": OTHER_NODE}

# -- slices: a change of the node's own, and the reason of the refusal
BAD_SLICES: dict[str, tuple[Object, str]] = {
    "another driver's": (
        {"spec": {"driver": OTHER_DRIVER}},
        f"only, not of {OTHER_DRIVER}",
    ),
    "another node's": (
        {"spec": {"nodeName": OTHER_NODE}},
        f"the driver on {NODE} may write slices of this node only, not of {OTHER_NODE}",
    ),
    "another node's, in its pool": (
        {"spec": {"nodeName": OTHER_NODE, "pool": {"name": OTHER_NODE}}},
        f"the driver on {NODE} may write slices of this node only, not of {OTHER_NODE}",
    ),
    "all nodes'": ({"spec": {"nodeName": None, "allNodes": True}}, "not of several nodes"),
    "some nodes'": ({"spec": {"nodeName": None, "nodeSelector": SELECTOR}}, "not of several nodes"),
    "another pool's": (
        {"spec": {"pool": {"name": OTHER_NODE, "generation": 1000}}},
        f"may write the pool {NODE} only, not the pool {OTHER_NODE}",
    ),
    "a pool's beside the node's own": (
        {"spec": {"pool": {"name": f"{NODE}/more"}}},
        f"may write the pool {NODE} only, not the pool {NODE}/more",
    ),
    "with a finalizer": (
        {"metadata": {"finalizers": ["example.com/forever"]}},
        "may not give its slices finalizers",
    ),
    "owned by nobody": ({"metadata": {"ownerReferences": []}}, "owned by this node alone"),
    "owned by another node": (
        {"metadata": {"ownerReferences": [OTHER_OWNER]}},
        "owned by this node alone",
    ),
    "owned by another kind of object": (
        {"metadata": {"ownerReferences": [{**OWNER, "kind": "Namespace"}]}},
        "owned by this node alone",
    ),
    "owned by two": (
        {"metadata": {"ownerReferences": [OWNER, {**OTHER_OWNER, "uid": "1"}]}},
        "owned by this node alone",
    ),
    "in the way of its node's deletion": (
        {"metadata": {"ownerReferences": [{**OWNER, "blockOwnerDeletion": True}]}},
        "does not block its deletion",
    ),
}

# -- slices' names, made from the node's own
BAD_NAMES: dict[str, Callable[[str], str]] = {
    "of another node": lambda own: own.replace(NODE, OTHER_NODE),
    "of anybody": lambda _: "zzz",
    "with more at the end": lambda own: f"{own}-0",
    "with more at the beginning": lambda own: f"0-{own}",
    "with other characters for the dots": lambda own: own.replace(".", "-"),
}

# -- slices of somebody else
FOREIGN_SLICES: dict[str, Object] = {
    "of another driver": {"spec": {"driver": OTHER_DRIVER}},
    "of another node": {"spec": {"nodeName": NOWHERE, "pool": {"name": NOWHERE}}},
    "of all nodes": {"spec": {"nodeName": None, "allNodes": True}},
    "of some nodes": {"spec": {"nodeName": None, "nodeSelector": SELECTOR}},
}

# -- claims' status: a change, what the API server says since 1.36, what the policy says before
BY_DRIVER = 'requires resource="resourceclaims/driver"'
BY_BINDING = 'requires resource="resourceclaims/binding"'
OWN_ENTRIES = f"the driver on {NODE} may change the entries of its own devices only"
OWN_CLAIMS = f"the driver on {NODE} may write the status of claims with devices of this driver"
NIC, GPU = entry("nic", NODE), entry("gpu", NODE)
FORGED_GPU = entry("gpu", NODE, forged=True)
OTHER_POD = {"resource": "pods", "name": "thief", "uid": "1234"}

# What is changed, how the server refuses it, and what the policy says, in words of any order.
BAD_STATUS: dict[str, tuple[Object, str, *tuple[str, ...]]] = {
    "another driver's entry": ({"devices": [NIC, FORGED_GPU]}, BY_DRIVER, OWN_ENTRIES),
    "without another driver's entry": ({"devices": [NIC]}, BY_DRIVER, OWN_ENTRIES),
    "without any entry": ({"devices": None}, BY_DRIVER, OWN_ENTRIES),
    "not reserved": ({"reservedFor": None}, BY_BINDING, "status only, not reservedFor"),
    "reserved for another pod": (
        {"reservedFor": [OTHER_POD]},
        BY_BINDING,
        "status only, not reservedFor",
    ),
    "not allocated": (
        {"allocation": None, "reservedFor": None, "devices": None},
        BY_BINDING,
        "status only, not",
        "allocation",
        "reservedFor",
    ),
}

# -- events: a change of the driver's own, and the reason of the refusal
BAD_EVENTS: dict[str, tuple[Object, str]] = {
    "as kubelet": (
        {"reportingController": "kubelet"},
        "only, not as kubelet",
    ),
    "from another node": (
        {"reportingInstance": OTHER_NODE},
        f"the driver on {NODE} may not report events as {OTHER_NODE}",
    ),
    "about a pod": ({"regarding": {"apiVersion": "v1", "kind": "Pod"}}, "about ResourceClaims"),
    "about another group's claim": (
        {"regarding": {"apiVersion": "example.com/v1"}},
        "about ResourceClaims",
    ),
    "about another namespace's claim": (
        {"regarding": {"namespace": "kube-system"}},
        "in the claim's namespace only",
    ),
    "about a pod beside the claim": (
        {"related": {"apiVersion": "v1", "kind": "Pod", "name": "x", "namespace": "default"}},
        "about ResourceClaims",
    ),
}

# -- requests that no rule of the role allows
GROUP = "/apis/resource.k8s.io/{version}"
CLAIMS = GROUP + "/namespaces/{namespace}/resourceclaims"
NO_RIGHT: list[tuple[str, str, Object | None]] = [
    ("GET", "/api/v1/pods", None),
    ("GET", "/api/v1/namespaces", None),
    ("GET", "/api/v1/nodes", None),
    ("GET", "/api/v1/secrets", None),
    ("GET", f"/api/v1/namespaces/{NAMESPACE}/configmaps", None),
    ("PATCH", f"/api/v1/nodes/{NODE}", {"metadata": {"labels": {"forged": "true"}}}),
    ("DELETE", "/api/v1/namespaces/{namespace}/pods/holder", None),
    ("POST", "/api/v1/namespaces/{namespace}/pods/holder/exec?command=id", {}),
    ("POST", "/api/v1/namespaces/{namespace}/pods", {}),
    ("POST", "/api/v1/namespaces/{namespace}/events", {}),
    ("POST", f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/{ACCOUNT}/token", {}),
    ("GET", GROUP + "/resourceclaims", None),
    ("POST", CLAIMS, {}),
    ("PATCH", CLAIMS + "/{claim}", {}),
    ("DELETE", CLAIMS + "/{claim}", None),
    ("PUT", CLAIMS + "/{claim}/status", {}),
    ("DELETE", GROUP + "/resourceslices", None),
    ("PATCH", GROUP + "/resourceslices/{slice}", {}),
    ("POST", GROUP + "/deviceclasses", {}),
    ("DELETE", "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies", None),
]
