"""Guard: bring together who asks, on which link, and what the policy says of it.

Promise: what is refused here was not begun. Prepare asks before a plan is made, attach once more
before it is carried out: a plan may be of an older driver, and a link may have become the node's
own way out since. Limit: No I/O; it is given what there is to know.
"""

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from typing import Final

import msgspec

from netclaim.cni import parse_network
from netclaim.errors import RequestError
from netclaim.kernel import Link
from netclaim.model import AllocatedDevice, Claim, Plan
from netclaim.network.canonical import canonical
from netclaim.network.discover import GENERIC
from netclaim.network.errors import PlanRefusedError, PolicyError
from netclaim.network.judge import judge
from netclaim.network.link_keys import linked_names
from netclaim.network.node import Snapshot
from netclaim.network.parameters import InterfaceRequest
from netclaim.network.permit import permit, wish_faults
from netclaim.network.plan import InterfacePlan, planned_network
from netclaim.network.policy import LABEL, LEVELS, Level
from netclaim.network.settings import LinkSettings, LiveSettings
from netclaim.network.shares import how_alone
from netclaim.network.standing import Standing
from netclaim.paths import Key, Path

__all__ = ["Guard", "level_named"]

KEPT: Final = 256  # judgements: a Deployment's pods have the same plan, and each is judged again
# A pod's sandbox follows its claim's preparation within a second or two; a plan that is older is of
# a sandbox that was made again, or of an earlier driver, and the node may be another by now.
FRESH_S: Final = 60.0
UNKNOWN: Final = "it is not known which claim the link belongs to"


def level_named(name: str, *, path: Path = ()) -> Level:
    """Return the level of this name; PolicyError says which there are."""
    if name not in LEVELS:
        known = ", ".join(LEVELS)
        message = f"{name!r} is not a policy level; ask a cluster admin to choose one of {known}"
        raise PolicyError(message, path=path)
    return LEVELS[name]


class Guard:
    """Holds claims and plans against the policy of this node."""

    def __init__(self, settings: LiveSettings) -> None:
        self._live = settings

    @property
    def _settings(self) -> LinkSettings:
        return self._live.now

    def level_of(self, claim: Claim) -> Level:
        """Return the level of a claim's namespace, by its label or by default."""
        label = claim.namespace_labels.get(LABEL)
        chosen = self._settings.policy
        if label is not None:
            where = (f"Namespace({claim.namespace})", "metadata", "labels", Key(LABEL))
            chosen = level_named(label, path=where)
        return min(chosen, self._settings.policy_ceiling)

    def unnameable(self, snapshot: Snapshot) -> Mapping[int, str]:
        """The links that a claim of the generic device may not name: index, and the reason.

        Those that are not offered, and those of which the scheduler counts who has what. What is
        left is the node's own.
        """
        reasons = dict(snapshot.withheld)
        for link in snapshot.offered:
            if link.index not in snapshot.carriers:
                reasons[link.index] = "claims share it by allocation, so select it in the request"
        return reasons

    def check(
        self,
        claim: Claim,
        request: InterfaceRequest,
        used: Collection[Link],
        snapshot: Snapshot,
        *,
        found: Sequence[RequestError] = (),
    ) -> None:
        """Raise unless the claim may have its network on the links that it uses.

        `found` are mistakes that are known already, to be raised with what is refused.
        """
        level = self.level_of(claim)
        for link in used or (None,):
            standing = self._standing(level, claim.namespace, request.device, link, snapshot)
            permit(request, standing, found=found)

    def is_settled(self, plan: Plan, interface: InterfacePlan, now: float) -> bool:
        """Whether there is no need to look at the node again before a plan is carried out.

        It was made a moment ago, and may be carried out whoever has the link or lives on it.
        """
        standing = Standing(
            self._level_of(interface),
            plan.claim.namespace,
            link=interface.link,
            shared=UNKNOWN,
            carries=UNKNOWN,
            claim_plugins=self._settings.claim_plugins,
        )
        try:
            return 0 <= now - interface.made < FRESH_S and not _faults(interface, standing)
        except RequestError:  # it cannot even be read: `check_plan` says why
            return False

    def check_plan(self, plan: Plan, interface: InterfacePlan, snapshot: Snapshot) -> None:
        """Raise unless a plan is one that would be made today."""
        try:
            network = planned_network(interface)
        except RequestError as error:
            raise PlanRefusedError(str(error)) from error
        names = linked_names(network) or {interface.link}
        used = [link for link in snapshot.links if link.name in names]
        level = self._level_of(interface)
        for link in used or (None,):
            standing = self._standing(level, plan.claim.namespace, plan.device, link, snapshot)
            asked: dict[str, Path] = {key: (key,) for key in interface.asked}
            wishes = wish_faults(interface.wishes, asked, standing, vouched=interface.vouched)
            if faults := [*_faults(interface, standing), *wishes]:
                raise PlanRefusedError("; ".join(map(str, faults)))

    def _level_of(self, interface: InterfacePlan) -> Level:
        """Return the level that a plan was made for; an older driver did not know of any."""
        made_for = self._settings.policy
        if interface.level:
            made_for = level_named(interface.level, path=("level",))
        return min(made_for, self._settings.policy_ceiling)

    def _standing(
        self,
        level: Level,
        namespace: str,
        device: AllocatedDevice,
        link: Link | None,
        snapshot: Snapshot,
    ) -> Standing:
        """Say where a claim stands on one of its links; None: it uses none of the node's."""
        if link is None:
            return Standing(
                level,
                namespace,
                claim_plugins=self._settings.claim_plugins,
                ceiling=self._settings.policy_ceiling,
            )
        shared = remedy = ""
        if self._is_generic(device):
            shared = f"the device {device.device!r} can be used by any number of claims"
        elif remedy := how_alone(device, link.name):
            shared = f"other claims may use the link {link.name!r} too"
        elif above := _link_above(link, snapshot):
            shared = f"the link {above!r} uses {link.name!r}"
        elif link.index in snapshot.with_vfs:
            shared = f"other claims may use the virtual functions of {link.name!r}"
        carries = snapshot.carriers.get(link.index, "")
        return Standing(
            level,
            namespace,
            link=link.name,
            shared=shared,
            remedy=remedy,
            carries=carries,
            node_networks=snapshot.node_networks if carries else (),
            node_addresses=snapshot.addresses_of(link),
            claim_plugins=self._settings.claim_plugins,
            ceiling=self._settings.policy_ceiling,
        )

    def _is_generic(self, device: AllocatedDevice) -> bool:
        return device.device == GENERIC and self._settings.generic_device


def _link_above(link: Link, snapshot: Snapshot) -> str:
    """Name a link of the node that would be lost with this one; empty if there is none."""
    here = (one for one in snapshot.links if one.parent_nsid is None and one.kind != "veth")
    return next((one.name for one in here if one.parent_index == link.index), "")


def _faults(interface: InterfacePlan, standing: Standing) -> tuple[RequestError, ...]:
    config = msgspec.json.encode(interface.config)
    return _judged(config, standing, interface.if_name, trusted=interface.trusted)


@lru_cache(maxsize=KEPT)
def _judged(
    config: bytes, standing: Standing, ifname: str, *, trusted: bool
) -> tuple[RequestError, ...]:
    network = parse_network(canonical(config.decode(), path=("config",)))
    paths = tuple(("config", "plugins", index) for index in range(len(network.plugins)))
    return tuple(judge(network, paths, standing, ifname=ifname, trusted=trusted))
