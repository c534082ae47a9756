"""How a pool of addresses is called among devices: `addresses/media`, which no node can be.

The slices of the drivers on the nodes have the node's name for a pool, so a pool with a slash is of
no node (`NETWORK_WIDE` in `claim`). No I/O.
"""

from typing import Final

PREFIX: Final = "addresses/"
CLASS_PREFIX: Final = "addresses."  # no network's class begins like this: it has no dot


def slice_pool_of(pool: str) -> str:
    """The pool of devices that an AddressPool is."""
    return f"{PREFIX}{pool}"


def pool_of(slice_pool: str) -> str:
    """The AddressPool that a pool of devices is; empty for every other."""
    return slice_pool.removeprefix(PREFIX) if slice_pool.startswith(PREFIX) else ""


def class_name_of(pool: str) -> str:
    """The DeviceClass that selects the device of an AddressPool."""
    return f"{CLASS_PREFIX}{pool}"


def pool_of_class(class_name: str) -> str:
    """The AddressPool whose device a class selects; empty for every other."""
    return class_name.removeprefix(CLASS_PREFIX) if class_name.startswith(CLASS_PREFIX) else ""
