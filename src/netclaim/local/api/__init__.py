"""The embedded API server: the part of the Kubernetes API that drivers and tools use, in memory.

    server     all of it over HTTP
    target     where a request points
    bodies     bytes into objects
    forms      one object, several versions
    verbs      look, create, change, apply, delete
    patches    merge patches and JSON patches
    managers   server-side apply: whose a field is
    fieldset   sets of fields, as server-side apply counts them
    lifecycle  how an object begins, changes and ends
    listing    pages and watches
    discovery  groups, versions and kinds
    openapi    what kubectl asks for before it applies
    store      the objects themselves

`schema` decides what objects may contain. `tests/cluster/test_local_api.py` compares this with the
real server by asking both the same.
"""

from netclaim.local.api.server import serve_api
from netclaim.local.api.store import Store
from netclaim.local.api.verbs import Verbs

__all__ = ["Store", "Verbs", "serve_api"]
