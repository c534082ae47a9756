"""What can be wrong with a selector; whoever wrote it acts.

RequestError
└── CelError
    ├── CompileError          no selector: the place in the text, and why
    │   ├── UndefinedFieldError
    │   └── UnsupportedError  the scheduler would take it; we do not evaluate it
    └── EvaluationError       it has no value for a device, such as a missing attribute
"""

from netclaim.errors import RequestError

__all__ = ["CelError", "CompileError", "EvaluationError", "UndefinedFieldError", "UnsupportedError"]


class CelError(RequestError):
    """Something is wrong with a CEL expression."""


class CompileError(CelError):
    """A text that is no selector; `line` and `column` count from 1 and say where."""

    def __init__(self, reason: str, expression: str, offset: int) -> None:
        before = expression[:offset]
        self.line = before.count("\n") + 1
        self.column = offset - (before.rfind("\n") + 1) + 1
        self.reason = reason
        self.expression = expression
        super().__init__(f"{self.line}:{self.column}: {reason}")


class UndefinedFieldError(CompileError):
    """A field that devices do not have."""

    def __init__(self, field: str, expression: str, offset: int) -> None:
        self.field = field
        super().__init__(f"undefined field '{field}'", expression, offset)


class UnsupportedError(CompileError):
    """CEL that kube-scheduler takes and that we do not evaluate."""


class EvaluationError(CelError):
    """An expression without a value; the scheduler then fails the pod, not only the device."""
