"""Carry the API server's port from its node to the machine's loopback address.

It is started with a listening socket of the machine, moves into the node's network namespace and
connects from there. It carries bytes without understanding them.
"""

import argparse
import asyncio
import contextlib
import os
import socket

from lab.nodes.linux import CLONE_NEWNET, setns

__all__: list[str] = []

CHUNK = 65536  # as much as a pipe holds; watch streams are small, lists are large


async def _carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):
        while chunk := await reader.read(CHUNK):
            writer.write(chunk)
            await writer.drain()
    with contextlib.suppress(OSError):
        writer.write_eof()


async def _serve(listening: socket.socket, host: str, port: int) -> None:
    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            far_reader, far_writer = await asyncio.open_connection(host, port)
        except OSError:  # the server is down: the caller sees its connection closed
            writer.close()
            return
        await asyncio.gather(_carry(reader, far_writer), _carry(far_reader, writer))
        for side in (writer, far_writer):
            side.close()

    server = await asyncio.start_server(accept, sock=listening)
    await server.serve_forever()


def main() -> None:
    """Take over the descriptor, enter the node, and serve until killed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--listening", required=True, type=int)
    parser.add_argument("--namespace", required=True)
    parser.add_argument("--host", required=True)
    parser.add_argument("--port", required=True, type=int)
    options = parser.parse_args()
    listening = socket.socket(fileno=options.listening)
    namespace = os.open(options.namespace, os.O_RDONLY)
    setns(namespace, CLONE_NEWNET)
    asyncio.run(_serve(listening, options.host, options.port))


if __name__ == "__main__":
    main()
