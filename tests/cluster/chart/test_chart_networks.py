"""PodNetworks on a cluster of their own: the chart's controller, its rights, and what pods get."""

import json
import secrets
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from lab.cluster import Lab
from lab.helm import CHART, CHART_NAMESPACE, Helm, HelmError
from lab.kubectl import Kubectl, KubectlError
from netclaim.controller.cluster.slim import COPY_TO
from netclaim.controller.networks.objects import FINALIZER
from netclaim.controller.services.spread import MANAGED_BY, MANAGER
from netclaim.controller.waiting_pods.nudge import ANNOTATION
from netclaim.schema.network_service import NETWORK, SELECTOR
from netclaim.schema.rules.pod_networks import RULES
from tests.cluster.site.drivers import addresses, eventually, in_node, ready_condition
from tests.support.pod_network_cases import RIGHT, WRONG

API = "cni.networking.x-k8s.io/v1alpha1"
DRIVER = "cni.dra.networking.x-k8s.io"
CONTROLLER = f"system:serviceaccount:{CHART_NAMESPACE}:netclaim-controller"
FETCH = """
import sys, urllib.error, urllib.request
request = urllib.request.Request(sys.argv[1], headers={"Authorization": "Bearer " + sys.argv[2]})
try:
    print(urllib.request.urlopen(request).read().decode())
except urllib.error.HTTPError as error:
    print(error.code)
"""
CONTRACT = "multinetwork.networking.k8s.io"
EMPTY_CLASS: dict[str, Any] = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "DeviceClass",
    "metadata": {"name": "pod-network"},
    "spec": {},
}
REPLICAS = "--selector=app.kubernetes.io/name=netclaim-controller"


@pytest.fixture(scope="module")
def lab(chart_lab: Lab) -> Lab:
    """The lab with the chart, in place of the one that all other tests share."""
    return chart_lab


@pytest.fixture
def admin(lab: Lab) -> Kubectl:
    """An admin's kubectl."""
    return lab.kubectl()


@pytest.fixture
def media(lab: Lab, admin: Kubectl) -> Iterator[Kubectl]:
    """A namespace that may use the networks of these tests."""
    name = f"media-{secrets.token_hex(2)}"
    admin("create", "namespace", name)
    admin("label", "namespace", name, "team=media")
    yield lab.kubectl(name)
    admin("delete", "namespace", name, "--wait=true", "--timeout=180s")


@pytest.fixture
def network(admin: Kubectl, media: Kubectl) -> Iterator[str]:
    """A network for that namespace, whose users may choose their addresses."""
    name = f"net-{secrets.token_hex(2)}"
    admin.apply(pod_network(name))
    eventually(lambda: ready(admin, name), lambda found: found == "True", f"{name} is ready")
    yield name
    admin("delete", "podnetwork", name, "--ignore-not-found", "--wait=false")


def test_the_api_server_judges_networks_as_check_does(admin: Kubectl) -> None:
    """Every rule of the definition, by the server's own CEL."""
    for spec in RIGHT:
        admin("create", "--dry-run=server", "-f-", stdin=json.dumps(pod_network("n", spec)))
    for spec, field in WRONG:
        with pytest.raises(KubectlError) as caught:
            admin("create", "--dry-run=server", "-f-", stdin=json.dumps(pod_network("n", spec)))
        assert is_of(field, str(caught.value)), spec


def test_one_line_gives_a_pod_a_network(media: Kubectl, network: str) -> None:
    """Two pods on two nodes reach each other; one has chosen its address."""
    wait_template(media, network)
    media.apply(
        pod("plain", network, "kind-worker"),
        template("chosen", network, ips=["10.77.0.99/24"]),
        pod("chosen", "chosen", "kind-worker2"),
    )
    for name in ("plain", "chosen"):
        media.wait(f"pod/{name}", "condition=Ready")
    (plain,) = addresses(media, "plain", network)
    assert plain.startswith("10.77.0.")
    assert addresses(media, "chosen", network) == ["10.77.0.99/24"]
    media("exec", "plain", "--", "ping", "-c", "3", "-W", "10", "10.77.0.99")
    (claim,) = [each for each in media.items("resourceclaims") if "plain" in name_of(each)]
    (device,) = claim["status"]["devices"]
    assert device["data"]["podNetwork"] == {"kind": "PodNetwork", "name": network}
    assert device["networkData"]["interfaceName"] == network


