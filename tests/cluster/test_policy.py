"""What a tenant's claim may not do, tried on a real cluster: refused in words, nothing harmed."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from lab.cluster import Lab
from lab.errors import LabError
from lab.kubectl import Kubectl, KubectlError
from netclaim.network.policy.levels import LABEL
from tests.cluster.site.claims import claim, device_class, macvlan, parameters, pod, request
from tests.cluster.site.drivers import addresses, eventually, in_node, wait_claim, wait_event

NODE = "kind-worker"
HERE = {"kubernetes.io/hostname": NODE}
DEPLOY = Path(__file__).parents[2] / "deploy"
SEEDS = Path(__file__).parents[2] / "examples" / "manifests"
GRANT = f"label the namespace {LABEL}=privileged"
ENTRY = "spec.devices.config[nic].opaque.parameters"
PLUGIN = f"{ENTRY}.config.plugins[0]"
HEAD = {"apiVersion": "cni.networking.x-k8s.io/v1alpha1", "kind": "CNI"}
IPAM = {"type": "host-local", "ranges": [[{"subnet": "10.20.0.0/24"}]]}


def network(*plugins: dict[str, Any]) -> dict[str, Any]:
    """Parameters with these plugins."""
    return parameters({"cniVersion": "1.0.0", "name": "mine", "plugins": list(plugins)})


# name: the link to select (none: the generic device), parameters, what the pod's event must say
ATTACKS: dict[str, tuple[str, dict[str, Any], str]] = {
    "uplink": (
        "eth0",
        network({"type": "host-device"}),
        f"{PLUGIN}: the link 'eth0' carries the node",
    ),
    "passthru": (
        "eth0",
        network({"type": "macvlan", "mode": "passthru"}),
        f"{PLUGIN}: the link 'eth0' carries the node",
    ),
    "any-link": (
        "cni",
        network({"type": "host-device", "device": "eth1", "linkInContainer": True}),
        f"{PLUGIN}: host-device takes a link away from the node",
    ),
    "spellings": (
        "eth1",
        network({"type": "macvlan", "master": "eth1", "MASTER": "eth0"}),
        "'MASTER' and 'master' are the same key to a CNI plugin",
    ),
    "files": (
        "eth1",
        network({"type": "macvlan", "ipam": {**IPAM, "dataDir": "/etc"}}),
        f"{PLUGIN}.ipam.dataDir: needs the policy level privileged",
    ),
    "routes": (
        "cni",
        network({"type": "ptp", "ipam": {"type": "static", "addresses": []}}),
        f"{PLUGIN}.type: the plugin ptp",
    ),
    "program": (
        "cni",
        network({"type": "portmap"}),
        f"{PLUGIN}.type: 'portmap' is a program of the node",
    ),
    "nodes-address": (
        "cni",
        network(
            {
                "type": "macvlan",
                "master": "eth0",
                "ipam": {"type": "static", "addresses": [{"address": "172.18.0.2/16"}]},
            }
        ),
        "172.18.0.2 is the address of a gateway or an API server on the link 'eth0'",
    ),
    "sysctl": (
        "eth1",
        network({"type": "macvlan"}, {"type": "tuning", "sysctl": {"net.ipv4.ip_forward": "1"}}),
        "the sysctl net.ipv4.ip_forward needs the policy level privileged",
    ),
}


def picture(lab: Lab) -> str:
    """The node's links, addresses and routes, without what pods come and go by."""
    shown = []
    for what in (["link"], ["address"], ["route", "show", "table", "all"], ["rule"]):
        listed: list[dict[str, Any]] = json.loads(in_node(lab, NODE, "ip", "-json", *what))
        kept = (each for each in listed if not str(each.get("ifname", "")).startswith("veth"))
        shown += [each for each in kept if not str(each.get("dev", "")).startswith("veth")]
    lasting = ("ifname", "address", "flags", "mtu", "promiscuity", "dst", "gateway", "local", "src")
    return json.dumps([{key: each.get(key) for key in lasting} for each in shown], indent=1)


def asked(name: str, link: str, params: dict[str, Any]) -> dict[str, Any]:
    """A claim for a link of the node."""
    return claim(name, {"nic": params}, [request("nic", link)])


