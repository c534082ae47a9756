"""Cut a watch's byte stream into lines, one JSON event each.

No I/O: chunks go in, lines come out. The `readline` of asyncio is limited to 64 KiB, which a slice
of 128 devices exceeds. Limit: `LINE_MAX`; a longer line is no event.
"""

from netclaim.kube.errors import MalformedReplyError

LINE_MAX = 16 << 20  # etcd refuses objects above 1.5 MiB; as JSON they are a few times that


class LineSplitter:
    """Turns chunks into whole lines; the rest of a cut stream is dropped with the splitter."""

    def __init__(self) -> None:
        self._rest = bytearray()

    def feed(self, chunk: bytes) -> list[bytes]:
        """Return the lines that this chunk completes, without newlines and without empty ones."""
        lines = []
        first, *others = chunk.split(b"\n")
        self._rest += first
        for part in others:
            if self._rest:
                lines.append(bytes(self._rest))
            self._rest = bytearray(part)
        if len(self._rest) > LINE_MAX:
            raise MalformedReplyError(f"a watch sent {len(self._rest)} bytes without a line break")
        return lines
