"""The programs of the README, run unchanged against a server with its demo survey."""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys
from typing import Dict, Iterator, List

import pytest

from server import ROOT, TOKEN, Server, start

README = (ROOT / "sdk" / "python" / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
#: What a program prints, by a word in it; the others print nothing.
PRINTED = {
    'run.answer("nps", 3)': r"Product feedback \['nps', 'use', 'contact'\]\nStored as rs_\w+\n",
    "AsyncSluice": r"Product feedback \['How likely .*\]\nrs_\w+\n",
    "question_after": r"Wie wahrscheinlich .* \[\]\n(.*\n)+True Danke\n",
    "admin.responses": r"(20\S+ \{.*\}\n)+((.*events; continue after .*\n)*)",
}


@pytest.fixture(scope="module")
def demo() -> Iterator[Dict[str, str]]:
    running, folder = start(with_demo=True)
    with folder:
        yield environment(running)
        running.stop()


def environment(server: Server) -> Dict[str, str]:
    [app] = server.admin("GET", "/apps")["items"]
    [flow] = server.admin("GET", f"/apps/{app['appId']}/flows")["items"]
    return {
        **os.environ,
        "PYTHONPATH": str(ROOT / "sdk" / "python" / "src"),
        "PYTHONIOENCODING": "utf-8",
        "SLUICE_URL": server.url,
        "SLUICE_API_KEY": app["apiKeys"][0],
        "SLUICE_APP_ID": app["appId"],
        "SLUICE_FLOW_ID": flow["flowId"],
        "SLUICE_TOKEN": TOKEN,
    }


def test_every_program_of_the_readme_runs(demo: Dict[str, str], tmp_path: pathlib.Path) -> None:
    matched: List[str] = []
    for number, code in enumerate(BLOCKS):
        path = tmp_path / f"block_{number}.py"
        path.write_text(code, encoding="utf-8")
        done = subprocess.run(
            [sys.executable, str(path)],
            env=demo,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
        word = next((word for word in PRINTED if word in code), "")
        matched.append(word)
        assert re.fullmatch(PRINTED.get(word, ""), done.stdout), (code, done.stdout)
    assert set(PRINTED) <= set(matched)
