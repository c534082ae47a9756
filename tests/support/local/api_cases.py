"""Requests to put to the embedded API server and to a real one: both must answer alike.

A case is a list of steps in a namespace of its own. `NS` in a path or a body stands for that
namespace, `ID` for a word that no other case uses, for objects that have no namespace.

`ANSWERS` holds what a real server of Kubernetes 1.37 refuses of them; the cluster rung compares it
with a running one.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["ANSWERS", "CASES", "Case", "Step"]

ANSWERS = Path(__file__).parent / "local_api_answers.json"

JSON, YAML = "application/json", "application/yaml"
MERGE, JSON_PATCH = "application/merge-patch+json", "application/json-patch+json"
APPLY = "application/apply-patch+yaml"
DRA = "/apis/resource.k8s.io/v1"
CLAIMS = f"{DRA}/namespaces/NS/resourceclaims"
TEMPLATES = f"{DRA}/namespaces/NS/resourceclaimtemplates"
CLASSES, SLICES = f"{DRA}/deviceclasses", f"{DRA}/resourceslices"
RULES = f"{DRA}/devicetaintrules?dryRun=All"  # so that no rule of a test taints a device
BETA_CLAIMS = "/apis/resource.k8s.io/v1beta1/namespaces/NS/resourceclaims"
PODS = "/api/v1/namespaces/NS/pods"
DEPLOYMENTS = "/apis/apps/v1/namespaces/NS/deployments"
EVENTS = "/apis/events.k8s.io/v1/namespaces/NS/events"
OTHER_UID = "11111111-1111-1111-1111-111111111111"


@dataclass(frozen=True)
class Step:
    """One request; bytes are sent as they are."""

    method: str
    path: str
    body: Any = None
    media_type: str = JSON


@dataclass(frozen=True)
class Case:
    """Requests that belong together."""

    name: str
    steps: tuple[Step, ...]


def dra(kind: str, name: str, spec: Any = None, version: str = "v1", **meta: Any) -> dict[str, Any]:
    """An object of resource.k8s.io."""
    obj = {
        "apiVersion": f"resource.k8s.io/{version}",
        "kind": kind,
        "metadata": {"name": name, **meta},
    }
    return obj if spec is None else {**obj, "spec": spec}


def claim(spec: Any = None, name: str = "x", version: str = "v1", **meta: Any) -> dict[str, Any]:
    """A claim."""
    return dra("ResourceClaim", name, spec, version, **meta)


def devices(*requests: Any, **more: Any) -> dict[str, Any]:
    """A claim's spec."""
    return {"devices": {"requests": list(requests), **more}}


def request(name: str = "a", **exactly: Any) -> dict[str, Any]:
    """A request for one device."""
    return {"name": name, "exactly": {"deviceClassName": "c", **exactly}}


def selector(expression: str) -> dict[str, Any]:
    """A request that selects by CEL."""
    return request(selectors=[{"cel": {"expression": expression}}])


GOOD = devices(request())

