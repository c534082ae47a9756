"""The API server as those who ask about tokens see it."""

from netclaim.errors import PeerError
from netclaim.model.claims.claim import JsonObject


class Accounts:
    """An API server that knows two accounts, one of which may read metrics."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.away = False

    async def user_of(self, token: str) -> JsonObject | None:
        """Whom a token is of."""
        self.asked.append(token)
        if self.away:
            raise PeerError("no answer")
        return {"username": token} if token in {"prometheus", "web"} else None

    async def may_get(self, user: JsonObject, path: str) -> bool:
        """Whether they may."""
        return user["username"] == "prometheus" and path == "/metrics"
