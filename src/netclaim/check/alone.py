"""Find requests whose plugins take a whole link, but which do not ask for a link alone.

A warning at the request says what to write. Files do not say which link a request will get. A link
that is for one claim in any case, such as a virtual function, needs no such request; so a request
whose selectors, or its class's, mention virtual functions is passed over.
"""

from collections.abc import Iterator
from typing import Final

from netclaim.check.wanted import Wanted, expressions
from netclaim.manifests.finding import Finding
from netclaim.manifests.objects import Object
from netclaim.model.claim import JsonObject
from netclaim.model.quantity import Quantity
from netclaim.network.devices.shares import ALONE_REQUEST, ATTACHMENTS
from netclaim.network.request.link_keys import taking_link
from netclaim.network.request.parameters import InterfaceRequest

VIRTUAL_FUNCTION: Final = "isSriovVf"


def alone_doubts(
    request: InterfaceRequest, one: Wanted, subject: Object, device_class: Object | None
) -> Iterator[Finding]:
    """Warn about a request that would be refused if claims share its link."""
    taking = taking_link(request.network)
    if not taking or _asks_alone(one.fields, request.device.driver):
        return
    if not any(VIRTUAL_FUNCTION in text for text in expressions(one, device_class)):
        yield subject.warning(
            one.path,
            f"{taking} takes a link from others that share it; write `{ALONE_REQUEST}` into the "
            f"request, unless its link is for one claim at a time",
        )


def _asks_alone(fields: JsonObject, driver: str) -> bool:
    """Whether a request asks for more than one attachment, which means all of them."""
    requests = fields.get("capacity", {}).get("requests", {})
    asked = requests.get(ATTACHMENTS, requests.get(f"{driver}/{ATTACHMENTS}", "1"))
    return Quantity.parse(asked) > Quantity.parse("1")
