from __future__ import annotations

from typing import Iterator

import pytest

import server as servers


@pytest.fixture(scope="session")
def server() -> Iterator[servers.Server]:
    running, folder = servers.start()
    with folder:
        yield running
        running.stop()
