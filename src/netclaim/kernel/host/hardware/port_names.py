"""What a card calls its ports: which links stand for a function in the card's own switch.

A card that switches by itself (switchdev) has a link on the host for each of its functions: what is
sent over this representor arrives at the function. These share the card's PCI address with its own
link. No I/O.
"""

import re
from typing import Final

# The kernel's names (devlink): p0 for a port to the outside; pf0vf3 for virtual function 3 of the
# first physical one, pf0sf88 for a part of it, pf0 and pf0hpf for it as a whole; c1 before these is
# the number of a host, and p0 that of the port, with some drivers.
OF_A_FUNCTION: Final = re.compile(r"(p\d+)?(c\d+)?pf\d+(hpf|(vf|sf)\d+)?", re.ASCII)


def stands_for_function(port_name: str) -> bool:
    """Whether a link with this port name is the representor of a function."""
    return OF_A_FUNCTION.fullmatch(port_name) is not None
