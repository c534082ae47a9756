"""Find requests that do not fit the links of their networks.

Some plugins take a whole link, and some plugins and keys are for claims that have their link to
themselves; the requests of both have to ask for a link alone. And a network that names a link has
to be on the one that its request selects.

A warning says what to write into the request. Files do not say which link a request will get. A
link that is for one claim in any case, such as a virtual function, needs no such request; so a
request whose selectors, or its class's, mention such links is passed over.
"""

import re
from collections.abc import Iterator
from typing import Final

from netclaim.check.policy import faults_if_shared
from netclaim.check.wanted import Wanted, expressions
from netclaim.errors import RequestError
from netclaim.manifests.finding import Finding
from netclaim.manifests.objects import Object
from netclaim.model.claim import JsonObject
from netclaim.model.quantity import Quantity
from netclaim.network.devices.shares import ALONE_REQUEST, ATTACHMENTS, WHOLE_LINK
from netclaim.network.policy.standing import Standing
from netclaim.network.request.link_keys import linked_names, taking_link
from netclaim.network.request.parameters import InterfaceRequest

# What selectors mention of links that are for one claim: virtual functions, InfiniBand, and links
# that their drivers do not offer to several claims.
FOR_ONE: Final = ("isSriovVf", "infiniband", "allowMultipleAllocations")
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
    request: InterfaceRequest,
    one: Wanted,
    subject: Object,
    device_class: Object | None,
    standing: Standing | None,
) -> Iterator[Finding | RequestError]:
    """Yield what would be refused if claims share the link of a request.

    The driver's own words are errors; what is said here is a warning. Without a `standing`, what
    the drivers would refuse by their policy is left out.
    """
    if _asks_alone(one.fields, request.device.driver):
        return
    if any(word in text for text in expressions(one, device_class) for word in FOR_ONE):
        return
    if taking := taking_link(request.network):
        yield subject.warning(
            one.path,
            f"{taking} takes a link from others that share it; write `{ALONE_REQUEST}` into the "
            f"request, unless its link is for one claim at a time",
        )
    elif standing is not None:
        yield from faults_if_shared(request, one, standing)


def _asks_alone(fields: JsonObject, driver: str) -> bool:
    """Whether a request asks for the whole link, or for more than one attachment, which is all."""
    requests = fields.get("capacity", {}).get("requests", {})
    attachments = requests.get(ATTACHMENTS, requests.get(f"{driver}/{ATTACHMENTS}", "1"))
    whole = requests.get(WHOLE_LINK, requests.get(f"{driver}/{WHOLE_LINK}", "0"))
    return Quantity.parse(attachments) > ONE or Quantity.parse(whole) >= ONE
