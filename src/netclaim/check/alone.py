"""Find requests that do not fit the links of their networks.

Some plugins take a whole link, and their requests have to ask for a link alone; and a network that
names a link has to be on the one that its request selects.

A warning at the request says what to write. Files do not say which link a request will get. A link
that is for one claim in any case, such as a virtual function, needs no such request; so a request
whose selectors, or its class's, mention virtual functions is passed over.
"""

import re
from collections.abc import Iterator
from typing import Final

from netclaim.check.wanted import Wanted, expressions
from netclaim.manifests.finding import Finding
from netclaim.manifests.objects import Object
from netclaim.model.claim import JsonObject
from netclaim.model.quantity import Quantity
from netclaim.network.devices.shares import ALONE_REQUEST, ATTACHMENTS, WHOLE_LINK
from netclaim.network.request.link_keys import linked_names, taking_link
from netclaim.network.request.parameters import InterfaceRequest

VIRTUAL_FUNCTION: Final = "isSriovVf"
# A selector by the name of a link.
BY_NAME: Final = re.compile(r"""\.(?:name|ifName)\s*==\s*(["'])([^"']+)\1""")
ONE: Final = Quantity.parse("1")


def link_doubts(
    request: InterfaceRequest, one: Wanted, subject: Object, device_class: Object | None
) -> Iterator[Finding]:
    """Warn about a network on another link than the one that the request selects by its name."""
    texts = list(expressions(one, device_class))
    selected = {match[2] for text in texts for match in BY_NAME.finditer(text)}
    if len(selected) != 1 or any("||" in text for text in texts):
        return
    for name in sorted(linked_names(request.network) - selected):
        (link,) = selected
        yield subject.warning(
            one.path,
            f'the network names the link "{name}", but the request selects "{link}"; leave the'
            f" link out of the network, which is then on the one that was allocated",
        )


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
    """Whether a request asks for the whole link, or for more than one attachment, which is all."""
    requests = fields.get("capacity", {}).get("requests", {})
    attachments = requests.get(ATTACHMENTS, requests.get(f"{driver}/{ATTACHMENTS}", "1"))
    whole = requests.get(WHOLE_LINK, requests.get(f"{driver}/{WHOLE_LINK}", "0"))
    return Quantity.parse(attachments) > ONE or Quantity.parse(whole) >= ONE
