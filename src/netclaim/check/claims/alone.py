"""Find requests that do not fit the links of their networks.

Some plugins take a whole link, and some plugins and keys are for claims that have their link to
themselves; the requests of both have to ask for a link alone. And a network that names a link has
to be on the one that its request selects.

A warning says what to write into the request. Files do not say which link a request will get. A
link that is for one claim in any case, such as a virtual function, needs no such request; so a
request whose selectors, with its class's, select none that claims share is passed over.
"""

from collections.abc import Iterator
from typing import Final

from netclaim.check.claims.policy import faults_if_shared
from netclaim.check.claims.selectable import can_select, link_named, shared_link
from netclaim.check.claims.wanted import Wanted, expressions
from netclaim.errors import RequestError
from netclaim.manifests.finding import Finding
from netclaim.manifests.objects import Object
from netclaim.model.claims.claim import JsonObject
from netclaim.model.devices.link_name import GENERIC
from netclaim.model.quantity import Quantity
from netclaim.network.devices.shares import ALONE_REQUEST, ATTACHMENTS, WHOLE_LINK
from netclaim.network.policy.standing import Standing
from netclaim.network.request.into_config.link_keys import linked_names, taking_link
from netclaim.network.request.parameters import InterfaceRequest

ONE: Final = Quantity.parse("1")


def link_doubts(
    request: InterfaceRequest, one: Wanted, subject: Object, device_class: Object | None
) -> Iterator[Finding]:
    """Warn about a network on a link that the request does not select, by the link's names."""
    driver, texts = request.device.driver, list(expressions(one, device_class))
    if can_select(texts, link_named(driver, GENERIC, "")):  # which may stand on any link
        return
    for name in sorted(linked_names(request.network)):
        if not can_select(texts, link_named(driver, name, name)):
            yield subject.warning(
                one.path,
                f'the network names the link "{name}", but the request selects another by its name;'
                " leave the link out of the network, which is then on the one that was allocated, "
                "unless they are two names of one link",
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
    the drivers would refuse by their policy is left out. With adminAccess, a link is shared
    whatever a request asks for, and the policy's errors say so.
    """
    driver = request.device.driver
    if one.fields.get("adminAccess") or _asks_alone(one.fields, driver):
        return
    if not can_select(expressions(one, device_class), shared_link(driver)):
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
