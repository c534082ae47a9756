"""What the token of one node's driver is good for elsewhere, on the newest release and the oldest.

Each attack is a real request with the real token. Where an API server refuses by itself, before it
asks the policies of `deploy/`, the reason is its own.
"""

import json
import secrets
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import pytest

from lab.cluster import Lab
from lab.drivers.driver import ACCOUNT, NAMESPACE
from netclaim.manifests.versions.conversion import from_v1
from tests.cluster.conftest import RELEASES
from tests.cluster.site.claims import device_class, pod, simple_claim
from tests.cluster.site.drivers import eventually, wait_claim, wait_event
from tests.cluster.site.namespaces import own_namespace
from tests.cluster.site.node_token import (
    JSON,
    MERGE,
    NODE,
    OTHER_NODE,
    Answer,
    Object,
    Site,
    TokenApi,
    allocation,
    entry,
    event,
    filler,
    merged,
)
from tests.cluster.site.node_token_cases import (
    BAD_EVENTS,
    BAD_NAMES,
    BAD_SLICES,
    BAD_STATUS,
    BY_BINDING,
    BY_DRIVER,
    FOREIGN_SLICES,
    FORGED_GPU,
    GPU,
    NIC,
    NO_RIGHT,
    OWN_CLAIMS,
    OWN_ENTRIES,
    OWNER,
)

DRY_RUN = "?dryRun=All"
POLICIES = SLICES, STATUS, EVENTS = (
    "netclaim-driver-slices",
    "netclaim-driver-claim-status",
    "netclaim-driver-events",
)
UNBOUND = "the driver's token is not bound to a node"


@pytest.fixture(scope="module", params=RELEASES)
def site(request: pytest.FixtureRequest) -> Iterator[Site]:
    """The driver on every node, and the policies in force."""
    if request.param == "newest":
        request.getfixturevalue("driver")
    lab: Lab = request.getfixturevalue("lab" if request.param == "newest" else "older")
    admin = lab.kubectl()
    minor = int(json.loads(admin("get", "--raw=/version"))["minor"])
    with own_namespace(lab) as kubectl:
        site = Site(
            lab=lab,
            minor=minor,
            version="v1" if minor >= 34 else "v1beta1",
            kubectl=kubectl,
            node_uids={
                each["metadata"]["name"]: each["metadata"]["uid"] for each in admin.items("nodes")
            },
        )
        kubectl.apply(pod("holder"), from_v1(device_class(), "DeviceClass", site.version))
        wait_policies(site)
        yield site


def wait_policies(site: Site) -> None:
    """Wait until the API server has taken up each of the policies."""
    stolen, claim = site.stolen(), site.new_claim()
    probes: list[Callable[[], Answer]] = [
        lambda: stolen.create_slice(site.slice_of(OTHER_NODE), DRY_RUN),
        lambda: stolen.patch_status(claim, {}, DRY_RUN),
        lambda: stolen.create_event(event(claim, {"reportingInstance": "x"}), DRY_RUN),
    ]
    for probe in probes:
        eventually(probe, lambda answer: answer.code == 403, "a refusal by the policy")


@pytest.fixture(scope="module")
def stolen(site: Site) -> TokenApi:
    """The API for a thief of the token of one node's driver."""
    return site.stolen()


@pytest.fixture(scope="module")
def here(site: Site) -> Object:
    """A claim with devices of that node, which no test may change."""
    return site.allocated_claim(NODE)


@pytest.fixture(scope="module")
def elsewhere(site: Site) -> Object:
    """A claim with devices of another node, which no test may change."""
    return site.allocated_claim(OTHER_NODE)


@pytest.fixture
def foreign(site: Site, case: str) -> Iterator[Object]:
    """A slice that is not the driver's."""
    name = {"metadata": {"name": f"other-{secrets.token_hex(3)}"}}
    wanted = merged(merged(site.slice_of(), name), FOREIGN_SLICES[case])
    made = site.admin_create(wanted)
    yield made
    site.kubectl("delete", "resourceslice", made["metadata"]["name"])


def check_unharmed(site: Site, before: Object) -> None:
    """The object is what it was, to the resource version."""
    assert site.kubectl.get(before["kind"], before["metadata"]["name"]) == before