def test_every_attack_is_refused_and_the_node_unharmed(
    lab: Lab, kubectl: Kubectl, driver: str
) -> None:
    """Each pod waits with an event that says what its claim may not have; the node is as it was."""
    before = picture(lab)
    for name, (link, params, _) in ATTACKS.items():
        kubectl.apply(asked(name, link, params), pod(name, name, nodeSelector=HERE))
        wait_event(kubectl, name, ATTACKS[name][2])
        kubectl("delete", f"pod/{name}", f"resourceclaim/{name}")
    assert picture(lab) == before
    assert kubectl("get", "node", NODE, "--output=jsonpath={.spec.taints}") == ""


def test_a_privileged_namespace_may_what_a_tenant_may_not(
    lab: Lab, kubectl: Kubectl, driver: str
) -> None:
    """The same claim is refused, and allowed once an admin has labelled the namespace."""
    params = network({"type": "macvlan", "bcqueuelen": 500, "ipam": IPAM})
    kubectl.apply(asked("wide", "eth1", params), pod("wide", "wide"))
    wait_event(kubectl, "wide", GRANT)
    kubectl("delete", "pod/wide", "resourceclaim/wide")
    kubectl("label", "namespace", kubectl.namespace, f"{LABEL}=privileged")

    def started() -> bool:
        """Ask with fresh pods: drivers look at the label again after ten seconds."""
        kubectl.apply(asked("wide", "eth1", params), pod("wide", "wide"))
        try:
            kubectl("wait", "pod/wide", "--for=condition=Ready", "--timeout=10s")
        except LabError:
            kubectl("delete", "pod/wide", "resourceclaim/wide")
            return False
        return True

    eventually(started, lambda done: done, "the label in effect")
    kubectl("delete", "pod/wide")


@pytest.fixture
def tenants_class(admin: Kubectl, driver: str) -> Iterator[str]:
    """A class with a network that its claims cannot change, but for their addresses."""
    name = "tenants-network"
    fixed = device_class(name=name)
    params = {**parameters(macvlan("tenants", master=None)), "allow": ["ips"]}
    del params["ifName"]
    fixed["spec"]["config"] = [{"opaque": {"driver": driver, "parameters": params}}]
    admin.apply(fixed)
    yield name
    admin("delete", "deviceclass", name)


@pytest.fixture
def open_class(admin: Kubectl, driver: str) -> Iterator[str]:
    """A class whose claims may bring a network, in every namespace."""
    name = "open-network"
    made = device_class(name=name)
    params = {**HEAD, "allow": ["config"]}
    made["spec"]["config"] = [{"opaque": {"driver": driver, "parameters": params}}]
    admin.apply(made)
    yield name
    admin("delete", "deviceclass", name)


def either(
    name: str, requests: list[dict[str, Any]], given: dict[str, dict[str, Any]]
) -> dict[str, Any]:
    """A claim that takes either of two devices that are asked for alike, the first if it can."""
    (one,) = requests
    choices = [{**one["exactly"], "name": each} for each in ("first", "second")]
    return claim(name, given, [{"name": one["name"], "firstAvailable": choices}])


def test_a_restricted_namespace_uses_what_a_class_gives(
    kubectl: Kubectl, driver: str, tenants_class: str
) -> None:
    """A claim names its interface and the address that its class allows, and nothing else."""
    kubectl("label", "namespace", kubectl.namespace, f"{LABEL}=restricted")
    base = {"apiVersion": "cni.networking.x-k8s.io/v1alpha1", "kind": "CNI", "ifName": "net1"}
    on_eth1 = [request("nic", "eth1", class_name=tenants_class)]
    kubectl.apply(
        claim("good", {"nic": {**base, "ips": ["10.20.0.77"]}}, on_eth1), pod("good", "good")
    )
    kubectl.wait("pod/good", "condition=Ready")
    assert addresses(kubectl, "good", "net1") == ["10.20.0.77/24"]
    wait_claim(kubectl, "good", "True")
    kubectl("delete", "pod", "good")
    for name, more, message in (
        ("mac", {"mac": "02:00:00:00:00:07"}, "the DeviceClass does not let claims set it"),
        ("own", {"config": macvlan("own")}, "the DeviceClass does not let claims set it"),
    ):
        kubectl.apply(claim(name, {"nic": {**base, **more}}, on_eth1), pod(name, name))
        wait_event(kubectl, name, message)
        kubectl("delete", f"pod/{name}", f"resourceclaim/{name}")
    bare = claim("bare", {"nic": {**base, "config": macvlan("own")}}, [request("nic", "eth1")])
    kubectl.apply(bare, pod("bare", "bare"))
    wait_event(kubectl, "bare", "config: needs the policy level baseline")


