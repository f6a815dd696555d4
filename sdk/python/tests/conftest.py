from __future__ import annotations

from typing import Iterator

import pytest

import server as servers
from both import Clients


@pytest.fixture(scope="session")
def server() -> Iterator[servers.Server]:
    running, folder = servers.start()
    with folder:
        yield running
        running.stop()


@pytest.fixture(params=["sync", "async"])
def clients(request: pytest.FixtureRequest) -> Iterator[Clients]:
    made = Clients(request.param == "async")
    yield made
    made.close()
