"""Judge manifests by the driver's trust policy, as far as files can tell.

The driver holds a claim against the level of its namespace and against the link that it got.
Promise: in the driver's own words. Limit: which link a claim will get, and whether the node lives
on it, files do not say: a link is taken to be the claim's own, unless it asks for admin access.
"""

from collections.abc import Iterator

from netclaim.cli.check_finding import Finding
from netclaim.cli.check_subject import Index, Subject, Wanted, inside
from netclaim.errors import RequestError
from netclaim.network.errors import ParametersError
from netclaim.network.guard import level_named
from netclaim.network.parameters import InterfaceRequest
from netclaim.network.permit import Standing, permit
from netclaim.network.policy import LABEL, Level

__all__ = ["check_namespace", "level_in", "policy_faults"]


def check_namespace(subject: Subject) -> Iterator[Finding]:
    """Judge the label of a namespace."""
    label = inside(subject.object, ("metadata", "labels")).get(LABEL)
    if isinstance(label, str) and label not in map(str, Level):
        known = ", ".join(map(str, Level))
        message = f"{label!r} is not a policy level; these are {known}"
        yield subject.error(("metadata", "labels", LABEL), message)


def level_in(subject: Subject, index: Index, default: Level) -> Level:
    """The level of an object's namespace: its label's, if the files have it, or the default."""
    namespace = index.find("Namespace", subject.namespace, near=subject)
    if namespace is None:
        return default
    label = inside(namespace.object, ("metadata", "labels")).get(LABEL)
    try:
        return level_named(label, field=LABEL) if isinstance(label, str) else default
    except RequestError:  # `check_namespace` says so
        return Level.RESTRICTED


def policy_faults(
    request: InterfaceRequest, one: Wanted, subject: Subject, level: Level
) -> Iterator[RequestError]:
    """Yield what the driver would refuse of a request."""
    shared = "others may have the device too, since the request has adminAccess"
    standing = Standing(
        level, subject.namespace, shared=shared if one.fields.get("adminAccess") else ""
    )
    try:
        permit(request, standing)
    except ParametersError as error:
        yield from error.faults
    except RequestError as error:
        yield error