CLAIM_SPECS: dict[str, Any] = {
    "good": GOOD,
    "no spec": None,
    "no requests": devices(),
    "requests no list": {"devices": {"requests": {}}},
    "class no text": devices(request(deviceClassName=5)),
    "count no number": devices(request(count="1")),
    "count a fraction": devices(request(count=1.5)),
    "admin access no flag": devices(request(adminAccess="true")),
    "neither exactly nor first available": devices({"name": "a"}),
    "bad names": devices(request("A", deviceClassName="C")),
    "long name": devices(request("a" * 64)),
    "empty names": devices({"exactly": {}}),
    "unknown mode": devices(request(allocationMode="Some")),
    "all with a count": devices(request(allocationMode="All", count=2)),
    "all": devices(request(allocationMode="All")),
    "negative count": devices(request(count=-1)),
    "admin access": devices(request(adminAccess=True)),
    "empty selector": devices(request(selectors=[{}])),
    "empty expression": devices(selector("")),
    "half an expression": devices(selector("device.driver ==")),
    "an expression of nothing there is": devices(selector("device.foo")),
    "an expression that is no condition": devices(selector("device.driver")),
    "long expression": devices(selector(f'device.driver == "{"x" * 10240}"')),
    "good expression": devices(selector('device.attributes["d.example.com"].name == "eth1"')),
    "many selectors": devices(request(selectors=[{"cel": {"expression": "true"}}] * 33)),
    "both forms": devices({**request(), "firstAvailable": [{"name": "b", "deviceClassName": "c"}]}),
    "first available": devices(
        {"name": "a", "firstAvailable": [{"name": "b", "deviceClassName": "c"}]}
    ),
    "alternatives alike": devices(
        {"name": "a", "firstAvailable": [{"name": "b", "deviceClassName": "c"}, {"name": "b"}]}
    ),
    "many alternatives": devices(
        {
            "name": "a",
            "firstAvailable": [{"name": f"b{n}", "deviceClassName": "c"} for n in range(9)],
        }
    ),
    "requests alike": devices(request(), request()),
    "many requests": devices(*(request(f"a{n}") for n in range(33))),
    "toleration without operator": devices(request(tolerations=[{"key": "a b"}])),
    "toleration of no sort": devices(
        request(tolerations=[{"operator": "Some", "effect": "Never", "key": "k"}])
    ),
    "toleration that exists with a value": devices(
        request(tolerations=[{"operator": "Exists", "value": "x"}])
    ),
    "toleration": devices(request(tolerations=[{"operator": "Equal", "key": "k", "value": "v"}])),
    "capacity": devices(request(capacity={"requests": {"d.example.com/vfs": "1"}})),
    "capacity no quantity": devices(request(capacity={"requests": {"vfs": "1x"}})),
    "constraint on nobody": devices(
        request(), constraints=[{"requests": ["b"], "matchAttribute": "x"}]
    ),
    "empty constraint": devices(request(), constraints=[{}]),
    "constraint": devices(request(), constraints=[{"matchAttribute": "d.example.com/x"}]),
    "distinct": devices(request(), constraints=[{"distinctAttribute": "d.example.com/x"}]),
    "configuration without content": devices(request(), config=[{"requests": ["b"]}]),
    "empty configuration": devices(
        request(), config=[{"opaque": {"driver": "", "parameters": None}}]
    ),
    "configuration that is no object": devices(
        request(), config=[{"opaque": {"driver": "-x", "parameters": []}}]
    ),
    "long configuration": devices(
        request(), config=[{"opaque": {"driver": "d.x", "parameters": {"a": "b" * 10240}}}]
    ),
    "configuration for one twice": devices(
        request(),
        config=[{"requests": ["a", "a"], "opaque": {"driver": "d.x", "parameters": {"a": 1}}}],
    ),
    "configuration for a part of a part": devices(
        request(),
        config=[{"requests": ["a/b/c"], "opaque": {"driver": "d.x", "parameters": {"a": 1}}}],
    ),
    "configuration": devices(
        request(), config=[{"requests": ["a"], "opaque": {"driver": "d.x", "parameters": {}}}]
    ),
    "configuration with null inside": devices(
        request(), config=[{"opaque": {"driver": "d.x", "parameters": {"a": None}}}]
    ),
    "unknown field": {**GOOD, "foo": 1},
    "null fields": {"devices": {"requests": [request()], "constraints": None, "config": None}},
}

CLAIM_METAS: dict[str, dict[str, Any]] = {
    "bad name": {"name": "P_1"},
    "long name": {"name": "a" * 254},
    "no name": {"name": ""},
    "generated name": {"name": "", "generateName": "gen-"},
    "bad generated name": {"name": "", "generateName": "Gen-"},
    "labels": {"labels": {"a.b/c": "D_e"}},
    "bad label key": {"labels": {"a b": "c"}},
    "bad label value": {"labels": {"a": "b c"}},
    "label no text": {"labels": {"a": 5}},
    "bad annotation": {"annotations": {"a b": "c"}},
    "long annotations": {"annotations": {"a": "b" * (256 << 10)}},
    "half an owner": {"ownerReferences": [{"apiVersion": "v1"}]},
    "the other half": {"ownerReferences": [{"kind": "Pod", "name": "p", "uid": "u"}]},
    "two controllers": {
        "ownerReferences": [
            {"apiVersion": "v1", "kind": "Pod", "name": n, "uid": n, "controller": True}
            for n in ("a", "b")
        ]
    },
    "finalizer without a domain": {"finalizers": ["nodomain"]},
    "version at birth": {"resourceVersion": "5"},
    "UID at birth": {"uid": OTHER_UID},
    "another namespace": {"namespace": "other"},
    "unknown field": {"foo": "bar"},
}

STATUS_STEPS = {
    "of an unallocated device": {"devices": [{"driver": "d.x", "pool": "p", "device": "e"}]},
    "reserved without allocation": {"reservedFor": [{"resource": "pods", "name": "x", "uid": "u"}]},
    "half a consumer": {"reservedFor": [{"resource": "pods"}]},
    "bad allocation": {"allocation": {"devices": {"results": [{"request": "zz"}]}}},
    "bad results": {
        "allocation": {
            "devices": {
                "results": [
                    {
                        "request": "a",
                        "driver": "D_",
                        "pool": "P",
                        "device": "E",
                        "shareID": "no uuid",
                    }
                ]
            }
        }
    },
    "bad source": {
        "allocation": {
            "devices": {
                "config": [
                    {"source": "Me", "opaque": {"driver": "d.x", "parameters": {"a": 1}}},
                    {"opaque": {"driver": "d.x", "parameters": {"a": 1}}},
                ]
            }
        }
    },
    "good allocation": {
        "allocation": {
            "devices": {"results": [{"request": "a", "driver": "d.x", "pool": "n", "device": "e"}]}
        }
    },
}

