"""What an API server accepts: the shapes of objects, the rules for them, and how it refuses.

    kinds          what there is, and where      shape, shapes_*   the fields of each kind
    names          names and labels              *_rules           what objects may hold
    review         the rules, kind by kind       refusal           faults and answers
    metadata       what all objects have         expressions       CEL in selectors

Held to the real server by `tests/cluster/test_local_api.py`. No I/O; the server is `local.api`.
"""
