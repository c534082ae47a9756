"""YAML as Kubernetes reads and writes it, on top of PyYAML.

Reading: dates stay text, `1:30` is not 90, `1e3` is a number, and a repeated key is an error.
Writing: block style in the given order, no aliases, and quotes around every text that some reader
between YAML 1.1 and 1.2 would take for something else.
"""

import re
import sys
from collections.abc import Mapping
from typing import Any, Final, TypeAlias

import yaml

from netclaim.json_text import TOO_DEEP

try:
    from yaml import CSafeLoader as _Loader
except ImportError:  # a PyYAML built without libyaml, which is a few dozen times slower
    from yaml import SafeLoader as _Loader  # type: ignore[assignment]

# Ends of lines in YAML 1.1 but not in 1.2: only escapes mean the same to all readers.
ODD_BREAKS: Final = frozenset("\r\x85\u2028\u2029")
DIGITS_MAX: Final = 4300  # of a number; what Python reads
TOO_LONG: Final = "a number with too many digits"
Resolvers: TypeAlias = dict[str, list[tuple[str, re.Pattern[str]]]]


def _words(*words: str) -> str:
    return "|".join(form for word in words for form in (word, word.title(), word.upper()))


# What plain text means, with the characters it can begin with. An int is also a float, so ints
# come first.
PLAIN: Final[Mapping[str, tuple[str, str]]] = {
    "bool": (_words("yes", "no", "true", "false", "on", "off"), "yYnNtTfFoO"),
    "int": (r"[-+]?(0b[01_]+|0x[0-9a-fA-F_]+|0[0-7_]*|[1-9][0-9_]*)", "-+0123456789"),
    "float": (
        rf"[-+]?([0-9][0-9_]*)?\.?[0-9]+([eE][-+]?[0-9]+)?|[-+]?\.({_words('inf')})|\.nan|\.NaN",
        "-+.0123456789",
    ),
    "merge": (r"<<", "<"),
    "null": (rf"~|{_words('null')}", "~nN"),
}


def _resolvers() -> Resolvers:
    table: Resolvers = {"": [("tag:yaml.org,2002:null", re.compile(r"\Z"))]}
    for kind, (pattern, beginnings) in PLAIN.items():
        meaning = (f"tag:yaml.org,2002:{kind}", re.compile(rf"(?:{pattern})\Z"))
        for character in beginnings:
            table.setdefault(character, []).append(meaning)
    return table


class KubeLoader(_Loader):
    """Reads what kubectl would read."""

    yaml_implicit_resolvers = _resolvers()

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        """Build a value; one that does not fit its tag, as in `!!bool maybe`, is an error here too.

        PyYAML would raise any error that occurs in its code: IndexError, KeyError, AttributeError.
        """
        try:
            return super().construct_object(node, deep=deep)
        except ValueError as error:
            too_long = isinstance(node, yaml.ScalarNode) and len(node.value) > DIGITS_MAX
            raise yaml.constructor.ConstructorError(
                problem=TOO_LONG if too_long else str(error), problem_mark=node.start_mark
            ) from error
        except (LookupError, AttributeError) as error:
            raise yaml.constructor.ConstructorError(
                problem=f"{node.value!r} does not fit its tag", problem_mark=node.start_mark
            ) from error

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """Build a map, unless it has a key twice."""
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value in seen:
                raise yaml.constructor.ConstructorError(
                    problem=f"duplicate key {key.value!r}", problem_mark=key.start_mark
                )
            seen.add(str(key.value))
        built: dict[Any, Any] = super().construct_mapping(node, deep=deep)
        return built

    def construct_text(self, node: yaml.ScalarNode) -> str:
        """Build a string. Equal ones are one: most keys and many values occur in every manifest."""
        return sys.intern(str(self.construct_scalar(node)))


KubeLoader.add_constructor("tag:yaml.org,2002:str", KubeLoader.construct_text)


class KubeDumper(yaml.SafeDumper):
    """Writes what every reader understands in the same way."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - PyYAML's signature
        """Write a value twice if it occurs twice: API servers refuse too many aliases."""
        return True

    def represent_text(self, text: str) -> yaml.ScalarNode:
        """Write several lines as a block, and everything else as PyYAML does."""
        style = '"' if ODD_BREAKS & set(text) else "|" if "\n" in text else None
        return self.represent_scalar("tag:yaml.org,2002:str", text, style=style)


KubeDumper.add_representer(str, KubeDumper.represent_text)
for _kind, _pattern in (("float", r"[-+]?[0-9]+[eE][-+]?[0-9]+"), ("bool", r"[yYnN]")):
    KubeDumper.add_implicit_resolver(
        f"tag:yaml.org,2002:{_kind}", re.compile(rf"{_pattern}\Z"), list("-+0123456789yYnN")
    )


def load_value(content: bytes) -> Any:
    """Return the value of YAML that is no file, such as a request's body; ValueError if invalid."""
    try:
        return yaml.load(content, Loader=KubeLoader)  # noqa: S506 - a safe loader
    except yaml.YAMLError as error:
        raise ValueError(" ".join(str(error).split())) from error
    except RecursionError as error:
        raise ValueError(TOO_DEEP) from error


def dump(value: Any) -> str:
    """Return a value as YAML text."""
    return yaml.dump(
        value,
        Dumper=KubeDumper,
        sort_keys=False,
        default_flow_style=False,
        allow_unicode=True,
        width=2**31 - 1,  # never fold: CEL and JSON in text stay on their line
    )
