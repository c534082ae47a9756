"""Which drivers a selector names: `device.driver == "…"` anywhere in its expression. No I/O.

Limit: text only. A selector that excludes the driver it names, or builds the name, is not
understood; what is shown with it is a hint, and nothing is decided by it.
"""

import re
from typing import Final

NAMED: Final = re.compile(r"""\bdevice\.driver\s*==\s*(["'])([^"']*)\1""")


def named_drivers(expression: str) -> frozenset[str]:
    """Return the drivers that an expression names."""
    return frozenset(match[2] for match in NAMED.finditer(expression))
