#!/usr/bin/env python3
"""A receiver of webhooks for the benchmark: prints its address, counts requests, and answers `GET /count`.

`receiver.py quick` answers every POST with 204 at once; `receiver.py hang` reads it and never answers.
"""

import asyncio
import sys

LENGTH = b"content-length:"


class Receiver(asyncio.Protocol):
    count = 0
    answers = True

    def connection_made(self, transport):
        self.transport, self.received = transport, b""

    def data_received(self, data):
        self.received += data
        while (end := self.received.find(b"\r\n\r\n")) >= 0:
            head = self.received[:end].lower()
            length = next((int(line[len(LENGTH):]) for line in head.split(b"\r\n") if line.startswith(LENGTH)), 0)
            if len(self.received) < end + 4 + length:
                return
            self.received = self.received[end + 4 + length:]
            self.reply(head)

    def reply(self, head):
        if head.startswith(b"get /count"):
            body = str(Receiver.count).encode()
            self.transport.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body))
            return
        Receiver.count += 1
        if Receiver.answers:
            self.transport.write(b"HTTP/1.1 204 No Content\r\n\r\n")


async def main():
    Receiver.answers = sys.argv[1] == "quick"
    listener = await asyncio.get_running_loop().create_server(Receiver, "127.0.0.1", 0)
    host, port = listener.sockets[0].getsockname()
    print(f"http://{host}:{port}", flush=True)
    await listener.serve_forever()


asyncio.run(main())
