"""What the tests know about single operations: a valid request to each, and which of them use up their objects."""

import datetime

from world import DEFINITION, PNG

ROLE = {"role": "viewer", "instance": True}


def later():
    return (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(days=30)).strftime("%Y-%m-%dT%H:%M:%S.000Z")


# A body that is accepted, for every operation that takes one. Each is made for the world of its operation.
BODIES = {
    "createApp": lambda world: {"name": f"App {world.number()}"},
    "updateApp": lambda world: {"name": "Renamed", "retentionDays": 400, "allowedOrigins": ["https://app.example.com"]},
    "uploadAsset": lambda world: PNG,
    "createWebhook": lambda world: {"url": world.server.receives, "events": ["response.created"]},
    "updateWebhook": lambda world: {"description": "Ours", "enabled": True},
    "redeliverFailed": lambda world: {"since": "2026-01-01T00:00:00.000Z"},
    "replayWebhook": lambda world: {"after": world.server.admin("GET", f"/apps/{world.appId}/events")["next"]},
    "rotateWebhookSecret": lambda world: {"keepPreviousSeconds": 60},
    "createFlow": lambda world: {"name": "Another", "kind": "survey", "definition": DEFINITION, "key": f"flow-{world.number()}"},
    "createIdentityKey": lambda world: {"type": "hs256"},
    "updateFlow": lambda world: {"name": "Renamed", "labels": ["a"], "closeAfter": 1000},
    "putDraft": lambda world: DEFINITION | {"title": "Next"},
    "putInvitationEmail": lambda world: {"subject": "Please answer", "text": "Hello: {{link}}"},
    "createInvitations": lambda world: {"identities": [{"type": "userId", "value": world.person()}], "expiresAt": later()},
    "createReport": lambda world: {"title": "Results", "questions": ["nps"], "filters": "period=30d"},
    "updateReport": lambda world: {"title": "More results", "password": "blue lamp under the stairs"},
    "putShortPath": lambda world: {"path": f"path-{world.number()}"},
    "resumeOutbound": lambda world: {"waiting": "drop"},
    "sendTestMail": lambda world: {"address": "ada@example.com"},
    "createToken": lambda world: {"name": "Reader", "scopes": ["read"], "appId": world.appId},
    "createUser": lambda world: {"email": f"new{world.number()}@example.com", "name": "Ada"} | ROLE,
    "updateUser": lambda world: {"name": "Ada Lovelace"},
    "setUserRole": lambda world: ROLE | {"role": "editor"},
    "submitResponse": lambda world: world.submission(),
    "validateResponse": lambda world: world.submission(),
    "countVisit": lambda world: {"flowVersionId": world.flowVersionId, "steps": [{"step": "opened"}]},
}

# Query parameters without which a request is refused.
QUERIES = {
    "getVersionSchema": lambda world: {"payload": "4"},
    "fetchVersion": lambda world: {"payload": "4"},
    "fetchSchema": lambda world: {"payload": "4"},
    "exportResponses": lambda world: {"format": "csv"},
    "eraseRespondent": lambda world: {"answers": "keep"},
    "getCrosstab": lambda world: {"rows": "plan", "columns": "nps"},
    "erasePerson": lambda world: {"appId": world.appId, "type": "userId", "value": world.respondentId and world.userOf, "answers": "delete"},
    "exportPerson": lambda world: {"appId": world.appId, "type": "userId", "value": world.respondentId and world.userOf},
    "listRespondents": lambda world: {"appId": world.appId},
}

# What must have happened before a valid request.
BEFORE = {
    "getDraft": lambda world: world.server.admin("PUT", f"/flows/{world.flowId}/draft", DEFINITION | {"title": "Draft"}),
    "reopenFlow": lambda world: world.server.admin("POST", f"/flows/{world.flowId}/close"),
    "restoreFlow": lambda world: world.server.admin("DELETE", f"/flows/{world.flowId}"),
    "publishFlow": lambda world: world.server.admin("PUT", f"/flows/{world.flowId}/draft", DEFINITION | {"title": f"Version {world.number()}"}),
    "republishVersion": lambda world: world.server.admin("POST", f"/flow_versions/{world.flowVersionId}/retire"),
}

# Operations after which their object is gone or closed: the next request gets new ones.
FRESH = {
    "archiveFlow": ["flowId", "flowVersionId"],
    "closeFlow": ["flowId", "flowVersionId"],
    "restoreFlow": ["flowId", "flowVersionId"],
    "retireVersion": ["flowId", "flowVersionId"],
    "republishVersion": ["flowId", "flowVersionId"],
    "deleteAsset": ["assetId"],
    "deleteWebhook": ["endpoint", "webhookId"],
    "deleteResponse": ["responseId"],
    "erasePerson": ["respondentId", "responseId"],
    "eraseRespondent": ["respondentId", "responseId"],
    "revokeIdentityKey": ["kid"],
    "revokeInvitation": ["flowAssignmentId"],
    "revokeKey": ["app", "appId", "apiKey"],
    "revokeReport": ["reportId"],
    "revokeToken": ["tokenId"],
    "resetSecondFactor": ["userId"],
    "updateApp": ["app", "appId", "apiKey"],
    "updateUser": ["userId"],
}
