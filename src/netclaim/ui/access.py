"""Who may ask, and which headers a browser gets with every answer.

The page is for everybody who has its address, which ends in a token. The token is made anew for
each run and stands in the path, so that no cookie is sent to other servers of this machine and no
other page can have a browser use it. Promise: a request for another host than this machine is
refused, whatever its token, so that a name that somebody points at 127.0.0.1 leads nowhere; nothing
but reading is answered; no script, style, picture or connection of another origin is used. No I/O.
"""

import hmac
import re
import secrets
from typing import Final

TOKEN_BYTES: Final = 24  # 192 bits: nobody guesses it
# The hosts of a browser on this machine, or at the other end of `ssh -L`, which changes the port.
HOST: Final = re.compile(r"(?:127\.0\.0\.1|localhost|\[::1\])(?::\d{1,5})?", re.ASCII)
METHODS: Final = ("GET", "HEAD")

POLICY: Final = "; ".join(  # noqa: FLY002 - a line each
    [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",  # text never becomes markup, by mistake either
        "trusted-types 'none'",
    ]
)
HEADERS: Final = {
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "no-referrer",  # the token is in the address
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cache-Control": "no-store",
}


def new_token() -> str:
    return secrets.token_urlsafe(TOKEN_BYTES)


def refusal(method: str, host: str, given: str, token: str) -> tuple[int, str] | None:
    """Return the code and the line of a refusal; None if the request may be answered."""
    if HOST.fullmatch(host) is None:
        return 421, "this server answers only as 127.0.0.1 or localhost"
    if method not in METHODS:
        return 405, "this server only reads"
    if not hmac.compare_digest(given.encode(), token.encode()):
        return 403, "use the address that `netclaim ui` printed; it ends in a token"
    return None
