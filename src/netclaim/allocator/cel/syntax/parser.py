"""A selector's text as a tree, by recursive descent over cel-go's grammar.

Promise: it accepts and refuses what cel-go's parser does, with optional syntax and Kubernetes'
macros. Limit: it stops at the first mistake, and does not make protobuf messages.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from netclaim.allocator.cel.errors import CompileError, EvaluationError, UnsupportedError
from netclaim.allocator.cel.syntax import ast
from netclaim.allocator.cel.syntax.lexer import Token, tokenize
from netclaim.allocator.cel.syntax.literals import literal_value
from netclaim.allocator.cel.syntax.macros import expand

RESERVED: Final = frozenset(
    {
        *("as", "break", "const", "continue", "else", "for", "function", "if", "import", "let"),
        *("loop", "package", "namespace", "return", "var", "void", "while"),
    }
)
LITERALS: Final = frozenset({"int", "uint", "double", "string", "bytes", "word"})
# Operators that bind tighter stand lower; all of them group from the left.
LEVELS: Final[tuple[frozenset[str], ...]] = (
    frozenset({"<", "<=", ">=", ">", "==", "!=", "in"}),
    frozenset({"+", "-"}),
    frozenset({"*", "/", "%"}),
)
END: Final = "the end of the expression"
NAMES: Final = {"in": "@in", "!": "!_", "-": "-_"}  # as cel-go calls them; others are _op_


def parse(expression: str) -> ast.Node:
    """Return the tree; a CompileError says where the text is wrong."""
    parser = _Parser(expression)
    node = parser.expression()
    parser.expect("")
    return node


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = list(tokenize(text))
        self._index = 0

    def expression(self) -> ast.Node:
        """A conditional, or what stands in one."""
        condition = self._logical("||", lambda: self._logical("&&", self._binary))
        mark = self._accept("?")
        if mark is None:
            return condition
        yes = self._logical("||", lambda: self._logical("&&", self._binary))
        self.expect(":")
        no = self.expression()
        return ast.Call(condition.start, no.end, mark.start, "_?_:_", (condition, yes, no))

    def expect(self, text: str) -> Token:
        """Take the token with this text; an empty one is the end."""
        token = self._accept(text)
        if token is None:
            raise self._unexpected(f"expected {repr(text) if text else END}")
        return token

    @property
    def _next(self) -> Token:
        return self._tokens[self._index]

    def _take(self) -> Token:
        token = self._next
        self._index += 1
        return token

    def _accept(self, *texts: str) -> Token | None:
        token = self._next
        if token.kind in ("operator", "word", "end") and token.text in texts:
            self._index += token.kind != "end"
            return token
        return None

    def _unexpected(self, wanted: str) -> CompileError:
        found = repr(self._next.text) if self._next.text else END
        return self._error(f"{wanted}, found {found}", self._next.start)

    def _error(self, reason: str, offset: int) -> CompileError:
        return CompileError(reason, self._text, offset)

    def _logical(self, operator: str, operand: Callable[[], ast.Node]) -> ast.Node:
        first = operand()
        terms, at = [first], -1
        while (mark := self._accept(operator)) is not None:
            at = mark.start if at < 0 else at
            terms.append(operand())
        if len(terms) == 1:
            return first
        return ast.Call(first.start, terms[-1].end, at, f"_{operator}_", tuple(terms))

    def _binary(self, level: int = 0) -> ast.Node:
        if level == len(LEVELS):
            return self._unary()
        left = self._binary(level + 1)
        while (mark := self._accept(*LEVELS[level])) is not None:
            right = self._binary(level + 1)
            name = NAMES["in"] if mark.text == "in" else f"_{mark.text}_"
            left = ast.Call(left.start, right.end, mark.start, name, (left, right))
        return left

    def _unary(self) -> ast.Node:
        first = self._next
        if first.text not in ("!", "-") or first.kind != "operator" or self._signed_number():
            return self._member()
        count = 0
        while not self._signed_number() and self._accept(first.text):
            count += 1
        operand = self._member()
        if count % 2 == 0:
            return operand
        return ast.Call(first.start, operand.end, first.start, NAMES[first.text], (operand,))

    def _signed_number(self) -> bool:
        after = self._tokens[min(self._index + 1, len(self._tokens) - 1)]
        return self._next.text == "-" and after.kind in ("int", "double")

    def _member(self) -> ast.Node:
        node = self._primary()
        while True:
            if (dot := self._accept(".")) is not None:
                node = self._field(node, dot)
            elif (bracket := self._accept("[")) is not None:
                name = "_[?_]" if self._accept("?") else "_[_]"
                index = self.expression()
                end = self.expect("]").end
                node = ast.Call(node.start, end, bracket.start, name, (node, index))
            else:
                return node

    def _field(self, operand: ast.Node, dot: Token) -> ast.Node:
        optional = self._accept("?") is not None
        if self._next.kind != "name":
            raise self._unexpected("expected the name of a field or function")
        name = self._take()
        if optional:
            return ast.Select(operand.start, name.end, dot.start, operand, name.text, "optional")
        mark = self._accept("(")
        if mark is None:
            return ast.Select(operand.start, name.end, dot.start, operand, name.text)
        arguments, end = self._arguments()
        call = ast.Call(operand.start, end, mark.start, name.text, arguments, operand)
        return expand(call, self._text)

    def _primary(self) -> ast.Node:
        token = self._take()
        if token.text == "-" and self._next.kind in ("int", "double"):
            return self._literal(self._take(), token)
        if token.kind in LITERALS and token.text != "in":
            return self._literal(token)
        if token.text == "." and self._next.kind == "name":
            token = self._take()
        if token.kind == "name":
            return self._name(token)
        opened = {"(": self._group, "[": self._list, "{": self._map}.get(token.text)
        if opened is None:
            self._index -= 1
            raise self._unexpected("expected a value")
        return opened(token)

    def _group(self, opened: Token) -> ast.Node:
        node = self.expression()
        return replace(node, start=opened.start, end=self.expect(")").end)

    def _literal(self, token: Token, sign: Token | None = None) -> ast.Node:
        start = sign.start if sign is not None else token.start
        try:
            value = literal_value(token, negative=sign is not None)
        except EvaluationError as error:
            raise self._error(str(error), start) from error
        return ast.Constant(start, token.end, start, value)

    def _name(self, token: Token) -> ast.Node:
        if token.text in RESERVED:
            raise self._error(f"reserved identifier: {token.text}", token.start)
        mark = self._accept("(")
        if mark is not None:
            arguments, end = self._arguments()
            call = ast.Call(token.start, end, mark.start, token.text, arguments)
            return expand(call, self._text)
        if self._next.text == "{" and self._next.kind == "operator":
            reason = "netclaim does not support messages"
            raise UnsupportedError(reason, self._text, self._next.start)
        return ast.Ident(token.start, token.end, token.start, token.text)

    def _arguments(self) -> tuple[tuple[ast.Node, ...], int]:
        found: list[ast.Node] = []
        while (end := self._accept(")")) is None:
            if found:
                self.expect(",")
            found.append(self.expression())
        return tuple(found), end.end

    def _list(self, bracket: Token) -> ast.Node:
        found: list[ast.Node] = []
        optional: set[int] = set()
        while (end := self._closing("]", first=not found)) is None:
            if self._accept("?"):
                optional.add(len(found))
            found.append(self.expression())
        return ast.ListLiteral(
            bracket.start, end.end, bracket.start, tuple(found), frozenset(optional)
        )

    def _map(self, brace: Token) -> ast.Node:
        found: list[tuple[ast.Node, ast.Node]] = []
        optional: set[int] = set()
        while (end := self._closing("}", first=not found)) is None:
            if self._accept("?"):
                optional.add(len(found))
            key = self.expression()
            self.expect(":")
            found.append((key, self.expression()))
        return ast.MapLiteral(brace.start, end.end, brace.start, tuple(found), frozenset(optional))

    def _closing(self, text: str, *, first: bool) -> Token | None:
        """Take the closing bracket, which may follow a comma, or the comma before an element."""
        end = self._accept(text)
        if end is not None:
            return end
        if first:
            return self.expect(text) if self._accept(",") else None
        self.expect(",")
        return self._accept(text)
