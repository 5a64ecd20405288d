"""TLS in front of a server that has none: `python tls_door.py <port> <target port> <certificate>`.

What comes in at the port is decrypted and passed on, and the answers are encrypted. A process of its own, so that
it goes on while the test waits, and ends with everything it holds open.
"""

from __future__ import annotations

import asyncio
import ssl
import sys


async def serve(port: int, target: int, certificate: str) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)

    async def let_through(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        inside_reader, inside_writer = await asyncio.open_connection("127.0.0.1", target)
        await asyncio.gather(copy(reader, inside_writer), copy(inside_reader, writer))

    server = await asyncio.start_server(let_through, "127.0.0.1", port, ssl=context)
    await server.serve_forever()


async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass  # one side has gone: the other is told so
    finally:
        writer.close()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]))