def test_a_namespace_without_permission_gets_nothing(
    lab: Lab, admin: Kubectl, media: Kubectl, network: str
) -> None:
    """It is refused at apply, and by the driver; a corrected label has kubelet ask again."""
    wait_template(media, network)
    admin("create", "namespace", "other")
    other = lab.kubectl("other")
    try:
        for made in (template("own", network), claim("own", network)):
            with pytest.raises(KubectlError, match=f"other may not use the network {network}"):
                other.apply(made)
        admin("label", "namespace", "other", "team=media")
        eventually(lambda: applies(other, claim("own", network)), bool, "the label in effect")
        admin("label", "namespace", "other", "team-")
        wants = pod("wants", "", "kind-worker")
        wants["spec"]["resourceClaims"] = [{"name": "net", "resourceClaimName": "own"}]
        other.apply(wants)
        refused = eventually(
            lambda: [ready_condition(each) for each in other.items("resourceclaims")],
            lambda found: bool(found) and found[0] is not None,
            "the driver's refusal",
        )[0]
        assert refused is not None
        assert network in refused["message"]
        assert "other" in refused["message"]
        assert refused["reason"].endswith("Refused")
        admin("label", "namespace", "other", "team=media")
        wait_template(other, network)
        seen = eventually(
            lambda: other.items("pods"),
            lambda pods: bool(pods) and is_ready(pods[0]),
            "the pod is ready",
        )
        assert ANNOTATION in seen[0]["metadata"]["annotations"]
        admin("label", "namespace", "other", "team-")
        wait_no_template(other, network)
        assert is_ready(other.get("pod", "wants"))  # who has it keeps it
    finally:
        admin("delete", "namespace", "other", "--wait=true", "--timeout=180s")


def test_a_link_that_is_back_has_kubelet_ask_again(lab: Lab, media: Kubectl, network: str) -> None:
    """A pod whose prepare failed for want of it starts without waiting for kubelet's retry."""
    wait_template(media, network)
    kubelet = "kind-worker/kubelet"
    lab.pause(kubelet)
    try:
        media.apply(pod("early", network, "kind-worker"))
        eventually(
            lambda: [each.get("status", {}) for each in media.items("resourceclaims")],
            lambda found: bool(found) and "allocation" in found[0],
            "the claim has the link",
        )
        lab.unplug("kind-worker", "eth1")
    finally:
        lab.resume(kubelet)
    try:
        eventually(
            lambda: [ready_condition(each) for each in media.items("resourceclaims")],
            lambda found: bool(found) and found[0] is not None and found[0]["status"] == "False",
            "the failure for want of the link",
        )
    finally:
        lab.plug("kind-worker", "eth1", "media")
    eventually(
        lambda: media.get("pod", "early")["metadata"].get("annotations", {}),
        lambda annotations: ANNOTATION in annotations,
        "the controller has had kubelet ask again",
    )
    media.wait("pod/early", "condition=Ready")


def test_a_claim_names_only_the_network(admin: Kubectl, media: Kubectl, network: str) -> None:
    """The class is empty; two pods on two nodes reach each other, and keep a deleted network."""
    admin.apply(EMPTY_CLASS)
    media.apply(
        by_attribute("plain", network),
        pod("plain", "plain", "kind-worker"),
        by_attribute("chosen", network, ips=["10.77.0.99/24"]),
        pod("chosen", "chosen", "kind-worker2"),
    )
    for name in ("plain", "chosen"):
        media.wait(f"pod/{name}", "condition=Ready")
    media("exec", "plain", "--", "ping", "-c", "3", "-W", "10", "10.77.0.99")
    for claim_ in media.items("resourceclaims"):
        (device,) = claim_["status"]["devices"]
        assert device["device"] == f"{network}-on-eth1"
        assert device["data"]["podNetwork"] == {"kind": "PodNetwork", "name": network}
        assert device["networkData"]["interfaceName"] == network
    admin("delete", "podnetwork", network, "--wait=false")
    eventually(lambda: devices(admin), lambda now: f"{network}-on-eth1" not in now, "not offered")
    assert FINALIZER in admin.get("podnetwork", network)["metadata"]["finalizers"]
    assert is_ready(media.get("pod", "plain"))
    media("delete", "pod", "plain", "chosen", "--wait=true", "--timeout=180s")
    eventually(lambda: names(admin, "podnetworks"), lambda all_: network not in all_, "it is gone")