ALLOCATION = {
    "devices": {"results": [{"request": "a", "driver": "d.x", "pool": "n", "device": "e"}]}
}


def device(**more: Any) -> dict[str, Any]:
    """A report on the device that is allocated."""
    return {"driver": "d.x", "pool": "n", "device": "e", **more}


def condition(**more: Any) -> dict[str, Any]:
    """A condition that is right."""
    right = {
        "type": "Ready",
        "status": "True",
        "reason": "Fine",
        "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    return {**right, **more}


DEVICE_REPORTS: dict[str, list[Any]] = {
    "good": [
        device(
            conditions=[condition()],
            data={"any": ["thing", None]},
            networkData={"interfaceName": "net1", "ips": ["10.0.0.1/24"], "hardwareAddress": "x"},
        )
    ],
    "another device": [{**device(), "device": "f"}],
    "twice": [device(), device()],
    "empty condition": [device(conditions=[{}])],
    "condition of no status": [device(conditions=[condition(status="Maybe", reason="")])],
    "condition with a bad time": [device(conditions=[condition(lastTransitionTime="soon")])],
    "conditions alike": [device(conditions=[condition(), condition()])],
    "many conditions": [device(conditions=[condition(type=f"T{n}") for n in range(9)])],
    "data that is no object": [device(data=[1])],
    "long data": [device(data={"a": "b" * 10240})],
    "an address without its length": [device(networkData={"ips": ["10.0.0.1"]})],
    "an address of odd form": [device(networkData={"ips": ["10.0.0.01/24", "FD00::1/64"]})],
    "many addresses": [device(networkData={"ips": [f"10.0.0.{n}/24" for n in range(17)]})],
    "addresses alike": [device(networkData={"ips": ["10.0.0.1/24"] * 2})],
    "long names": [device(networkData={"interfaceName": "a" * 257, "hardwareAddress": "a" * 129})],
}


def slice_(spec: Any, name: str = "s-ID") -> dict[str, Any]:
    """A slice; None takes a field away."""
    usual = {
        "driver": "d.example.com",
        "nodeName": "n",
        "pool": {"name": "n", "generation": 1, "resourceSliceCount": 1},
    }
    merged = {key: value for key, value in {**usual, **spec}.items() if value is not None}
    return dra("ResourceSlice", name, merged)


def one_device(**fields: Any) -> dict[str, Any]:
    """A slice's spec with one device."""
    return {"devices": [{"name": "a", **fields}]}


def policy(shared: bool = True, **rules: Any) -> dict[str, Any]:
    """A slice's spec with a capacity of 10 and rules for what may be asked of it."""
    return one_device(
        allowMultipleAllocations=shared, capacity={"m": {"value": "10", "requestPolicy": rules}}
    )


SLICE_SPECS: dict[str, dict[str, Any]] = {
    "good": one_device(attributes={"x": {"int": 1}, "d.example.com/y": {"string": "s"}}),
    "bad driver": {"driver": "A_b"},
    "driver in capitals": {"driver": "A.b"},
    "no driver": {"driver": ""},
    "long driver": {"driver": "a" * 64},
    "nowhere": {"nodeName": None},
    "no node": {"nodeName": ""},
    "bad node": {"nodeName": "N"},
    "here and everywhere": {"allNodes": True},
    "everywhere, not": {"nodeName": None, "allNodes": False},
    "everywhere": {"nodeName": None, "allNodes": True},
    "nodes by no terms": {"nodeName": None, "nodeSelector": {"nodeSelectorTerms": []}},
    "no pool": {"pool": {}},
    "bad pool": {"pool": {"name": "N", "generation": -1, "resourceSliceCount": 0}},
    "pool of parts": {"pool": {"name": "a/b", "generation": 0, "resourceSliceCount": 1}},
    "devices alike": {"devices": [{"name": "a"}, {"name": "a"}]},
    "bad device names": {"devices": [{"name": "A"}, {}]},
    "as many devices as may be": {"devices": [{"name": f"a{n}"} for n in range(128)]},
    "many devices": {"devices": [{"name": f"a{n}"} for n in range(129)]},
    "many tainted devices": {
        "devices": [
            {"name": f"a{n}", "taints": [{"key": "k", "effect": "None"}]} for n in range(65)
        ]
    },
    "attribute of nothing": one_device(attributes={"x": {}}),
    "attribute of two": one_device(attributes={"x": {"int": 1, "string": "s"}}),
    "attribute of a wrong type": one_device(attributes={"x": {"int": "1"}}),
    "bad attribute names": one_device(
        attributes={"x-y": {"int": 1}, "/a": {"int": 1}, "a/": {"int": 1}, "1a": {"int": 1}}
    ),
    "bad attribute values": one_device(
        attributes={"x": {"string": "s" * 65}, "v": {"version": "1"}}
    ),
    "empty list for an attribute": one_device(attributes={"x": {"strings": []}}),
    "list for an attribute": one_device(attributes={"x": {"strings": ["a", "b"]}}),
    "many attributes": one_device(attributes={f"x{n}": {"int": 1} for n in range(33)}),
    "many values": one_device(attributes={"x": {"ints": list(range(49))}}),
    "capacity no quantity": one_device(capacity={"m": {"value": "1x"}}),
    "capacity": one_device(capacity={"m": {"value": "1024Mi"}, "n": {"value": 5}}),
    "policy on an unshared device": policy(shared=False, default="1"),
    "policy without rules": policy(default="1"),
    "policy of two sorts": policy(default="1", validValues=["1"], validRange={"min": "1"}),
    "values without default": policy(validValues=["1", "2"]),
    "values out of order": policy(default="1", validValues=["2", "1"]),
    "values beyond": policy(default="1", validValues=["1", "11"]),
    "values without the default": policy(default="3", validValues=["1", "2"]),
    "values alike": policy(default="1", validValues=["1", "1"]),
    "range without default": policy(validRange={"min": "1"}),
    "range without minimum": policy(default="1", validRange={"max": "2"}),
    "range upside down": policy(default="5", validRange={"min": "6", "max": "4"}),
    "range beyond": policy(default="11", validRange={"min": "11", "max": "12"}),
    "range with odd steps": policy(default="4", validRange={"min": "1", "max": "9", "step": "2"}),
    "range": policy(default="1", validRange={"min": "1", "max": "9", "step": "2"}),
    "empty taint": one_device(taints=[{}]),
    "bad taint": one_device(taints=[{"key": "a b", "effect": "No", "value": "b c"}]),
    "many taints": one_device(taints=[{"key": f"k{n}", "effect": "None"} for n in range(17)]),
    "taint": one_device(taints=[{"key": "k", "effect": "NoSchedule"}]),
    "device with a node of its own": one_device(nodeName="x"),
    "devices that should have nodes": {
        "nodeName": None,
        "perDeviceNodeSelection": True,
        "devices": [{"name": "a"}],
    },
    "devices with nodes": {
        "nodeName": None,
        "perDeviceNodeSelection": True,
        "devices": [{"name": "a", "nodeName": "n"}, {"name": "b", "allNodes": True}],
    },
    "counters": {"sharedCounters": [{"name": "c", "counters": {"x": {"value": "1"}}}]},
    "bad counters": {"sharedCounters": [{"counters": {"X": {"value": "1"}}}, {"name": "d"}]},
    "counters and devices": {
        "devices": [{"name": "a"}],
        "sharedCounters": [{"name": "c", "counters": {"x": {"value": "1"}}}],
    },
    "consumption of nothing": one_device(consumesCounters=[{}]),
    "conditions by halves": one_device(bindingConditions=["a"]),
    "conditions": one_device(bindingConditions=["a", "a"], bindingFailureConditions=["a", "b c"]),
}

CLASS_SPECS: dict[str, Any] = {
    "empty": {},
    "none": None,
    "good": {"selectors": [{"cel": {"expression": 'device.driver == "d.x"'}}]},
    "bad expression": {"selectors": [{"cel": {"expression": "device.driver = 1"}}]},
    "configuration": {"config": [{"opaque": {"driver": "d.x", "parameters": {"a": 1}}}]},
    "empty configuration": {"config": [{}]},
    "no resource name": {"extendedResourceName": "foo"},
    "resource name": {"extendedResourceName": "example.com/foo"},
    "resource name of kubernetes": {"extendedResourceName": "kubernetes.io/foo"},
    "suitable nodes": {"suitableNodes": {}},
}


TAINT = {"key": "example.com/x", "effect": "NoSchedule"}
RULE_SPECS: dict[str, Any] = {
    "good": {"deviceSelector": {"driver": "d.example.com", "device": "eth1"}, "taint": TAINT},
    "for everything": {"deviceSelector": {}, "taint": {**TAINT, "value": "y", "effect": "None"}},
    "for nothing": {"taint": {**TAINT, "effect": "NoExecute"}},
    "no taint": {"deviceSelector": {}},
    "no spec": None,
    "no key": {"taint": {"effect": "NoSchedule"}},
    "no effect": {"taint": {"key": "a"}},
    "odd effect": {"taint": {"key": "a", "effect": "Sometimes"}},
    "effect no text": {"taint": {"key": "a", "effect": 5}},
    "odd value": {"taint": {**TAINT, "value": "a b"}},
    "odd names": {
        "deviceSelector": {"driver": "a b", "pool": "a//b", "device": "A_b"},
        "taint": TAINT,
    },
    "by class": {"deviceSelector": {"deviceClassName": "c"}, "taint": TAINT},
}


def pod(spec: Any, name: str = "x") -> dict[str, Any]:
    """A pod that no node takes."""
    nowhere = {"nodeSelector": {"no": "where"}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {**nowhere, **spec},
    }


CONTAINER = {"name": "c", "image": "i"}


def with_claims(*claims: Any) -> dict[str, Any]:
    """A pod's spec with claims."""
    return {"containers": [CONTAINER], "resourceClaims": list(claims)}


def container_with(*claims: Any) -> dict[str, Any]:
    """A pod's spec with a claim `a` and a container that names claims."""
    users = {**CONTAINER, "resources": {"claims": list(claims)}}
    return {
        "containers": [users],
        "resourceClaims": [{"name": "a", "resourceClaimName": "y"}],
    }


POD_SPECS: dict[str, dict[str, Any]] = {
    "good": {"containers": [CONTAINER]},
    "no containers": {},
    "empty container": {"containers": [{}]},
    "containers alike": {"containers": [CONTAINER, CONTAINER]},
    "bad container name": {"containers": [{"name": "C", "image": "i"}]},
    "claim": with_claims({"name": "a", "resourceClaimName": "x"}),
    "empty claim": with_claims({}),
    "claim of two sorts": with_claims(
        {"name": "A", "resourceClaimName": "x", "resourceClaimTemplateName": "y"}
    ),
    "claims alike": with_claims(
        {"name": "a", "resourceClaimName": "X"}, {"name": "a", "resourceClaimName": "y"}
    ),
    "claim of before": with_claims({"name": "a", "source": {"resourceClaimName": "x"}}),
    "container with a claim": container_with({"name": "a"}),
    "container with a claim of nobody": container_with({"name": "z"}),
    "container with a claim twice": container_with({"name": "a"}, {"name": "a"}),
    "container with a claim without name": container_with({}),
}


def deployment(**spec: Any) -> dict[str, Any]:
    """A deployment of no pods."""
    usual = {
        "replicas": 0,
        "selector": {"matchLabels": {"a": "b"}},
        "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [CONTAINER]}},
    }
    merged = {key: value for key, value in {**usual, **spec}.items() if value is not None}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "x"},
        "spec": merged,
    }


