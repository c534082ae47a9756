"""For which requests a claim's author wrote each entry of its configuration.

An allocation repeats the configuration of the claim. Since Kubernetes 1.37 the scheduler clears
`requests` there where an entry covers all requests, so that in a claim with one request an entry
for everything and one for that request look alike. The claim's spec still tells them apart: it
never changes, and entries keep their order.

Promise: an entry of an older scheduler comes out as it is. What cannot be found in the spec does,
too, and is for all requests. No I/O.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

__all__ = ["with_written_requests"]


def with_written_requests(
    allocated: Mapping[str, Any], spec: Mapping[str, Any]
) -> Iterator[Mapping[str, Any]]:
    """Yield `config` of an allocation's devices with `requests` as they are in the spec's devices.

    Entries of device classes are not in the spec; those stay as they are.
    """
    chosen = {result["request"] for result in allocated.get("results") or ()}
    written = [entry for entry in spec.get("config") or () if _concerns(entry, chosen)]
    for entry in allocated.get("config") or ():
        if entry.get("source") == "FromClass":
            yield entry
            continue
        found = next((n for n, one in enumerate(written) if _may_be(entry, one)), None)
        if found is None:
            yield entry  # once more for the next of its requests, as schedulers before 1.37 write
        else:
            yield {**entry, "requests": _requests(written[found])}
            del written[: found + 1]


def _concerns(entry: Mapping[str, Any], chosen: set[str]) -> bool:
    """Whether the scheduler kept an entry: those for alternatives not chosen are left out."""
    bases = {request.partition("/")[0] for request in chosen}
    requests = _requests(entry)
    return not requests or not (chosen | bases).isdisjoint(requests)


def _may_be(entry: Mapping[str, Any], written: Mapping[str, Any]) -> bool:
    """Whether an allocation's entry was made from one of the spec."""
    requests = _requests(entry)
    return _body(entry) == _body(written) and (not requests or requests == _requests(written))


def _body(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in entry.items() if key not in ("source", "requests")}


def _requests(entry: Mapping[str, Any]) -> Sequence[str]:
    requests: Sequence[str] = entry.get("requests") or []
    return requests
