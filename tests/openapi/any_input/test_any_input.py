"""Every operation of /openapi.json, with valid and with generated requests, against a running server.

No reply is a server error; every status, media type and header is one that the document names; every body matches its schema.
schemathesis generates the requests: half of them fit the schemas, half do not; some follow each other with the ids of replies. Run it with

    pytest tests/openapi/any_input                                       # as in scripts/test: the same requests each time
    pytest tests/openapi/any_input --examples 500 --sequences 200        # the long form
    scripts/postgres pytest tests/openapi/any_input                      # on PostgreSQL

SLUICE_BIN names the binary.
"""

import copy
import json
import zlib

import hypothesis
import hypothesis.strategies as st
import pytest
import requests
import schemathesis
from conftest import option, server
from hypothesis.stateful import run_state_machine_as_test
from operations import BEFORE, BODIES, FRESH, QUERIES
from schemathesis import GenerationMode
from schemathesis.checks import CHECKS, load_all_checks
from schemathesis.core.failures import FailureGroup
from world import TOKEN, World

load_all_checks()
REPLIES = CHECKS.get_by_names([
    "not_a_server_error", "status_code_conformance", "content_type_conformance", "response_headers_conformance", "response_schema_conformance",
])
AUTHORIZED = {"authorization": f"Bearer {TOKEN}"}
# One of this many requests keeps its generated ids, which name nothing.
UNKNOWN_IDS_ONE_IN = 5
TIMEOUT_SECONDS = 60

SCHEMA = schemathesis.openapi.from_url(f"{server().url}/openapi.json")
OPERATIONS = [
    operation["operationId"] for item in SCHEMA.raw_schema["paths"].values() for operation in item.values() if "operationId" in operation
]
SETTINGS = {"deadline": None, "derandomize": True, "database": None, "suppress_health_check": list(hypothesis.HealthCheck)}
SESSION = requests.Session()


def path_parameters(operation, known):
    return {parameter.name: getattr(known, parameter.name) for parameter in operation.path_parameters}


def send(case):
    reply = case.call(base_url=server().url, session=SESSION, headers=AUTHORIZED, timeout=TIMEOUT_SECONDS)
    case.validate_response(reply, checks=REPLIES)
    return reply


@pytest.mark.parametrize("name", OPERATIONS)
def test_a_valid_request_succeeds_as_documented(name):
    operation, known = SCHEMA.find_operation_by_id(name), World(server())
    parameters = path_parameters(operation, known)
    BEFORE.get(name, lambda _: None)(known)
    body = BODIES[name](known) if name in BODIES else None
    arguments = {} if body is None else {"body": body, "media_type": "image/png" if isinstance(body, bytes) else "application/json"}
    query = QUERIES.get(name, lambda _: {})(known)
    case = operation.Case(path_parameters=parameters, query=query, **arguments)
    reply = send(case)
    assert 200 <= reply.status_code < 300, f"{reply.status_code} {reply.text}"


@pytest.mark.parametrize("name", OPERATIONS)
def test_generated_requests_get_documented_replies(name):
    operation, known = SCHEMA.find_operation_by_id(name), World(server())
    fitting, others = (operation.as_strategy(generation_mode=mode) for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE))

    @hypothesis.settings(max_examples=option("examples"), **SETTINGS)
    @hypothesis.given(st.one_of(fitting, others))
    def check(case):
        if not keeps_its_ids(case):
            case.path_parameters = dict(case.path_parameters or {}) | path_parameters(operation, known)
        # A wait for events would take as long as was generated.
        if case.query and "wait" in case.query:
            case.query["wait"] = 0
        send(case)
        known.forget(FRESH.get(name, []))

    check()


def keeps_its_ids(case):
    """Depends on the request alone, so that a failure can be repeated."""
    parts = [case.path_parameters, case.query, case.body if not isinstance(case.body, bytes) else case.body.hex()]
    return zlib.crc32(json.dumps(parts, default=str).encode()) % UNKNOWN_IDS_ONE_IN == 0


def test_sequences_of_requests_get_documented_replies():
    class Sequence(SCHEMA.as_state_machine()):
        def before_call(self, case):
            if case.query and "wait" in case.query:
                case.query["wait"] = 0

        def get_call_kwargs(self, case):
            return {"base_url": server().url, "headers": AUTHORIZED, "timeout": TIMEOUT_SECONDS}

        def validate_response(self, response, case, additional_checks=(), **kwargs):
            case.validate_response(response, checks=REPLIES)

    run_state_machine_as_test(
        Sequence, settings=hypothesis.settings(max_examples=option("sequences"), stateful_step_count=option("steps"), **SETTINGS)
    )


@pytest.mark.parametrize("change", [
    lambda operation: operation["responses"].pop("404"),
    lambda operation: operation["responses"]["404"].update(content={"text/plain": {}}),
    lambda operation: operation["responses"]["404"].update(content={"application/problem+json": {"schema": {"required": ["nothing"]}}}),
], ids=["status", "media type", "schema"])
def test_the_control_is_noticed(change):
    """Without a promise in the document, the same reply is a failure."""
    document = copy.deepcopy(SCHEMA.raw_schema)
    change(document["paths"]["/api/admin/v1/apps/{appId}"]["get"])
    operation = schemathesis.openapi.from_dict(document).find_operation_by_id("getApp")
    with pytest.raises(FailureGroup):
        send(operation.Case(path_parameters={"appId": "unknown"}))


def test_every_operation_is_known():
    """A body for each operation that takes one, and no entry for an operation that is gone."""
    with_body = {name for name in OPERATIONS if SCHEMA.find_operation_by_id(name).body}
    assert with_body == set(BODIES)
    for table in (BODIES, QUERIES, BEFORE, FRESH):
        assert set(table) <= set(OPERATIONS)


def test_the_server_logged_no_error():
    """Runs last: a reply may hide what went wrong."""
    log = server().log.read_text()
    assert "panicked" not in log, log[-4000:]
    assert " ERROR " not in log, log[-4000:]
