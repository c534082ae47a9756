"""Label selectors as objects have them: which namespaces a network is for, for example."""

from collections.abc import Mapping

from netclaim.model.api.base import Base


class LabelRequirement(Base, frozen=True):
    """A condition on one label."""

    key: str
    operator: str  # In, NotIn, Exists, DoesNotExist
    values: tuple[str, ...] = ()

    def holds(self, labels: Mapping[str, str]) -> bool:
        """Whether it holds; an operator that is not known never does."""
        match self.operator:
            case "In":
                return labels.get(self.key) in self.values
            case "NotIn":
                return labels.get(self.key) not in self.values
            case "Exists":
                return self.key in labels
            case "DoesNotExist":
                return self.key not in labels
        return False


class LabelSelector(Base, frozen=True):
    """Conditions that must all hold; without any, everything is selected."""

    match_labels: Mapping[str, str] = {}
    match_expressions: tuple[LabelRequirement, ...] = ()

    def selects(self, labels: Mapping[str, str]) -> bool:
        """Whether what has these labels is selected."""
        alike = all(labels.get(key) == value for key, value in self.match_labels.items())
        return alike and all(one.holds(labels) for one in self.match_expressions)
