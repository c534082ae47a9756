"""Write how a pod claims its networks: by a network's own template, or by one that chooses.

A pod that chooses nothing names the template that the controller keeps for the network. Otherwise
it gets a template of its own, with the keys that the network allows. No I/O.
"""

from collections.abc import Mapping
from typing import Final

from netclaim.convert.multus.workloads import Wanted
from netclaim.convert.written.choices import Choice
from netclaim.convert.written.network import Network
from netclaim.manifests.kinds import GROUP
from netclaim.manifests.objects import inside
from netclaim.model.claims.claim import JsonObject
from netclaim.network import DRIVER_NAME
from netclaim.network.devices.shares import BANDWIDTH
from netclaim.network.pod_network import template_of
from netclaim.network.request.keys import API_VERSIONS, KINDS

NAME_MAX: Final = 63  # of a claim in a pod, which is a DNS label; enough for a template's too


def claim_entries(
    wanted: Wanted, networks: Mapping[int, Network], choices: Mapping[int, Choice]
) -> tuple[list[JsonObject], tuple[JsonObject, ...]]:
    """Return a pod's entries of `resourceClaims`, and the templates that they need."""
    entries: list[JsonObject] = []
    templates: list[JsonObject] = []
    held = inside(wanted.one.object, wanted.pod_spec).get("resourceClaims")
    there = held if isinstance(held, list) else []
    names = {str(one.get("name")) for one in there if isinstance(one, dict)}
    for index, network in networks.items():
        name = _free(network.name, names)
        names.add(name)
        template = network.name
        if not choices[index].is_plain:
            template = _shortened(f"{wanted.one.name or wanted.one.kind.lower()}-{name}")
            templates.append(_template(wanted, template, network, choices[index]))
        entries.append({"name": name, "resourceClaimTemplateName": template})
    return entries, tuple(templates)


def _template(wanted: Wanted, name: str, network: Network, choice: Choice) -> JsonObject:
    """Return the network's own template with what the pod chooses."""
    written = inside(wanted.one.written, ("metadata",)).get("namespace")
    namespace = {"namespace": written} if written else {}
    devices: JsonObject = template_of(network.to_pod_network(), "")["spec"]["spec"]["devices"]
    if choice.bandwidth:
        request = devices["requests"][0]["exactly"]
        request["capacity"] = {"requests": {BANDWIDTH: choice.bandwidth}}
    if choice.parameters:
        parameters = {"apiVersion": API_VERSIONS[0], "kind": KINDS[0], **choice.parameters}
        opaque = {"driver": DRIVER_NAME, "parameters": parameters}
        devices["config"] = [{"requests": [network.name], "opaque": opaque}]
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": name, **namespace},
        "spec": {"spec": {"devices": devices}},
    }


def _free(name: str, taken: set[str]) -> str:
    """Return a name that no other claim of the pod has."""
    number, found = 2, name
    while found in taken:
        found = f"{name[: NAME_MAX - 3]}-{number}"
        number += 1
    return found


def _shortened(name: str) -> str:
    return name if len(name) <= NAME_MAX else name[:NAME_MAX].rstrip("-.")
