#!/usr/bin/env python3
"""Write what is made from the chart, or check it.

    python scripts/chart_files.py           writes all
    python scripts/chart_files.py --check   writes nothing; names what is stale and exits 1

charts/netclaim/README.md is the prose of values.yaml as a table, and values.schema.json contains
the schema of the driver's settings; both are made without helm. deploy/netclaim.yaml is the chart
without the controller, for people without helm, but for its namespace, which has to outlast the
driver's pods (deploy/namespace.yaml), and deploy/rbac.yaml, node-admission.yaml and
claim-admission.yaml are parts of it, for other drivers and for the lab; helm renders these.
Promise: the chart is the one source. Limit: the manifests are for a cluster of `KUBERNETES`.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parent.parent
CHART = ROOT / "charts" / "netclaim"
DEPLOY = ROOT / "deploy"
README = CHART / "README.md"
SCHEMA = CHART / "values.schema.json"
SETTINGS_SCHEMA = CHART / "files" / "settings.schema.json"
KUBERNETES = "1.34.0"  # the oldest that has resource.k8s.io/v1; later ones get the same
NAMESPACE = "netclaim-system"
# Settings that the chart makes from other values, by what to set instead.
CHART_SETTINGS = {
    "driverName": "driverName",
    "kubeletDir": "paths.kubelet",
    "stateDir": "paths.state",
    "leaseDir": "paths.cniState",
    "runDir": "paths.run",
    "cniConfDir": "paths.cniConf",
    "cniProgramDir": "paths.cniPrograms",
    "cniBinDir": "paths.cniPrograms",
    "nriSocket": "paths.nriSocket",
    "runtimeSocket": "paths.runtimeSocket",
    "cdiDir": "paths.cdi",
    "httpAddress": "metrics.port",
    "httpCertificate": "metrics.tls.secretName",
    "httpKey": "metrics.tls.secretName",
    "healthSocket": "",
    "daemonSet": "",
    "kubeconfig": "",
}
PARTS = ("rbac", "node-admission", "claim-admission")
NAMESPACE_OBJECT = f"""\
apiVersion: v1
kind: Namespace
metadata:
  name: {NAMESPACE}
  labels: # the driver is on the node's network and uses its directories
    pod-security.kubernetes.io/enforce: privileged
"""
HEAD = """\
# Made from charts/netclaim by scripts/chart_files.py; edit that instead.
"""


@dataclass(frozen=True)
class Value:
    """One value of the chart: its path, its default as YAML, and what is said of it."""

    path: str
    default: str
    prose: str


def values(text: str) -> list[Value]:
    """Return all values that have a comment, in the order of the file."""
    root = yaml.compose(text)
    assert isinstance(root, yaml.MappingNode)
    return list(_values(root, text.splitlines(), ()))


def _values(node: yaml.MappingNode, lines: list[str], path: tuple[str, ...]) -> Iterator[Value]:
    for key, value in node.value:
        here = (*path, key.value)
        prose = _comment_above(lines, key.start_mark.line)
        if prose:
            yield Value(".".join(here), _default(value), prose)
        if isinstance(value, yaml.MappingNode) and not value.flow_style:
            yield from _values(value, lines, here)


def _comment_above(lines: list[str], line: int) -> str:
    found: list[str] = []
    while line > 0 and (text := lines[line - 1].strip()).startswith("#"):
        found.insert(0, text.lstrip("# "))
        line -= 1
    return " ".join(found)


def _default(node: yaml.Node) -> str:
    plain = yaml.safe_load(yaml.serialize(node))
    if isinstance(plain, dict) and isinstance(node, yaml.MappingNode) and not node.flow_style:
        return ""  # its parts have their own rows, or are shown in values.yaml
    return json.dumps(plain)


def readme() -> str:
    """Return the chart's page."""
    rows = [
        f"| `{each.path}` | {f'`{each.default}`' if each.default else ''} | {each.prose} |"
        for each in values((CHART / "values.yaml").read_text())
    ]
    table = "\n".join(["| Value | Default | Meaning |", "|---|---|---|", *rows])
    return (CHART / "README.head.md").read_text() + "\n" + table + "\n"


def schema() -> str:
    """Return the schema of the values, with that of the settings in it."""
    whole: dict[str, Any] = json.loads(SCHEMA.read_text())
    if SETTINGS_SCHEMA.exists():
        settings = json.loads(SETTINGS_SCHEMA.read_text())
        settings.pop("$schema", None)
        for name in CHART_SETTINGS:
            settings["properties"].pop(name, None)
        whole["properties"]["settings"] = settings
    return json.dumps(whole, indent=2, ensure_ascii=False) + "\n"


def plain_files() -> dict[Path, str]:
    """Return what needs no helm."""
    return {README: readme(), SCHEMA: schema()}


def manifests(helm: Path) -> dict[Path, str]:
    """Return what helm renders."""
    whole = rendered(helm, "--no-hooks", "--skip-tests").removeprefix("---\n")
    made = {
        DEPLOY / "namespace.yaml": HEAD + NAMESPACE_OBJECT,
        DEPLOY / "netclaim.yaml": HEAD + whole,
    }
    for part in PARTS:
        text = rendered(helm, f"--show-only=templates/{part}.yaml")
        if part == "rbac":
            account = rendered(helm, "--show-only=templates/serviceaccount.yaml")
            text = f"{NAMESPACE_OBJECT}{account}{text}"
        made[DEPLOY / f"{part}.yaml"] = HEAD + text.removeprefix("---\n")
    return made


def rendered(helm: Path, *options: str) -> str:
    """Return the chart's objects, without the lines that only helm needs."""
    command = [str(helm), "template", "netclaim", str(CHART), f"--namespace={NAMESPACE}"]
    # No controller: `kubectl delete -f` would delete its definitions, and with them all networks.
    command += [f"--kube-version={KUBERNETES}", "--set=controller.enabled=false", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr.strip())
    unwanted = ("# Source: ", "    helm.sh/chart: ", "    app.kubernetes.io/managed-by: ")
    lines = [line.rstrip() for line in done.stdout.splitlines() if not line.startswith(unwanted)]
    return "\n".join(lines).strip("\n") + "\n"


def lab_helm() -> Path:
    """Return the lab's helm, compiled now if need be."""
    command = [sys.executable, "-m", "lab", "bin", "helm"]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return Path(found.stdout.strip())


def main() -> int:
    """Write, or say what is stale."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if stale")
    check = parser.parse_args().check
    wanted = {**plain_files(), **manifests(lab_helm())}
    found = [path for path, text in wanted.items() if not path.exists() or path.read_text() != text]
    for path in found:
        if check:
            print(path.relative_to(ROOT), file=sys.stderr)
        else:
            path.write_text(wanted[path])
    return 1 if check and found else 0


if __name__ == "__main__":
    sys.exit(main())
