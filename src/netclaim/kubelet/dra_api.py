"""DRA v1 and v1beta1 as one: frozen values on our side, either version's messages on the wire.

Promise: both versions say the same, except that only v1 carries a device's share id. No I/O, and
nothing is decided here. Messages are `Any`, since the two versions' classes are alike only in
their names and fields.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Final

from netclaim.kubelet.proto import dra_v1_pb2, dra_v1beta1_pb2
from netclaim.model.on_node.prepared import ClaimRef, PrepareAnswer, PreparedDevice

NO_REASON: Final = "no reason given"


@dataclass(frozen=True, slots=True)
class DraApi:
    """One version of kubelet's DRA service: its names, and its messages in both directions."""

    version: str  # as the driver announces it; the name on the wire is another
    messages: ModuleType
    has_share_id: bool

    def path(self, method: str) -> str:
        """Return the name of a method on the wire."""
        service = self.messages.DESCRIPTOR.services_by_name["DRAPlugin"]
        return f"/{service.full_name}/{method}"

    def prepare_request(self, refs: Iterable[ClaimRef]) -> Any:
        return self.messages.NodePrepareResourcesRequest(claims=self._claims(refs))

    def unprepare_request(self, refs: Iterable[ClaimRef]) -> Any:
        return self.messages.NodeUnprepareResourcesRequest(claims=self._claims(refs))

    def refs(self, request: Any) -> tuple[ClaimRef, ...]:
        """Return the claims of a request of either kind."""
        return tuple(ClaimRef(c.uid, c.namespace, c.name) for c in request.claims)

    def prepare_response(self, answers: Mapping[str, PrepareAnswer]) -> Any:
        """Make the response to a prepare; a failed claim carries its error and no device."""
        response = self.messages.NodePrepareResourcesResponse()
        for uid, answer in answers.items():
            claim = response.claims[uid]
            if answer.error is None:
                claim.devices.extend(self._device(device) for device in answer.devices)
            else:
                claim.error = _reason(answer.error)
        return response

    def prepare_answers(self, response: Any) -> dict[str, PrepareAnswer]:
        """Read what `prepare_response` makes."""
        return {
            uid: PrepareAnswer(
                devices=tuple(self._prepared_device(device) for device in claim.devices),
                error=claim.error or None,
            )
            for uid, claim in response.claims.items()
        }

    def unprepare_response(self, errors: Mapping[str, str | None]) -> Any:
        """Make the response to an unprepare; None stands for success."""
        response = self.messages.NodeUnprepareResourcesResponse()
        for uid, error in errors.items():
            response.claims[uid].error = "" if error is None else _reason(error)
        return response

    def unprepare_errors(self, response: Any) -> dict[str, str | None]:
        """Read what `unprepare_response` makes."""
        return {uid: claim.error or None for uid, claim in response.claims.items()}

    def _claims(self, refs: Iterable[ClaimRef]) -> list[Any]:
        claim = self.messages.Claim
        return [claim(uid=ref.uid, namespace=ref.namespace, name=ref.name) for ref in refs]

    def _device(self, device: PreparedDevice) -> Any:
        message = self.messages.Device(
            request_names=device.request_names,
            pool_name=device.pool_name,
            device_name=device.device_name,
            cdi_device_ids=device.cdi_device_ids,
        )
        if self.has_share_id and device.share_id is not None:
            message.share_id = device.share_id
        return message

    def _prepared_device(self, message: Any) -> PreparedDevice:
        shared = self.has_share_id and message.HasField("share_id")
        return PreparedDevice(
            request_names=tuple(message.request_names),
            pool_name=message.pool_name,
            device_name=message.device_name,
            cdi_device_ids=tuple(message.cdi_device_ids),
            share_id=message.share_id if shared else None,
        )


def _reason(error: str) -> str:
    """Make an error fit for the wire: never empty, which would mean success, and always UTF-8."""
    return error.encode(errors="replace").decode() or NO_REASON


V1: Final = DraApi("v1.DRAPlugin", dra_v1_pb2, has_share_id=True)
V1BETA1: Final = DraApi("v1beta1.DRAPlugin", dra_v1beta1_pb2, has_share_id=False)

DRA_APIS: Final = (V1, V1BETA1)  # in our order of preference: kubelet takes the first it knows
