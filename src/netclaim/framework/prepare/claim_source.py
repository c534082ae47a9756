"""Read claims from the API server, with the devices of this driver alone."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import msgspec

from netclaim.errors import RequestError
from netclaim.framework.contract import Driver
from netclaim.framework.journal.pod_plans import Claims
from netclaim.framework.journal.records import Booking
from netclaim.model.claims.claim import Claim
from netclaim.model.on_node.prepared import ClaimRef


class Labels(Protocol):
    async def __call__(self, name: str, *, fresh: bool = False) -> Mapping[str, str]:
        """The labels of a namespace, which may be some seconds old unless they must be `fresh`."""


@dataclass(frozen=True, slots=True)
class ClaimSource:
    driver: Driver
    claims: Claims
    labels: Labels

    async def read(self, ref: ClaimRef) -> Claim:
        """The claim that kubelet means. Raises RequestError if there is nothing to prepare."""
        claim = await self.claims.get(ref, driver=self.driver.name)
        if claim is None:
            raise RequestError(f"claim {ref.namespace}/{ref.name} no longer exists")
        if claim.uid != ref.uid:
            raise RequestError(
                f"claim {ref.namespace}/{ref.name} was replaced by another one of that name"
            )
        mine = claim.of_driver(self.driver.name)
        if not mine.devices:
            raise RequestError(
                f"claim {ref.namespace}/{ref.name} has no device of {self.driver.name}"
                if claim.allocated
                else f"claim {ref.namespace}/{ref.name} is no longer allocated"
            )
        if self.driver.reads_namespace:
            labels = await self.labels(ref.namespace)
            mine = msgspec.structs.replace(mine, namespace_labels=labels)
        return mine

    async def with_labels_of_now(self, claim: Claim) -> Claim:
        """The claim with its namespace's labels as they are now, if the driver reads them."""
        if not self.driver.reads_namespace:
            return claim
        labels = await self.labels(claim.namespace, fresh=True)
        return msgspec.structs.replace(claim, namespace_labels=labels)

    async def is_stale(self, ref: ClaimRef, booking: Booking | None) -> bool:
        """Whether a claim is gone, replaced, or without the devices that it was booked for."""
        claim = await self.claims.get(ref)
        if claim is None or claim.uid != ref.uid or not claim.allocated:
            return True
        return booking is not None and booking.devices != claim.of_driver(self.driver.name).devices
