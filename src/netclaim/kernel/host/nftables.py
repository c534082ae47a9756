"""Packet rules by nftables' own library, in its own language.

Promise: the commands of one `run` are carried out together or not at all.
Limit: it works in the calling thread's namespace, and takes as long as reading the machine's rules
(0.2 ms for none, far more beside a busy kube-proxy), so call it in a worker thread.
"""

import ctypes
from functools import cache
from typing import Any, Final

import msgspec

from netclaim.errors import HostError

LIBRARY: Final = "libnftables.so.1"
CONTEXT_DEFAULT: Final = 0  # nft_ctx_new: NFT_CTX_DEFAULT
OUTPUT_JSON: Final = 1 << 4  # nftables/libnftables.h: NFT_CTX_OUTPUT_JSON
OUTPUT_HANDLE: Final = 1 << 3


class NftError(HostError):
    """The library or the kernel refused a command."""


@cache
def _library() -> ctypes.CDLL:
    try:
        library = ctypes.CDLL(LIBRARY)
    except OSError as error:
        raise HostError(f"{LIBRARY} is missing: install nftables' library") from error
    library.nft_ctx_new.restype = ctypes.c_void_p
    library.nft_ctx_free.argtypes = [ctypes.c_void_p]
    library.nft_ctx_output_set_flags.argtypes = [ctypes.c_void_p, ctypes.c_uint]
    library.nft_run_cmd_from_buffer.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
    for stream in ("output", "error"):
        getattr(library, f"nft_ctx_buffer_{stream}").argtypes = [ctypes.c_void_p]
        read = getattr(library, f"nft_ctx_get_{stream}_buffer")
        read.argtypes = [ctypes.c_void_p]
        read.restype = ctypes.c_char_p
    return library


def run(commands: str, *, output_flags: int = 0) -> str:
    """Carry out commands, one for each line, and return what they print."""
    library = _library()
    context = library.nft_ctx_new(CONTEXT_DEFAULT)
    if not context:
        raise NftError("nftables: no memory")
    try:
        library.nft_ctx_buffer_output(context)
        library.nft_ctx_buffer_error(context)
        library.nft_ctx_output_set_flags(context, output_flags)
        failed = library.nft_run_cmd_from_buffer(context, commands.encode())
        if failed:
            said = library.nft_ctx_get_error_buffer(context).decode(errors="replace")
            raise NftError(f"nftables: {said.strip().splitlines()[0] if said.strip() else failed}")
        return str(library.nft_ctx_get_output_buffer(context).decode(errors="replace"))
    finally:
        library.nft_ctx_free(context)


def list_chains(family: str, table: str) -> set[str]:
    """List the names of a table's chains; empty if the table does not exist."""
    # Asking for one chain would do, but its absence would show only in the text of an error.
    listed = _list(f"chains {family}", "chain")
    return {chain["name"] for chain in listed if chain["table"] == table}


def list_rules(family: str, table: str, chain: str) -> list[dict[str, Any]]:
    """List the rules of a chain in nftables' JSON; empty if the chain does not exist."""
    if chain not in list_chains(family, table):
        return []
    return _list(f"chain {family} {table} {chain}", "rule")


def _list(what: str, kind: str) -> list[dict[str, Any]]:
    answer = run(f"list {what}", output_flags=OUTPUT_JSON | OUTPUT_HANDLE)
    return [item[kind] for item in msgspec.json.decode(answer)["nftables"] if kind in item]
