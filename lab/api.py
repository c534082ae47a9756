"""A few reads of the lab's own API server: whether it and its nodes are ready.

It is only for the lab's commands; tests and users have kubectl. It needs only the standard library,
so that a lab can be looked at without the product.
"""

import http.client
import json
import ssl
from pathlib import Path
from typing import Any

__all__ = ["LabApi"]

ANSWER_S = 5.0  # an API server that takes longer is not ready


class LabApi:
    """Speaks to the API server behind the relay with the admin's certificate."""

    def __init__(self, port: int, pki: Path) -> None:
        self._port = port
        self._tls = ssl.create_default_context(cafile=str(pki / "ca.crt"))
        self._tls.load_cert_chain(pki / "admin.crt", pki / "admin.key")

    def get(self, path: str) -> tuple[int, bytes]:
        """Return status and body; status 0 when nobody answers."""
        connection = http.client.HTTPSConnection(
            "127.0.0.1", self._port, context=self._tls, timeout=ANSWER_S
        )
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read()
        except (OSError, http.client.HTTPException):
            return 0, b""
        finally:
            connection.close()

    def ready(self) -> bool:
        """Whether the server says that it is."""
        return self.get("/readyz")[0] == 200

    def nodes(self) -> dict[str, bool]:
        """Return every registered node, and whether it is Ready."""
        status, body = self.get("/api/v1/nodes")
        if status != 200:
            return {}
        items: list[dict[str, Any]] = json.loads(body)["items"]
        return {item["metadata"]["name"]: _is_ready(item) for item in items}

    def takes_pods(self) -> bool:
        """Whether the default namespace has the account without which no pod is admitted."""
        return self.get("/api/v1/namespaces/default/serviceaccounts/default")[0] == 200

    def node_boot_id(self, node: str) -> str:
        """Return the boot that the node last reported; empty if it is not known."""
        status, body = self.get(f"/api/v1/nodes/{node}")
        return str(json.loads(body)["status"]["nodeInfo"]["bootID"]) if status == 200 else ""


def _is_ready(node: dict[str, Any]) -> bool:
    conditions = node.get("status", {}).get("conditions", [])
    return any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)