def test_a_forged_owner_does_not_lead_an_interface_into_another_pod(
    lab: Lab, kubectl: Kubectl, driver: str
) -> None:
    """A claim that names a stranger as its owner serves the pod that uses it, and no other."""
    kubectl.apply(pod("victim", nodeSelector=HERE))
    kubectl.wait("pod/victim", "condition=Ready")
    victim = kubectl.get("pod", "victim")["metadata"]["uid"]
    forged = asked("forged", "eth1", parameters(macvlan("forged")))
    forged["metadata"]["ownerReferences"] = [
        {"apiVersion": "v1", "kind": "Pod", "name": "victim", "uid": victim, "controller": True}
    ]
    kubectl.apply(forged, pod("thief", "forged", nodeSelector=HERE))
    kubectl.wait("pod/thief", "condition=Ready")
    assert len(addresses(kubectl, "thief", "net1")) == 1
    assert "net1" not in kubectl("exec", "victim", "--", "ip", "link")
    kubectl("delete", "pod", "thief", "victim")


@pytest.fixture
def admission(admin: Kubectl) -> Iterator[None]:
    """The admission policy for claims, as it is shipped; no later test meets it."""
    documents = list(yaml.safe_load_all((DEPLOY / "claim-admission.yaml").read_text()))
    admin.apply(*documents)
    yield
    path = str(DEPLOY / "claim-admission.yaml")
    admin("delete", "--filename", path, "--ignore-not-found")
    # The API server goes on refusing for some seconds.
    refused = asked("forbidden", "eth1", REFUSED["key"][0])
    eventually(lambda: refusal(admin, refused), lambda said: not said, "the policy out of effect")


