"""Kubectl with the admin's rights: the real program, its output as text or objects."""

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lab.errors import LabError
from netclaim.manifests.kinds import GROUP
from netclaim.manifests.versions.conversion import Version, from_v1

__all__ = ["Kubectl", "KubectlError"]

WAIT_S = 180  # generous: a busy machine is slow, and a failed wait says what it waited for


class KubectlError(LabError):
    """Kubectl ended with an error; the text is its own."""


class Kubectl:
    """Runs kubectl, in one namespace of a lab or wherever the objects belong."""

    def __init__(
        self, program: Path, kubeconfig: Path, namespace: str = "", version: Version = "v1"
    ) -> None:
        """`version` is the newest of resource.k8s.io that the cluster has."""
        self._version = version
        self._start = [str(program), f"--kubeconfig={kubeconfig}"]
        self._start += [f"--namespace={namespace}"] if namespace else []
        self.namespace = namespace or "default"

    def __call__(self, *arguments: str, stdin: str | None = None) -> str:
        """Return standard output; raises with standard error."""
        done = subprocess.run(
            [*self._start, *arguments], input=stdin, capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            raise KubectlError(f"kubectl {' '.join(arguments)}: {done.stderr.strip()}")
        return done.stdout

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Start kubectl, for what does not end by itself."""
        command = [*self._start, *arguments]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    def get(self, *arguments: str) -> dict[str, Any]:
        """Return one object, or a list of them."""
        answer: dict[str, Any] = json.loads(self("get", *arguments, "--output=json"))
        return answer

    def items(self, *arguments: str) -> list[dict[str, Any]]:
        """Return the objects of a list."""
        found: list[dict[str, Any]] = self.get(*arguments)["items"]
        return found

    def apply(self, *manifests: Mapping[str, Any]) -> None:
        """Apply objects; those of resource.k8s.io/v1 in the version that the cluster has."""
        written = (json.dumps(self._served(dict(manifest))) for manifest in manifests)
        self("apply", "--filename=-", stdin="\n---\n".join(written))

    def _served(self, manifest: dict[str, Any]) -> dict[str, Any]:
        if manifest["apiVersion"] != f"{GROUP}/v1":
            return manifest
        return from_v1(manifest, manifest["kind"], self._version)

    def wait(self, what: str, condition: str) -> None:
        """Wait for a condition of an object, as `kubectl wait` does."""
        self("wait", what, f"--for={condition}", f"--timeout={WAIT_S}s")
