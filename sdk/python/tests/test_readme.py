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

PACKAGE = ROOT / "sdk" / "python"
README = (PACKAGE / "README.md").read_text(encoding="utf-8")
BLOCK = r"^```python\n(.*?)^```$"
BLOCKS = re.findall(BLOCK, README, re.MULTILINE | re.DOTALL)
#: What a program prints, by a word in it; the others print nothing.
PRINTED = {
    'run.answer("nps", 3)': r"Product feedback \['nps', 'use', 'contact'\]\nStored as rs_\w+\n",
    "AsyncSluice": r"Product feedback \['How likely .*\]\nrs_\w+\n",
    "question_after": r"Wie wahrscheinlich .* \[\]\n(.*\n)+True Danke\n",
    "Resumed:": r"Resumed: True\n",
    "print(run.submit())": r"Accepted\(response_id='rs_\w+',.*\)\n",
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


def start_of_the_project(demo: Dict[str, str]) -> str:
    """The program in the README of the project, with the values of this server."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    [code] = re.findall(BLOCK, text, re.MULTILINE | re.DOTALL)
    values = {
        "http://127.0.0.1:8080": "SLUICE_URL",
        "pk_…": "SLUICE_API_KEY",
        "fl_…": "SLUICE_FLOW_ID",
    }
    for example, name in values.items():
        assert code.count(example) == 1
        code = code.replace(example, demo[name])
    return str(code)


def test_every_program_of_the_readmes_runs(demo: Dict[str, str], tmp_path: pathlib.Path) -> None:
    matched: List[str] = []
    for number, code in enumerate([*BLOCKS, start_of_the_project(demo)]):
        path = tmp_path / f"block_{number}.py"
        path.write_text(code, encoding="utf-8")
        done = subprocess.run(
            [sys.executable, str(path)],
            env=demo,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=180,
        )
        assert done.returncode == 0, done.stderr
        word = next((word for word in PRINTED if word in code), "")
        matched.append(word)
        assert re.fullmatch(PRINTED.get(word, ""), done.stdout), (code, done.stdout)
    assert set(PRINTED) <= set(matched)


def test_links_of_the_readme_work_outside_of_the_repository() -> None:
    # The index of packages shows the page without the files beside it.
    targets = re.findall(r"\]\(([^)\s]+)\)", re.sub(BLOCK, "", README, flags=re.M | re.S))
    assert [target for target in targets if not target.startswith(("https://", "#"))] == []


def test_the_package_has_the_licence_of_the_project() -> None:
    assert (PACKAGE / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()
    assert 'license-files = ["LICENSE"]' in (PACKAGE / "pyproject.toml").read_text()
