"""What Multus or its companions read and netclaim does not convert: named, with what to do.

No I/O. Limit: of kinds that are not known, an annotation is found only in a pod template.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from netclaim.convert.multus.annotation import ANNOTATION
from netclaim.convert.multus.workloads import DEFAULT_NETWORK, annotations_of
from netclaim.convert.remarks import Remark, about
from netclaim.manifests.kinds import POD_SPECS
from netclaim.manifests.objects import Object, inside
from netclaim.paths import Key, Path

KINDS: Final[Mapping[tuple[str, str], str]] = {
    ("k8s.cni.cncf.io", "MultiNetworkPolicy"): "netclaim has no policies for networks",
    ("operator.openshift.io", "Network"): (
        "the operator makes NetworkAttachmentDefinitions of additionalNetworks; convert those:"
        " kubectl get net-attach-def -A -o yaml | netclaim convert -f -"
    ),
}
VIRTUAL_MACHINES: Final = ("VirtualMachine", "VirtualMachineInstance")
ON_POD: Final = "a pod's default network stays the cluster's; netclaim adds interfaces to it"


def remarks_on(one: Object) -> Iterator[Remark]:
    """Yield what an object asks of Multus that is not converted."""
    group = str(one.object.get("apiVersion")).rpartition("/")[0]
    known = KINDS.get((group, one.kind))
    if known and (one.kind != "Network" or inside(one.object, ("spec",)).get("additionalNetworks")):
        yield about(one, ("kind",), known, lost=True)
    elif one.kind in POD_SPECS and one.is_known:
        yield from _on_pod(one)
    elif one.kind in VIRTUAL_MACHINES:
        yield from _on_machine(one)
    elif path := _annotated(one.object, ()):
        text = f"pods of a {one.kind} are not converted; write resourceClaims yourself"
        yield about(one, path, text, lost=True)


def _on_pod(one: Object) -> Iterator[Remark]:
    path = annotations_of(one)
    if DEFAULT_NETWORK in inside(one.object, path):
        yield about(one, (*path, Key(DEFAULT_NETWORK)), ON_POD, lost=True)
    if one.kind != "Pod" and ANNOTATION in inside(one.object, ("metadata", "annotations")):
        text = f"has no effect on a {one.kind}; it belongs to the pod template"
        yield about(one, ("metadata", "annotations", Key(ANNOTATION)), text)


def _on_machine(one: Object) -> Iterator[Remark]:
    """Networks of KubeVirt, which creates the pod itself."""
    spec: Path = ("spec", "template", "spec") if one.kind == "VirtualMachine" else ("spec",)
    networks = inside(one.object, spec).get("networks")
    for number, network in enumerate(networks if isinstance(networks, list) else ()):
        if isinstance(network, dict) and "multus" in network:
            text = "KubeVirt asks Multus for it; docs/howto-kubevirt.md says what a VM can claim"
            yield about(one, (*spec, "networks", number, "multus"), text, lost=True)


def _annotated(value: Any, at: Path) -> Path:
    """Return where an object of an unknown kind has the annotation; empty if it has none."""
    if not isinstance(value, dict):
        return ()
    meta = value.get("metadata")
    annotations = meta.get("annotations") if isinstance(meta, dict) else None
    if isinstance(annotations, dict) and ANNOTATION in annotations:
        return (*at, "metadata", "annotations", Key(ANNOTATION))
    for key, inner in value.items():
        if found := _annotated(inner, (*at, key)):
            return found
    return ()
