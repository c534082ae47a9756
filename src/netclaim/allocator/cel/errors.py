"""What can be wrong with a selector; its author must act.

RequestError
└── CelError
    ├── CompileError             the text is not a selector; where, and why
    │   ├── UndefinedFieldError  devices do not have such a field
    │   └── UnsupportedError     kube-scheduler accepts it, and netclaim does not evaluate it
    └── EvaluationError          it has no value for a device, which may lack an attribute
"""

from netclaim.errors import RequestError


class CelError(RequestError):
    """Something is wrong with an expression."""


class CompileError(CelError):
    """A text that is not a selector; `line` and `column` count from 1 and say where."""

    def __init__(self, reason: str, expression: str, offset: int) -> None:
        before = expression[:offset]
        self.line = before.count("\n") + 1
        self.column = offset - (before.rfind("\n") + 1) + 1
        self.reason = reason
        self.expression = expression
        super().__init__(f"{self.line}:{self.column}: {reason}")


class UndefinedFieldError(CompileError):
    def __init__(self, field: str, expression: str, offset: int) -> None:
        self.field = field
        super().__init__(f"undefined field '{field}'", expression, offset)


class UnsupportedError(CompileError):
    """An expression that kube-scheduler accepts and that netclaim does not evaluate."""


class EvaluationError(CelError):
    """An expression has no value; the scheduler then fails the pod, and not only the device."""
