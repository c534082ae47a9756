"""The value of a literal: numbers within 64 bits, strings and bytes without their escapes."""

import re
from typing import Final

from netclaim.allocator.cel.errors import EvaluationError
from netclaim.allocator.cel.syntax.lexer import Token
from netclaim.allocator.cel.values.digits import whole
from netclaim.allocator.cel.values.value import Value, int_value, uint_value

SURROGATES: Final = range(0xD800, 0xE000)  # no characters of their own
CODE_POINT_MAX: Final = 0x10FFFF
WORDS: Final = {"true": True, "false": False, "null": None}
SIMPLE: Final = {
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
}
ESCAPE: Final = re.compile(r"\\(?:[xXuU]([0-9a-fA-F]+)|([0-3][0-7]{2})|(.))", re.DOTALL)


def literal_value(token: Token, *, negative: bool = False) -> Value:
    """Return what a literal stands for; an EvaluationError says why it has no value."""
    if token.kind == "word":
        return WORDS[token.text]
    if token.kind == "int":
        number = _number(token.text)
        return int_value(-number if negative else number)
    if token.kind == "uint":
        return uint_value(_number(token.text[:-1]))
    if token.kind == "double":
        return -float(token.text) if negative else float(token.text)
    if token.kind == "bytes":
        return _unquote(token.text[1:], of_bytes=True)
    return _unquote(token.text, of_bytes=False).decode()


def _number(digits: str) -> int:
    return int(digits, 16) if digits.startswith("0x") else whole(digits)


def _unquote(text: str, *, of_bytes: bool) -> bytes:
    """Return the characters between the quotes as UTF-8, or the very bytes that were escaped."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    raw = text[0] in "rR"
    quoted = text[1:] if raw else text
    width = 3 if quoted[:3] in ('"""', "'''") and len(quoted) >= 6 else 1
    inner = quoted[width:-width]
    if raw:
        return inner.encode()
    pieces, end = [], 0
    for match in ESCAPE.finditer(inner):
        pieces += [inner[end : match.start()].encode(), _unescape(match, of_bytes=of_bytes)]
        end = match.end()
    return b"".join([*pieces, inner[end:].encode()])


def _unescape(match: re.Match[str], *, of_bytes: bool) -> bytes:
    digits, octal, simple = match.groups()
    if simple is not None:
        return SIMPLE.get(simple, simple).encode()
    code = int(digits, 16) if digits is not None else int(octal, 8)
    if of_bytes:
        if match[0][1] in "uU":
            raise EvaluationError("bytes have no \\u escape")
        return bytes([code])
    if code in SURROGATES or code > CODE_POINT_MAX:
        raise EvaluationError("an escape that is not a character")
    return chr(code).encode()
