"""The embedded API server: the part of the Kubernetes API that drivers and tools use, in memory.

    target     where a request points             bodies           bytes into objects
    forms      one object, several versions       managers         server-side apply
    listing    pages and watches                  verbs            look, write, delete
    server     all of it over HTTP                store            the objects themselves

What objects may hold is `schema`'s. Held to the real server by `tests/cluster/test_local_api.py`,
which asks both the same.
"""

from netclaim.local.api.server import serve_api
from netclaim.local.api.store import Change, Store
from netclaim.local.api.verbs import STAMPS, Verbs

__all__ = ["STAMPS", "Change", "Store", "Verbs", "serve_api"]
