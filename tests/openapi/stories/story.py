"""The whole story with the client that openapi-python-client generates; no cast is needed."""

import sys
from typing import TypeVar

from sluice_client import AuthenticatedClient
from sluice_client.api.apps import create_app
from sluice_client.api.flows import create_flow
from sluice_client.api.public_api import fetch_version, resolve_flow, submit_response, validate_response
from sluice_client.api.responses import export_responses, get_summary, list_responses
from sluice_client.api.versions import publish_flow
from sluice_client.models import (
    Admission,
    App,
    Definition,
    ExportResponsesFormat,
    Flow,
    ListResponse,
    ListResponsesTag,
    MultipleChoiceQuestion,
    NewApp,
    NewFlow,
    NewFlowKind,
    NpsQuestion,
    ResolvedFlow,
    Snapshot,
    Submission,
    SubmissionAnswers,
    SubmissionMetadata,
    SubmissionMetadataTags,
    SubmitAccepted,
    SubmitReply,
    Summary,
    ValidationReply,
    ValidationPassed,
)

T = TypeVar("T")


def ok(kind: type[T], reply: object) -> T:
    """The reply, if it is of this type; anything else is a refusal."""
    if not isinstance(reply, kind):
        sys.exit(f"refused: {reply}")
    return reply


base, token = sys.argv[1:]
admin = AuthenticatedClient(base_url=base, token=token)
# The generator asks for a token wherever one is possible; this app does not verify identities and ignores it.
public = AuthenticatedClient(base_url=base, token="of-a-user")

definition = Definition.from_dict({
    "title": "Story",
    "questions": [
        {"id": "nps", "type": "nps", "prompt": "How likely?", "required": True},
        {"id": "use", "type": "multipleChoice", "prompt": "What?",
         "options": [{"id": "api", "label": "API"}, {"id": "ui", "label": "UI"}]},
    ],
})
assert isinstance(definition.questions[0], NpsQuestion)
app = ok(App, create_app.sync(client=admin, body=NewApp(name="Story")))
new = NewFlow(name="Story", kind=NewFlowKind.SURVEY, definition=definition)
flow = ok(Flow, create_flow.sync(app.app_id, client=admin, body=new))
publish_flow.sync(flow.flow_id, client=admin)

key = app.api_keys[0]
resolved = ok(ResolvedFlow, resolve_flow.sync(key, flow.flow_id, client=public))
snapshot = ok(Snapshot, fetch_version.sync(key, resolved.flow_version_id, client=public, payload="4"))
choices = [option.id for question in snapshot.questions if isinstance(question, MultipleChoiceQuestion) for option in question.options]
for plan in ["pro", "free"]:
    answers = SubmissionAnswers()
    answers["nps"] = "9"
    answers["use"] = choices
    tags = SubmissionMetadataTags()
    tags["plan"] = plan
    body = Submission(
        flow_version_id=snapshot.flow_version_id,
        flow_version_payload_generation=snapshot.payload_generation,
        respondent_analytics_admission=Admission.COLLECTION_ONLY,
        answers=answers,
        metadata=SubmissionMetadata(tags=tags),
    )
    judged = ok(ValidationReply, validate_response.sync(key, client=public, body=body))
    ok(ValidationPassed, judged.result.data)
    reply = ok(SubmitReply, submit_response.sync(key, client=public, body=body))
    data = reply.result.data
    if not isinstance(data, SubmitAccepted):
        sys.exit(f"refused: {data.errors.form_errors}")
    assert data.success is True and data.response_id.startswith("rs_")

# This generator writes the fields of an object as parameters of their own, whatever the style is: name them in full.
wanted = ListResponsesTag()
wanted["tag[plan]"] = "pro"
page = ok(ListResponse, list_responses.sync(flow.flow_id, client=admin, tag=wanted))
assert [item.metadata.tags["plan"] for item in page.items] == ["pro"], page
assert page.items[0].answers["use"] == ["api", "ui"]
summary = ok(Summary, get_summary.sync(flow.flow_id, client=admin))
assert summary.responses == 2
file = export_responses.sync_detailed(flow.flow_id, client=admin, format_=ExportResponsesFormat.XLSX)
assert file.content[:2] == b"PK"
print("done")
