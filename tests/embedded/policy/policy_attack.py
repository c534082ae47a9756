"""Attacks as data: what a claim says, on which device, in which namespace, beside which class."""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from netclaim.kernel import call_in
from netclaim.model import AllocatedDevice, Attachment, Claim, OpaqueConfig, Plan
from netclaim.network.driver import LinkDriver
from netclaim.network.policy.levels import LABEL
from tests.embedded.policy.policy_machine import FACTS, OWN, Machine, inside
from tests.embedded.policy.policy_picture import (
    SETTINGS,
    Picture,
    changes,
    identity_of,
    picture_files,
    picture_settings,
    witness_of,
)
from tests.support.network_parts import DRIVER
from tests.support.network_support import driver_for, plan_for, pod_of

__all__ = [
    "Attack",
    "attach",
    "detach",
    "driver_on",
    "network_of",
    "prepare",
    "prepare_claim",
    "unharmed",
]

TYPED: Final = {"apiVersion": "cni.networking.x-k8s.io/v1alpha1", "kind": "CNI"}


def network_of(*plugins: Mapping[str, Any], name: str = "a-network") -> dict[str, Any]:
    """A network of these plugins."""
    return {"cniVersion": "1.0.0", "name": name, "plugins": list(plugins)}


@dataclass(frozen=True, kw_only=True)
class Attack:
    """What an attacker tries; what is not given is as plain as can be."""

    plugins: tuple[Mapping[str, Any], ...] = ()
    config: Any = None  # instead of plugins: as the claim writes it
    says: tuple[str, ...] = ()  # what the refusal must hold
    device: str = OWN
    share_id: str | None = None
    admin_access: bool = False
    ifname: str = "net1"
    beside: Mapping[str, Any] = field(default_factory=dict)  # what the claim says beside a network
    of_class: Mapping[str, Any] | None = None
    level: str | None = None  # the label of the namespace; None: it has none
    namespace: str = "tenant"
    uid: str = "claim-1"

    def claim(self) -> Claim:
        """The claim, as the control plane has allocated it."""
        device = AllocatedDevice(
            "net", DRIVER, "node", self.device, self.share_id, self.admin_access
        )
        parameters: dict[str, Any] = {**TYPED, "ifName": self.ifname, **self.beside}
        if self.config is not None:
            parameters["config"] = self.config
        elif self.plugins:
            parameters["config"] = network_of(*self.plugins)
        configs = [OpaqueConfig("FromClaim", DRIVER, parameters, ("net",))]
        if self.of_class is not None:
            said = {**TYPED, **self.of_class}
            configs.append(OpaqueConfig("FromClass", DRIVER, said, ("net",)))
        return Claim(
            uid=self.uid,
            namespace=self.namespace,
            name=f"name-of-{self.uid}",
            allocated=True,
            devices=(device,),
            configs=tuple(configs),
            namespace_labels={} if self.level is None else {LABEL: self.level},
        )


def driver_on(machine: Machine, state: Path, **settings: Any) -> LinkDriver:
    """The driver of a machine, which knows what carries its node."""

    def build() -> LinkDriver:
        driver = driver_for(
            state,
            machine.traps,
            pod_netns=(machine.pod.path, machine.victim.path),
            **settings,
        )
        driver.learn_node(FACTS)
        return driver

    return inside(machine, build)


def prepare(machine: Machine, driver: LinkDriver, attack: Attack) -> Plan:
    """Prepare the claim of an attack, on the machine."""
    return prepare_claim(machine, driver, attack.claim())


def prepare_claim(machine: Machine, driver: LinkDriver, claim: Claim) -> Plan:
    """Prepare a claim, on the machine."""
    return inside(machine, lambda: asyncio.run(plan_for(driver, claim)))


def attach(machine: Machine, driver: LinkDriver, plan: Plan) -> Attachment:
    """Attach to the attacker's pod, on the machine."""
    pod = pod_of(machine.pod)
    return inside(machine, lambda: asyncio.run(driver.attach(plan, pod)))


def detach(machine: Machine, driver: LinkDriver, plan: Plan) -> None:
    """Detach from the attacker's pod, on the machine."""
    attachment = Attachment(plan, pod_of(machine.pod))
    inside(machine, lambda: asyncio.run(driver.detach(attachment)))


@contextmanager
def unharmed(machine: Machine, *, files: bool = True) -> Iterator[None]:
    """See that what the block does leaves the node, the victim and the machine's files alone."""
    before = _look(machine)
    watched = machine.watched if files else ()
    kept = picture_files(watched)
    settings = call_in(machine.node, lambda: picture_settings(SETTINGS))
    yield
    after = _look(machine)
    for one, other in zip(before, after, strict=True):
        assert changes(one, other, but_for=(OWN,)) == []
        assert identity_of(one, OWN) == identity_of(other, OWN)
    assert picture_files(watched) == kept
    assert call_in(machine.node, lambda: picture_settings(SETTINGS)) == settings


def _look(machine: Machine) -> list[Picture]:
    async def look() -> list[Picture]:
        with ExitStack() as stack:
            seen = [stack.enter_context(witness_of(n)) for n in (machine.node, machine.victim)]
            return [await witness.picture() for witness in seen]

    return asyncio.run(look())
