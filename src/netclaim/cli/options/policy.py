"""Options that name a policy."""

from typing import Final, Literal, TypeAlias

from netclaim.network.policy.levels import LABEL, LEVELS, Level

PolicyName: TypeAlias = Literal["restricted", "baseline", "privileged"]
POLICY_HELP: Final = (
    f"The policy level of namespaces without the label {LABEL}. It decides what a claim may set by "
    "itself."
)


def level_of(name: PolicyName) -> Level:
    return LEVELS[name]


def listed(value: str) -> tuple[str, ...]:
    """Split names that are separated by commas."""
    return tuple(name.strip() for name in value.split(",") if name.strip())
