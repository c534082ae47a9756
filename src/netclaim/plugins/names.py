"""Names for links that nobody has to know."""

import secrets

__all__ = ["random_name"]


def random_name() -> str:
    """Return a name as the reference plugins choose it; NetworkManager leaves such links alone."""
    return f"veth{secrets.token_hex(4)}"
