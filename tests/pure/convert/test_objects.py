"""Networks and the pods that use them, converted as one set."""

from typing import Any

import pytest
import yaml

from tests.pure.convert.converting import (
    convert,
    converted,
    converted_file,
    definition,
    pod,
    said,
)

MACVLAN = {
    "cniVersion": "0.3.1",
    "type": "macvlan",
    "master": "eth1",
    "ipam": {"type": "host-local", "subnet": "10.1.1.0/24"},
}
BRIDGE = {"cniVersion": "0.3.1", "type": "bridge", "bridge": "br7"}
MEDIA = definition("media", MACVLAN)
STORAGE = definition("storage", BRIDGE)
ANNOTATION = "k8s.v1.cni.cncf.io/networks"


def by_kind(found: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    """Return the objects of a kind."""
    return [one for one in found if one["kind"] == kind]


def claims_of(found: dict[str, Any]) -> list[dict[str, str]]:
    """Return the claims of a pod."""
    claims: list[dict[str, str]] = found["spec"]["resourceClaims"]
    return claims


def parameters_of(template: dict[str, Any]) -> dict[str, Any]:
    """Return the keys that a template sets for the driver."""
    (config,) = template["spec"]["spec"]["devices"]["config"]
    parameters: dict[str, Any] = config["opaque"]["parameters"]
    assert parameters.pop("kind") == "CNI"
    assert parameters.pop("apiVersion") == "cni.networking.x-k8s.io/v1alpha1"
    return parameters


def test_a_pod_that_chooses_nothing_names_the_network() -> None:
    """A pod without choices gets one line, no template, and keeps no annotation."""
    network, app = converted(MEDIA, pod("app", "media"))
    assert (network["kind"], network["metadata"]) == ("PodNetwork", {"name": "media"})
    assert claims_of(app) == [{"name": "media", "resourceClaimTemplateName": "media"}]
    assert "annotations" not in app["metadata"]


def test_one_network_for_many_pods() -> None:
    """A definition gives one network, which allows what some pod chooses."""
    found = converted(
        MEDIA,
        pod("a", "media"),
        pod("b", [{"name": "media", "ips": ["10.1.1.7/24"]}]),
        pod("c", [{"name": "media", "mac": "02:00:00:00:00:07"}]),
    )
    (network,) = by_kind(found, "PodNetwork")
    assert network["spec"]["allow"] == ["ips", "mac"]
    assert [one["metadata"]["name"] for one in by_kind(found, "ResourceClaimTemplate")] == [
        "b-media",
        "c-media",
    ]


@pytest.mark.parametrize(
    ("chosen", "parameters"),
    [
        ({"interface": "video0"}, {"ifName": "video0"}),
        ({"ips": ["10.1.1.7/24"]}, {"ips": ["10.1.1.7/24"]}),
        ({"ips": ["10.1.1.7"]}, {"ips": ["10.1.1.7"]}),
        ({"mac": "02:00:00:00:00:AB"}, {"mac": "02:00:00:00:00:ab"}),
    ],
)
def test_what_a_pod_chooses(chosen: dict[str, Any], parameters: dict[str, Any]) -> None:
    """A choice becomes a key of a template that stands in front of its pod."""
    others = [pod("a", "media"), pod("b", "media")]
    *_, template, app = converted(MEDIA, *others, pod("app", [{"name": "media", **chosen}]))
    assert parameters_of(template) == parameters
    request = {"name": "media", "exactly": {"deviceClassName": "media"}}
    assert template["spec"]["spec"]["devices"]["requests"] == [request]
    assert claims_of(app) == [{"name": "media", "resourceClaimTemplateName": "app-media"}]


def test_interfaces_keep_multus_names() -> None:
    """Interfaces are called as Multus calls them, by their place among the pod's networks."""
    found = converted(MEDIA, STORAGE, pod("a", "media, storage"), pod("b", "storage"))
    networks = {one["metadata"]["name"]: one["spec"] for one in by_kind(found, "PodNetwork")}
    assert networks["media"]["ifName"] == "net1"
    assert networks["storage"]["ifName"] == "net1"
    (template,) = by_kind(found, "ResourceClaimTemplate")
    assert template["metadata"]["name"] == "a-storage"
    assert parameters_of(template) == {"ifName": "net2"}


def test_one_network_twice() -> None:
    """A pod that asks for a network twice has two claims, for two interfaces."""
    *_, template, app = converted(MEDIA, pod("app", "media,media"))
    assert claims_of(app) == [
        {"name": "media", "resourceClaimTemplateName": "media"},
        {"name": "media-2", "resourceClaimTemplateName": "app-media-2"},
    ]
    assert parameters_of(template) == {"ifName": "net2"}


@pytest.mark.parametrize(
    ("rates", "bandwidth", "notes"),
    [
        ({"ingressRate": 10_000_000, "egressRate": 10_000_000}, "10M", []),
        ({"ingressRate": 1, "egressRate": 1}, "1M", []),
        ({"egressRate": 1_500_000}, "2M", ["the larger rate applies to both directions"]),
        (
            {"ingressRate": 2_000_000, "egressRate": 2_000_000, "ingressBurst": 9},
            "2M",
            ["left out: bursts follow from the rate"],
        ),
    ],
)
def test_bandwidth_is_a_share_of_the_link(
    rates: dict[str, int], bandwidth: str, notes: list[str]
) -> None:
    """A pod's bandwidth is asked of the scheduler, in the steps that links have."""
    documents = (MEDIA, pod("app", [{"name": "media", "bandwidth": rates}]))
    (template,) = by_kind(converted(*documents), "ResourceClaimTemplate")
    (request,) = template["spec"]["spec"]["devices"]["requests"]
    assert request["exactly"]["capacity"] == {"requests": {"bandwidth": bandwidth}}
    assert [one.text for one in convert(*documents).remarks] == notes


@pytest.mark.parametrize(
    ("network", "chosen", "words"),
    [
        (MEDIA, {"default-route": ["10.1.1.1"]}, "a claim does not replace the pod's default"),
        (MEDIA, {"portMappings": [{"hostPort": 80}]}, "a claim has no port mappings"),
        (MEDIA, {"cni-args": {"a": "b"}}, "a claim has no arguments for plugins"),
        (MEDIA, {"infiniband-guid": "c2:11:22:33:44:55:66:77"}, "cannot choose the GUID"),
        (MEDIA, {"deviceID": "0000:3b:00.1"}, "the scheduler allocates the device"),
        (MEDIA, {"ipam-claim-reference": "vm-a"}, "only the addresses of an AddressPool are kept"),
        (MEDIA, {"ips": ["nowhere"]}, "'nowhere' is not an IP address"),
        (MEDIA, {"mac": "nobody"}, "must be a MAC address"),
        (STORAGE, {"ips": ["10.1.1.7/24"]}, "supports it; leave it out"),
        (STORAGE, {"bandwidth": {"egressRate": 9}}, "has no bandwidth to share"),
    ],
)
def test_choices_that_are_not_carried_over(
    network: str, chosen: dict[str, Any], words: str
) -> None:
    """What a claim cannot say is lost, by name; the rest of the pod is converted."""
    name = "media" if network is MEDIA else "storage"
    conversion = convert(network, pod("app", [{"name": name, **chosen}]))
    lost = [one for one in conversion.remarks if one.lost]
    (key,) = chosen
    assert [one.path for one in lost] == [f"metadata.annotations[{ANNOTATION}][0].{key}"]
    assert words in lost[0].text
    assert conversion.workloads == 1


def test_unknown_keys_are_said() -> None:
    """A key that Multus passes over is named, since its author expects something of it."""
    conversion = convert(MEDIA, pod("app", [{"name": "media", "gateway": ["10.1.1.1"]}]))
    assert not any(one.lost for one in conversion.remarks)
    assert "gateway: left out: Multus has no such key, and passes over it" in said(conversion)[0]


def test_names_and_namespaces() -> None:
    """A network is named after its namespace too, and is for those who use it."""
    found = converted(
        definition("media", MACVLAN, "infra"),
        pod("a", "infra/media", "team-a"),
        pod("b", [{"name": "media", "namespace": "infra"}], "team-b"),
    )
    (network,) = by_kind(found, "PodNetwork")
    assert network["metadata"] == {"name": "infra-media"}
    assert network["spec"]["namespaces"]["matchExpressions"] == [
        {
            "key": "kubernetes.io/metadata.name",
            "operator": "In",
            "values": ["infra", "team-a", "team-b"],
        }
    ]
    for app in by_kind(found, "Pod"):
        claim = {"name": "infra-media", "resourceClaimTemplateName": "infra-media"}
        assert claims_of(app) == [claim]


def test_a_template_is_in_its_pods_namespace() -> None:
    """A template is where its pod is, and names no namespace where the pod names none."""
    chosen = [{"name": "media", "namespace": "default", "ips": ["10.1.1.7/24"]}]
    found = converted(MEDIA, pod("a", chosen, "team-a"), pod("b", chosen))
    metas = [one["metadata"] for one in by_kind(found, "ResourceClaimTemplate")]
    assert metas == [{"name": "a-media", "namespace": "team-a"}, {"name": "b-media"}]


def test_one_namespace_of_several() -> None:
    """Converting one namespace keeps a shared network for the others that use it."""
    shared = definition("media", MACVLAN, "infra")
    others = definition("other", {"type": "sriov"}, "team-b")
    conversion = convert(
        shared,
        others,
        pod("a", "infra/media", "team-a"),
        pod("b", "infra/media, other", "team-b"),
        namespace="team-a",
    )
    assert not conversion.remarks
    names = [one.name for one in conversion.replacements]
    assert names == ["media", "a"]
    network = next(iter(conversion.replacements.values())).object
    (selected,) = network["spec"]["namespaces"]["matchExpressions"]
    assert selected["values"] == ["infra", "team-a", "team-b"]


@pytest.mark.parametrize(
    ("documents", "words"),
    [
        (
            [definition("a-net", MACVLAN, "team"), definition("net", MACVLAN, "team-a")],
            'team/a-net has the name "team-a-net" as a PodNetwork too; rename one of them',
        ),
        ([MEDIA, MEDIA], "default/media is defined twice; remove one"),
        ([definition("media.v2", MACVLAN)], "a DNS label of at most 63 characters; rename it"),
        ([definition("m" * 64, MACVLAN)], "a DNS label of at most 63 characters; rename it"),
    ],
)
def test_names_that_networks_cannot_have(documents: list[str], words: str) -> None:
    """Two networks never become one, and a name that is too long is not cut."""
    lost = [str(one) for one in convert(*documents).remarks if one.lost]
    assert len(lost) == 1
    assert words in lost[0]


def test_what_is_left_to_multus() -> None:
    """A pod keeps the annotation for what Multus still has to do, with the same names."""
    sriov = definition("fast", {"type": "sriov"})
    *_, app = converted(MEDIA, sriov, pod("app", "fast, media, elsewhere/gone"))
    assert claims_of(app) == [{"name": "media", "resourceClaimTemplateName": "media"}]
    assert app["metadata"]["annotations"] == {
        ANNOTATION: '[{"name": "fast", "interface": "net1"}, '
        '{"name": "gone", "namespace": "elsewhere", "interface": "net3"}]'
    }


def test_a_pod_without_anything_to_convert_stays() -> None:
    """A pod whose networks all stay with Multus is not touched."""
    text = pod("app", "gone")
    conversion = convert(text)
    assert not conversion.replacements
    assert (
        "default/gone is not a NetworkAttachmentDefinition that is converted here"
        in (said(conversion)[0])
    )
    assert converted_file(text) == text


@pytest.mark.parametrize("ifname", ["eth0", "lo", "all", "a%b"])
def test_interfaces_that_a_claim_cannot_name(ifname: str) -> None:
    """A name that the driver refuses stays with Multus."""
    conversion = convert(MEDIA, pod("app", [{"name": "media", "interface": ifname}]))
    assert [one.lost for one in conversion.remarks] == [True]
    assert conversion.workloads == 0


WORKLOADS = {
    "Deployment": ("apps/v1", ["spec", "template"]),
    "StatefulSet": ("apps/v1", ["spec", "template"]),
    "DaemonSet": ("apps/v1", ["spec", "template"]),
    "ReplicaSet": ("apps/v1", ["spec", "template"]),
    "Job": ("batch/v1", ["spec", "template"]),
    "CronJob": ("batch/v1", ["spec", "jobTemplate", "spec", "template"]),
}


@pytest.mark.parametrize("kind", WORKLOADS)
def test_workloads(kind: str) -> None:
    """A workload's pod template is converted, and its own annotations stay."""
    api_version, path = WORKLOADS[kind]
    found: dict[str, Any] = {
        "metadata": {"annotations": {ANNOTATION: "media", "team": "a"}},
        "spec": {"containers": [{"name": "app", "image": "alpine"}]},
    }
    for step in reversed(path):
        found = {step: found}
    meta = {"name": "app", "annotations": {"owner": "me"}}
    text = yaml.safe_dump({"apiVersion": api_version, "kind": kind, "metadata": meta, **found})
    _, app = converted(MEDIA, "---\n", text)
    assert app["metadata"] == meta
    for step in path:
        app = app[step]
    assert app["metadata"] == {"annotations": {"team": "a"}}
    assert claims_of(app) == [{"name": "media", "resourceClaimTemplateName": "media"}]


def test_addresses_that_are_kept_for_an_ipam_claim() -> None:
    """Those of a pool are; what the pool needs for it is said."""
    ipam = {"type": "whereabouts", "range": "10.1.1.0/24"}
    documents = (
        definition("kept", MACVLAN | {"ipam": ipam}),
        pod("vm", [{"name": "kept", "ipam-claim-reference": "vm-net1"}]),
    )
    (template,) = by_kind(converted(*documents), "ResourceClaimTemplate")
    assert parameters_of(template) == {"ipamClaim": "vm-net1"}
    (remark,) = convert(*documents).remarks
    assert "the AddressPool range-10-1-1-0-24 needs `keep: {kinds: [IPAMClaim]}`" in str(remark)
    assert not remark.lost
