"""A server on loopback for tests, and the calls of the admin API that they make."""

from __future__ import annotations

import os
import pathlib
import re
import signal
import subprocess
import tempfile
import time
from typing import Any, Dict, List, Optional

import httpx

TOKEN = "token-of-the-python-tests-0123456789"
ROOT = pathlib.Path(__file__).resolve().parents[3]
WAIT_SECONDS_MAX = 120


def binary() -> str:
    return os.environ.get("SLUICE_BIN") or str(ROOT / "target" / "debug" / "sluice")


class Server:
    """`sluice serve` with a data folder; it can be killed and started again on the same port."""

    def __init__(self, folder: str, with_demo: bool = False) -> None:
        self.folder = pathlib.Path(folder)
        self.with_demo = with_demo
        self.port = 0
        self.process: Optional["subprocess.Popen[str]"] = None
        self.start()
        self.http = httpx.Client(base_url=self.url + "/api/admin/v1", timeout=120)
        self.http.headers["authorization"] = f"Bearer {TOKEN}"

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        # Between its end and its restart, another process may use its port for a moment.
        until = time.monotonic() + WAIT_SECONDS_MAX
        found = self.spawned()
        while not found and self.port and time.monotonic() < until:
            time.sleep(0.2)
            found = self.spawned()
        assert found, (self.folder / "log").read_text()[-2000:]
        self.port = int(found[1])

    def spawned(self) -> Optional["re.Match[str]"]:
        """Starts the process; its address, or nothing if it ended at once."""
        settings = {"PATH": os.environ["PATH"], "SLUICE_ADMIN_TOKEN": TOKEN}
        for limit in ("SLUICE_RATE_PER_ADDRESS", "SLUICE_BYTES_PER_ADDRESS", "SLUICE_RATE_PER_APP"):
            settings[limit] = "0"
        listen = f"127.0.0.1:{self.port}"
        command = [binary(), "serve", "--listen", listen, "--data", str(self.folder / "data")]
        command += [] if self.with_demo else ["--no-demo"]
        with open(self.folder / "log", "a", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                command, env=settings, stdout=subprocess.PIPE, stderr=log, text=True
            )
        assert self.process.stdout is not None
        return re.search(r"http://[\d.]+:(\d+)", self.process.stdout.readline())

    def kill(self) -> None:
        """Ends it as a power failure would, without any clean-up."""
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()

    def stop(self) -> None:
        self.http.close()
        assert self.process is not None
        self.process.terminate()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()

    def admin(self, method: str, path: str, body: Any = None) -> Any:
        reply = self.http.request(method, path, json=body)
        assert reply.status_code < 300, f"{method} {path}: {reply.status_code} {reply.text}"
        return reply.json() if reply.content else None

    def app(self, **settings: Any) -> Dict[str, Any]:
        app: Dict[str, Any] = self.admin("POST", "/apps", {"name": "Tests"})
        if settings:
            app = self.admin("PATCH", f"/apps/{app['appId']}", settings)
        return app

    def publish(self, app_id: str, definition: Any, kind: str = "survey") -> Dict[str, str]:
        """A new flow with this definition: its id, and that of its version."""
        body = {"name": "Test", "kind": kind, "definition": definition}
        flow = self.admin("POST", f"/apps/{app_id}/flows", body)
        version = self.admin("POST", f"/flows/{flow['flowId']}/publish")
        return {"flowId": flow["flowId"], "flowVersionId": version["flowVersionId"]}

    def publish_again(
        self, flow_id: str, definition: Any, grace_seconds: Optional[int] = None
    ) -> str:
        """A newer version of a flow; without a grace window, the older one ends at once."""
        if grace_seconds is not None:
            self.admin("PATCH", f"/flows/{flow_id}", {"graceWindowSeconds": grace_seconds})
        self.admin("PUT", f"/flows/{flow_id}/draft", definition)
        version: str = self.admin("POST", f"/flows/{flow_id}/publish")["flowVersionId"]
        return version

    def responses(self, flow_id: str) -> List[Dict[str, Any]]:
        items: List[Dict[str, Any]] = self.admin("GET", f"/flows/{flow_id}/responses?limit=1000")[
            "items"
        ]
        return items


def start(with_demo: bool = False) -> "tuple[Server, tempfile.TemporaryDirectory[str]]":
    folder = tempfile.TemporaryDirectory(prefix="sluice-python-")
    return Server(folder.name, with_demo), folder


def wait_until(condition: Any) -> None:
    """Waits for something that another thread or process does."""
    until = time.monotonic() + WAIT_SECONDS_MAX
    while not condition():
        assert time.monotonic() < until, "it never happened"
        time.sleep(0.01)