def test_what_tenants_add_to_a_network_is_refused(
    lab: Lab, admin: Kubectl, media: Kubectl, network: str
) -> None:
    """A namespace without permission, a network of their own, and the link for themselves."""
    wait_template(media, network)
    admin.apply(EMPTY_CLASS)
    admin("create", "namespace", "outside")
    outside = lab.kubectl("outside")
    alone = template("alone", network)
    asked = alone["spec"]["spec"]["devices"]["requests"][0]["exactly"]
    asked["capacity"] = {"requests": {"wholeLink": "1"}}
    own = {"cniVersion": "1.0.0", "name": "own", "plugins": [{"type": "macvlan"}]}
    try:
        # One after the other: the controller evicts pods with refused claims.
        outside.apply(by_attribute("sneaky", network), pod("sneaky", "sneaky", "kind-worker"))
        assert f"outside may not use the network {network}" in refusal(outside, "sneaky")
        media.apply(alone, pod("alone", "alone", "kind-worker"))
        assert f"the network {network} shares its link" in refusal(media, "alone")
        media.apply(by_attribute("mine", network, config=own), pod("mine", "mine", "kind-worker2"))
        assert "does not let claims set it" in refusal(media, "mine")
    finally:
        admin("delete", "namespace", "outside", "--wait=true", "--timeout=180s")


def test_labels_of_nodes_choose_the_link(admin: Kubectl, media: Kubectl) -> None:
    """Only one node has an override, so only that node has the network."""
    name = f"net-{secrets.token_hex(2)}"
    there = {"matchLabels": {"kubernetes.io/hostname": "kind-worker2"}}
    spec = pod_network(name)["spec"]
    parent = {"overrides": [{"nodeSelector": there, "name": "eth1"}]}
    admin.apply(pod_network(name, {**spec, "parent": parent}))
    wait_template(media, name)
    anywhere = pod("anywhere", name, "")
    del anywhere["spec"]["nodeSelector"]
    media.apply(anywhere)
    media.wait("pod/anywhere", "condition=Ready")
    assert media.get("pod", "anywhere")["spec"]["nodeName"] == "kind-worker2"
    look = lambda: admin.get("podnetwork", name)["status"].get("nodesAvailable")  # noqa: E731
    eventually(look, lambda found: found == 1, "one node has it")
    admin("delete", "podnetwork", name, "--wait=false")


def test_a_network_is_changed_switched_off_and_deleted_while_it_is_used(
    admin: Kubectl, media: Kubectl, network: str
) -> None:
    """Running pods keep it, new ones get what it is now, and it goes with the last of them."""
    wait_template(media, network)
    media.apply(pod("first", network, "kind-worker"))
    media.wait("pod/first", "condition=Ready")
    patch(admin, network, {"mtu": 1400})
    eventually(lambda: "1400" in str(admin.get("deviceclass", network)), bool, "the class has it")
    media.apply(pod("second", network, "kind-worker"))
    media.wait("pod/second", "condition=Ready")
    assert "mtu 1400" in media("exec", "second", "--", "ip", "link", "show", network)
    assert "mtu 1500" in media("exec", "first", "--", "ip", "link", "show", network)
    patch(admin, network, {"enabled": False})
    wait_no_template(media, network)
    patch(admin, network, {"enabled": True})
    wait_template(media, network)
    admin("delete", "podnetwork", network, "--wait=false")
    wait_no_template(media, network)
    found = admin.get("podnetwork", network)
    assert FINALIZER in found["metadata"]["finalizers"]
    assert is_ready(media.get("pod", "first"))
    media("delete", "pod", "first", "second", "--wait=true", "--timeout=180s")
    eventually(lambda: names(admin, "podnetworks"), lambda all_: network not in all_, "it is gone")


