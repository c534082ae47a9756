"""Options that name a policy."""

from typing import Final, Literal, TypeAlias

from netclaim.network.policy import LABEL, LEVELS, Level

__all__ = ["POLICY_HELP", "PolicyName", "level_of", "listed"]

PolicyName: TypeAlias = Literal["restricted", "baseline", "privileged"]
POLICY_HELP: Final = (
    f"The policy level of namespaces without the label {LABEL}. It decides what a claim may set by "
    "itself."
)


def level_of(name: PolicyName) -> Level:
    """The level of this name."""
    return LEVELS[name]


def listed(value: str) -> tuple[str, ...]:
    """Names that are separated by commas."""
    return tuple(name.strip() for name in value.split(",") if name.strip())