OWN = {**HEAD, "ifName": "net1", "config": macvlan("own")}
ROUTES = [{"destination": "0.0.0.0/0", "gateway": "10.20.0.1", "TABLE": 7, "source": ""}]
# what is right: routes and the like in both dialects, of which only the driver knows the rest
SETTINGS: tuple[dict[str, Any], ...] = (
    {**OWN, "routes": ROUTES, "rules": [{"source": "10.20.0.7", "table": 7}], "vrf": {"name": "b"}},
    {"interface": {"name": "net1", "addresses": ["10.20.0.7/24"], "mtu": 1400}, "routes": ROUTES},
    {"interface": {}, "ethtool": {"features": {"rx-gro": False}, "privateFlags": None}},
    {"neighbors": [{"destination": "10.20.0.9", "hardwareAddr": "02:00:00:00:00:01"}]},
)
# what is wrong, and what the API server says of it
REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "type": (network({"type": "bridge"}), "the CNI plugin bridge in the parameters needs"),
    "program": (network({"type": "portmap"}), "netclaim has no CNI plugin portmap; claims may use"),
    "key": (
        network({"type": "macvlan", "bcqueuelen": 5}),
        "the key macvlan.bcqueuelen in the parameters needs",
    ),
    "spelling": (
        network({"type": "macvlan", "LinkInContainer": True}),
        "the key macvlan.LinkInContainer in the parameters needs",
    ),
    "typo": (
        network({"type": "macvlan", "mastr": "eth1"}),
        'unknown key "mastr" in macvlan; did you mean "master"?',
    ),
    "ipam-typo": (
        network({"type": "macvlan", "ipam": {"type": "host-local", "rages": []}}),
        'unknown key "rages" in ipam; did you mean "ranges"?',
    ),
    "type-typo": (
        network({"type": "macvln"}),
        'netclaim has no CNI plugin macvln; did you mean "macvlan"? If it is a program',
    ),
    "parameter-typo": (
        {**HEAD, "ifNam": "net1", "config": macvlan("own")},
        'unknown key "ifNam" in the parameters; did you mean "ifName"?',
    ),
    "dialect": (
        {**HEAD, "interface": "net1", "config": macvlan("own")},
        'unknown key "interface" in the parameters; with an apiVersion the key is ifName',
    ),
    "list-typo": (
        {**HEAD, "ifName": "net1", "config": {"name": "x", "plugin": []}},
        'unknown key "plugin" in the network in the parameters; did you mean "plugins"?',
    ),
    "name-taken": (
        {**HEAD, "ifName": "eth0", "config": macvlan("own")},
        "the pod already has an interface named eth0; choose another name",
    ),
    "long-name": (
        {**HEAD, "ifName": "a" * 16, "config": macvlan("own")},
        "cannot be the name of an interface: 1 to 15 characters",
    ),
    "address": (
        {**HEAD, "ifName": "net1", "config": macvlan("own"), "ips": ["10.0.0.300"]},
        '"10.0.0.300" in the parameters is not an IP address',
    ),
    "dranets-typo": (
        {"interface": {"name": "net1"}, "rotues": []},
        'unknown key "rotues" in the parameters; did you mean "routes"?',
    ),
    "dranets-interface-typo": (
        {"interface": {"nmae": "net1"}},
        'unknown key "nmae" in interface in the parameters; known keys are name,',
    ),
    "dranets-name": (
        {"interface": {"name": "eth0"}},
        "the pod already has an interface named eth0; choose another name",
    ),
    "dranets-address": (
        {"interface": {"name": "net1", "addresses": ["10.0.0.7/24", "10.0.0.300"]}},
        '"10.0.0.300" in the parameters is not an IP address',
    ),
    "dranets-vrf": (
        {"interface": {"name": "net1", "vrf": {"nam": "blue"}, "mtu": 1400}},
        'unknown key "nam" in vrf in the parameters; did you mean "name"?',
    ),
    "route-typo": (
        {**OWN, "routes": [{"destination": "10.7.0.0/16"}, {"destinaton": "10.8.0.0/16"}]},
        'unknown key "destinaton" in routes in the parameters; did you mean "destination"?',
    ),
    "route-value": (
        {**OWN, "routes": [{"destination": "10.7.0.0/16", "gateway": "10.0.0.300"}]},
        "gateway of routes in the parameters is neither an IP address nor a network",
    ),
    "rule-value": (
        {"interface": {}, "rules": [{"source": "everywhere", "table": 7}]},
        "source of rules in the parameters is neither an IP address nor a network",
    ),
    "neighbor-value": (
        {**OWN, "neighbors": [{"destination": 7, "hardwareAddr": "02:00:00:00:00:01"}]},
        "destination of neighbors in the parameters is neither an IP address nor a network",
    ),
    "ethtool-typo": (
        {**OWN, "ethtool": {"feature": {"rx-gro": True}}},
        'unknown key "feature" in ethtool in the parameters; did you mean "features"?',
    ),
    "subnet": (
        network({"type": "macvlan", "ipam": {"type": "host-local", "subnet": "10.20.0.0"}}),
        "an address or subnet in the ipam of macvlan in the parameters is not in CIDR notation",
    ),
    "ipam-key": (
        network({"type": "macvlan", "ipam": {**IPAM, "dataDir": "/etc"}}),
        "the key ipam.dataDir in the parameters needs",
    ),
    "ipam-type": (
        network({"type": "macvlan", "ipam": {"type": "calico-ipam"}}),
        "netclaim has no CNI plugin calico-ipam; claims may use dhcp, host-local, netclaim,",
    ),
    "mode": (
        network({"type": "macvlan", "mode": "sideways"}),
        "the mode sideways of macvlan in the parameters is not one of those for claims: bridge,",
    ),
    "sysctl": (
        network({"type": "tuning", "sysctl": {"net.ipv4.ip_forward": "1"}}),
        "the sysctl net.ipv4.ip_forward in the parameters needs",
    ),
    "single": (
        parameters({"cniVersion": "1.0.0", "name": "x", "type": "ptp"}),
        "the CNI plugin ptp in the parameters needs",
    ),
}


def refusal(kubectl: Kubectl, *objects: dict[str, Any]) -> str:
    """What the API server says to objects; nothing if it takes them."""
    text = yaml.safe_dump_all(objects)
    try:
        kubectl("apply", "--dry-run=server", "--filename=-", stdin=text)
    except LabError as error:
        return str(error)
    return ""


def tried(kubectl: Kubectl, *command: str) -> bool:
    """Whether a command succeeds."""
    try:
        kubectl(*command)
    except KubectlError:
        return False
    return True


