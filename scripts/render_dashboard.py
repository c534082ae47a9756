"""Draw the dashboard with real numbers: docs/images/dashboard.png.

    python -m scripts.render_dashboard [--minutes 4] [--prometheus DIRECTORY]

Runs the embedded cluster (three nodes, the real driver on each) with pods that come and go, a
network that is nearly used up and claims that the policy refuses; keeps what the drivers serve at
/metrics; has a real Prometheus evaluate the panels' expressions; and draws the answers. Needs root,
the programs prometheus and promtool (Debian: the package prometheus) and the Python package pillow.
Nothing but loopback addresses is used.
"""

import argparse
import asyncio
import json
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import structlog
from prometheus_client.parser import text_string_to_metric_families

from netclaim.kernel.host.netns import socket_in
from netclaim.local.cluster import ClusterNode, EmbeddedCluster, embedded_cluster
from netclaim.local.input.topology_file import load_topology
from netclaim.local.machine import contained
from netclaim.model.claims.claim import JsonObject
from netclaim.schema.kinds import CLASS, POD, TEMPLATE
from scripts import dashboard
from scripts.dashboard_image import Series, draw

TARGET: Final = Path(__file__).parents[1] / "docs" / "images" / "dashboard.png"
DRIVER: Final = "cni.dra.networking.x-k8s.io"
TOPOLOGY: Final = """
nodes: [control-plane, worker-1, worker-2]
networks:
- name: primary
  subnet: 172.18.0.0/24
  links: {control-plane: eth0, worker-1: eth0, worker-2: eth0}
- name: second
  links: {worker-1: eth1, worker-2: eth1}
"""
SCRAPE_S: Final = 2.0
RATE_S: Final = 30  # what Grafana would choose for $__rate_interval at this rate of scrapes
STEP_S: Final = 5
# What comes and goes: template, pods at a time, and seconds between two changes.
LOAD: Final = (("web", 18, 1.0), ("storage", 9, 2.5), ("probe", 8, 4.0), ("refused", 1, 20.0))


def main() -> None:
    """Run all of it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=4.0, help="how long the pods run")
    parser.add_argument("--prometheus", type=Path, help="the directory of its two programs")
    parser.add_argument("--output", type=Path, default=TARGET)
    chosen = parser.parse_args()
    prometheus, promtool = (
        _program(name, chosen.prometheus) for name in ("prometheus", "promtool")
    )
    with tempfile.TemporaryDirectory(prefix="netclaim-dashboard-") as directory:
        samples = Path(directory) / "samples.om"
        started_s = time.time()
        with samples.open("w") as stream:
            if contained(lambda: asyncio.run(_observed(stream, chosen.minutes * 60))):
                sys.exit("render_dashboard: the embedded cluster failed")
        data = Path(directory) / "data"
        load = [promtool, "tsdb", "create-blocks-from", "openmetrics", str(samples), str(data)]
        subprocess.run(load, check=True, stdout=subprocess.DEVNULL)
        with _serving(prometheus, data) as url:
            answers = _answers(url, started_s + 5, time.time())
    chosen.output.parent.mkdir(parents=True, exist_ok=True)
    draw(dashboard.dashboard(), answers, chosen.output)
    print(f"{chosen.output}: {chosen.output.stat().st_size // 1024} KiB")


def _program(name: str, directory: Path | None) -> str:
    found = shutil.which(name, path=str(directory) if directory else None)
    if found is None:
        sys.exit(
            f"render_dashboard: {name} is not installed; on Debian: apt-get install prometheus"
        )
    return found


async def _observed(stream: Any, for_s: float) -> int:
    """Have pods come and go, and write down what the drivers serve meanwhile."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger("error"))
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(TOPOLOGY)
        file.flush()
        topology = load_topology(Path(file.name))
    series: dict[str, list[str]] = {}
    async with embedded_cluster(topology, [DRIVER], driver_flags=[]) as cluster:
        _create(cluster, CLASS, "shared", {})
        _create(cluster, CLASS, "storage", _class())
        for name, spec in _templates().items():
            _create(cluster, TEMPLATE, name, {"spec": spec})
        async with asyncio.TaskGroup() as group:
            busy = [group.create_task(_live(cluster, *load)) for load in LOAD]
            end_s = time.monotonic() + for_s
            while time.monotonic() < end_s:
                for node in cluster.nodes:
                    _note(series, node.place.name, await _scrape(node), time.time())
                await asyncio.sleep(SCRAPE_S)
            for task in busy:
                task.cancel()
    for lines in series.values():
        stream.writelines(lines)
    stream.write("# EOF\n")
    stream.flush()
    return 0


def _class() -> JsonObject:
    """Return an admin's network, which is one of the classes' own."""
    config = {"cniVersion": "1.0.0", "name": "storage", "type": "macvlan", "mode": "bridge"}
    ipam = {"type": "host-local", "ranges": [[{"subnet": "10.30.0.0/28"}]]}
    parameters = {"interface": "net1", "config": {**config, "ipam": ipam}}
    return {"config": [{"opaque": {"driver": DRIVER, "parameters": parameters}}]}


def _templates() -> dict[str, JsonObject]:
    def ipam(subnet: str) -> JsonObject:
        return {"type": "host-local", "ranges": [[{"subnet": subnet}]]}

    def config(kind: str, **keys: Any) -> JsonObject:
        return {"cniVersion": "1.0.0", "name": kind, "type": "macvlan", **keys}

    return {
        "web": _claim(_chain("web", ipam("10.20.0.0/24"))),
        "storage": _claim(None, of_class="storage"),
        "probe": _claim(config("probe", ipam=ipam("10.40.0.0/29"))),
        "refused": _claim(config("refused", type="bridge", bridge="br7")),
    }