def test_replicas_take_turns_and_catch_up(lab: Lab, admin: Kubectl, media: Kubectl) -> None:
    """One that dies is followed by the other; while both are away, pods with templates start."""
    system = lab.kubectl(CHART_NAMESPACE)
    name = f"net-{secrets.token_hex(2)}"
    admin.apply(pod_network(name))
    wait_template(media, name)
    holder = lease_holder(system)
    system("delete", "pod", holder, "--force", "--grace-period=0")
    eventually(partial(lease_holder, system), lambda now: now != holder, "another replica works")
    system("scale", "deployment/netclaim-controller", "--replicas=0")
    eventually(lambda: system.items("pods", REPLICAS), lambda found: found == [], "none is left")
    media.apply(pod("meanwhile", name, "kind-worker2"))
    media.wait("pod/meanwhile", "condition=Ready")
    late = f"net-{secrets.token_hex(2)}"
    admin.apply(pod_network(late))
    assert late not in names(media, "resourceclaimtemplates")
    system("scale", "deployment/netclaim-controller", "--replicas=2")
    wait_template(media, late)
    for each in (name, late):
        admin("delete", "podnetwork", each, "--wait=false")


def test_a_template_of_any_driver_is_copied(lab: Lab, media: Kubectl) -> None:
    """To the namespaces that its annotation selects."""
    gpu = {**template("one-gpu", "gpu.example.com")}
    gpu["metadata"] = {"name": "one-gpu", "annotations": {COPY_TO: "team=media"}}
    system = lab.kubectl(CHART_NAMESPACE)
    system.apply(gpu)
    wait_template(media, "one-gpu")
    system("delete", "resourceclaimtemplate", "one-gpu")
    wait_no_template(media, "one-gpu")


def test_a_service_follows_its_pods_on_the_network(lab: Lab, media: Kubectl, network: str) -> None:
    """Pods of two nodes, by readiness, by the link of their node, and until they end."""
    wait_template(media, network)
    nodes = {"web-1": "kind-worker", "web-2": "kind-worker2", "web-3": "kind-worker2"}
    places = {name: f"10.77.0.{number}" for number, name in enumerate(nodes, 51)}
    media.apply(service("web", network))
    for name, node in nodes.items():
        media.apply(template(name, network, ips=[f"{places[name]}/24"]), web_pod(name, node))
    wait_endpoints(media, *places.values())
    for found in media.items("endpointslices"):
        assert found["metadata"]["labels"][MANAGED_BY] == MANAGER  # Kubernetes makes none
        assert [(port["name"], port["port"]) for port in found["ports"]] == [("web", 8080)]
    media("exec", "web-2", "--", "rm", "/tmp/ready")
    wait_endpoints(media, places["web-1"], places["web-3"])
    media("exec", "web-2", "--", "touch", "/tmp/ready")
    wait_endpoints(media, *places.values())
    lab.set_carrier("kind-worker", "eth1", on=False)
    try:
        wait_endpoints(media, places["web-2"], places["web-3"])
    finally:
        lab.set_carrier("kind-worker", "eth1", on=True)
    wait_endpoints(media, *places.values())
    media("delete", "pod", "web-3", "--wait=false")
    wait_endpoints(media, places["web-1"], places["web-2"])
    media("annotate", "service", "web", f"{NETWORK}-")
    eventually(lambda: media.items("endpointslices"), lambda found: not found, "no slice is left")