def templated(made: dict[str, Any]) -> dict[str, Any]:
    """The same as a template."""
    return {**made, "kind": "ResourceClaimTemplate", "spec": {"spec": made["spec"]}}


def test_tenants_hear_it_at_apply(kubectl: Kubectl, admin: Kubectl, admission: None) -> None:
    """The API server refuses claims and templates with the driver's reasons, and takes the rest."""
    probe = asked("probe", "eth1", REFUSED["type"][0])
    eventually(lambda: refusal(kubectl, probe), bool, "the policy in effect")
    for name, (params, message) in REFUSED.items():
        made = asked(name, "eth1", params)
        for each in (made, templated(made)):
            said = refusal(kubectl, each)
            assert message in said, (name, said)
            assert GRANT in said or not message.endswith("needs")
    quiet = network({"type": "macvlan", "linkInContainer": False, "bcqueuelen": 0, "ipam": IPAM})
    assert refusal(kubectl, asked("off", "eth1", quiet)) == ""
    for number, params in enumerate(SETTINGS):
        assert refusal(kubectl, asked(f"set-{number}", "eth1", params)) == ""
    tuned = {"type": "tuning", "sysctl": {"net.ipv4.conf.IFNAME.arp_notify": "1"}}
    assert refusal(kubectl, asked("tuned", "eth1", network({"type": "macvlan"}, tuned))) == ""
    other = claim("gpu", {"nic": {"anything": "goes"}}, [request("nic", "eth1")], "gpu.example.com")
    assert refusal(kubectl, other) == ""


@pytest.mark.parametrize("level", ["restricted", "baseline"])
def test_classes_decide_at_apply_too(
    kubectl: Kubectl, admission: None, tenants_class: str, level: str
) -> None:
    """A claim that its class, or its namespace, does not let have its way is not even made.

    That includes a link as a whole, which a claim that is refused later would keep from others.
    """
    kubectl("label", "namespace", kubectl.namespace, f"{LABEL}={level}")
    fixed = [request("nic", "eth1", class_name=tenants_class)]
    other = claim("mac", {"nic": {**HEAD, "ifName": "net1", "mac": "02:00:00:00:00:07"}}, fixed)
    message = f"the DeviceClass {tenants_class} does not let claims set mac"
    eventually(lambda: refusal(kubectl, other), lambda said: message in said, "the class's word")
    assert message in refusal(kubectl, templated(other))
    allowed = claim("ips", {"nic": {**HEAD, "ifName": "net1", "ips": ["10.20.0.77"]}}, fixed)
    assert refusal(kubectl, allowed) == ""
    mine = {**HEAD, "ifName": "net1", "mac": "02:00:00:00:00:07"}
    plain = {**HEAD, "ifName": "net1"}
    assert message in refusal(kubectl, templated(either("both", fixed, {"nic": mine})))
    assert message in refusal(kubectl, either("one", fixed, {"nic": plain, "nic/second": mine}))
    assert refusal(kubectl, either("other", fixed, {"nic": plain, "nic/first": plain})) == ""
    held = either("held", fixed, {"nic": plain})
    held["spec"]["devices"]["requests"][0]["firstAvailable"][1]["capacity"] = {
        "requests": {"wholeLink": "1"}
    }
    whole = asked("whole", "eth1", network({"type": "host-device"}))
    alone = [claim(f"alone-{amount}", {}, fixed) for amount in ("1", "2")]
    for each, asks in zip(alone, ({"wholeLink": "1"}, {"attachments": "2"}), strict=True):
        each["spec"]["devices"]["requests"][0]["exactly"]["capacity"] = {"requests": asks}
    alone.append(held)
    if level == "baseline":
        assert refusal(kubectl, whole, *alone) == ""
        return
    said = "config in the parameters needs the policy level baseline, but the namespace has"
    assert said in refusal(kubectl, whole)
    for each in alone:
        assert "a request asks for a link alone" in refusal(kubectl, templated(each))


