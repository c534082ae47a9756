"""Label and field selectors, read from the text of a query or from an object.

Only the fields that a kind offers can be selected by; as in the real server, others are refused.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from netclaim.model.claims.claim import JsonObject
from netclaim.schema.kinds import Kind
from netclaim.schema.refusal import bad_request

Operator = Literal["In", "NotIn", "Exists", "DoesNotExist"]
LABEL_TERM: Final = re.compile(
    r"\s*(?:(?P<absent>!)\s*)?(?P<key>[A-Za-z0-9][A-Za-z0-9_./-]*)"
    r"(?:\s*(?P<equal>=|==|!=)\s*(?P<value>[A-Za-z0-9_.-]*)"
    r"|\s+(?P<word>in|notin)\s*\((?P<values>[^)]*)\))?\s*"
)
FIELD_TERM: Final = re.compile(r"(?P<key>[A-Za-z0-9_.]+)(?P<equal>==|=|!=)(?P<value>.*)")


@dataclass(frozen=True, slots=True)
class Term:
    """One condition; all conditions of a selector must hold."""

    key: str
    operator: Operator
    values: tuple[str, ...] = ()

    def holds(self, found: Mapping[str, Any]) -> bool:
        """Whether it holds for labels, or for fields by their paths."""
        match self.operator:
            case "In":
                return found.get(self.key) in self.values
            case "NotIn":
                return found.get(self.key) not in self.values
            case "Exists":
                return self.key in found
            case "DoesNotExist":
                return self.key not in found


@dataclass(frozen=True, slots=True)
class Selector:
    """Which objects a list or watch is about."""

    labels: tuple[Term, ...] = ()
    fields: tuple[Term, ...] = ()

    def selects(self, found: JsonObject) -> bool:
        """Whether an object is among them; `found` has the form in which it is served."""
        labels = found["metadata"].get("labels", {})
        if not all(term.holds(labels) for term in self.labels):
            return False
        return all(term.holds({term.key: _field(found, term.key)}) for term in self.fields)


def parse_selector(labels: str, fields: str, kind: Kind) -> Selector:
    return Selector(_label_terms(labels), _field_terms(fields, kind))


def matches_labels(selector: JsonObject, labels: Mapping[str, str]) -> bool:
    """Whether labels match a selector object, such as a Deployment's."""
    wanted = selector.get("matchLabels", {}).items()
    terms = [Term(key, "In", (value,)) for key, value in wanted]
    for expression in selector.get("matchExpressions", ()):
        values = tuple(expression.get("values", ()))
        terms.append(Term(expression.get("key", ""), expression.get("operator", "In"), values))
    return all(term.holds(labels) for term in terms)


def _label_terms(text: str) -> tuple[Term, ...]:
    terms = []
    for part in re.split(r",(?![^(]*\))", text) if text.strip() else ():
        match = LABEL_TERM.fullmatch(part)
        if match is None:
            raise bad_request(f"unable to parse requirement: {part!r}")
        terms.append(_label_term(match))
    return tuple(terms)


def _label_term(match: re.Match[str]) -> Term:
    key = match["key"]
    if match["word"]:
        values = tuple(value.strip() for value in match["values"].split(","))
        return Term(key, "In" if match["word"] == "in" else "NotIn", values)
    if match["equal"]:
        return Term(key, "NotIn" if match["equal"] == "!=" else "In", (match["value"],))
    return Term(key, "DoesNotExist" if match["absent"] else "Exists")


def _field_terms(text: str, kind: Kind) -> tuple[Term, ...]:
    offered = ("metadata.name", *(("metadata.namespace",) if kind.namespaced else ()))
    terms = []
    for part in text.split(",") if text else ():
        match = FIELD_TERM.fullmatch(part)
        if match is None:
            raise bad_request(f"invalid field selector: {part!r}; can't understand {part!r}")
        if match["key"] not in (*offered, *kind.selectable):
            raise bad_request(f"field label not supported: {match['key']}")
        operator: Operator = "NotIn" if match["equal"] == "!=" else "In"
        terms.append(Term(match["key"], operator, (match["value"],)))
    return tuple(terms)


def _field(found: JsonObject, path: str) -> str:
    """A field's value as text; empty if the field is absent, as in the API."""
    value: Any = found
    for step in path.split("."):
        value = value.get(step, "") if isinstance(value, dict) else ""
    return str(value)
