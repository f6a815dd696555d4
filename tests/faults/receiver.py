"""A receiver of webhooks that notes what arrives, and can be made to hang."""

import http.server
import json
import threading


class Receiver:
    """Accepts every delivery. While `is_open` is cleared, requests wait and nothing is noted; `held` counts those that had to."""

    def __init__(self):
        self.deliveries, self.held, self.is_open = [], 0, threading.Event()
        self.is_open.set()
        self.server = Server(("127.0.0.1", 0), Handler)
        self.server.daemon_threads, self.server.receiver = True, self
        self.url = f"http://127.0.0.1:{self.server.server_port}/"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self):
        self.is_open.set()
        self.server.shutdown()
        self.server.server_close()


class Server(http.server.ThreadingHTTPServer):
    def handle_error(self, request, client_address):
        """A killed sender breaks its connections."""


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        receiver = self.server.receiver
        if not receiver.is_open.is_set():
            receiver.held += 1
            receiver.is_open.wait()
        receiver.deliveries.append((self.headers["webhook-id"], json.loads(body)))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass
