"""`with` for objects whose `close` may be called twice."""

import abc
from types import TracebackType
from typing import Self


class Closing(abc.ABC):
    @abc.abstractmethod
    def close(self) -> None:
        """Release what is held. A second call does nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
