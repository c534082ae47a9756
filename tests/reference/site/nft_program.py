"""`nft`, as far as the reference plugins use it: nftables' own library behind the same arguments.

Stands in where the program is not installed but its library is, which our plugins need anyway.
"""

import ctypes
import sys
from pathlib import Path

JSON, HANDLE, ECHO = 1 << 4, 1 << 3, 1 << 5
FLAGS = {"-j": JSON, "--json": JSON, "-a": HANDLE, "-e": ECHO}


def main(arguments: list[str]) -> int:
    """Carry out what the arguments say."""
    if arguments == ["--version"]:
        sys.stdout.write("nftables v1.0.6 (the library)\n")
        return 0
    library = ctypes.CDLL("libnftables.so.1")
    library.nft_ctx_new.restype = ctypes.c_void_p
    context = ctypes.c_void_p(library.nft_ctx_new(0))
    flags, words = 0, []
    rest = iter(arguments)
    commands = None
    for word in rest:
        if word in FLAGS:
            flags |= FLAGS[word]
        elif word == "--check":
            library.nft_ctx_set_dry_run(context, True)
        elif word == "-f":
            name = next(rest)
            commands = sys.stdin.read() if name == "-" else Path(name).read_text()
        else:
            words.append(word)
    library.nft_ctx_output_set_flags(context, flags)
    text = " ".join(words) if commands is None else commands
    return 1 if library.nft_run_cmd_from_buffer(context, text.encode()) else 0


if __name__ == "__main__":
    status = main(sys.argv[1:])
    ctypes.CDLL(None).fflush(None)
    sys.exit(status)
