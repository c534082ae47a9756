"""What a guest says of its cases: one JSON object a line, as soon as a case is done."""

import json
import traceback
from collections.abc import Callable


def tell(case: str, find: Callable[[], list[str]]) -> None:
    """Do a case, and print where two states differ or what went wrong."""
    try:
        found = find()
    except Exception:  # noqa: BLE001 -- whatever it is, the case has failed
        found = [traceback.format_exc()]
    print(json.dumps({"case": case, "differences": found}), flush=True)  # noqa: T201