def test_the_controllers_token_is_of_no_use_elsewhere(
    admin: Kubectl, media: Kubectl, network: str
) -> None:
    """It may annotate pods, and write the classes and templates of networks; nothing else."""
    wait_template(media, network)
    media.apply(pod("app", network, "kind-worker"))

    as_controller = (f"--as={CONTROLLER}", "--dry-run=server")

    def refused(kubectl: Kubectl, *arguments: str, stdin: str | None = None) -> str:
        with pytest.raises(KubectlError) as caught:
            kubectl(*arguments, *as_controller, stdin=stdin)
        return str(caught.value)

    # The pod may have been nudged meanwhile.
    media("annotate", "--overwrite", "pod", "app", f"{ANNOTATION}=now", *as_controller)
    own = "its own annotation"
    assert own in refused(media, "set", "image", "pod/app", "main=evil:latest")
    assert own in refused(media, "label", "pod", "app", "a=b")
    assert own in refused(media, "annotate", "pod", "app", "a=b")
    only = "only classes and templates of PodNetworks"
    free = json.dumps(template("free", network))
    assert only in refused(media, "create", "-f-", stdin=free)
    slice_: dict[str, Any] = {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice"}
    slice_ |= {"metadata": {"name": "forged"}, "addressType": "IPv4", "endpoints": []}
    assert "only its own EndpointSlices" in refused(
        media, "create", "-f-", stdin=json.dumps(slice_)
    )
    class_: dict[str, Any] = {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass"}
    class_ = {**class_, "metadata": {"name": "theirs"}, "spec": {}}
    assert only in refused(admin, "create", "-f-", stdin=json.dumps(class_))
    assert "forbidden" in refused(admin, "create", "namespace", "new")
    assert "forbidden" in refused(media, "delete", "pod", "app")


def is_of(field: str, refusal: str) -> bool:
    """Whether the server refused the field, or by one of our rules, which names no field."""
    rules = [rule.message for rule in RULES if f"spec.{rule.field}" == field]
    return field in refusal or any(message in refusal for message in rules)


def test_a_cluster_has_one_controller(lab: Lab) -> None:
    """A second release is refused one, and may have a driver of its own without it."""
    helm = Helm(lab)
    second = ("install", "second", str(CHART), "--dry-run=server", "--set=driverName=x.example")
    classes = "--set=deviceClasses.cni\\.networking\\.x-k8s\\.io=null"
    with pytest.raises(HelmError, match="netclaim-controller runs netclaim's controller already"):
        helm(*second, classes)
    helm(*second, classes, "--set=controller.enabled=false")


def test_metrics_need_a_token(lab: Lab) -> None:
    """A replica is Ready with its metrics on the network, and shows them to their readers only."""
    system = lab.kubectl(CHART_NAMESPACE)
    (replica, *_) = system.items("pods", REPLICAS)
    url = f"http://{replica['status']['podIP']}:9418/metrics"

    def fetched(token: str) -> str:
        node = str(replica["spec"]["nodeName"])
        return in_node(lab, node, lab.python, "-c", FETCH, url, token).strip()

    assert is_ready(replica)
    assert fetched("guess") == "401"
    assert fetched(system("create", "token", "netclaim-controller").strip()) == "403"
    token = lab.kubectl("default")("create", "token", "default").strip()
    assert "netclaim_controller_leading" in fetched(token)


def pod_network(name: str, spec: dict[str, Any] | None = None) -> dict[str, Any]:
    """A network on eth1, of which host-local gives the first addresses."""
    ranges = [[{"subnet": "10.77.0.0/24"}]]
    usual = {
        "type": "macvlan",
        "parent": {"name": "eth1"},
        "ipam": {"type": "host-local", "ranges": ranges},
        "namespaces": {"matchLabels": {"team": "media"}},
        "allow": ["ips"],
    }
    meta = {"name": name}
    return {
        "apiVersion": API,
        "kind": "PodNetwork",
        "metadata": meta,
        "spec": usual if spec is None else spec,
    }


def template(name: str, class_name: str, **parameters: Any) -> dict[str, Any]:
    """A short claim template of a user's own."""
    request = {"name": "net", "exactly": {"deviceClassName": class_name}}
    devices: dict[str, Any] = {"requests": [request]}
    if parameters:
        values = {"apiVersion": API, "kind": "CNI", **parameters}
        opaque = {"driver": DRIVER, "parameters": values}
        devices["config"] = [{"requests": ["net"], "opaque": opaque}]
    head = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate"}
    return {**head, "metadata": {"name": name}, "spec": {"spec": {"devices": devices}}}


def by_attribute(name: str, network: str, **parameters: Any) -> dict[str, Any]:
    """A template that names a network, and a class that says nothing."""
    made = template(name, EMPTY_CLASS["metadata"]["name"], **parameters)
    expression = f'device.attributes["{CONTRACT}"].podNetwork == "{network}"'
    (request,) = made["spec"]["spec"]["devices"]["requests"]
    request["exactly"]["selectors"] = [{"cel": {"expression": expression}}]
    return made


def refusal(kubectl: Kubectl, pod_name: str) -> str:
    """What the driver says of the claim of a pod, once it has refused it."""

    def said() -> str:
        for found in kubectl.items("resourceclaims"):
            owners = found["metadata"].get("ownerReferences", [])
            condition = ready_condition(found)
            if condition is not None and any(each["name"] == pod_name for each in owners):
                return str(condition["message"])
        return ""

    return str(eventually(said, bool, f"the refusal of {pod_name}"))


def devices(admin: Kubectl) -> set[str]:
    """The names of all devices."""
    slices = admin.items("resourceslices")
    return {each["name"] for found in slices for each in found["spec"].get("devices", [])}


def claim(name: str, class_name: str) -> dict[str, Any]:
    """The same as a claim."""
    made = template(name, class_name)
    return {**made, "kind": "ResourceClaim", "spec": made["spec"]["spec"]}


def applies(kubectl: Kubectl, made: dict[str, Any]) -> bool:
    """Try to apply an object."""
    try:
        kubectl.apply(made)
    except KubectlError:
        return False
    return True


def pod(name: str, template_name: str, node: str) -> dict[str, Any]:
    """A pod that has a network by one line."""
    container = {
        "name": "main",
        "image": "alpine:latest",
        "imagePullPolicy": "IfNotPresent",
        "command": ["sleep", "infinity"],
    }
    spec = {
        "nodeSelector": {"kubernetes.io/hostname": node},
        "terminationGracePeriodSeconds": 0,
        "containers": [container],
        "resourceClaims": [{"name": "net", "resourceClaimTemplateName": template_name}],
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def web_pod(name: str, node: str) -> dict[str, Any]:
    """A pod of the Service below; a file in it says whether it is ready."""
    made = pod(name, name, node)
    made["metadata"]["labels"] = {"app": "web"}
    (container,) = made["spec"]["containers"]
    container["command"] = ["sh", "-c", "touch /tmp/ready; sleep infinity"]
    container["ports"] = [{"name": "http", "containerPort": 8080}]
    probe = {"exec": {"command": ["test", "-e", "/tmp/ready"]}}
    container["readinessProbe"] = {**probe, "periodSeconds": 1, "timeoutSeconds": 20}
    return made


def service(name: str, network: str) -> dict[str, Any]:
    """A Service of a network."""
    annotations = {NETWORK: network, SELECTOR: "app=web"}
    ports = [{"name": "web", "port": 80, "targetPort": "http"}]
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "annotations": annotations},
        "spec": {"clusterIP": "None", "ports": ports},
    }


def wait_endpoints(kubectl: Kubectl, *wanted: str) -> None:
    """Wait until exactly these addresses of a namespace's Service are ready."""

    def look() -> list[str]:
        endpoints = (each for one in kubectl.items("endpointslices") for each in one["endpoints"])
        return sorted(each["addresses"][0] for each in endpoints if each["conditions"]["ready"])

    eventually(look, lambda found: found == sorted(wanted), f"the endpoints {wanted}")


def ready(admin: Kubectl, network: str) -> str:
    """The condition Ready of a network, in a word."""
    conditions = admin.get("podnetwork", network).get("status", {}).get("conditions", [])
    return next((str(each["status"]) for each in conditions if each["type"] == "Ready"), "")


def patch(admin: Kubectl, network: str, spec: dict[str, Any]) -> None:
    """Change fields of a network."""
    admin("patch", "podnetwork", network, "--type=merge", f"--patch={json.dumps({'spec': spec})}")


def wait_template(kubectl: Kubectl, name: str) -> None:
    """Wait until a namespace has a template."""
    look = partial(names, kubectl, "resourceclaimtemplates")
    eventually(look, lambda found: name in found, f"the template {name}")


def wait_no_template(kubectl: Kubectl, name: str) -> None:
    """Wait until a namespace has no such template."""
    look = partial(names, kubectl, "resourceclaimtemplates")
    eventually(look, lambda found: name not in found, f"no template {name}")


def names(kubectl: Kubectl, kind: str) -> set[str]:
    """The names of all objects of a kind."""
    return {name_of(each) for each in kubectl.items(kind)}


def name_of(found: dict[str, Any]) -> str:
    """The name of an object."""
    return str(found["metadata"]["name"])


def is_ready(found: dict[str, Any]) -> bool:
    """Whether a pod is Ready."""
    conditions = found["status"].get("conditions", [])
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def lease_holder(system: Kubectl) -> str:
    """The replica that works."""
    return str(system.get("lease", "netclaim-controller")["spec"].get("holderIdentity", ""))
