"""An attempt to attach what a pod's sandbox lacks: how far it got, who is to blame, what to say.

Promise: the driver's calls run side by side, and one that fails leaves the others alone. Limit:
nothing is written or undone here; `attach` does that.
"""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import msgspec

from netclaim.errors import PeerError, RequestError, worst_reason
from netclaim.framework.contract import NetworkDriver
from netclaim.framework.logs import brief, explain
from netclaim.framework.subject import claim_fields, doing
from netclaim.model.attachment import Attachment, AttachmentKey
from netclaim.model.claim import DeviceKey
from netclaim.model.plan import Plan
from netclaim.model.pod import PodSandbox

__all__ = ["AttachError", "Attempt", "Failure", "NoNamespaceError", "carry_out", "failure_texts"]


class AttachError(PeerError):
    """Devices of a pod could not be attached; each one's own error is in `errors`."""

    def __init__(self, errors: Mapping[AttachmentKey, Exception], text: str) -> None:
        super().__init__(text)
        self.errors = errors
        self.why = worst_reason(errors.values())


class NoNamespaceError(RequestError):
    """A sandbox without a network namespace of its own has claims on interfaces."""

    def __init__(self) -> None:
        super().__init__(
            "the pod is on the node's own network and cannot have interfaces of its own; "
            "remove hostNetwork or the claim"
        )


@dataclass(slots=True)
class Attempt:
    """An attach of what a sandbox has not got yet, and how far it got."""

    missing: list[Plan]
    begun: bool = False  # whether the driver was called
    done: list[Attachment] = field(default_factory=list)
    errors: dict[AttachmentKey, Exception] = field(default_factory=dict)

    def claims(self) -> frozenset[str]:
        """The claims of what was missing."""
        return frozenset(plan.claim.uid for plan in self.missing)

    def blamed(self) -> frozenset[str]:
        """The claims whose own devices failed or were cut off."""
        if not self.begun:
            return frozenset()
        done = {(each.plan.claim.uid, each.plan.device.key) for each in self.done}
        wanted = {(plan.claim.uid, plan.device.key) for plan in self.missing}
        return frozenset(claim_uid for claim_uid, _ in wanted - done)


@dataclass(frozen=True, slots=True)
class Failure:
    """What the claims are to say of a failed attach, and the claims to blame; None: not tried."""

    texts: Mapping[str, Mapping[DeviceKey, str]]  # by claim
    blamed: frozenset[str] | None


async def carry_out(driver: NetworkDriver, begun: Iterable[Attachment], attempt: Attempt) -> None:
    """Call the driver for each attachment that was begun; the attempt says what came of it."""
    async with asyncio.TaskGroup() as group:
        for attachment in begun:
            group.create_task(_attach_one(driver, attachment, attempt))


async def _attach_one(driver: NetworkDriver, begun: Attachment, attempt: Attempt) -> None:
    plan, pod = begun.plan, begun.pod
    try:
        with doing("attach", plan.claim, pod):
            attachment = await driver.attach(plan, pod)
    except Exception as error:  # noqa: BLE001 (the driver's code; told and undone)
        explain("attach.failed", error, **claim_fields(plan.claim), at=plan.where)
        attempt.errors[begun.key] = error
    else:
        # Plan and pod are ours: what is undone later is what was begun.
        attempt.done.append(msgspec.structs.replace(attachment, plan=plan, pod=pod))


def failure_texts(
    plans: Iterable[Plan], pod: PodSandbox, error: BaseException
) -> Mapping[str, Mapping[DeviceKey, str]]:
    """Why each device is not there, by claim: its own error, or that it shares another's."""
    own = error.errors if isinstance(error, AttachError) else {}
    shared = str(error) or "interrupted before it finished"
    if own:
        shared = f"rolled back: {shared}"
    failures: defaultdict[str, dict[DeviceKey, str]] = defaultdict(dict)
    for plan in plans:
        key = (plan.claim.uid, pod.id, plan.device.key)
        failures[plan.claim.uid][plan.device.key] = brief(str(own.get(key, shared)))
    return failures
