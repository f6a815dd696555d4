//! The three calls of a client with the real ids, ready to paste: as curl, and in TypeScript.

use maud::{Markup, html};
use serde_json::Value;
use sluice_engine::rows::IdentityVerification;
use sluice_engine::{AppDetail, HostedFlow};
use sluice_flow::example;
use sluice_flow::payload::Generation;

use crate::parts;

pub(super) fn card(base: &str, app: &AppDetail, hosted: &HostedFlow) -> Markup {
    html! {
        section.card aria-labelledby="calls-title" {
            header { h2 id="calls-title" { "API" } a href="/docs/reference" { "Reference" } }
            @match app.api_keys.first() {
                Some(key) => {
                    p.muted { "Three calls: resolve the flow, fetch its version, submit answers. The key is publishable: it may appear in an app or a page." }
                    (tabs(&Calls::new(base, &key.to_string(), app, hosted)))
                }
                None => p { "This app has no active key. " a href={ "/console/apps/" (app.row.app_id) "/settings/keys" } { "Create one" } " to use the API." },
            }
        }
    }
}

/// Tabs made of radio buttons: they need no script and work with the arrow keys.
fn tabs(calls: &Calls) -> Markup {
    html! {
        fieldset.switch {
            legend.unseen { "Language" }
            label { input type="radio" name="language" id="as-curl" checked; span { "curl" } }
            label { input type="radio" name="language" id="as-typescript"; span { "TypeScript" } }
            div.switched.when-curl { (parts::code("calls-curl", "The three calls with curl", &calls.curl())) }
            div.switched.when-typescript { (parts::code("calls-typescript", "The three calls in TypeScript", &calls.typescript())) }
        }
    }
}

/// The values used in the calls.
struct Calls {
    api: String,
    flow: String,
    version: String,
    answers: Value,
    needs_token: bool,
}

impl Calls {
    fn new(base: &str, key: &str, app: &AppDetail, hosted: &HostedFlow) -> Self {
        let answers =
            hosted.current.snapshot().map(|snapshot| example::answers(snapshot.definition()));
        Self {
            api: format!("{base}/api/v1/{key}"),
            flow: hosted.flow_id.to_string(),
            version: hosted.current.id().to_string(),
            answers: Value::Object(answers.unwrap_or_default()),
            needs_token: app.row.identity_verification == IdentityVerification::Enforce,
        }
    }

    /// In an order that is easy to read.
    fn submission(&self) -> String {
        let Self { version, answers, .. } = self;
        let generation = Generation::LATEST.as_str();
        format!(
            "{{\"flowVersionId\":\"{version}\",\"flowVersionPayloadGeneration\":\"{generation}\",\
             \"respondentAnalyticsAdmission\":\"collection_only\",\"answers\":{answers}}}"
        )
    }

    fn curl(&self) -> String {
        let Self { api, flow, version, .. } = self;
        let token = if self.needs_token { " -H \"authorization: Bearer $TOKEN\"" } else { "" };
        let generation = Generation::LATEST.as_str();
        // A quote in the JSON would end the shell argument.
        let body = self.submission().replace('\'', "'\\''");
        format!(
            "# 1. Resolve the latest published version\n\
             curl -sS{token} {api}/flows/{flow}\n\n\
             # 2. Fetch its snapshot\n\
             curl -sS{token} '{api}/flow_versions/{version}?payload={generation}'\n\n\
             # 3. Submit answers (again with the same key: the same responseId, stored once)\n\
             curl -sS{token} {api}/trpc/response.submit \\\n  \
             -H 'content-type: application/json' -H 'idempotency-key: first-{version}' \\\n  \
             -d '{body}'\n"
        )
    }

    fn typescript(&self) -> String {
        let Self { api, flow, .. } = self;
        let generation = Generation::LATEST.as_str();
        let answers =
            serde_json::to_string_pretty(&self.answers).unwrap_or_default().replace('\n', "\n    ");
        let headers = if self.needs_token { ", authorization: `Bearer ${token}`" } else { "" };
        let get = if self.needs_token {
            ", { headers: { authorization: `Bearer ${token}` } }"
        } else {
            ""
        };
        let token = if self.needs_token {
            "const token = await (await fetch(\"/sluice-token\")).text(); // your own server signs it\n"
        } else {
            ""
        };
        format!(
            "const api = \"{api}\";\n{token}\n\
             // 1. Resolve the latest published version\n\
             const flow = await (await fetch(`${{api}}/flows/{flow}`{get})).json();\n\n\
             // 2. Fetch its snapshot\n\
             const version = await (await fetch(`${{api}}/flow_versions/${{flow.flowVersionId}}?payload={generation}`{get})).json();\n\n\
             // 3. Submit answers; a retry with the same key stores nothing twice\n\
             const reply = await fetch(`${{api}}/trpc/response.submit`, {{\n  \
             method: \"POST\",\n  \
             headers: {{ \"content-type\": \"application/json\", \"idempotency-key\": crypto.randomUUID(){headers} }},\n  \
             body: JSON.stringify({{\n    \
             flowVersionId: version.flowVersionId,\n    \
             flowVersionPayloadGeneration: \"{generation}\",\n    \
             respondentAnalyticsAdmission: \"collection_only\",\n    \
             answers: {answers},\n  \
             }}),\n\
             }});\n\
             const {{ result }} = await reply.json();\n\
             console.log(result.data.success ? result.data.responseId : result.data.errors.formErrors);\n"
        )
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn calls(answers: Value) -> Calls {
        let api = "https://ask.example/api/v1/pk_1".to_owned();
        Calls { api, flow: "fl_1".into(), version: "fv_1".into(), answers, needs_token: false }
    }

    #[test]
    fn a_quote_in_an_answer_does_not_end_the_argument() {
        let curl = calls(json!({"q": "it's $(reboot) `x`"})).curl();
        assert!(curl.contains(r#""q":"it'\''s $(reboot) `x`""#), "{curl}");
    }

    #[test]
    fn calls_of_two_versions_do_not_share_a_key() {
        let mut calls = calls(json!({}));
        let key = |calls: &Calls| {
            let curl = calls.curl();
            let (_, rest) = curl.split_once("idempotency-key: ").unwrap();
            rest.split('\'').next().unwrap().to_owned()
        };
        let first = key(&calls);
        calls.version = "fv_2".into();
        assert_ne!(first, key(&calls));
    }

    #[test]
    fn every_call_has_the_token_where_one_is_needed() {
        let mut calls = calls(json!({}));
        assert!(!calls.curl().contains("Bearer") && !calls.typescript().contains("Bearer"));
        calls.needs_token = true;
        assert_eq!(calls.curl().matches("Bearer $TOKEN").count(), 3);
        assert_eq!(calls.typescript().matches("`Bearer ${token}`").count(), 3);
    }
}
