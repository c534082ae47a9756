"""The chart's templates over values, by the real helm; no cluster is needed for most of it."""

import json
import subprocess
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, ClassVar, TypeAlias

import pytest
import yaml

from lab.cluster import Lab
from lab.helm import CHART, CHART_NAMESPACE
from lab.kubectl import KubectlError
from lab.parts.binaries import Binaries
from lab.progress import Progress
from scripts import chart_files
from scripts.release import files_of, pack_chart

Objects: TypeAlias = dict[tuple[str, str], dict[str, Any]]
Render: TypeAlias = Callable[..., Objects]

DAEMON_SET = ("DaemonSet", "netclaim")
CONTROLLER = ("Deployment", "netclaim-controller")
DEFINITION = "CustomResourceDefinition"
ALONE = "controller.enabled=false"
POLICIES = {
    "netclaim-claims",
    "netclaim-classes",
    "netclaim-driver-claim-status",
    "netclaim-driver-events",
    "netclaim-driver-leases",
    "netclaim-driver-slices",
    "netclaim-namespaces",
}


class RefusedError(Exception):
    """Helm's own words."""


@pytest.fixture(scope="module")
def helm() -> Path:
    """The lab's helm."""
    return Binaries(Progress()).path("helm")


@pytest.fixture(scope="module")
def render(helm: Path) -> Render:
    """Renders the chart with values, as `--set` has them, for a release of Kubernetes."""

    def run(*values: str, kubernetes: str = "1.36.0", release: str = "netclaim") -> Objects:
        command = [str(helm), "template", release, str(CHART), f"--namespace={CHART_NAMESPACE}"]
        command += [f"--kube-version={kubernetes}", *(f"--set={value}" for value in values)]
        command += ["--api-versions=monitoring.coreos.com/v1"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            lines = [
                line for line in done.stderr.splitlines() if not line.startswith("Use --debug")
            ]
            raise RefusedError("\n".join(filter(None, lines)))
        documents = filter(None, yaml.safe_load_all(done.stdout))
        return {(each["kind"], each["metadata"]["name"]): each for each in documents}

    return run


def container(objects: Objects, name: tuple[str, str] = DAEMON_SET) -> dict[str, Any]:
    """The driver's container."""
    found: dict[str, Any] = objects[name]["spec"]["template"]["spec"]["containers"][0]
    return found


def environment(objects: Objects, name: tuple[str, str] = DAEMON_SET) -> dict[str, Any]:
    """The driver's environment; of what the pod fills in, where from."""
    listed = container(objects, name)["env"]
    return {
        each["name"]: each.get("value") or each["valueFrom"]["fieldRef"]["fieldPath"]
        for each in listed
    }


def test_the_packed_chart(helm: Path, tmp_path: Path) -> None:
    """The chart as a release has it renders what the checkout's does."""
    packed = tmp_path / "chart.tgz"
    packed.write_bytes(pack_chart(files_of("charts/netclaim")))
    rendered = [
        subprocess.run(
            [str(helm), "template", "netclaim", str(chart), "--kube-version=1.36.0"],
            capture_output=True, text=True, check=True,
        ).stdout
        for chart in (CHART, packed)
    ]  # fmt: skip
    assert rendered[0] == rendered[1] != ""


def test_lint_finds_nothing(helm: Path) -> None:
    """`helm lint --strict` passes, also for the oldest release."""
    for release in ("1.32.0", "1.37.0"):
        command = [str(helm), "lint", "--strict", f"--kube-version={release}", str(CHART)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout


def test_plain_manifests_are_current(helm: Path) -> None:
    """deploy/ is what the chart renders; if not: make files."""
    stale = [
        path.name
        for path, text in chart_files.manifests(helm).items()
        if not path.exists() or path.read_text() != text
    ]
    assert stale == []


def test_driver_is_not_privileged(render: Render) -> None:
    """It has the capabilities that are listed and no more, and cannot write its own image."""
    context = container(render())["securityContext"]
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    assert context["privileged"] is False
    assert context["readOnlyRootFilesystem"] is True
    assert context["capabilities"] == {
        "drop": ["ALL"],
        "add": values["security"]["capabilities"],
    }
    assert context["seccompProfile"] == {"type": "RuntimeDefault"}


def test_paths_are_the_same_inside_and_outside(render: Render) -> None:
    """Every directory of the host is mounted under its own name, wherever the values say."""
    objects = render("paths.kubelet=/data/kubelet", "paths.runtimeSocket=/var/run/crio/crio.sock")
    spec = objects[DAEMON_SET]["spec"]["template"]["spec"]
    hosts = {v["name"]: v["hostPath"]["path"] for v in spec["volumes"] if "hostPath" in v}
    mounts = {(m["name"], m["mountPath"]) for m in container(objects)["volumeMounts"]}
    for name, path in hosts.items():
        if name != "kubelet-pki":  # of which it sees an empty directory
            assert (name, path) in mounts, name
    own = "/data/kubelet/plugins/cni.dra.networking.x-k8s.io"
    assert {"/data/kubelet", own, "/var/run/crio"} <= set(hosts.values())
    assert environment(objects)["NETCLAIM_KUBELET_DIR"] == "/data/kubelet"
    assert environment(objects)["NETCLAIM_RUNTIME_SOCKET"] == "/var/run/crio/crio.sock"
    propagated = {
        m["mountPath"]
        for m in container(objects)["volumeMounts"]
        if m.get("mountPropagation") == "HostToContainer"
    }
    assert propagated == {"/data/kubelet", "/run/netns", "/var/run/netns", "/var/run/crio"}


def test_cards_can_be_written_only_if_they_have_to_be(render: Render) -> None:
    """The driver may set numbers of functions, or bind these, if the settings say so."""

    def mounted(*values: str) -> set[str]:
        return {m["mountPath"] for m in container(render(*values))["volumeMounts"]}

    assert mounted("settings.vfs={ens1f0=8}") - mounted() == {"/sys/devices"}
    assert mounted("settings.vfio=true") - mounted() == {"/sys/devices", "/sys/bus/pci"}


@pytest.mark.parametrize(
    ("kubernetes", "mode", "strategy", "instance"),
    [
        ("1.36.0", "auto", {"maxSurge": 1, "maxUnavailable": 0}, "metadata.uid"),
        ("1.33.0", "auto", {"maxSurge": 1, "maxUnavailable": 0}, "metadata.uid"),
        ("1.32.5", "auto", {"maxSurge": 0, "maxUnavailable": 1}, None),
        ("1.36.0", "replace", {"maxSurge": 0, "maxUnavailable": 1}, None),
    ],
)
def test_update_strategy_fits_the_kubelet(
    render: Render, kubernetes: str, mode: str, strategy: dict[str, int], instance: str | None
) -> None:
    """Two processes of a driver on a node need kubelet 1.33; before, one follows the other."""
    objects = render(f"update.mode={mode}", kubernetes=kubernetes)
    assert objects[DAEMON_SET]["spec"]["updateStrategy"]["rollingUpdate"] == strategy
    assert environment(objects).get("NETCLAIM_INSTANCE") == instance


def test_pods_of_an_update_share_no_port(render: Render) -> None:
    """A port in the pod's spec would keep the scheduler from placing the second pod."""
    assert "ports" not in container(render("metrics.enabled=true"))


def test_probes_ask_their_own_process(render: Render) -> None:
    """They use a socket that no other pod has, and a hang does not use up the uninstall's time."""
    objects = render()
    driver, spec = container(objects), objects[DAEMON_SET]["spec"]["template"]["spec"]
    directory = Path(environment(objects)["NETCLAIM_HEALTH_SOCKET"]).parent
    (mount,) = [m["name"] for m in driver["volumeMounts"] if m["mountPath"] == str(directory)]
    (volume,) = [v for v in spec["volumes"] if v["name"] == mount]
    assert "emptyDir" in volume
    for probe, path in (("startup", "healthz"), ("liveness", "healthz"), ("readiness", "readyz")):
        command = driver[f"{probe}Probe"]["exec"]["command"]
        assert command == ["netclaim-keeper", "--probe", path]
    for probe in ("startup", "liveness"):
        assert driver[f"{probe}Probe"]["terminationGracePeriodSeconds"] == 30
    assert spec["terminationGracePeriodSeconds"] == 86400


def test_rights_are_for_this_driver_and_account(render: Render) -> None:
    """Another driver's name and another release's account appear wherever they have to."""
    objects = render("driverName=net.example.com", ALONE, release="second")
    account = f"system:serviceaccount:{CHART_NAMESPACE}:second-netclaim-driver"
    rules = objects["ClusterRole", "second-netclaim-driver"]["rules"]
    (named,) = [rule for rule in rules if "resourceclaims/driver" in rule["resources"]]
    assert named["resourceNames"] == ["net.example.com"]
    assert named["verbs"] == ["associated-node:patch"]
    policies = [each for (kind, _), each in objects.items() if kind == "ValidatingAdmissionPolicy"]
    for policy in policies:
        for condition in policy["spec"].get("matchConditions", []):
            assert account in condition["expression"]
        for variable in policy["spec"]["variables"]:
            if variable["name"] == "drivers":
                assert variable["expression"] == "['net.example.com']"
    (role,) = [each for (kind, _), each in objects.items() if kind == "Role"]
    assert role["rules"] == [
        {
            "apiGroups": ["apps"],
            "resources": ["daemonsets"],
            "resourceNames": ["second-netclaim"],
            "verbs": ["get"],
        }
    ]


def test_policies_can_be_left_out(render: Render) -> None:
    """Each of the two sets has a value."""

    def names(*values: str) -> set[str]:
        return {name for kind, name in render(*values) if kind == "ValidatingAdmissionPolicy"}

    assert names(ALONE) == POLICIES
    of_claims = {"netclaim-claims", "netclaim-classes", "netclaim-namespaces"}
    assert names(ALONE, "admission.nodes=false") == of_claims
    assert names(ALONE, "admission.nodes=false", "admission.claims=false") == set()


def test_claim_policy_follows_the_settings(render: Render) -> None:
    """The level and the programs that claims may name are those of the drivers."""
    objects = render("settings.policy=restricted", "settings.claimPlugins={sriov,ovs}")
    variables = objects["ValidatingAdmissionPolicy", "netclaim-claims"]["spec"]["variables"]
    by_name = {each["name"]: each["expression"] for each in variables}
    assert by_name["defaultLevel"] == "'restricted'"
    assert by_name["claimPlugins"] == '["sriov","ovs"]'


@pytest.mark.parametrize(
    ("given", "verbs"),
    [((), ["get"]), (("settings.preflight={eth1}",), ["get", "list", "watch"])],
)
def test_claims_are_listed_only_by_drivers_that_check_them(
    render: Render, given: tuple[str, ...], verbs: list[str]
) -> None:
    """A node's token sees the claims of all namespaces only if the setting needs it."""
    (rule,) = [
        rule
        for rule in render(*given)["ClusterRole", "netclaim-driver"]["rules"]
        if rule["resources"] == ["resourceclaims"]
    ]
    assert rule["verbs"] == verbs


def test_settings_are_the_file(render: Render) -> None:
    """What the values say is what the driver reads."""
    data = render("settings.policy=restricted")["ConfigMap", "netclaim-settings"]["data"]
    assert yaml.safe_load(data["config.yaml"]) == {
        "apiVersion": "driver.netclaim.dev/v1alpha1",
        "kind": "DriverConfiguration",
        "networkDevices": True,  # for the controller's PodNetworks
        "policy": "restricted",
    }


def test_pods_are_replaced_only_if_they_have_to_be(render: Render) -> None:
    """A setting that a running driver picks up changes the file alone, not the pods."""

    def template(*values: str) -> dict[str, Any]:
        found: dict[str, Any] = render(*values)[DAEMON_SET]["spec"]["template"]
        return found

    assert template("settings.policy=restricted", "settings.attachments={eth1=10}") == template()
    assert template("settings.runtimeHook=cni") != template()


@pytest.mark.parametrize(
    ("kubernetes", "expected"),
    [("1.34.0", "resource.k8s.io/v1"), ("1.36.0", "resource.k8s.io/v1")],
)
def test_class_is_of_the_newest_version(render: Render, kubernetes: str, expected: str) -> None:
    """DeviceClasses use what the cluster serves; their selectors name the driver."""
    objects = render("driverName=net.example.com", kubernetes=kubernetes)
    found = objects["DeviceClass", "cni.networking.x-k8s.io"]
    assert found["apiVersion"] == expected
    expression = found["spec"]["selectors"][0]["cel"]["expression"]
    assert expression == 'device.driver == "net.example.com"'


def test_classes_can_be_added_and_left_out(render: Render) -> None:
    """`null` takes the chart's own class away."""
    objects = render(
        "deviceClasses.cni\\.networking\\.x-k8s\\.io=null",
        "deviceClasses.storage.selectors[0].cel.expression=true",
    )
    classes = {name for kind, name in objects if kind == "DeviceClass"}
    assert classes == {"storage", "netclaim-test"}


def test_alerts_have_no_links_without_an_address(render: Render) -> None:
    """Nobody publishes the runbooks by default, so no alert pretends that they are somewhere."""
    objects = render("metrics.enabled=true", "metrics.prometheusRule.enabled=true")
    groups = objects["PrometheusRule", "netclaim"]["spec"]["groups"]
    rules = [rule for group in groups for rule in group["rules"]]
    assert len(rules) > 10
    assert all(set(rule["annotations"]) == {"summary", "description"} for rule in rules)


def test_metrics_are_served_to_others_only_on_demand(render: Render) -> None:
    """Without it the port is on loopback; with it a Service and what was asked for are there."""
    assert environment(render())["NETCLAIM_HTTP_ADDRESS"] == "127.0.0.1:9178"
    assert not {"Service", "ServiceMonitor", "PrometheusRule"} & {kind for kind, _ in render()}
    every = ["enabled", "serviceMonitor.enabled", "prometheusRule.enabled", "dashboard.enabled"]
    runbooks = "metrics.prometheusRule.runbooksUrl=https://runbooks.example/"
    objects = render(*(f"metrics.{each}=true" for each in every), "metrics.port=9999", runbooks)
    assert environment(objects)["NETCLAIM_HTTP_ADDRESS"] == "$(HOST_IP):9999"
    assert environment(objects)["HOST_IP"] == "status.hostIP"
    assert ("ServiceMonitor", "netclaim") in objects
    alerts = (CHART / "files" / "alerts.yaml").read_text()
    for placeholder, value in (
        ("RUNBOOKS_URL", "https://runbooks.example/"),
        ("DAEMONSET", DAEMON_SET[1]),
        ("NAMESPACE", CHART_NAMESPACE),
    ):
        alerts = alerts.replace(placeholder, value)
    assert objects["PrometheusRule", "netclaim"]["spec"]["groups"] == yaml.safe_load(alerts)
    dashboard = objects["ConfigMap", "netclaim-dashboard"]["data"]["netclaim.json"]
    assert json.loads(dashboard) == json.loads((CHART / "files" / "dashboard.json").read_text())
    assert objects["Service", "netclaim-metrics"]["spec"]["ports"][0]["port"] == 9999


def test_zero_is_a_time_where_it_means_never(render: Render) -> None:
    """What the driver's page documents, the chart takes."""
    objects = render("settings.flapHold=0", "settings.evictAfter=0")
    config = objects["ConfigMap", "netclaim-settings"]["data"]["config.yaml"]
    read = yaml.safe_load(config)
    assert {key: read[key] for key in ("flapHold", "evictAfter")} == {
        "flapHold": 0,
        "evictAfter": 0,
    }


def test_readers_of_metrics(render: Render) -> None:
    """What is served to the network is for accounts that were named, over HTTPS if asked for."""
    reader = "metrics.readers[0]"
    objects = render(
        "metrics.enabled=true",
        f"{reader}.kind=ServiceAccount",
        f"{reader}.namespace=monitoring",
        f"{reader}.name=prometheus",
        "metrics.tls.secretName=netclaim-tls",
        "metrics.serviceMonitor.enabled=true",
    )
    role = objects["ClusterRole", "netclaim-metrics-reader"]
    assert role["rules"] == [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}]
    bound = objects["ClusterRoleBinding", "netclaim-metrics-reader"]
    assert [each["name"] for each in bound["subjects"]] == ["prometheus"]
    asking = objects["ClusterRoleBinding", "netclaim-metrics-reviews"]
    assert asking["roleRef"]["name"] == "system:auth-delegator"
    (endpoint,) = objects["ServiceMonitor", "netclaim"]["spec"]["endpoints"]
    assert endpoint["scheme"] == "https"
    assert endpoint["bearerTokenFile"]
    assert environment(objects)["NETCLAIM_HTTP_CERTIFICATE"] == "/etc/netclaim-tls/tls.crt"
    assert not [name for _, name in render() if "metrics" in name]


def test_a_newcomer_has_networks(render: Render) -> None:
    """The controller and its definitions are there, unless they are left out."""
    objects = render()
    assert CONTROLLER in objects
    definitions = {name.partition(".")[0] for kind, name in objects if kind == DEFINITION}
    assert definitions == {"podnetworks", "addresspools", "addressleases"}
    alone = render(ALONE)
    assert not [name for kind, name in alone if "controller" in name or kind == DEFINITION]
    config = yaml.safe_load(alone["ConfigMap", "netclaim-settings"]["data"]["config.yaml"])
    assert "networkDevices" not in config


def test_where_the_controller_runs(render: Render) -> None:
    """Its replicas prefer different nodes, unless an admin has other rules."""

    def spec(*values: str) -> dict[str, Any]:
        found: dict[str, Any] = render(*values)[CONTROLLER]["spec"]["template"]["spec"]
        return found

    labels = render()[CONTROLLER]["spec"]["selector"]["matchLabels"]
    usual = spec()
    assert usual["priorityClassName"] == "system-cluster-critical"
    kind = "preferredDuringSchedulingIgnoredDuringExecution"
    (preferred,) = usual["affinity"]["podAntiAffinity"][kind]
    assert preferred["podAffinityTerm"] == {
        "topologyKey": "kubernetes.io/hostname",
        "labelSelector": {"matchLabels": labels},
    }
    assert not {"nodeSelector", "tolerations", "topologySpreadConstraints"} & usual.keys()
    zone, spread = "topology.kubernetes.io/zone", "controller.topologySpreadConstraints[0]"
    own = spec(
        "controller.priorityClassName=",
        "controller.nodeSelector.disk=ssd",
        "controller.tolerations[0].operator=Exists",
        "controller.affinity.nodeAffinity.x=y",
        f"{spread}.maxSkew=1",
        f"{spread}.topologyKey={zone}",
        f"{spread}.whenUnsatisfiable=ScheduleAnyway",
    )
    assert "priorityClassName" not in own
    assert own["nodeSelector"] == {"disk": "ssd"}
    assert own["tolerations"] == [{"operator": "Exists"}]
    assert own["affinity"] == {"nodeAffinity": {"x": "y"}}
    assert own["topologySpreadConstraints"] == [
        {
            "maxSkew": 1,
            "topologyKey": zone,
            "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": {"matchLabels": labels},
        }
    ]
    with pytest.raises(RefusedError, match="toleration"):
        spec("controller.toleration[0].operator=Exists")


def test_the_quota_allows_both_priority_classes(render: Render) -> None:
    """Where system classes need one, the controller's pods do not start without."""

    def classes(*values: str) -> Any:
        spec = render(*values)["ResourceQuota", "netclaim-priority"]["spec"]
        (scope,) = spec["scopeSelector"]["matchExpressions"]
        return scope["values"]

    assert classes() == ["system-node-critical", "system-cluster-critical"]
    assert classes(ALONE) == ["system-node-critical"]
    assert classes("controller.priorityClassName=system-node-critical") == ["system-node-critical"]


def test_readers_of_the_controllers_metrics(render: Render) -> None:
    """They are served as the driver's are: to the pod itself, or to accounts that were named."""
    tls = "metrics.tls.secretName=netclaim-tls"
    served = ["metrics.enabled=true", "metrics.serviceMonitor.enabled=true", tls]
    objects = render("networkPolicy.enabled=true", *served)
    given = environment(objects, CONTROLLER)
    assert given["NETCLAIM_HTTP_ADDRESS"] == "$(POD_IP):9418"
    assert given["POD_IP"] == "status.podIP"
    assert given["NETCLAIM_HTTP_CERTIFICATE"] == "/etc/netclaim-tls/tls.crt"
    asking = objects["ClusterRoleBinding", "netclaim-controller-metrics-reviews"]
    assert asking["roleRef"]["name"] == "system:auth-delegator"
    assert [each["name"] for each in asking["subjects"]] == ["netclaim-controller"]
    service = objects["Service", "netclaim-controller-metrics"]
    assert service["spec"]["ports"][0]["port"] == 9418
    (scraped,) = objects["ServiceMonitor", "netclaim-controller"]["spec"]["endpoints"]
    (driver,) = objects["ServiceMonitor", "netclaim"]["spec"]["endpoints"]
    assert scraped == {key: value for key, value in driver.items() if key != "relabelings"}
    (let_in,) = objects["NetworkPolicy", "netclaim-controller"]["spec"]["ingress"]
    assert let_in == {"ports": [{"port": "metrics"}]}
    closed = render("networkPolicy.enabled=true")
    assert environment(closed, CONTROLLER)["NETCLAIM_HTTP_ADDRESS"] == "127.0.0.1:9418"
    assert "ports" not in container(closed, CONTROLLER)
    assert not [name for _, name in closed if "metrics" in name]
    assert ("NetworkPolicy", "netclaim-controller") not in closed


def test_pods_volumes_are_out_of_sight(render: Render) -> None:
    """Of kubelet's directory, what the driver has no business with is covered."""
    hidden = "paths.kubeletHidden={pods,checkpoints,pki}"  # two of them are in any case
    pod = render(hidden)[DAEMON_SET]["spec"]["template"]["spec"]
    mounts = pod["containers"][0]["volumeMounts"]
    places = [each["mountPath"] for each in mounts]
    assert len(places) == len(set(places))
    covered = [each["mountPath"] for each in mounts if each["name"] == "nothing"]
    assert covered == ["/var/lib/kubelet/pods", "/var/lib/kubelet/checkpoints"]
    volumes = {each["name"]: each for each in pod["volumes"]}
    assert volumes["nothing"] == {"name": "nothing", "emptyDir": {}}
    assert volumes["kubelet-plugins"] == {"name": "kubelet-plugins", "emptyDir": {}}
    (certificates,) = [each for each in mounts if each["mountPath"] == "/var/lib/kubelet/pki"]
    assert certificates["subPath"]  # an empty directory in it, which kubelet makes


def test_words_of_a_container_that_ended(render: Render) -> None:
    """`kubectl describe` shows the last lines of its log."""
    objects = render()
    for name in (DAEMON_SET, CONTROLLER):
        policy = container(objects, name)["terminationMessagePolicy"]
        assert policy == "FallbackToLogsOnError", name


@pytest.mark.parametrize(
    ("values", "kubernetes", "said"),
    [
        ((), "1.31.4", "chart requires kubeVersion: >=1.32.0-0"),
        (("metrics.serviceMonitor.enabled=true",), "1.36.0", "needs metrics.enabled=true"),
        (("update.mode=handover",), "1.32.5", "update.mode=handover needs kubelet 1.33"),
        (("serviceAccount.create=false",), "1.36.0", "set serviceAccount.name"),
        (
            ("serviceAccount.create=false", "admission.nodes=false"),
            "1.36.0",
            "needs a service account of its own",
        ),
        (
            ("serviceAccount.create=false", "serviceAccount.name=default"),
            "1.36.0",
            "needs a service account of its own",
        ),
        (("paths.kubelet=var/lib/kubelet",), "1.36.0", "does not match pattern"),
        (("nameOverride=Net_Claim",), "1.36.0", "at '/nameOverride': .* does not match pattern"),
        (("serviceAccount.name=a b",), "1.36.0", "at '/serviceAccount/name': .* does not match"),
        (("settings.kubeletDir=/x",), "1.36.0", "additional properties 'kubeletDir'"),
        (("settings.policy=lax",), "1.36.0", "at '/settings/policy': value must be one of"),
        (
            ("settings.attachments[0]=eth1:10",),
            "1.36.0",
            "at '/settings/attachments/0': 'eth1:10' does not match pattern",
        ),
        (
            ("settings.linkBandwidth[0]=eth1=fast",),
            "1.36.0",
            "at '/settings/linkBandwidth/0': 'eth1=fast' does not match pattern",
        ),
        (("settings.evictAfter=-1",), "1.36.0", "at '/settings/evictAfter': minimum"),
        (("metrics.tls.secretName=web",), "1.36.0", "needs metrics.enabled=true"),
        (("paths.kubeletHidden[0]=plugins",), "1.36.0", "at '/paths/kubeletHidden/0'"),
        (("imagePullPolicy=Never",), "1.36.0", "additional properties 'imagePullPolicy'"),
        (("update.mode=fast",), "1.36.0", "value must be one of 'auto', 'handover', 'replace'"),
    ],
)
def test_what_cannot_be_served_is_refused_in_one_line(
    render: Render, values: tuple[str, ...], kubernetes: str, said: str
) -> None:
    """A cluster that is too old, and values that contradict each other."""
    with pytest.raises(RefusedError, match=said.replace("(", "\\(")):
        render(*values, kubernetes=kubernetes)


class Discovery(BaseHTTPRequestHandler):
    """What a cluster says of itself: Kubernetes 1.33 as it comes, without DRA."""

    answers: ClassVar[dict[str, Any]] = {
        "/version": {"major": "1", "minor": "33", "gitVersion": "v1.33.5"},
        "/api": {"kind": "APIVersions", "versions": ["v1"]},
        "/apis": {
            "kind": "APIGroupList",
            "apiVersion": "v1",
            "groups": [
                {
                    "name": "apps",
                    "versions": [{"groupVersion": "apps/v1", "version": "v1"}],
                    "preferredVersion": {"groupVersion": "apps/v1", "version": "v1"},
                }
            ],
        },
        "/api/v1": {"kind": "APIResourceList", "groupVersion": "v1", "resources": []},
        "/apis/apps/v1": {"kind": "APIResourceList", "groupVersion": "apps/v1", "resources": []},
    }

    def do_GET(self) -> None:
        """Answer from the table."""
        found = self.answers.get(self.path.partition("?")[0])
        self.send_response(404 if found is None else 200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(found or {"kind": "Status", "code": 404}).encode())

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (its own name)
        """Say nothing."""


def test_a_cluster_without_dra_is_refused_in_one_line(helm: Path, tmp_path: Path) -> None:
    """Helm asks the cluster before it installs anything, and says what to enable."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Discovery) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            command = [str(helm), "install", "netclaim", str(CHART), "--dry-run=server"]
            command += [f"--kube-apiserver=http://127.0.0.1:{server.server_port}"]
            environment = {"HOME": str(tmp_path), "KUBECONFIG": str(tmp_path / "none")}
            done = subprocess.run(
                command, capture_output=True, text=True, check=False, env=environment
            )
        finally:
            server.shutdown()
            thread.join()
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("Error")]
    assert done.returncode == 1
    assert "(Kubernetes v1.33.5) does not serve the API group resource.k8s.io" in line
    assert "feature gate DynamicResourceAllocation" in line


def test_a_cluster_accepts_all_of_it(helm: Path, lab: Lab) -> None:
    """The API server takes every object, with all that is optional and that it knows."""
    values = [
        "metrics.enabled=true",
        "metrics.dashboard.enabled=true",
        "networkPolicy.enabled=true",
    ]
    command = [str(helm), "template", "other", str(CHART), "--namespace=default"]
    command += [f"--kubeconfig={lab.state.kubeconfig}", "--validate", "--kube-version=1.36.0"]
    rendered = subprocess.run(
        [*command, *(f"--set={value}" for value in values)],
        capture_output=True,
        text=True,
        check=True,
    )
    lab.kubectl()("apply", "--dry-run=server", "--filename=-", stdin=rendered.stdout)


def test_the_prometheus_operator_accepts_its_objects(helm: Path, lab: Lab) -> None:
    """Every field of the ServiceMonitor and of the PrometheusRule is in the operator's own API."""
    definitions = str(Binaries(Progress()).files("prometheus-operator"))
    kubectl = lab.kubectl()
    kubectl("apply", "--server-side", f"--filename={definitions}")
    try:
        kubectl("wait", "--for=condition=Established", f"--filename={definitions}")
        every = ("enabled", "serviceMonitor.enabled", "prometheusRule.enabled")
        command = [str(helm), "template", "operated", str(CHART), "--namespace=default"]
        command += [f"--kubeconfig={lab.state.kubeconfig}", "--validate"]
        command += ["--show-only=templates/metrics.yaml"]
        rendered = subprocess.run(
            [*command, *(f"--set=metrics.{each}=true" for each in every)],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        strict = ("apply", "--dry-run=server", "--validate=strict", "--filename=-")
        said = kubectl(*strict, stdin=rendered)
        assert "servicemonitor.monitoring.coreos.com/operated-netclaim" in said
        assert "prometheusrule.monitoring.coreos.com/operated-netclaim" in said
        with pytest.raises(KubectlError, match=r'unknown field "spec.groups\[0\]'):
            kubectl(*strict, stdin=rendered.replace("alert:", "alarm:"))
    finally:
        kubectl("delete", f"--filename={definitions}", "--wait=true")


UI = ("Deployment", "netclaim-ui")
WITH_PAGE = ("ui.enabled=true", "ui.tls.secretName=page")


def test_the_page_is_off(render: Render) -> None:
    """Without `ui.enabled` there is nothing of the page."""
    assert UI not in render()


def test_the_page_has_no_rights(render: Render) -> None:
    """No role names its account, and its pod has the cluster's authority but no token."""
    objects = render(*WITH_PAGE)
    pod = objects[UI]["spec"]["template"]["spec"]
    assert pod["automountServiceAccountToken"] is False
    assert pod["serviceAccountName"] == "netclaim-ui"
    bound = [one.get("subjects", []) for (kind, _), one in objects.items() if "Binding" in kind]
    assert "netclaim-ui" not in {each["name"] for found in bound for each in found}
    assert pod["volumes"][0] == {"name": "authority", "configMap": {"name": "kube-root-ca.crt"}}
    context = container(objects, UI)["securityContext"]
    assert context["readOnlyRootFilesystem"] is True
    assert context["runAsNonRoot"] is True
    assert context["capabilities"] == {"drop": ["ALL"]}


def test_the_page_is_encrypted(render: Render) -> None:
    """It has a certificate, or the admin says that a proxy has one."""
    with pytest.raises(RefusedError, match=r"ui\.enabled needs ui\.tls\.secretName"):
        render("ui.enabled=true")
    encrypted = render(*WITH_PAGE)
    assert encrypted["Service", "netclaim-ui"]["spec"]["ports"][0]["port"] == 443
    assert container(encrypted, UI)["readinessProbe"]["httpGet"]["scheme"] == "HTTPS"
    plain = render("ui.enabled=true", "ui.plainHttp=true")
    assert plain["Service", "netclaim-ui"]["spec"]["ports"][0]["port"] == 80
    assert container(plain, UI)["readinessProbe"]["httpGet"]["scheme"] == "HTTP"
    names = {each["name"] for each in container(plain, UI)["env"]}
    assert names.isdisjoint({"NETCLAIM_UI_CERTIFICATE", "NETCLAIM_UI_KEY"})


def test_who_may_connect_to_the_page(render: Render) -> None:
    """With the NetworkPolicy the page alone can be reached, by those who are named."""
    peer = "ui.from[0].namespaceSelector.matchLabels.team"
    objects = render(*WITH_PAGE, "networkPolicy.enabled=true", f"{peer}=ingress")
    (rule,) = objects["NetworkPolicy", "netclaim-ui"]["spec"]["ingress"]
    assert rule["ports"] == [{"port": "ui"}]
    assert rule["from"] == [{"namespaceSelector": {"matchLabels": {"team": "ingress"}}}]
    selected = objects["NetworkPolicy", "netclaim-ui"]["spec"]["podSelector"]["matchLabels"]
    assert selected.items() <= objects[UI]["spec"]["template"]["metadata"]["labels"].items()
    service = objects["Service", "netclaim-ui"]["spec"]["selector"]
    assert service == selected
