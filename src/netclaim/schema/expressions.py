"""CEL expressions as the API server judges them, by netclaim's allocator."""

from netclaim.allocator.cel import CelError, compile_selector

__all__ = ["CelExpressions"]


class CelExpressions:
    """Says what is wrong with device selectors."""

    def fault(self, expression: str) -> str:
        """What is wrong with an expression; nothing if it compiles."""
        try:
            compile_selector(expression)
        except CelError as error:
            return f"compilation failed: {error}"
        return ""
