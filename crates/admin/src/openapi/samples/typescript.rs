//! A call in TypeScript: with the SDK if it has the call, otherwise with `fetch`.

use serde_json::Value;

use super::call::{self, Body, Call, Reply};
use super::literal::{Syntax, literal, text};

const SYNTAX: Syntax =
    Syntax { null: "null", yes: "true", no: "false", is_script: true, indent: 2 };

pub(super) fn sample(call: &Call) -> String {
    match call.id.as_str() {
        "resolveFlow" => {
            let get = format!("const flow = await sluice.resolve({});\n", text(call::id("flowId")));
            with_sdk(call, &format!("{get}console.log(flow.flowVersionId, flow.status);\n"))
        }
        "fetchVersion" => {
            let id = text(call::id("flowVersionId"));
            let get = format!("const snapshot = await sluice.fetch({id});\n");
            with_sdk(
                call,
                &format!("{get}console.log(snapshot.title, snapshot.questions.length);\n"),
            )
        }
        "submitResponse" => with_sdk(call, &judged(call, "submit", "responseId")),
        "validateResponse" => with_sdk(call, &judged(call, "validate", "success")),
        _ => with_fetch(call),
    }
}

fn with_sdk(call: &Call, calls: &str) -> String {
    let (server, key) = (text(&call.server), text(call::id("apiKey")));
    format!(
        "import {{ createSluice }} from \"sluice\";\n\n\
         const sluice = createSluice({{ baseUrl: {server}, apiKey: {key} }});\n{calls}"
    )
}

fn judged(call: &Call, method: &str, member: &str) -> String {
    let body = call.json().cloned().map_or(Value::Null, Value::Object);
    let submission = literal(&body, &SYNTAX, 40, 0);
    format!(
        "const result = await sluice.{method}({submission});\n\
         console.log(result.success ? result.{member} : result.errors.formErrors);\n"
    )
}

fn with_fetch(call: &Call) -> String {
    let mut imports = Vec::new();
    let mut options = Vec::new();
    if !call.has_method("get") {
        options.push(format!("  method: \"{}\",\n", call.method.to_uppercase()));
    }
    options.extend(headers(call));
    match &call.body {
        Body::None => {}
        Body::Json(body) => {
            options.push(format!("  body: JSON.stringify({}),\n", literal(body, &SYNTAX, 25, 1)));
        }
        Body::File(name, _) => {
            imports.push("readFile");
            options.push(format!("  body: await readFile(\"{name}\"),\n"));
        }
    }
    let result = match &call.reply {
        Reply::Empty => "console.log(reply.status);\n".to_owned(),
        Reply::Json => "console.log(await reply.json());\n".to_owned(),
        Reply::Text => "console.log(await reply.text());\n".to_owned(),
        Reply::File(name) => {
            imports.push("writeFile");
            format!("await writeFile(\"{name}\", new Uint8Array(await reply.arrayBuffer()));\n")
        }
    };
    let import = match imports.as_slice() {
        [] => String::new(),
        names => format!("import {{ {} }} from \"node:fs/promises\";\n\n", names.join(", ")),
    };
    let url = text(&call.url());
    let options = match options.as_slice() {
        [] => String::new(),
        all => format!(", {{\n{}}}", all.concat()),
    };
    format!(
        "{import}const reply = await fetch({url}{options});\n\
         if (!reply.ok) throw new Error(await reply.text());\n{result}"
    )
}

fn headers(call: &Call) -> Option<String> {
    let token =
        call.is_admin.then(|| "Authorization: `Bearer ${process.env.SLUICE_TOKEN}`".to_owned());
    let content_type = call.content_type().map(|it| format!("\"Content-Type\": \"{it}\""));
    Some(match (token, content_type) {
        (None, None) => return None,
        (Some(one), None) | (None, Some(one)) => format!("  headers: {{ {one} }},\n"),
        (Some(token), Some(kind)) => format!("  headers: {{\n    {token},\n    {kind},\n  }},\n"),
    })
}