def check_status_refused(site: Site, answer: Answer, by_server: str, *by_policy: str) -> None:
    """Refused by the API server itself where it can, else by the policy."""
    answer.check_refused(*((by_server,) if site.checks_status_itself else (STATUS, *by_policy)))


# -- slices --------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", BAD_SLICES)
def test_only_slices_of_the_own_node_are_made(site: Site, stolen: TokenApi, case: str) -> None:
    """A slice of another driver, node or pool, or one that is in the way of others, is refused."""
    change, reason = BAD_SLICES[case]
    wanted = merged(site.slice_of(), change)
    stolen.create_slice(wanted).check_refused(SLICES, reason)
    assert wanted["metadata"]["name"] not in site.slice_names()


@pytest.mark.parametrize("case", BAD_NAMES)
def test_only_names_of_the_own_node_are_taken(site: Site, stolen: TokenApi, case: str) -> None:
    """A slice cannot take the name that another node's driver will give to one of its own."""
    own = site.slice_of()
    name = BAD_NAMES[case](own["metadata"]["name"])
    wanted = merged(own, {"metadata": {"name": name}})
    stolen.create_slice(wanted).check_refused(SLICES, f"-CHECKSUM, not {name}")
    assert name not in site.slice_names()


@pytest.mark.parametrize("case", FOREIGN_SLICES)
def test_no_other_slice_is_edited_or_deleted(site: Site, stolen: TokenApi, foreign: Object) -> None:
    """Somebody else's slice stays as it is, also where it is of the own node or driver."""
    path = stolen.slices(foreign["metadata"]["name"])
    stolen.call("PUT", path, merged(foreign, {"spec": {"devices": []}})).check_refused(SLICES)
    stolen.call("DELETE", path).check_refused(SLICES)
    at_once = {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0}
    stolen.call("DELETE", path, at_once).check_refused(SLICES)
    check_unharmed(site, foreign)


@pytest.mark.parametrize("case", FOREIGN_SLICES)
def test_no_other_slice_is_taken_over(site: Site, stolen: TokenApi, foreign: Object) -> None:
    """An edit cannot make somebody else's slice one of the own driver, node and pool."""
    spec = {**site.slice_of()["spec"], "devices": [], "allNodes": None, "nodeSelector": None}
    taken = merged(foreign, {"spec": spec})
    path = stolen.slices(foreign["metadata"]["name"])
    stolen.call("PUT", path, taken).check_refused("field is immutable")
    check_unharmed(site, foreign)


def test_what_another_nodes_driver_published_is_safe(site: Site, stolen: TokenApi) -> None:
    """The real slices of another node can be neither emptied nor deleted."""
    (real,) = site.published(OTHER_NODE)
    path = stolen.slices(real["metadata"]["name"])
    reason = f"the driver on {NODE} may write slices of this node only, not of {OTHER_NODE}"
    emptied = merged(real, {"spec": {"devices": []}})
    stolen.call("PUT", path, emptied).check_refused(SLICES, reason)
    stolen.call("DELETE", path).check_refused(SLICES, reason)
    assert site.published(OTHER_NODE) == [real]


def test_no_slice_becomes_an_obstacle(site: Site, stolen: TokenApi) -> None:
    """A slice of the own node gets no finalizer and no other owner by an edit either."""
    (own,) = site.published(NODE)
    path = stolen.slices(own["metadata"]["name"])
    for change, reason in (BAD_SLICES["with a finalizer"], BAD_SLICES["owned by another node"]):
        stolen.call("PUT", path, merged(own, change)).check_refused(SLICES, reason)
    assert site.published(NODE) == [own]


def test_the_driver_puts_its_nodes_slices_right(site: Site, stolen: TokenApi) -> None:
    """What is done to the slices of the token's own node, the driver there undoes."""
    (before,) = site.published(NODE)
    path = stolen.slices(before["metadata"]["name"])
    stray = merged(site.slice_of(index=0xDEF), {"spec": {"pool": {"name": "stray"}}})
    site.admin_create(stray)
    stolen.create_slice(site.slice_of()).check_done()
    stolen.call("DELETE", path).check_done()

    def devices() -> list[list[Object]]:
        return [each["spec"]["devices"] for each in site.published(NODE)]

    eventually(devices, lambda seen: seen == [before["spec"]["devices"]], "the driver's own slice")


