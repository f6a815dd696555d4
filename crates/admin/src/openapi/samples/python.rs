//! A call in Python: with the SDK if it has the call, otherwise with the standard library.

use std::fmt::Write as _;

use serde_json::Value;

use super::call::{self, Body, Call, Reply};
use super::literal::{Syntax, literal, text};

const SYNTAX: Syntax =
    Syntax { null: "None", yes: "True", no: "False", is_script: false, indent: 4 };
const TOKEN: &str = "os.environ[\"SLUICE_TOKEN\"]";

/// The arguments of a submission in the SDK that have another name or place than in the API. The
/// SDK sends the generation itself.
const ARGUMENTS: [(&str, &str); 5] = [
    ("/respondentAnalyticsAdmission", "admission"),
    ("/identities", "identities"),
    ("/metadata/tags", "tags"),
    ("/context", "context"),
    ("/flowAssignmentId", "flow_assignment_id"),
];

pub(super) fn sample(call: &Call) -> String {
    match call.id.as_str() {
        "resolveFlow" => {
            let get = format!("    flow = sluice.resolve({})\n", text(call::id("flowId")));
            with_client(call, &format!("{get}    print(flow.flow_version_id, flow.status)\n"))
        }
        "fetchVersion" => {
            let id = text(call::id("flowVersionId"));
            let get = format!("    snapshot = sluice.fetch({id})\n");
            with_client(call, &format!("{get}    print(snapshot.title, len(snapshot.questions))\n"))
        }
        "submitResponse" => with_client(call, &judged(call, "submit", "response_id")),
        "validateResponse" => with_client(call, &judged(call, "validate", "success")),
        "listResponses" => {
            let id = text(call::id("flowId"));
            with_admin(
                call,
                &format!("    for response in admin.responses({id}):\n        print(response)\n"),
            )
        }
        "listEvents" => with_admin(call, &events(call)),
        _ => with_library(call),
    }
}

fn with_client(call: &Call, calls: &str) -> String {
    let (server, key) = (text(&call.server), text(call::id("apiKey")));
    format!("from sluice import Sluice\n\nwith Sluice({server}, {key}) as sluice:\n{calls}")
}

fn with_admin(call: &Call, calls: &str) -> String {
    let server = text(&call.server);
    format!(
        "import os\n\nfrom sluice import Admin\n\nwith Admin({server}, {TOKEN}) as admin:\n{calls}"
    )
}

fn events(call: &Call) -> String {
    let types = call.query.iter().find(|(name, _)| name == "types");
    let types = types.map_or_else(String::new, |(_, types)| {
        let types: Vec<String> = types.split(',').map(text).collect();
        format!(", types=[{}]", types.join(", "))
    });
    let id = text(call::id("appId"));
    format!(
        "    for page in admin.events({id}{types}):\n        \
         for event in page.items:\n            print(event)\n"
    )
}

fn judged(call: &Call, method: &str, member: &str) -> String {
    let body = call.json().cloned().map_or(Value::Null, Value::Object);
    let mut arguments = vec![
        literal(&body["flowVersionId"], &SYNTAX, 8, 2),
        literal(&body["answers"], &SYNTAX, 8, 2),
    ];
    for (pointer, name) in ARGUMENTS {
        if let Some(value) = body.pointer(pointer) {
            arguments.push(format!("{name}={}", literal(value, &SYNTAX, 9 + name.len(), 2)));
        }
    }
    let mut lines = format!("    result = sluice.{method}(\n");
    for argument in arguments {
        let _ = writeln!(lines, "        {argument},");
    }
    let _ = writeln!(lines, "    )\n    print(result.{member} if result else result.form_errors)");
    lines
}

fn with_library(call: &Call) -> String {
    let mut imports = Vec::new();
    let is_json = matches!(call.reply, Reply::Json) || matches!(call.body, Body::Json(_));
    imports.extend(is_json.then_some("import json\n"));
    imports.extend(call.is_admin.then_some("import os\n"));
    let url = text(&call.url());
    let mut arguments = vec![format!("    {url},\n")];
    if !call.has_method("get") {
        arguments.push(format!("    method=\"{}\",\n", call.method.to_uppercase()));
    }
    arguments.extend(headers(call));
    match &call.body {
        Body::None => {}
        Body::Json(body) => {
            let body = literal(body, &SYNTAX, 20, 1);
            arguments.push(format!("    data=json.dumps({body}).encode(),\n"));
        }
        Body::File(name, _) => {
            imports.push("from pathlib import Path\n");
            arguments.push(format!("    data=Path(\"{name}\").read_bytes(),\n"));
        }
    }
    let (request, opened) = if arguments.len() == 1 {
        ("urlopen", format!("with urlopen({url}) as reply"))
    } else {
        ("Request, urlopen", "with urlopen(request) as reply".to_owned())
    };
    let mut code = imports.concat();
    let _ = writeln!(code, "from urllib.request import {request}\n");
    if arguments.len() > 1 {
        let _ = writeln!(code, "request = Request(\n{})", arguments.concat());
    }
    code.push_str(&opened);
    code.push_str(&match &call.reply {
        Reply::Empty => ":\n    print(reply.status)\n".to_owned(),
        Reply::Json => ":\n    print(json.load(reply))\n".to_owned(),
        Reply::Text => ":\n    print(reply.read().decode())\n".to_owned(),
        Reply::File(name) => {
            format!(", open(\"{name}\", \"wb\") as file:\n    file.write(reply.read())\n")
        }
    });
    code
}

fn headers(call: &Call) -> Option<String> {
    let token = call
        .is_admin
        .then(|| "\"Authorization\": f\"Bearer {os.environ['SLUICE_TOKEN']}\"".to_owned());
    let content_type = call.content_type().map(|it| format!("\"Content-Type\": \"{it}\""));
    Some(match (token, content_type) {
        (None, None) => return None,
        (Some(one), None) | (None, Some(one)) => format!("    headers={{{one}}},\n"),
        (Some(token), Some(kind)) => {
            format!("    headers={{\n        {token},\n        {kind},\n    }},\n")
        }
    })
}
