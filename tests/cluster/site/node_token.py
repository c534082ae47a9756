"""A driver's token in the wrong hands: single requests to the real API server, and what it answers.

The token is the very one that the driver on a node uses, read from that node's disk. Objects are
written as v1 and sent in the newest version that the release serves.
"""

import http.client
import json
import secrets
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lab.cluster import Lab
from lab.drivers.driver import ACCOUNT, DEFAULT_DRIVER, NAMESPACE
from lab.kubectl import Kubectl
from netclaim.framework.publish.slices import Pool
from netclaim.manifests.versions.conversion import Version, from_v1
from tests.cluster.site.claims import CLASS, claim

NODE, OTHER_NODE = "kind-worker", "kind-worker2"
OTHER_DRIVER = "gpu.elsewhere.example"  # no example's
ANSWER_S = 30.0  # a busy machine is slow

JSON = "application/json"
MERGE = "application/merge-patch+json"
APPLY = "application/apply-patch+yaml"

Object = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Answer:
    """What the API server says to a request."""

    code: int
    body: Object

    @property
    def message(self) -> str:
        """Why it refused."""
        return str(self.body.get("message", ""))

    def check_refused(self, *reasons: str) -> None:
        """It was refused, by one who says each of these."""
        assert self.code in (403, 422), f"{self.code}: {self.body}"
        missing = [reason for reason in reasons if reason not in self.message]
        assert not missing, f"{missing} not in: {self.message}"

    def check_done(self) -> Object:
        """It was done; the object as stored."""
        assert self.code in (200, 201), f"{self.code}: {self.message}"
        return self.body


class TokenApi:
    """The API server, as the holder of this token sees it."""

    def __init__(self, lab: Lab, token: str, version: Version) -> None:
        self._port = lab.state.load().port
        self._tls = ssl.create_default_context(cafile=str(lab.state.pki / "ca.crt"))
        self._token = token
        self._version = version

    def call(self, method: str, path: str, body: Any = None, media_type: str = JSON) -> Answer:
        """Send one request."""
        connection = http.client.HTTPSConnection(
            "127.0.0.1", self._port, context=self._tls, timeout=ANSWER_S
        )
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": media_type}
        try:
            connection.request(
                method, path, json.dumps(body) if body is not None else None, headers
            )
            answer = connection.getresponse()
            return Answer(answer.status, json.loads(answer.read()))
        finally:
            connection.close()

    def slices(self, name: str = "") -> str:
        """The path of all slices, or of one."""
        return f"/apis/resource.k8s.io/{self._version}/resourceslices" + (
            f"/{name}" if name else ""
        )

    def create_slice(self, wanted: Object, query: str = "") -> Answer:
        """Create a slice of v1's form."""
        served = from_v1(wanted, "ResourceSlice", self._version)
        return self.call("POST", self.slices() + query, served)

    def claim(self, namespace: str, name: str) -> str:
        """The path of a claim."""
        group = f"/apis/resource.k8s.io/{self._version}"
        return f"{group}/namespaces/{namespace}/resourceclaims/{name}"

    def patch_status(self, found: Object, patch: Object, query: str = "") -> Answer:
        """Change a claim's status by a merge patch."""
        path = self.claim(found["metadata"]["namespace"], found["metadata"]["name"])
        return self.call("PATCH", f"{path}/status{query}", patch, MERGE)

    def apply_status(self, found: Object, status: Object) -> Answer:
        """Apply a claim's status server-side, by force, as the driver does."""
        meta = {key: found["metadata"][key] for key in ("name", "namespace", "uid")}
        body = {
            "apiVersion": f"resource.k8s.io/{self._version}",
            "kind": "ResourceClaim",
            "metadata": meta,
            "status": status,
        }
        path = self.claim(meta["namespace"], meta["name"])
        return self.call("PATCH", f"{path}/status?fieldManager=thief&force=true", body, APPLY)

    def create_event(self, event: Object, query: str = "") -> Answer:
        """Create an event in the namespace that it names."""
        namespace = event["metadata"]["namespace"]
        path = f"/apis/events.k8s.io/v1/namespaces/{namespace}/events{query}"
        return self.call("POST", path, event)