def test_every_version_of_the_api_is_guarded(site: Site, elsewhere: Object) -> None:
    """A write is held to the same limits in whatever version of the API it comes."""
    group = json.loads(site.kubectl("get", "--raw=/apis/resource.k8s.io"))
    versions = [each["version"] for each in group["versions"]]
    assert versions == (["v1", "v1beta2", "v1beta1"] if site.minor >= 34 else ["v1beta1"])
    for version in versions:
        stolen = replace(site, version=version).stolen()
        stolen.create_slice(site.slice_of(OTHER_NODE)).check_refused(SLICES)
        forged = stolen.apply_status(elsewhere, {"devices": [entry("gpu", OTHER_NODE)]})
        forged.check_refused(STATUS)
    assert site.slice_of(OTHER_NODE)["metadata"]["name"] not in site.slice_names()
    check_unharmed(site, elsewhere)


def test_the_longest_names_fit(site: Site, elsewhere: Object) -> None:
    """Where the driver has to cut a node's name, the policies expect what it makes of it."""
    node = f"{'n' * 209}.{'m' * 40}"  # a slice's name would end with the dot, which is cut too
    site.kubectl.apply({"apiVersion": "v1", "kind": "Node", "metadata": {"name": node}})
    try:
        uid = site.kubectl.get("node", node)["metadata"]["uid"]
        longer = replace(site, node_uids={node: uid})
        api, wanted = longer.bound_to(node), longer.slice_of(node)
        api.create_slice(wanted, DRY_RUN).check_done()
        renamed = merged(
            wanted, {"metadata": {"name": f"{wanted['metadata']['name'][:-9]}n-12345678"}}
        )
        api.create_slice(renamed).check_refused(SLICES)
        cut = {"reportingInstance": node[:128]}
        api.create_event(event(elsewhere, cut), DRY_RUN).check_done()
        api.create_event(event(elsewhere, {"reportingInstance": node[:127]})).check_refused(EVENTS)
    finally:
        site.kubectl("delete", "node", node)


# -- tokens --------------------------------------------------------------------------------------


def test_a_token_without_a_node_writes_nothing(site: Site, here: Object) -> None:
    """A token of the driver's account that names no node is refused whatever it writes."""
    unbound, wanted, (own,) = site.unbound(), site.slice_of(), site.published(NODE)
    path = unbound.slices(own["metadata"]["name"])
    unbound.create_slice(wanted).check_refused(SLICES, UNBOUND)
    unbound.call("PUT", path, own).check_refused(SLICES, UNBOUND)
    unbound.call("DELETE", path).check_refused(SLICES, UNBOUND)
    unbound.create_event(event(here)).check_refused(EVENTS, UNBOUND)
    forged = unbound.apply_status(here, {"devices": [entry("nic", NODE, forged=True)]})
    check_status_refused(site, forged, BY_DRIVER, UNBOUND)
    unbound.apply_status(here, {"devices": [NIC]}).check_refused(STATUS, UNBOUND)
    check_unharmed(site, here)
    assert site.published(NODE) == [own]
    assert wanted["metadata"]["name"] not in site.slice_names()


def test_a_pods_token_is_bound_to_its_node(site: Site) -> None:
    """The token that a DaemonSet's pod gets is held to that pod's node in the same way."""
    name = f"driver-{secrets.token_hex(3)}"
    system = site.lab.kubectl(NAMESPACE)
    system.apply(pod(name, serviceAccountName=ACCOUNT, nodeName=OTHER_NODE))
    try:
        system.wait(f"pod/{name}", "condition=Ready")
        path = "/var/run/secrets/kubernetes.io/serviceaccount/token"
        api = site.with_token(system("exec", name, "--", "cat", path))
        api.create_slice(site.slice_of(OTHER_NODE), DRY_RUN).check_done()
        api.create_slice(site.slice_of(NODE)).check_refused(SLICES, f"not of {NODE}")
    finally:
        system("delete", "pod", name, "--wait=true")


