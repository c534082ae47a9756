"""The driver on the lab: how much longer pods take with a claim, and where the time goes.

Boots a lab of its own and runs the same 15-replica Deployment: first with no driver installed, then
in turn without a claim, with one that a driver serves which does nothing, with a macvlan of ours
and with a whole link; reads the driver's log and metrics. On few cores the driver that does nothing
is the limit: that is what Kubernetes itself needs for 15 more objects. At the end pods with whole
links end, and how soon the links are home is shown beside what the kernel needs to move as many.
"""

import datetime as dt
import json
import os
import re
import signal
import statistics
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from benchmarks import idle_driver
from benchmarks.table import Row, percentile, print_table
from benchmarks.whole_links import LINKS, add_links, at_home, seconds_to_move, with_whole_links
from lab.cluster import Lab
from lab.drivers.driver import DEFAULT_DRIVER, is_ready, netclaim_driver, program_driver
from lab.drivers.driver_set import DriverSet
from lab.nodes.linux import inside_network
from lab.progress import Progress
from lab.topology import DEFAULT_TOPOLOGY

__all__ = ["main"]

# Of each kind, in turn; the median of eleven bears five disturbed ones.
ROUNDS = int(os.environ.get("NETCLAIM_BENCH_ROUNDS", "11"))
HOME_ROUNDS = 3  # of links that come home
SINGLES = 10  # pods one after the other, nothing else going on
RESTARTS = 5
STOP_S = 30
# Kubelet looks at its plugins once a second, and takes two looks for one that it still knows.
FORGOTTEN_S = 2.5
REPLICAS = LINKS
HOME_MAX_S = 60
RESIDENT_TASKS = 2  # the resident pod's sandbox and container
NODE = "kind-worker"
DEMO = Path(__file__).parent.parent / "examples" / "manifests" / "kubecon-demo.yaml"


@contextmanager
def bench_lab() -> Iterator[Lab]:
    """Provide a lab that is gone afterwards."""
    lab = Lab("bench", Progress())
    lab.up(DEFAULT_TOPOLOGY, port=0)
    try:
        yield lab
    finally:
        lab.down()


def demo_objects() -> dict[str, dict[str, Any]]:
    """Return the demo's objects by kind; its pods end at once and stay on one node."""
    objects = {each["kind"]: each for each in yaml.safe_load_all(DEMO.read_text())}
    spec = objects["Deployment"]["spec"]["template"]["spec"]
    spec["terminationGracePeriodSeconds"] = 0
    spec["nodeSelector"] = {"kubernetes.io/hostname": NODE}
    return objects


