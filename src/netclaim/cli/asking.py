"""One question to the driver that runs on this node, over its socket.

Promise: it returns an answer, or raises an error of one line that says why there is none.
"""

import socket
from pathlib import Path
from typing import Final

from netclaim.chained import Answer, decode_answer
from netclaim.errors import PeerError

# A round of garbage collection asks the API server for each claim, ten a second, and runs plugins.
ANSWER_S: Final = 300.0


class NoDriverError(PeerError):
    """No driver of that name answers on this node."""


def ask_driver(path: Path, request: bytes) -> Answer:
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(ANSWER_S)
            connection.connect(bytes(path))
            connection.sendall(request)
            with connection.makefile("rb") as answer:
                return decode_answer(answer.read())
    except TimeoutError as error:
        raise PeerError(f"the driver did not answer within {ANSWER_S:g} s") from error
    except OSError as error:
        raise NoDriverError(f"no driver answers at {path}: {error.strerror}") from error
