"""A selector's text as tokens.

Promise: they are the tokens of cel-go's grammar, each with its place in the text; anything else is
a CompileError at its first character. Limit: field names in backquotes are refused, as in
Kubernetes.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, cast

from netclaim.allocator.cel.errors import CompileError

Kind: TypeAlias = Literal[
    "name", "word", "int", "uint", "double", "string", "bytes", "operator", "end"
]

ESCAPE: Final = (
    r"\\(?:[abfnrtv\"'\\?`]|[0-3][0-7]{2}|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})"
)
STRING: Final = "|".join(
    (
        r'[rR]""".*?"""',
        r"[rR]'''.*?'''",
        r'[rR]"[^"\n\r]*"',
        r"[rR]'[^'\n\r]*'",
        rf'"""(?:{ESCAPE}|[^\\])*?"""',
        rf"'''(?:{ESCAPE}|[^\\])*?'''",
        rf'"(?:{ESCAPE}|[^\\"\n\r])*"',
        rf"'(?:{ESCAPE}|[^\\'\n\r])*'",
    )
)
TOKEN: Final = re.compile(
    rf"""
    (?P<space>[\t \r\n\f]+|//[^\n]*)
    |(?P<double>[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+|\.[0-9]+(?:[eE][+-]?[0-9]+)?)
    |(?P<uint>(?:0x[0-9a-fA-F]+|[0-9]+)[uU])
    |(?P<int>0x[0-9a-fA-F]+|[0-9]+)
    |(?P<bytes>[bB](?:{STRING}))
    |(?P<string>{STRING})
    |(?P<name>[A-Za-z_][A-Za-z0-9_]*)
    |(?P<operator>==|!=|<=|>=|&&|\|\||[][(){{}}.,<>\-!?:+*/%])
    """,
    re.VERBOSE | re.DOTALL,
)
WORDS: Final = frozenset({"true", "false", "null", "in"})  # never names, not even of fields


@dataclass(frozen=True, slots=True)
class Token:
    """A token, and where it is: from `start` up to `end`."""

    kind: Kind
    text: str
    start: int
    end: int


def tokenize(expression: str) -> Iterator[Token]:
    """Yield the tokens, the last one being of kind `end`."""
    offset = 0
    while offset < len(expression):
        match = TOKEN.match(expression, offset)
        if match is None:
            raise CompileError(_complaint(expression[offset]), expression, offset)
        offset = match.end()
        if match.lastgroup == "space":
            continue
        kind = "word" if match[0] in WORDS else cast("Kind", match.lastgroup)
        yield Token(kind, match[0], match.start(), offset)
    yield Token("end", "", offset, offset)


def _complaint(character: str) -> str:
    if character in "\"'":
        return "unterminated string, or an unknown escape in it"
    if character == "=":
        return "found '='; use '==' to compare"
    if character in "&|":
        return f"found {character!r}; use {character * 2!r}"
    return f"unexpected character {character!r}"
