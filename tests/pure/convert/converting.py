"""Manifests as Multus' users write them, and their conversion, for tests."""

import json
from collections.abc import Sequence
from ipaddress import ip_network
from typing import Any

import yaml

from netclaim.convert.documents import converted_text
from netclaim.convert.objects import Conversion, convert_objects
from netclaim.manifests.reading import read_objects
from netclaim.manifests.text.files import parse_file


def definition(
    name: str, config: Any, namespace: str = "", annotations: dict[str, str] | None = None
) -> str:
    """Return a NetworkAttachmentDefinition as a document."""
    meta = {"name": name} | ({"namespace": namespace} if namespace else {})
    text = config if isinstance(config, str) else json.dumps(config)
    return _document(
        {
            "apiVersion": "k8s.cni.cncf.io/v1",
            "kind": "NetworkAttachmentDefinition",
            "metadata": meta | ({"annotations": annotations} if annotations else {}),
            "spec": {"config": text},
        }
    )


def pod(name: str, networks: Any, namespace: str = "", **spec: Any) -> str:
    """Return a pod with the annotation as a document."""
    text = networks if isinstance(networks, str) else json.dumps(networks)
    meta = {"name": name} | ({"namespace": namespace} if namespace else {})
    return _document(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": meta | {"annotations": {"k8s.v1.cni.cncf.io/networks": text}},
            "spec": {"containers": [{"name": "app", "image": "alpine"}], **spec},
        }
    )


def convert(
    *documents: str, namespace: str = "", take: Sequence[str] = (), unread: str = ""
) -> Conversion:
    """Convert documents of one file, called m.yaml."""
    objects, faults = read_objects([parse_file("".join(documents).encode(), "m.yaml")])
    assert not faults
    return convert_objects(objects, namespace, [ip_network(each) for each in take], unread)


def converted(*documents: str) -> list[dict[str, Any]]:
    """Return the objects that documents become."""
    return list(yaml.safe_load_all(converted_file("".join(documents))))


def converted_file(text: str) -> str:
    """Return the text that a file becomes."""
    file = parse_file(text.encode(), "m.yaml")
    objects, faults = read_objects([file])
    assert not faults
    return converted_text(file.documents, convert_objects(objects).replacements)


def said(conversion: Conversion) -> list[str]:
    """Return the remarks as a user reads them."""
    return [str(remark) for remark in conversion.remarks]


def _document(found: dict[str, Any]) -> str:
    return "---\n" + yaml.safe_dump(found, sort_keys=False)
