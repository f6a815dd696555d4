"""Runs samples one after the other, and prints what each would print as one line of JSON. A
file that a sample wrote counts as printed."""

import builtins
import json
import os
import pathlib
import sys
import urllib.error


def run(name):
    printed = []
    source = pathlib.Path(f"{name}.py").read_text()
    names = {"__name__": "__main__", "print": lambda *values: printed.extend(values)}
    try:
        exec(compile(source, name, "exec"), names)
        written = pathlib.Path(os.environ["FILE"])
        if written.exists():
            printed.append(written.read_bytes().decode())
            written.unlink()
        return {"id": name, "printed": printed}
    except urllib.error.HTTPError as error:
        return {"id": name, "failed": error.read().decode()}
    except Exception as error:
        return {"id": name, "failed": repr(error)}


for name in json.loads(os.environ["SAMPLES"]):
    builtins.print(json.dumps(run(name)))
    sys.stdout.flush()
