"""How commands are told a policy level."""

from typing import Final, Literal, TypeAlias

from netclaim.network.policy import LABEL, Level

__all__ = ["POLICY_HELP", "PolicyName", "level_of"]

PolicyName: TypeAlias = Literal["restricted", "baseline", "privileged"]
POLICY_HELP: Final = (
    f"The policy level of namespaces without the label {LABEL}: how far a claim's own parameters "
    "are trusted."
)


def level_of(name: PolicyName) -> Level:
    """The level of this name."""
    return Level[name.upper()]