def _chain(name: str, ipam: JsonObject) -> JsonObject:
    """Two plugins, one after the other."""
    sysctl = {"net.ipv4.conf.IFNAME.arp_notify": "1"}
    plugins = [{"type": "macvlan", "ipam": ipam}, {"type": "tuning", "sysctl": sysctl}]
    return {"cniVersion": "1.0.0", "name": name, "plugins": plugins}


def _claim(config: JsonObject | None, *, of_class: str = "shared") -> JsonObject:
    selector = f'device.attributes["{DRIVER}"].name == "eth1"'
    exactly = {"deviceClassName": of_class, "selectors": [{"cel": {"expression": selector}}]}
    opaque = {"driver": DRIVER, "parameters": {"interface": "net1", "config": config}}
    configs = [{"requests": ["a"], "opaque": opaque}] if config else []
    return {"devices": {"requests": [{"name": "a", "exactly": exactly}], "config": configs}}


def _create(cluster: EmbeddedCluster, kind: Any, name: str, spec: Any) -> None:
    head = {"apiVersion": kind.addresses[0].api_version, "kind": kind.name}
    body = {**head, "metadata": {"name": name}, "spec": spec}
    cluster.verbs.create(kind, body, manager="render", namespace="default")


async def _live(cluster: EmbeddedCluster, template: str, pods: int, pause_s: float) -> None:
    """Have a few pods of a template, of which the oldest makes room for the next."""
    alive: list[str] = []
    for number in range(1_000_000):
        name = f"{template}-{number}"
        claims = [{"name": "net", "resourceClaimTemplateName": template}]
        spec = {"containers": [{"name": "c", "image": "i"}], "resourceClaims": claims}
        _create(cluster, POD, name, spec)
        alive.append(name)
        if len(alive) > pods:
            cluster.verbs.delete(POD, alive.pop(0), "default")
        # Quicker in the middle of each minute, so that there is something to see.
        await asyncio.sleep(pause_s * (0.5 if 20 < time.time() % 60 < 40 else 1.5))


async def _scrape(node: ClusterNode) -> str:
    sock = socket_in(node.netns, socket.AF_INET, socket.SOCK_STREAM, 0)
    sock.setblocking(False)
    await asyncio.get_running_loop().sock_connect(sock, ("127.0.0.1", 9178))
    reader, writer = await asyncio.open_connection(sock=sock)
    writer.write(b"GET /metrics HTTP/1.0\r\n\r\n")
    answer = (await reader.read()).decode()
    writer.close()
    return answer.partition("\r\n\r\n")[2]


def _note(series: dict[str, list[str]], node: str, text: str, at_s: float) -> None:
    """Keep the samples of a scrape as OpenMetrics writes them, with their time."""
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            labels = {**sample.labels, "node": node, "instance": f"{node}:9178", "job": "netclaim"}
            shown = ",".join(f"{key}={json.dumps(value)}" for key, value in sorted(labels.items()))
            key = f"{sample.name}{{{shown}}}"
            series.setdefault(key, []).append(f"{key} {sample.value} {at_s:.3f}\n")


@contextmanager
def _serving(prometheus: str, data: Path) -> Iterator[str]:
    """Run Prometheus on these samples, on a loopback address."""
    config = data.parent / "prometheus.yml"
    config.write_text("global: {}\n")
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    command = [prometheus, f"--config.file={config}", f"--storage.tsdb.path={data}"]
    running = subprocess.Popen([*command, f"--web.listen-address={address}", "--log.level=error"])
    try:
        while True:
            try:
                urllib.request.urlopen(f"http://{address}/-/ready").close()
                break
            except OSError:
                if running.poll() is not None:
                    sys.exit("render_dashboard: Prometheus ended")
                time.sleep(0.2)
        yield f"http://{address}"
    finally:
        running.terminate()
        running.wait()


def _answers(url: str, start_s: float, end_s: float) -> dict[int, list[Series]]:
    """Return what Prometheus makes of each panel's expressions, by the panel's id."""
    answers: dict[int, list[Series]] = {}
    for panel in dashboard.dashboard()["panels"]:
        for target in panel.get("targets", ()):
            expr = target["expr"].replace("$__rate_interval", f"{RATE_S}s")
            expr = expr.replace("$__range", f"{int(end_s - start_s)}s")
            expr = expr.replace("$driver", ".*").replace("$node", ".*")
            found = _query(url, expr, start_s, end_s)
            if not found:
                print(f"render_dashboard: nothing for {panel['title']}: {expr}", file=sys.stderr)
            answers.setdefault(panel["id"], []).extend(
                Series(_legend(target["legendFormat"], each["metric"]), _points(each["values"]))
                for each in found
            )
    return answers


def _query(url: str, expr: str, start_s: float, end_s: float) -> list[Any]:
    asked = {"query": expr, "start": start_s, "end": end_s, "step": STEP_S}
    query = f"{url}/api/v1/query_range?{urllib.parse.urlencode(asked)}"
    with urllib.request.urlopen(query) as answer:
        found: list[Any] = json.load(answer)["data"]["result"]
    return found


def _legend(form: str, labels: dict[str, str]) -> str:
    for label, value in labels.items():
        form = form.replace(f"{{{{{label}}}}}", value)
    return form


def _points(values: list[Any]) -> tuple[tuple[float, float], ...]:
    return tuple((float(at), float(value)) for at, value in values if value != "NaN")


if __name__ == "__main__":
    main()
