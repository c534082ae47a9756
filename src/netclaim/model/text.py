"""Text within a limit of bytes, as the API and the runtime set them. No I/O."""


def cut(text: str, limit: int) -> str:
    """Cut to so many bytes, between characters; what cannot be encoded is replaced."""
    return text.encode(errors="replace")[:limit].decode(errors="ignore")
