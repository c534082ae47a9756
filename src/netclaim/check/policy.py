"""Judge manifests by the driver's trust policy, as far as files can tell.

The driver holds a claim against the level of its namespace and against the link that it got.
Promise: in the driver's own words. Limit: which link a claim will get, and whether the node lives
on it, files do not say: a link is taken to be the claim's own, unless it asks for admin access.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from netclaim.check.subject import Wanted
from netclaim.errors import RequestError
from netclaim.manifests.finding import Finding
from netclaim.manifests.objects import Index, Object, inside
from netclaim.network.errors import ParametersError
from netclaim.network.guard import level_named
from netclaim.network.parameters import InterfaceRequest
from netclaim.network.permit import permit
from netclaim.network.policy import LABEL, Level
from netclaim.network.standing import Standing

__all__ = ["Policy", "check_namespace", "level_in", "policy_faults"]


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


def level_in(subject: Object, index: Index, policy: Policy) -> Level:
    """The level of an object's namespace: its label's, if the files have it, or the default."""
    default = policy.default
    namespace = index.find("Namespace", subject.namespace, near=subject)
    if namespace is None:
        return default
    label = inside(namespace.object, ("metadata", "labels")).get(LABEL)
    try:
        return level_named(label) if isinstance(label, str) else default
    except RequestError:  # `check_namespace` says so
        return Level.RESTRICTED


def policy_faults(
    request: InterfaceRequest,
    one: Wanted,
    subject: Object,
    policy: Policy,
    level: Level,
    *,
    found: Sequence[RequestError] = (),
) -> Iterator[RequestError]:
    """Yield what the driver would refuse of a request at this level, and what was `found`."""
    shared = "other claims may have the device too, because the request has adminAccess"
    standing = Standing(
        level,
        subject.namespace,
        shared=shared if one.fields.get("adminAccess") else "",
        claim_plugins=policy.claim_plugins,
    )
    try:
        permit(request, standing, found=found)
    except ParametersError as error:
        yield from error.faults
    except RequestError as error:
        yield error
