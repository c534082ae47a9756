"""The shapes that all kinds share: metadata, and the short names for plain values."""

from typing import Final

from netclaim.schema.shape import Fields, ListOf, MapOf, Scalar, Shape

__all__ = [
    "ANYTHING",
    "FLAG",
    "LABEL_SELECTOR",
    "METADATA",
    "PORT",
    "QUANTITY",
    "RAW",
    "TEXT",
    "TEXTS",
    "TIME",
    "WHOLE",
    "each",
]

TEXT, WHOLE, FLAG = Scalar.TEXT, Scalar.WHOLE, Scalar.FLAG
QUANTITY, TIME, RAW = Scalar.QUANTITY, Scalar.TIME, Scalar.RAW
PORT: Final = Scalar.PORT
TEXTS: Final = ListOf(TEXT)
ANYTHING: Final = Fields({}, open=True)


def each(shape: Shape, *names: str) -> dict[str, Shape]:
    """Return several fields of one shape."""
    return dict.fromkeys(names, shape)


OWNER: Final = Fields(
    {
        "apiVersion": TEXT,
        "kind": TEXT,
        "name": TEXT,
        "uid": TEXT,
        "controller": FLAG,
        "blockOwnerDeletion": FLAG,
    }
)
METADATA: Final = Fields(
    {
        "name": TEXT,
        "generateName": TEXT,
        "namespace": TEXT,
        "selfLink": TEXT,
        "uid": TEXT,
        "resourceVersion": TEXT,
        "generation": WHOLE,
        "creationTimestamp": TIME,
        "deletionTimestamp": TIME,
        "deletionGracePeriodSeconds": WHOLE,
        "labels": MapOf(TEXT),
        "annotations": MapOf(TEXT),
        "ownerReferences": ListOf(OWNER),
        "finalizers": TEXTS,
        "managedFields": ListOf(ANYTHING),
    }
)
LABEL_SELECTOR: Final = Fields(
    {
        "matchLabels": MapOf(TEXT),
        "matchExpressions": ListOf(Fields({"key": TEXT, "operator": TEXT, "values": TEXTS})),
    }
)
