"""One server for all tests of this folder. It is started before they are collected, since its document decides which there are."""

import pathlib
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))

from world import Server

OPTIONS = {
    "examples": (12, "generated requests for each operation"),
    "sequences": (6, "generated sequences of requests"),
    "steps": (10, "requests of each sequence"),
}
STATE = {}


def server():
    if "server" not in STATE:
        STATE["server"] = Server()
    return STATE["server"]


def option(name):
    return STATE["config"].getoption(name)


def pytest_addoption(parser):
    for name, (default, text) in OPTIONS.items():
        parser.addoption(f"--{name}", type=int, default=default, help=text)


def pytest_configure(config):
    STATE["config"] = config


def pytest_unconfigure():
    if "server" in STATE:
        STATE["server"].stop()