def idle_objects(objects: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the same for the driver that does nothing, which takes no parameters."""
    text = json.dumps(objects)
    for old, new in (
        (DEFAULT_DRIVER, idle_driver.NAME),
        (objects["DeviceClass"]["metadata"]["name"], "idle"),
        (objects["ResourceClaimTemplate"]["metadata"]["name"], "idle"),
        (objects["Deployment"]["metadata"]["name"], "idle"),
    ):
        text = text.replace(json.dumps(old)[1:-1], new)
    idle: dict[str, dict[str, Any]] = json.loads(text)
    del idle["ResourceClaimTemplate"]["spec"]["spec"]["devices"]["config"]
    return idle


def start_resident(lab: Lab, pod_spec: dict[str, Any]) -> None:
    """Start a pod that stays throughout, as some pod does on every real node.

    On an empty node kubelet fetches the namespace's certificates for the first pod, and sometimes
    before the API server knows that it may: then every pod waits for a second, claim or not.
    """
    metadata = {"name": "resident"}
    kubectl = lab.kubectl()
    kubectl.apply({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": pod_spec})
    kubectl.wait("pod/resident", "condition=Ready")


def time_to_ready(lab: Lab, deployment: dict[str, Any]) -> float:
    """Return the seconds from applying the Deployment until its pods are available; removes it."""
    kubectl = lab.kubectl()
    name = deployment["metadata"]["name"]
    started = time.monotonic()
    kubectl.apply(deployment)
    replicas = deployment["spec"]["replicas"]
    kubectl.wait(f"deployment/{name}", f"jsonpath={{.status.availableReplicas}}={replicas}")
    taken = time.monotonic() - started
    kubectl("delete", "deployment", name)
    kubectl("wait", "pod", f"--selector=app={name}", "--for=delete", "--timeout=180s")
    wait_quiet(lab)
    return taken


def seconds_until_home(lab: Lab, deployment: dict[str, Any]) -> float:
    """Return how long after the end of the last container of its pods the node's links are home."""
    kubectl, name = lab.kubectl(), deployment["metadata"]["name"]
    kubectl.apply(deployment)
    kubectl.wait(f"deployment/{name}", f"jsonpath={{.status.availableReplicas}}={LINKS}")
    kubectl("delete", "deployment", name, "--wait=false")
    limit = time.monotonic() + HOME_MAX_S
    ended = home = None
    while ended is None or home is None:
        now = time.monotonic()
        if now > limit:
            raise SystemExit(f"links are not home on {NODE} after {HOME_MAX_S} s")
        ended = ended or (now if running_tasks(lab) <= RESIDENT_TASKS + REPLICAS else None)
        home = home or (now if ended and at_home(lab, NODE) == LINKS else None)
        time.sleep(0.01)
    wait_quiet(lab)
    return home - ended


def running_tasks(lab: Lab) -> int:
    """Return how many sandboxes and containers the node has."""
    tasks = lab.root(NODE) / "run/containerd/io.containerd.runtime.v2.task/k8s.io"
    return len(list(tasks.iterdir()))


def wait_quiet(lab: Lab) -> None:
    """Wait until nothing is left of the pods.

    Without a grace period they leave the API at once, but the node goes on removing sandboxes for
    seconds, and the next pods would be measured beside that.
    """
    limit = time.monotonic() + 120
    while running_tasks(lab) > RESIDENT_TASKS or lab.kubectl().items("resourceclaims"):
        if time.monotonic() > limit:
            raise SystemExit(f"pods of the round before are still on {NODE} after two minutes")
        time.sleep(0.2)


def events(lab: Lab) -> list[dict[str, Any]]:
    """Return the driver's log on the node."""
    log = lab.state.log(f"{NODE}/driver-{DEFAULT_DRIVER}")
    return [json.loads(line) for line in log.read_text().splitlines() if line.startswith("{")]


def report_delays(log: list[dict[str, Any]]) -> list[float]:
    """Return the seconds from a pod's interface to its claim's status, pod by pod."""
    attached: dict[str, dt.datetime] = {}
    delays = []
    for event in log:
        at = dt.datetime.fromisoformat(event["timestamp"])
        if event["event"] == "attach.done":
            attached[event["pod"]] = at
        elif event["event"] == "report.done":
            # A claim from a template begins with its pod's name, cut where it is too long.
            pod = next((p for p in attached if event["claim"].startswith(p[:-1])), None)
            if pod is not None:
                delays.append((at - attached.pop(pod)).total_seconds())
    return delays


def resident_mib(lab: Lab) -> float:
    """Return the driver's resident memory."""
    process = lab.kept_process(f"{NODE}/driver-{DEFAULT_DRIVER}")
    assert process is not None, "the driver runs"
    status = Path(f"/proc/{process.pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


def seconds_to_registered(lab: Lab, end: signal.Signals, pause_s: float = 0.0) -> float:
    """Return the time from starting the driver again until kubelet and the runtime have it."""
    component = f"{NODE}/driver-{DEFAULT_DRIVER}"
    running = lab.state.load()
    process = running.components[component]
    driver = process.children
    os.kill(process.pid, end)
    if not all(each.wait_gone(STOP_S) for each in (process, *driver)):
        raise SystemExit(f"the driver does not end within {STOP_S} s of {end.name}")
    time.sleep(pause_s)
    started = time.monotonic()
    lab.restart(component)
    while not is_ready(running.inits[NODE], running.drivers[DEFAULT_DRIVER]):
        time.sleep(0.01)
    return time.monotonic() - started


def buckets(lab: Lab, verb: str) -> dict[float, float]:
    """Return how many calls of a verb took at most so long, by the driver's own metrics."""
    running = lab.state.load()
    with inside_network(running.inits[NODE]):
        port = running.drivers[DEFAULT_DRIVER].port
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
            text: str = answer.read().decode()
    pattern = rf'^netclaim_{verb}_seconds_bucket{{.*le="([^"]+)",outcome="ok"}} (\S+)$'
    return {float(le): float(n) for le, n in re.findall(pattern, text, re.MULTILINE)}


def quantile(before: dict[float, float], after: dict[float, float], share: float) -> float:
    """Return the quantile of the calls between two looks, interpolated within its bucket."""
    counts = {le: after[le] - before.get(le, 0) for le in sorted(after)}
    wanted = share * max(counts.values())
    low_le = low_count = 0.0
    for le, count in counts.items():
        if count >= wanted and count > low_count:
            return low_le + (le - low_le) * (wanted - low_count) / (count - low_count)
        low_le, low_count = le, count
    return low_le


VERBS = ("prepare", "attach", "detach", "report")


def verb_rows(before: dict[str, dict[float, float]], lab: Lab, when: str) -> list[Row]:
    """Return a row for each verb: median and 99th percentile since `before`."""
    rows = []
    for verb in VERBS:
        after = buckets(lab, verb)
        p50, p99 = (1000 * quantile(before[verb], after, share) for share in (0.5, 0.99))
        goal = "p50 below 10 ms" if (verb, when) == ("prepare", "one at a time") else ""
        rows.append(Row(f"{verb}, {when}, p50 / p99", f"{p50:.1f} / {p99:.1f} ms", goal))
    return rows


def all_buckets(lab: Lab) -> dict[str, dict[float, float]]:
    """Return the buckets of all verbs now."""
    return {verb: buckets(lab, verb) for verb in VERBS}


def main() -> None:
    """Measure and print."""
    objects = demo_objects()
    idle = idle_objects(objects)
    plain = json.loads(json.dumps(objects["Deployment"]).replace("demo-application", "plain"))
    del plain["spec"]["template"]["spec"]["resourceClaims"]
    whole = with_whole_links(objects)
    kinds = {
        "plain": plain,
        "idle": idle["Deployment"],
        "claimed": objects["Deployment"],
        "whole": whole["Deployment"],
    }
    taken: dict[str, list[float]] = {kind: [] for kind in ("nothing", *kinds)}
    with bench_lab() as lab:
        add_links(lab, NODE)
        start_resident(lab, plain["spec"]["template"]["spec"])
        time_to_ready(lab, plain)  # the first pods of a lab are slower
        taken["nothing"] = [time_to_ready(lab, plain) for _ in range(ROUNDS)]
        drivers = DriverSet(lab)
        drivers.up(netclaim_driver(DEFAULT_DRIVER))
        drivers.up(program_driver(idle_driver.NAME, Path(idle_driver.__file__)))
        kubectl = lab.kubectl()
        kubectl("label", "namespace", "default", "resource.kubernetes.io/admin-access=true")
        for kind in ("DeviceClass", "ResourceClaimTemplate"):
            kubectl.apply(objects[kind], idle[kind])
        kubectl.apply(whole["ResourceClaimTemplate"])
        for deployment in kinds.values():  # and of a driver
            time_to_ready(lab, deployment)
        before = all_buckets(lab)
        for _ in range(ROUNDS):
            for kind, deployment in kinds.items():
                taken[kind].append(time_to_ready(lab, deployment))
        burst = verb_rows(before, lab, "in the burst")
        log = events(lab)
        before = all_buckets(lab)
        single = json.loads(json.dumps(objects["Deployment"]))
        single["spec"]["replicas"] = 1
        for _ in range(SINGLES):
            time_to_ready(lab, single)
        alone = verb_rows(before, lab, "one at a time")
        memory = resident_mib(lab)
        homes = [seconds_until_home(lab, whole["Deployment"]) for _ in range(HOME_ROUNDS)]
        moves = [seconds_to_move(lab, NODE) for _ in range(HOME_ROUNDS)]
        fresh, killed = (
            statistics.median(seconds_to_registered(lab, *how) for _ in range(RESTARTS))
            for how in ((signal.SIGTERM, FORGOTTEN_S), (signal.SIGKILL,))
        )
    delays = report_delays(log)
    rows = [
        *ratio_rows(taken),
        *burst,
        *alone,
        Row("status written after attach, median", f"{statistics.median(delays):.3f} s", "1 s"),
        Row("status written after attach, p99", f"{percentile(delays, 0.99):.3f} s"),
        Row(f"{LINKS} links home after the last container", f"{statistics.median(homes):.2f} s"),
        Row(f"{LINKS} links moved by the kernel alone", f"{statistics.median(moves):.2f} s"),
        Row(
            "links home / the kernel, difference",
            f"{statistics.median(homes) - statistics.median(moves):.2f} s",
            "at most 0.5 s",
        ),
        Row("driver, resident memory", f"{memory:.0f} MiB", "below 64 MiB"),
        Row("driver, first start to registered", f"{fresh:.2f} s", "below 1 s"),
        Row("driver, the same after SIGKILL", f"{killed:.2f} s"),
    ]
    print_table("on the lab", rows)


def ratio_rows(taken: dict[str, list[float]]) -> list[Row]:
    """Return how long pods of each kind took, and how much longer with a claim, round by round."""
    texts = {
        "nothing": f"{REPLICAS} plain pods Ready, nothing installed",
        "plain": f"{REPLICAS} plain pods Ready beside the drivers",
        "idle": f"{REPLICAS} pods Ready, claims of an idle driver",
        "claimed": f"{REPLICAS} pods Ready, claims of netclaim (macvlan)",
        "whole": f"{REPLICAS} pods Ready, claims of netclaim (host-device)",
    }
    rows = [Row(texts[kind], f"{statistics.median(taken[kind]):.2f} s") for kind in texts]
    for text, kind, base, goal in (
        ("plain / nothing installed", "plain", "nothing", ""),
        ("macvlan / nothing installed", "claimed", "nothing", "at most 1.1"),
        ("macvlan / plain", "claimed", "plain", ""),
        ("host-device / plain", "whole", "plain", "at most 1.08"),
        ("idle driver / plain", "idle", "plain", ""),
        ("macvlan / idle driver", "claimed", "idle", "at most 1.05"),
    ):
        pairs = zip(taken[kind], taken[base], strict=True)
        ratio = statistics.median(ours / theirs for ours, theirs in pairs)
        rows.append(Row(f"{text}, median of {ROUNDS}", f"{ratio:.2f}", goal))
    return rows


if __name__ == "__main__":
    main()
