"""Evaluates schemas with the library jsonschema: each line has a schema and inputs, the output whether each input is valid."""

import json
import sys

from jsonschema import Draft202012Validator

sys.setrecursionlimit(10_000)
for line in sys.stdin:
    case = json.loads(line)
    Draft202012Validator.check_schema(case["schema"])
    validator = Draft202012Validator(case["schema"])
    print(json.dumps([validator.is_valid(value) for value in case["inputs"]]))
