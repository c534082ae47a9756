"""`with` for what has a `close` that may be called twice."""

import abc
from types import TracebackType
from typing import Self

__all__ = ["Closing"]


class Closing(abc.ABC):
    """Is closed where its block ends."""

    @abc.abstractmethod
    def close(self) -> None:
        """Let go. Again: does nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