# what the rules of the admission policy would pass over
UNSEEN: tuple[Any, ...] = (
    [macvlan("list")],
    7,
    {"name": "x", "plugins": "macvlan"},
    {"name": "x", "plugins": {"0": {"type": "bridge"}}},
    {"name": "x", "plugins": [[{"type": "bridge"}]]},
    {"name": "x", "plugins": [{"Type": "bridge"}]},
    {"name": "x", "plugins": [{"type": "macvlan", "TYPE": "bridge"}]},
    {"name": "x", "Plugins": [{"type": "bridge"}]},
    {"name": "x", "type": "macvlan", "Plugins": [{"type": "bridge"}]},
    {"name": "x", "type": "macvlan", "IPAM": {"type": "dhcp"}},
    {"name": "x", "type": "macvlan", "ipam": {"Type": "dhcp"}},
    {"name": "x", "type": "macvlan", "ipam": [{"type": "dhcp"}]},
    {"name": "x", "type": "macvlan", "MODE": "passthru"},
)


def test_text_is_not_taken_at_restricted(
    kubectl: Kubectl, admission: None, open_class: str
) -> None:
    """The API server cannot see what is in a network that is a string, so it has to be an object.

    Elsewhere the driver alone judges it.
    """
    asks = [request("nic", "eth1", class_name=open_class)]
    text = claim("text", {"nic": parameters(json.dumps(macvlan("text")))}, asks)
    plain = {"interface": "net1", "config": json.dumps(macvlan("text"))}
    written = claim("object", {"nic": parameters(macvlan("object"))}, asks)
    probe = asked("probe", "eth1", REFUSED["type"][0])
    eventually(lambda: refusal(kubectl, probe), bool, "the policy in effect")
    assert refusal(kubectl, text, written) == ""
    kubectl("label", "namespace", kubectl.namespace, f"{LABEL}=restricted")
    said = "config in the parameters is text, which nobody can check before a pod starts"
    eventually(lambda: refusal(kubectl, text), lambda heard: said in heard, "the label in effect")
    for made in (templated(text), claim("plain", {"nic": plain}, asks)):
        assert said in refusal(kubectl, made)
    for number, config in enumerate(UNSEEN):
        made = claim(f"unseen-{number}", {"nic": parameters(config)}, asks)
        heard = refusal(kubectl, made)
        assert "has a form or a spelling that nobody can check" in heard, (config, heard)
    single = {"cniVersion": "1.0.0", "name": "one", "type": "macvlan", "ipam": None, "MTU": 1400}
    assert refusal(kubectl, written, claim("one", {"nic": parameters(single)}, asks)) == ""


def test_a_label_decides_at_apply_too(kubectl: Kubectl, admission: None) -> None:
    """A privileged namespace may apply what others may not; a label that is no level is refused.

    Where the label was there first, claims hear of it, but those for other drivers.
    """
    made = asked("wide", "eth1", REFUSED["type"][0])
    eventually(lambda: refusal(kubectl, made), bool, "the policy in effect")
    kubectl("label", "namespace", kubectl.namespace, f"{LABEL}=privileged")
    eventually(lambda: refusal(kubectl, made), lambda said: not said, "the label in effect")
    wrong = ("label", "--overwrite", "namespace", kubectl.namespace, f"{LABEL}=everything")
    with pytest.raises(KubectlError, match="must be one of restricted, baseline, privileged, not"):
        kubectl(*wrong)
    binding = "validatingadmissionpolicybinding/netclaim-namespaces"
    kubectl("delete", binding)
    eventually(lambda: tried(kubectl, *wrong), bool, "the label set")
    eventually(
        lambda: refusal(kubectl, made),
        lambda said: "everything, which is not a policy level" in said,
        "the label named",
    )
    other = claim("gpu", {"nic": {"anything": "goes"}}, [request("nic", "eth1")], "gpu.example.com")
    assert refusal(kubectl, other) == ""


@pytest.mark.parametrize("name", ["kubecon-demo", "shared-link"])
def test_the_seeds_pass_at_apply(admin: Kubectl, admission: None, name: str) -> None:
    """What the talks and examples write is baseline."""
    probe = asked("probe", "eth1", REFUSED["type"][0])
    eventually(lambda: refusal(admin, probe), bool, "the policy in effect")
    label = "resource.kubernetes.io/admin-access"
    admin("label", "--overwrite", "namespace", "default", f"{label}=true")
    try:
        documents = list(yaml.safe_load_all((SEEDS / f"{name}.yaml").read_text()))
        assert refusal(admin, *documents) == ""
    finally:
        admin("label", "namespace", "default", f"{label}-")
