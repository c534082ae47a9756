"""Kubernetes releases: which settings an older one needs to serve DRA, and what it lacks then.

Those that the lab compiles are known by their pins, ready-made ones (NETCLAIM_LAB_BIN) are asked.
"""

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from lab.errors import UsageError
from netclaim.manifests.versions.conversion import Version

__all__ = ["Release"]

OLDEST = 32  # 1.32 has the first beta of the API, and the first device status
GENERAL = 34  # from 1.34 on, DRA is there without being asked for, with v1 of the API
V1BETA2 = 33  # the first release with this version of the API
ROLLS = 33  # the first whose kubelet knows two processes of a driver
TAINTS = 36  # from 1.36 on, devices can have taints without a feature gate
TAINTS_ALPHA = 33  # the first release that knows them; rules for them are a part of it up to 1.34
TAINT_RULES = 37  # from 1.37 on, an admin can write a rule that taints devices, in v1 of the API
TAINT_RULES_BETA = 36  # in v1beta2 of the API; before that, in v1alpha3
TAINT_RULES_GATE = 35  # the first release where rules have a feature gate of their own
SHARES = 36  # from 1.36 on, a device can be given to several claims without a feature gate


@dataclass(frozen=True, slots=True)
class Release:
    """A release of Kubernetes by its minor version."""

    minor: int

    @classmethod
    def read(cls, version: str) -> Self:
        """Read a version such as v1.36.4; refuses releases that have no usable API yet."""
        found = re.search(r"v1\.(\d+)\.", version)
        if found is None:
            raise UsageError(f"{version!r} is not a release of Kubernetes")
        release = cls(int(found[1]))
        if release.minor < OLDEST:
            raise UsageError(f"the lab needs Kubernetes 1.{OLDEST} or newer, not {found[0]}x")
        return release

    @classmethod
    def ask(cls, apiserver: Path) -> Self:
        """Ask an API server's program for its release."""
        said = subprocess.run(
            [str(apiserver), "--version"], capture_output=True, text=True, check=False
        )
        return cls.read(said.stdout.strip())

    @property
    def feature_gates(self) -> dict[str, bool]:
        """The features to enable in every component."""
        gates = []
        if self.minor < GENERAL:
            gates += ["DynamicResourceAllocation", "DRAResourceClaimDeviceStatus", "DRAAdminAccess"]
        if TAINTS_ALPHA <= self.minor < TAINTS:
            gates.append("DRADeviceTaints")
        if TAINT_RULES_GATE <= self.minor < TAINT_RULES:
            gates.append("DRADeviceTaintRules")
        return dict.fromkeys(gates, True)

    @property
    def taints_devices(self) -> bool:
        """Whether a driver's taints keep pods away."""
        return self.minor >= TAINTS_ALPHA

    @property
    def taint_rules(self) -> str:
        """The newest version of the API that has DeviceTaintRules; empty if none has."""
        if self.minor >= TAINT_RULES:
            return "v1"
        if self.minor >= TAINT_RULES_BETA:
            return "v1beta2"
        return "v1alpha3" if self.minor >= TAINTS_ALPHA else ""

    @property
    def resource_version(self) -> Version:
        """The newest version of the API that it serves."""
        if self.minor >= GENERAL:
            return "v1"
        return "v1beta2" if self.minor >= V1BETA2 else "v1beta1"

    @property
    def rolls_drivers(self) -> bool:
        """Whether the next process of a driver can start before the last one has ended."""
        return self.minor >= ROLLS

    @property
    def shares_devices(self) -> bool:
        """Whether several claims can have one device, without admin access."""
        return self.minor >= SHARES

    @property
    def runtime_config(self) -> str:
        """The older versions of the API, which manifests still use, and the one with rules."""
        versions = ["v1beta1", *(["v1beta2"] if self.minor >= V1BETA2 else [])]
        if self.taint_rules == "v1alpha3":
            versions.append(self.taint_rules)
        return ",".join(f"resource.k8s.io/{version}=true" for version in versions)
