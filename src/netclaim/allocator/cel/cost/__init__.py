"""What a selector may cost, in the units that Kubernetes counts in.

calls     what one call costs, by the sizes of what it is given
loops     what a macro costs beside its parts
sizes     how large the parts of a device can be
estimate  the most that an expression can cost, before it is run
actual    what a call has cost
"""

from typing import Final

COST_MAX: Final = (
    1_000_000  # Kubernetes' CELSelectorExpressionMaxCost, of estimates and at run time
)
