"""Judge manifests by the driver's trust policy, as far as files can tell.

The driver judges a claim by the level of its namespace and by the link that it got, and its own
words are reported here. Files do not say which link a claim will get, whether other claims share
it, nor whether the node depends on it: a link is taken to be the claim's own unless the request has
adminAccess. What is refused on a link that claims share, as most do, is a doubt (see `alone`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from netclaim.check.claims.wanted import Wanted
from netclaim.errors import RequestError
from netclaim.manifests.finding import Finding
from netclaim.manifests.objects import Index, Object, inside
from netclaim.model.claims.claim import JsonObject
from netclaim.network.devices.shares import ALONE_REQUEST
from netclaim.network.errors import ParametersError
from netclaim.network.judge.request import permit
from netclaim.network.plan.guard import level_named
from netclaim.network.policy.levels import LABEL, Level
from netclaim.network.policy.standing import Standing
from netclaim.network.request.parameters import InterfaceRequest
from netclaim.schema.defaults import NAME_LABEL

SHARED: Final = "other claims may have the device too, because the request has adminAccess"
TEXT: Final = (
    "is text, which the admission policy cannot check; in a namespace of the policy level "
    f"{Level.RESTRICTED} write it as an object"
)
BY_DEFAULT: Final = "claims share a link unless one asks for all of it"


@dataclass(frozen=True, slots=True)
class Policy:
    """How the drivers are set up."""

    default: Level = Level.BASELINE  # of namespaces that have no label
    claim_plugins: frozenset[str] = frozenset()  # programs that claims may name


def check_namespace(subject: Object) -> Iterator[Finding]:
    """Judge the label of a namespace."""
    label = inside(subject.object, ("metadata", "labels")).get(LABEL)
    try:
        level_named(str(label or Level.BASELINE))
    except RequestError as error:
        yield subject.error(("metadata", "labels", LABEL), error.message)


def namespace_labels(subject: Object, index: Index) -> JsonObject:
    """The labels of an object's namespace; none if the files do not have it."""
    namespace = index.find("Namespace", subject.namespace, near=subject)
    if namespace is None:
        return {}
    return {**inside(namespace.object, ("metadata", "labels")), NAME_LABEL: namespace.name}


def standing_in(subject: Object, index: Index, policy: Policy) -> Standing:
    """How far a claim is trusted in its namespace, on a link of its own."""
    label = namespace_labels(subject, index).get(LABEL)
    try:
        level = level_named(label) if isinstance(label, str) else policy.default
    except RequestError:  # `check_namespace` reports it
        level = Level.RESTRICTED
    return Standing(level, subject.namespace, claim_plugins=policy.claim_plugins)


def policy_faults(
    request: InterfaceRequest,
    one: Wanted,
    standing: Standing,
    *,
    found: Sequence[RequestError] = (),
) -> Iterator[RequestError]:
    """Yield what the driver, or the admission policy, would refuse, and what was `found`."""
    if request.as_text and not request.trusted and standing.level is Level.RESTRICTED:
        yield RequestError(TEXT, path=request.claimed["config"])
    if one.fields.get("adminAccess"):
        standing = replace(standing, shared=SHARED)
    try:
        permit(request, standing, found=found)
    except ParametersError as error:
        yield from error.faults
    except RequestError as error:
        yield error


def faults_if_shared(
    request: InterfaceRequest, one: Wanted, standing: Standing
) -> Iterator[RequestError]:
    """Yield what the driver would refuse of a request only where claims share its link."""
    refused = {fault.path for fault in policy_faults(request, one, standing)}
    remedy = f"write `{ALONE_REQUEST}` into the request {one.request}"
    shared = replace(standing, shared=BY_DEFAULT, remedy=remedy)
    for fault in policy_faults(request, one, shared):
        if fault.path not in refused:
            yield fault