@dataclass(frozen=True, slots=True)
class Site:
    """A lab with the driver on every node, and a namespace for the tests' objects."""

    lab: Lab
    minor: int
    version: Version
    kubectl: Kubectl
    node_uids: Mapping[str, str]

    @property
    def checks_status_itself(self) -> bool:
        """Whether the API server knows who may write what in a claim's status."""
        return self.minor >= 36

    def stolen(self, node: str = NODE) -> TokenApi:
        """The API for a thief of the token of a node's driver."""
        return self.with_token((self.lab.root(node) / "etc/netclaim/token").read_text())

    def unbound(self) -> TokenApi:
        """The API with a token of the driver's account that names no node."""
        return self.with_token(
            self.kubectl("create", "token", ACCOUNT, f"--namespace={NAMESPACE}").strip()
        )

    def bound_to(self, node: str) -> TokenApi:
        """The API with a new token of the driver's account for a node."""
        name, uid = f"--bound-object-name={node}", f"--bound-object-uid={self.node_uids[node]}"
        account = (ACCOUNT, f"--namespace={NAMESPACE}")
        token = self.kubectl("create", "token", *account, "--bound-object-kind=Node", name, uid)
        return self.with_token(token.strip())

    def with_token(self, token: str) -> TokenApi:
        """The API with this token."""
        return TokenApi(self.lab, token, self.version)

    def slice_of(
        self, node: str = NODE, driver: str = DEFAULT_DRIVER, index: int = 0xABC
    ) -> Object:
        """A slice as the driver on a node makes it, with a number that no real one has."""
        uid = self.node_uids[node]
        owner = {"apiVersion": "v1", "kind": "Node", "name": node, "uid": uid, "controller": True}
        return {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceSlice",
            "metadata": {
                "name": Pool(driver, node, uid).slice_name(index),
                "ownerReferences": [owner],
            },
            "spec": {
                "driver": driver,
                "nodeName": node,
                "pool": {"name": node, "generation": 1, "resourceSliceCount": 1},
                "devices": [{"name": "bait", "attributes": {"name": {"string": "bait"}}}],
            },
        }

    def admin_create(self, wanted: Object) -> Object:
        """Create an object of v1's form with the admin's rights; return it as stored."""
        served = from_v1(wanted, wanted["kind"], self.version)
        made: Object = json.loads(
            self.kubectl("create", "--filename=-", "--output=json", stdin=json.dumps(served))
        )
        return made

    def published(self, node: str) -> list[Object]:
        """The slices that the real driver has on a node.

        Without their versions: the driver may yet count its pool's generation up.
        """
        version = {"metadata": {"resourceVersion": None, "generation": None}}
        pool = {"spec": {"pool": {"generation": 1}}}
        return [
            merged(each, {**version, **pool})
            for each in self.kubectl.items("resourceslices")
            if (each["spec"]["driver"], each["spec"].get("nodeName")) == (DEFAULT_DRIVER, node)
        ]

    def slice_names(self) -> set[str]:
        """The names of all slices."""
        return {each["metadata"]["name"] for each in self.kubectl.items("resourceslices")}

    def new_claim(self) -> Object:
        """A claim for a link and a GPU, not allocated."""
        wanted = [{"name": each, "exactly": {"deviceClassName": CLASS}} for each in ("nic", "gpu")]
        return self.admin_create(claim(f"claim-{secrets.token_hex(3)}", {}, wanted))

    def allocated_claim(self, node: str = NODE, gpus: int = 1, size: int = 0) -> Object:
        """The same on a node, reserved for the pod `holder`, with what both drivers reported.

        Of GPUs there may be several, with a report of some size for each.
        """
        name = self.new_claim()["metadata"]["name"]
        uid = self.kubectl.get("pod", "holder")["metadata"]["uid"]
        status = {
            "allocation": allocation(node, gpus),
            "reservedFor": [{"resource": "pods", "name": "holder", "uid": uid}],
            "devices": [
                entry("nic", node),
                *(entry("gpu", node, number, **filler(size)) for number in range(gpus)),
            ],
        }
        options = ("--subresource=status", "--type=merge", "--patch-file=/dev/stdin")
        patch = json.dumps({"status": status})
        self.kubectl("patch", "resourceclaim", name, *options, stdin=patch)
        return self.kubectl.get("resourceclaim", name)


def allocation(node: str, gpus: int = 1) -> Object:
    """A link and GPUs of a node, as the scheduler allocates them."""
    results = [
        {"request": "nic", "driver": DEFAULT_DRIVER, "pool": node, "device": "nic0"},
        *(
            {"request": "gpu", "driver": OTHER_DRIVER, "pool": node, "device": f"gpu{number}"}
            for number in range(gpus)
        ),
    ]
    here = {"key": "metadata.name", "operator": "In", "values": [node]}
    return {
        "devices": {"results": results},
        "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [here]}]},
    }


def filler(size: int) -> Object:
    """Something to say that is so long."""
    return {"filler": "x" * size} if size else {}


def entry(request: str, node: str, number: int = 0, **data: Any) -> Object:
    """What the driver of one of them reports in the claim's status."""
    driver = {"nic": DEFAULT_DRIVER, "gpu": OTHER_DRIVER}[request]
    ready = {
        "type": "Ready",
        "status": "True",
        "reason": "Ready",
        "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    said = {"conditions": [ready], "data": {"reporter": driver, **data}}
    return {"driver": driver, "pool": node, "device": f"{request}{number}", **said}


def event(claim: Object, change: Mapping[str, Any] | None = None) -> Object:
    """An event as the driver on the node leaves it at a claim, with a change."""
    meta = claim["metadata"]
    left = {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": f"event-{secrets.token_hex(6)}", "namespace": meta["namespace"]},
        "eventTime": "2026-01-01T00:00:00.000000Z",
        "reportingController": DEFAULT_DRIVER,
        "reportingInstance": NODE,
        "action": "Attach",
        "reason": "NetworkInterfaceNotReady",
        "regarding": {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaim",
            **{key: meta[key] for key in ("namespace", "name", "uid")},
        },
        "note": "left by a test",
        "type": "Warning",
    }
    return merged(left, change or {})


def merged(base: Mapping[str, Any], change: Mapping[str, Any]) -> Object:
    """RFC 7386 on dicts: None removes."""
    result = dict(base)
    for key, value in change.items():
        if value is None:
            result.pop(key, None)
        elif isinstance(value, Mapping):
            result[key] = merged(result.get(key) or {}, value)
        else:
            result[key] = value
    return result