def test_no_other_right_comes_with_the_token(site: Site, stolen: TokenApi, here: Object) -> None:
    """What the driver does not need is refused by RBAC already."""
    (own,) = site.published(NODE)
    for method, path, body in NO_RIGHT:
        place = path.format(
            version=site.version,
            namespace=site.kubectl.namespace,
            claim=here["metadata"]["name"],
            slice=own["metadata"]["name"],
        )
        answer = stolen.call(method, place, body, MERGE if method == "PATCH" else JSON)
        answer.check_refused(f'User "system:serviceaccount:{NAMESPACE}:{ACCOUNT}" cannot')
    check_unharmed(site, here)
    assert site.published(NODE) == [own]


def test_what_the_token_can_read(site: Site, stolen: TokenApi, elsewhere: Object) -> None:
    """Reading is not bound to the node: single objects of any node and namespace, all slices."""
    for path in (
        f"/api/v1/nodes/{OTHER_NODE}",
        "/api/v1/namespaces/kube-system",
        f"/api/v1/namespaces/{site.kubectl.namespace}/pods/holder",
        stolen.claim(site.kubectl.namespace, elsewhere["metadata"]["name"]),
        stolen.slices(),
    ):
        stolen.call("GET", path).check_done()


# -- claims' status ------------------------------------------------------------------------------


@pytest.mark.parametrize("case", BAD_STATUS)
def test_only_the_own_entries_are_changed(
    site: Site, stolen: TokenApi, here: Object, case: str
) -> None:
    """Other drivers' entries, the allocation and the reservation of a claim stay as they are."""
    change, by_server, *by_policy = BAD_STATUS[case]
    answer = stolen.patch_status(here, {"status": change})
    check_status_refused(site, answer, by_server, *by_policy)
    check_unharmed(site, here)


def test_no_other_entry_is_applied(site: Site, stolen: TokenApi, here: Object) -> None:
    """Server-side apply by force, the driver's own way, does not change others' entries either."""
    answer = stolen.apply_status(here, {"devices": [NIC, FORGED_GPU]})
    check_status_refused(site, answer, BY_DRIVER, OWN_ENTRIES)
    check_unharmed(site, here)


def test_an_allocation_is_not_exchanged(site: Site, stolen: TokenApi, here: Object) -> None:
    """A claim's devices are not replaced by another node's."""
    status = {"allocation": allocation(OTHER_NODE), "devices": None}
    # From 1.37 on: "field cannot be modified once set".
    words = "field is immutable" if site.minor < 37 else "cannot be modified"
    stolen.patch_status(here, {"status": status}).check_refused(words)
    check_unharmed(site, here)


def test_a_claim_is_not_allocated(site: Site, stolen: TokenApi) -> None:
    """A claim that waits for the scheduler does not get devices from a driver's token."""
    claim = site.new_claim()
    answer = stolen.patch_status(claim, {"status": {"allocation": allocation(NODE)}})
    check_status_refused(site, answer, BY_BINDING, "status only, not allocation")
    check_unharmed(site, claim)


@pytest.mark.parametrize("left", [[], ["nic"]], ids=["removed", "forged"])
def test_claims_of_other_nodes_are_safe(
    site: Site, stolen: TokenApi, elsewhere: Object, left: list[str]
) -> None:
    """The driver's entries of a claim with another node's devices stay as they are."""
    entries = [entry(each, OTHER_NODE, forged=True) for each in left]
    status = {"devices": [*entries, entry("gpu", OTHER_NODE)]}
    answer = stolen.patch_status(elsewhere, {"status": status})
    check_status_refused(site, answer, BY_DRIVER, OWN_CLAIMS)
    check_unharmed(site, elsewhere)


@pytest.mark.parametrize("asked", ["nic", "gpu"])
def test_entries_of_other_nodes_are_not_shared(
    site: Site, stolen: TokenApi, elsewhere: Object, asked: str
) -> None:
    """Applying what is there already would make the thief a co-owner of it, and is refused."""
    answer = stolen.apply_status(elsewhere, {"devices": [entry(asked, OTHER_NODE)]})
    answer.check_refused(STATUS, OWN_CLAIMS)
    check_unharmed(site, elsewhere)


