"""Who may read health and metrics from outside the node; the API server decides.

As with kubelet's own metrics, a request brings the token of an account; the API server says whose
it is (TokenReview) and whether they may get the path (SubjectAccessReview). Promise: an answer is
kept for a minute, so that scrapes cost the API server next to nothing; one that allows is good for
an hour while the API server does not answer, since metrics are wanted most then. However many
guesses come, only so many a second are asked about for each address. Tokens are kept as hashes.
"""

import asyncio
import hashlib
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol

import structlog

from netclaim.errors import NetclaimError
from netclaim.framework.tools.clock import Clock
from netclaim.framework.tools.rates import Buckets, Rate
from netclaim.model.claims.claim import JsonObject

log = structlog.get_logger()

BEARER: Final = "bearer "
KEPT_S: Final = 60.0
ALLOWED_S: Final = 3600.0
KEPT_MAX: Final = 256  # answers; a node has a few scrapers
ASKED: Final = Rate(burst=20, per_s=1)  # for each address; a scraper needs one a minute
AT_ONCE: Final = 4  # reviews under way


class Refusal(NamedTuple):
    """The HTTP status, and why."""

    status: int
    text: str


NO_TOKEN: Final = Refusal(
    401, "a bearer token is needed: of an account that may get this path as a nonResourceURL"
)
UNKNOWN: Final = Refusal(401, "the API server does not know this token")
TOO_MANY: Final = Refusal(429, "too many tokens from this address; try again in a minute")


class Reviews(Protocol):
    """The API server, for whom a token is of and what they may get."""

    async def user_of(self, token: str) -> JsonObject | None: ...
    async def may_get(self, user: JsonObject, path: str) -> bool: ...


@dataclass(slots=True)
class HttpAccess:
    """Decides about requests, and keeps what it heard."""

    reviews: Reviews
    clock: Clock
    _kept: dict[tuple[bytes, str], tuple[float, Refusal | None]] = field(default_factory=dict)
    _asking: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE))
    _asked: Buckets = field(init=False)

    def __post_init__(self) -> None:
        self._asked = Buckets(ASKED, self.clock)

    async def refusal(self, authorization: str, path: str, peer: str) -> Refusal | None:
        """Why a request is refused; None if it is allowed."""
        token = authorization[len(BEARER) :].strip()
        if authorization[: len(BEARER)].lower() != BEARER or not token:
            return NO_TOKEN
        key = (hashlib.sha256(token.encode(errors="replace")).digest(), path)
        if (kept := self._kept_for(key, KEPT_S)) is not None:
            return kept[1]
        if self._asked.level(peer) < 1:
            return TOO_MANY
        self._asked.take(peer)
        try:
            async with self._asking:
                answer = await self._review(token, path)
        except NetclaimError as error:
            kept = self._kept_for(key, ALLOWED_S)
            if kept is not None and kept[1] is None:
                return None
            log.warning("http.unreviewed", path=path, error=str(error))
            return Refusal(503, f"the API server was asked about the token in vain: {error}")
        self._keep(key, answer)
        return answer

    async def _review(self, token: str, path: str) -> Refusal | None:
        user = await self.reviews.user_of(token)
        if user is None:
            return UNKNOWN
        if await self.reviews.may_get(user, path):
            return None
        name = user.get("username", "")
        return Refusal(403, f"{name} may not get the nonResourceURL {path}")

    def _kept_for(
        self, key: tuple[bytes, str], age_s: float
    ) -> tuple[float, Refusal | None] | None:
        """An answer that is not older than that."""
        kept = self._kept.get(key)
        return kept if kept and self.clock.monotonic() - kept[0] < age_s else None

    def _keep(self, key: tuple[bytes, str], answer: Refusal | None) -> None:
        self._kept.pop(key, None)
        self._kept[key] = (self.clock.monotonic(), answer)
        if len(self._kept) > KEPT_MAX:  # guesses go before those who are allowed
            refused = (key for key, (_, kept) in self._kept.items() if kept is not None)
            del self._kept[next(refused, next(iter(self._kept)))]