DEPLOYMENT_SPECS: dict[str, dict[str, Any]] = {
    "good": {},
    "empty": {"replicas": None, "selector": None, "template": None},
    "negative": {"replicas": -1},
    "selects others": {"selector": {"matchLabels": {"a": "c"}}},
    "selects all": {"selector": {}},
    "selects by expression": {
        "selector": {"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]}
    },
    "selects by half an expression": {
        "selector": {
            "matchLabels": {"a": "b"},
            "matchExpressions": [{"key": "a", "operator": "In"}, {"key": "a", "operator": "Is"}],
        }
    },
    "bad pods": {"template": {"metadata": {"labels": {"a": "b"}}, "spec": {}}},
}


def event(**fields: Any) -> dict[str, Any]:
    """An event; None takes a field away."""
    usual = {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": "e"},
        "eventTime": "2026-01-01T00:00:00.000000Z",
        "reportingController": "d.example.com/x",
        "reportingInstance": "x",
        "action": "Try",
        "reason": "Tried",
        "type": "Normal",
        "regarding": {"kind": "Pod", "namespace": "NS", "name": "x"},
    }
    return {key: value for key, value in {**usual, **fields}.items() if value is not None}


EVENT_FIELDS: dict[str, dict[str, Any]] = {
    "good": {},
    "no time": {"eventTime": None},
    "no words": {"reportingController": None, "reportingInstance": None, "action": None},
    "long words": {"note": "n" * 1025, "action": "a" * 129, "reason": "r" * 129},
    "no type": {"type": None},
    "bad controller": {"reportingController": "a b"},
}


def create(path: str, body: Any, media_type: str = JSON) -> Step:
    """Make an object."""
    return Step("POST", path, body, media_type)


def status(content: Any) -> Step:
    """Replace the status of the claim `x`."""
    return Step("PUT", f"{CLAIMS}/x/status", {**claim(GOOD), "status": content})


def apply_status(content: Any, manager: str, *, force: bool = False, **meta: Any) -> Step:
    """Apply the status of the claim `x`."""
    query = f"fieldManager={manager}&force={'true' if force else 'false'}"
    body = {**claim(**meta), "status": content}
    return Step("PATCH", f"{CLAIMS}/x/status?{query}", body, APPLY)


def patch(body: Any, media_type: str = MERGE, path: str = f"{CLAIMS}/x") -> Step:
    """Change the claim `x`."""
    return Step("PATCH", path, body, media_type)


def get(path: str) -> Step:
    """Look."""
    return Step("GET", path)


ALLOCATED = (create(CLAIMS, claim(GOOD)), status({"allocation": ALLOCATION}))
TWO_ADDRESSES = [device(networkData={"ips": ["10.0.0.2/24"]})]

CASES: tuple[Case, ...] = (
    *(Case(f"claim: {name}", (create(CLAIMS, claim(spec)),)) for name, spec in CLAIM_SPECS.items()),
    *(
        Case(f"claim, strictly: {name}", (create(f"{CLAIMS}?fieldValidation=Strict", claim(spec)),))
        for name, spec in CLAIM_SPECS.items()
        if name in ("good", "unknown field", "null fields")
    ),
    *(
        Case(f"claim metadata: {name}", (create(CLAIMS, claim(GOOD, **meta)),))
        for name, meta in CLAIM_METAS.items()
    ),
    *(
        Case(f"claim status: {name}", (create(CLAIMS, claim(GOOD)), status(content)))
        for name, content in STATUS_STEPS.items()
    ),
    *(
        Case(
            f"device report: {name}",
            (*ALLOCATED, status({"allocation": ALLOCATION, "devices": report})),
        )
        for name, report in DEVICE_REPORTS.items()
    ),
    *(
        Case(
            f"slice: {name}",
            (create(SLICES, slice_(spec)), Step("DELETE", f"{SLICES}/s-ID")),
        )
        for name, spec in SLICE_SPECS.items()
    ),
    *(
        Case(
            f"class: {name}",
            (
                create(CLASSES, dra("DeviceClass", "c-ID", spec)),
                Step("DELETE", f"{CLASSES}/c-ID"),
            ),
        )
        for name, spec in CLASS_SPECS.items()
    ),
    *(
        Case(f"rule: {name}", (create(RULES, dra("DeviceTaintRule", "r-ID", spec)),))
        for name, spec in RULE_SPECS.items()
    ),
    Case(
        "class in a namespace",
        (
            create(CLASSES, dra("DeviceClass", "c-ID", {}, namespace="NS")),
            Step("DELETE", f"{CLASSES}/c-ID"),
        ),
    ),
    *(Case(f"pod: {name}", (create(PODS, pod(spec)),)) for name, spec in POD_SPECS.items()),
    *(
        Case(f"deployment: {name}", (create(DEPLOYMENTS, deployment(**spec)),))
        for name, spec in DEPLOYMENT_SPECS.items()
    ),
    *(
        Case(f"event: {name}", (create(EVENTS, event(**fields)),))
        for name, fields in EVENT_FIELDS.items()
    ),
    Case("twice", (create(CLAIMS, claim(GOOD)), create(CLAIMS, claim(GOOD)))),
    Case("nowhere", (create(CLAIMS.replace("NS", "nowhere-ID"), claim(GOOD)),)),
    Case(
        "bodies",
        (
            create(CLAIMS, b"{"),
            create(CLAIMS, b"[]"),
            create(CLAIMS, b"x: [", "text/plain"),
            create(CLAIMS, b"metadata: {name: fromyaml}", YAML),
            create(CLAIMS, {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "x"}}),
            create(CLAIMS, {**claim(GOOD), "kind": "Pod"}),
            create(CLAIMS, claim(GOOD, version="v1beta1")),
            create(CLAIMS, {"metadata": {"name": "nameless"}, "spec": GOOD}),
        ),
    ),
    Case(
        "template",
        (
            create(TEMPLATES, dra("ResourceClaimTemplate", "x", {"spec": GOOD})),
            create(TEMPLATES, dra("ResourceClaimTemplate", "y", {"spec": devices({"name": "A"})})),
            create(TEMPLATES, dra("ResourceClaimTemplate", "z")),
            create(
                TEMPLATES,
                dra("ResourceClaimTemplate", "w", {"metadata": {"labels": {"a b": "c"}}}),
            ),
            create(
                TEMPLATES,
                dra("ResourceClaimTemplate", "v", {"spec": devices(request(adminAccess=True))}),
            ),
            Step(
                "PUT",
                f"{TEMPLATES}/x",
                dra("ResourceClaimTemplate", "x", {"spec": devices(request("b"))}),
            ),
        ),
    ),
    Case(
        "an older version",
        (
            create(BETA_CLAIMS, claim(devices({"name": "a"}), version="v1beta1")),
            create(
                BETA_CLAIMS,
                claim(
                    devices({"name": "a", "deviceClassName": "C", "count": -1}), version="v1beta1"
                ),
            ),
            create(
                BETA_CLAIMS,
                claim(
                    devices(
                        {
                            "name": "a",
                            "deviceClassName": "c",
                            "firstAvailable": [{"name": "b", "deviceClassName": "c"}],
                        }
                    ),
                    version="v1beta1",
                ),
            ),
            create(f"{BETA_CLAIMS}?fieldValidation=Strict", claim(GOOD, version="v1beta1")),
            create(
                BETA_CLAIMS,
                claim(devices({"name": "a", "deviceClassName": "c"}), version="v1beta1"),
            ),
            get(f"{CLAIMS}/x"),
            get(f"{BETA_CLAIMS}/x"),
            get(CLAIMS.replace("v1", "v1beta2", 1) + "/x"),
        ),
    ),
    Case(
        "what is not there",
        (
            get(f"{CLAIMS}/nope"),
            get(f"{CLAIMS}/nope/status"),
            get(f"{CLAIMS}/nope/foo"),
            get(f"{DRA}/foos"),
            get("/apis/resource.k8s.io/v9/resourceclaims"),
            Step("DELETE", f"{CLAIMS}/nope"),
            Step("PUT", f"{CLAIMS}/nope", claim(GOOD, name="nope")),
            patch({"metadata": {"labels": {"a": "b"}}}, path=f"{CLAIMS}/nope"),
            apply_status({}, "m"),
            get(f"{SLICES}/nope"),
            get(f"{TEMPLATES}/x/status"),
        ),
    ),
    Case(
        "methods",
        (
            Step("PUT", CLAIMS, claim(GOOD)),
            create(f"{CLAIMS}/x", claim(GOOD)),
            patch({}, path=CLAIMS),
            create(f"{DRA}/resourceclaims", claim(GOOD)),
        ),
    ),
    Case(
        "updates",
        (
            create(CLAIMS, claim(GOOD)),
            Step("PUT", f"{CLAIMS}/x", claim(GOOD, labels={"x": "y"})),
            Step("PUT", f"{CLAIMS}/x", claim(GOOD, name="y")),
            Step("PUT", f"{CLAIMS}/x", claim(GOOD, namespace="other")),
            Step("PUT", f"{CLAIMS}/x", claim(devices(request("b")))),
            Step("PUT", f"{CLAIMS}/x", claim(GOOD, resourceVersion="1")),
            Step("PUT", f"{CLAIMS}/x", claim(GOOD, uid=OTHER_UID)),
            Step("PUT", f"{CLAIMS}/x/status", claim(GOOD, uid=OTHER_UID)),
            Step("PUT", f"{CLAIMS}/x", claim(GOOD, labels={"a b": "c"})),
        ),
    ),
    Case(
        "patches",
        (
            create(CLAIMS, claim(GOOD)),
            patch({"metadata": {"labels": {"a": "b"}}}),
            patch({"metadata": {"resourceVersion": "1"}}),
            patch({"metadata": {"uid": OTHER_UID}}),
            patch({"metadata": {"name": "other"}}),
            patch({"spec": None}),
            patch([{"op": "remove", "path": "/metadata/labels/zz"}], JSON_PATCH),
            patch([{"op": "test", "path": "/metadata/labels/a", "value": "x"}], JSON_PATCH),
            patch([{"op": "test", "path": "/metadata/labels/a", "value": "b"}], JSON_PATCH),
            patch([{"op": "add", "path": "/metadata/labels/z", "value": "1"}], JSON_PATCH),
            patch([{"op": "what", "path": "/metadata/labels/z", "value": "1"}], JSON_PATCH),
            patch({"a": 1}, JSON),
            patch({"a": 1}, "text/plain"),
        ),
    ),
    Case(
        "an allocation stays",
        (
            *ALLOCATED,
            status({"allocation": {"devices": {"results": []}}}),
            status({"allocation": ALLOCATION, "devices": [device()]}),
            status({}),
            get(f"{CLAIMS}/x"),
        ),
    ),
    Case(
        "applied status",
        (
            *ALLOCATED,
            apply_status({}, ""),
            apply_status({}, "m", uid=OTHER_UID),
            apply_status({"devices": [device(networkData={"ips": ["10.0.0.1/24"]})]}, "m"),
            apply_status({"devices": TWO_ADDRESSES}, "m2"),
            apply_status({"devices": TWO_ADDRESSES}, "m2", force=True),
            apply_status({}, "m"),
            get(f"{CLAIMS}/x"),
            apply_status({}, "m2"),
            get(f"{CLAIMS}/x"),
            apply_status({"devices": [{**device(), "device": "f"}]}, "m"),
            Step("PATCH", f"{CLAIMS}/x/status?fieldManager=m", b"{", APPLY),
            Step(
                "PATCH",
                f"{CLAIMS}/x/status?fieldManager=m",
                {"kind": "ResourceClaim", "metadata": {"name": "x"}},
                APPLY,
            ),
        ),
    ),
    Case(
        "applied objects",
        (
            patch(claim(GOOD, labels={"a": "b"}), APPLY, f"{CLAIMS}/x?fieldManager=m"),
            patch(claim(GOOD, labels={"c": "d"}), APPLY, f"{CLAIMS}/x?fieldManager=m&force=true"),
            get(f"{CLAIMS}/x"),
            patch(claim(labels={"c": "e"}), APPLY, f"{CLAIMS}/x?fieldManager=m2"),
            patch(claim(labels={"f": "g"}), APPLY, f"{CLAIMS}/x?fieldManager=m2"),
            get(f"{CLAIMS}/x"),
            patch({"metadata": {"labels": {"c": "h"}}}),
            patch(claim(labels={"c": "d"}), APPLY, f"{CLAIMS}/x?fieldManager=m"),
            get(f"{CLAIMS}/x"),
        ),
    ),
    Case(
        "slices change in part",
        (
            create(SLICES, slice_(one_device())),
            Step("PUT", f"{SLICES}/s-ID", slice_({"driver": "e.example.com", "nodeName": "m"})),
            Step(
                "PUT",
                f"{SLICES}/s-ID",
                slice_({"pool": {"name": "m", "generation": 1, "resourceSliceCount": 1}}),
            ),
            Step("PUT", f"{SLICES}/s-ID", slice_({"devices": [{"name": "b"}]})),
            Step("DELETE", f"{SLICES}/s-ID", {"preconditions": {"uid": OTHER_UID}}),
            Step("DELETE", f"{SLICES}/s-ID", {"preconditions": {"resourceVersion": "1"}}),
            Step("DELETE", f"{SLICES}/s-ID"),
            get(f"{SLICES}/s-ID"),
        ),
    ),
    Case(
        "finalizers",
        (
            create(CLAIMS, claim(GOOD, finalizers=["example.com/wait"])),
            Step("DELETE", f"{CLAIMS}/x"),
            get(f"{CLAIMS}/x"),
            patch({"metadata": {"finalizers": ["example.com/wait", "example.com/more"]}}),
            patch({"metadata": {"finalizers": None}}),
            get(f"{CLAIMS}/x"),
        ),
    ),
    Case(
        "pods stay as they are",
        (
            create(PODS, pod({"containers": [CONTAINER]})),
            patch({"spec": {"hostNetwork": True}}, path=f"{PODS}/x"),
            patch({"metadata": {"labels": {"a": "b"}}}, path=f"{PODS}/x"),
            Step("DELETE", f"{PODS}/x"),
            get(f"{PODS}/x"),
        ),
    ),
    Case(
        "selections",
        (
            create(CLAIMS, claim(GOOD, labels={"a": "b", "c": "d"})),
            create(CLAIMS, claim(GOOD, name="y")),
            get(f"{CLAIMS}?labelSelector=a=b"),
            get(f"{CLAIMS}?labelSelector=a!=b"),
            get(f"{CLAIMS}?labelSelector=a in (b,c),c"),
            get(f"{CLAIMS}?labelSelector=a notin (b)"),
            get(f"{CLAIMS}?labelSelector=!a"),
            get(f"{CLAIMS}?labelSelector=a b"),
            get(f"{CLAIMS}?fieldSelector=metadata.name=y"),
            get(f"{CLAIMS}?fieldSelector=metadata.name!=y"),
            get(f"{CLAIMS}?fieldSelector=spec.foo=1"),
            get(f"{CLAIMS}?fieldSelector=x"),
            get(f"{CLAIMS}?limit=1"),
            get(f"{CLAIMS}?limit=x"),
            get(f"{CLAIMS}?continue=abc"),
            get(f"{CLAIMS}?resourceVersion=abc"),
            get(f"{PODS}?fieldSelector=spec.nodeName=n"),
            get(f"{PODS}?fieldSelector=spec.hostname=x"),
        ),
    ),
    Case(
        "events by both names",
        (
            create(EVENTS, event(note="hello")),
            get("/api/v1/namespaces/NS/events/e"),
            get("/api/v1/namespaces/NS/events?fieldSelector=involvedObject.name=x"),
            get(f"{EVENTS}?fieldSelector=regarding.name=x"),
        ),
    ),
)