def test_metadata_does_not_come_with_the_status(site: Site, stolen: TokenApi) -> None:
    """The API server passes over labels, annotations, finalizers and owners in a status write."""
    claim = site.allocated_claim()
    forged = {
        "labels": {"forged": "true"},
        "annotations": {"forged": "true"},
        "finalizers": ["example.com/forever"],
        "ownerReferences": [{**OWNER, "uid": site.node_uids[NODE]}],
    }
    done = stolen.patch_status(claim, {"metadata": forged}).check_done()
    assert all(done["metadata"].get(key) == claim["metadata"].get(key) for key in forged)
    assert (done["spec"], done["status"]) == (claim["spec"], claim["status"])


def test_the_own_entries_are_written(site: Site, stolen: TokenApi) -> None:
    """What a node's driver reports of its own devices is stored, beside what others report."""
    claim = site.allocated_claim()
    mine = entry("nic", NODE, fresh=True)
    stored = stolen.apply_status(claim, {"devices": [mine]}).check_done()
    assert sorted(stored["status"]["devices"], key=lambda each: each["device"]) == [GPU, mine]
    stored = stolen.patch_status(claim, {"status": {"devices": [GPU]}}).check_done()
    assert stored["status"] == merged(claim["status"], {"devices": [GPU]})


def test_the_largest_claim_is_written(site: Site, stolen: TokenApi) -> None:
    """Comparing as many entries as a claim can have, each as long as can be, costs not too much."""
    claim = site.allocated_claim(gpus=31, size=9 * 1024)  # of 32 devices and 10 KiB
    mine = entry("nic", NODE, **filler(9 * 1024))
    stolen.apply_status(claim, {"devices": [mine]}).check_done()
    stored = site.kubectl.get("resourceclaim", claim["metadata"]["name"])
    assert len(stored["status"]["devices"]) == 32
    others = [each for each in stored["status"]["devices"] if each != mine]
    answer = stolen.patch_status(claim, {"status": {"devices": [mine, *others[:-1]]}})
    check_status_refused(site, answer, BY_DRIVER, OWN_ENTRIES)
    check_unharmed(site, stored)


# -- events --------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", BAD_EVENTS)
def test_no_event_is_forged(site: Site, stolen: TokenApi, here: Object, case: str) -> None:
    """Events are left in the name of the driver and its node only, and at claims only."""
    change, reason = BAD_EVENTS[case]
    forged = event(here, change)
    stolen.create_event(forged).check_refused(EVENTS, reason)
    names = [each["metadata"]["name"] for each in site.kubectl.items("events")]
    assert forged["metadata"]["name"] not in names


# -- the driver within these limits --------------------------------------------------------------


def test_the_driver_attaches_and_reports(site: Site) -> None:
    """A pod gets its interface, and the claim's status says so."""
    name = f"nic-{secrets.token_hex(3)}"
    site.admin_create(simple_claim(name))
    site.kubectl.apply(pod(name, name))
    site.kubectl.wait(f"pod/{name}", "condition=Ready")
    claim = wait_claim(site.kubectl, name, "True")
    assert claim["status"]["devices"][0]["networkData"]["interfaceName"] == "net1"
    site.kubectl("delete", "pod", name, "--wait=true")


def test_the_driver_leaves_a_warning(site: Site) -> None:
    """A claim that cannot be attached gets an event from the driver."""
    name = f"nic-{secrets.token_hex(3)}"
    site.admin_create(simple_claim(name))
    site.kubectl.apply(pod("misplaced", name, hostNetwork=True))
    wait_event(site.kubectl, name, "on the node's own network")
    site.kubectl("delete", "pod", "misplaced", "--wait=true")


def test_the_policies_are_well_typed(site: Site) -> None:
    """The API server's own type check of the expressions has nothing to say."""
    for policy in POLICIES:
        found = eventually(
            partial(site.kubectl.get, "validatingadmissionpolicy", policy),
            lambda seen: "observedGeneration" in seen.get("status", {}),
            f"the type check of {policy}",
        )
        assert found["status"].get("typeChecking", {}) == {}
