"""The embedded API server: the part of the Kubernetes API that drivers and tools use, in memory.

    kinds      what is served, and where          shape, shapes    the fields of each kind
    target     where a request points             names, *_rules   what objects may hold
    bodies     bytes into objects                 review           the rules, kind by kind
    forms      one object, several versions       managers         server-side apply
    listing    pages and watches                  verbs            look, write, delete
    server     all of it over HTTP                store            the objects themselves

Held to the real server by `tests/cluster/test_local_api.py`, which asks both the same.
"""

from netclaim.local.api.claim_rules import Expressions
from netclaim.local.api.kinds import KINDS, Address, Kind, kind_of
from netclaim.local.api.refusal import Fault, RefusedError
from netclaim.local.api.review import Review
from netclaim.local.api.server import serve_api
from netclaim.local.api.store import Change, Store
from netclaim.local.api.verbs import STAMPS, Verbs

__all__ = [
    "KINDS",
    "STAMPS",
    "Address",
    "Change",
    "Expressions",
    "Fault",
    "Kind",
    "RefusedError",
    "Review",
    "Store",
    "Verbs",
    "kind_of",
    "serve_api",
]
