"""Find requests whose plugins take a link, and which do not ask for one alone.

Promise: a warning at the request says what to write. Limit: which link a request will get, files do
not say. One that is for one claim in any case, such as a virtual function, needs no such request;
so a request, or class, whose selectors speak of virtual functions is left alone.
"""

from collections.abc import Iterator
from typing import Any, Final

from netclaim.check.subject import Wanted
from netclaim.manifests.finding import Finding
from netclaim.manifests.objects import Object, inside
from netclaim.model.quantity import Quantity, QuantityError
from netclaim.network.link_keys import taking_link
from netclaim.network.parameters import InterfaceRequest
from netclaim.network.shares import ALONE_REQUEST, ATTACHMENTS

__all__ = ["alone_doubts"]

VIRTUAL_FUNCTION: Final = "isSriovVf"


def alone_doubts(
    request: InterfaceRequest, one: Wanted, subject: Object, device_class: Object | None
) -> Iterator[Finding]:
    """Warn of a request that would be refused if claims share its link."""
    taking = taking_link(request.network)
    if not taking or _asks_alone(one.fields, request.device.driver):
        return
    of_class = inside(device_class.object, ("spec",)) if device_class is not None else {}
    if not any(VIRTUAL_FUNCTION in text for text in _expressions(one.fields, of_class)):
        yield subject.warning(
            one.path,
            f"{taking} takes a link from others that share it; write `{ALONE_REQUEST}` into the "
            f"request, unless its link is for one claim at a time",
        )


def _asks_alone(fields: dict[str, Any], driver: str) -> bool:
    """Whether a request asks for more than one attachment, which is all of them."""
    requests = (fields.get("capacity") or {}).get("requests") or {}
    asked = requests.get(ATTACHMENTS, requests.get(f"{driver}/{ATTACHMENTS}", "1"))
    try:
        return Quantity.parse(asked) > Quantity.parse("1")
    except QuantityError:  # the schema's business
        return True


def _expressions(*owners: dict[str, Any]) -> Iterator[str]:
    for owner in owners:
        for selector in owner.get("selectors") or ():
            yield str((selector.get("cel") or {}).get("expression", ""))
