//! One operation on the page: its description, its parameters and body, its replies.

use maud::{Markup, html};
use serde_json::Value;

use super::example::{self, resolved};
use super::{prose, text};

/// The methods in the order in which they are shown under one path.
const METHODS: [&str; 5] = ["post", "get", "put", "patch", "delete"];

/// An operation of the document.
pub(super) struct Operation<'a> {
    method: &'static str,
    path: &'a str,
    value: &'a Value,
}

/// Every operation, by path; a name comes before its compounds (`flows` before `flow_versions`).
pub(super) fn all_of(document: &Value) -> Vec<Operation<'_>> {
    let paths = document["paths"].as_object().into_iter().flatten();
    let mut paths: Vec<(&String, &Value)> = paths.collect();
    paths.sort_by_key(|(path, _)| path.replace('_', "~"));
    let operations = paths.into_iter().flat_map(|(path, item)| {
        METHODS.iter().filter_map(move |&method| {
            item.get(method).map(|value| Operation { method, path, value })
        })
    });
    operations.collect()
}

impl Operation<'_> {
    pub(super) fn tag(&self) -> &str {
        self.value["tags"][0].as_str().unwrap_or_default()
    }

    pub(super) fn id(&self) -> &str {
        text(self.value, "operationId")
    }

    pub(super) fn summary(&self) -> &str {
        text(self.value, "summary")
    }

    pub(super) fn article(&self, document: &Value, base_url: &str) -> Markup {
        let request = &self.value["requestBody"]["content"]["application/json"];
        html! {
            article id=(self.id()) {
                h3 { a href={ "#" (self.id()) } { (self.summary()) } }
                p.route {
                    span class={ "method " (self.method) } { (self.method.to_uppercase()) }
                    " " code { (self.path) }
                }
                p { (prose(text(self.value, "description"))) (self.scope()) }
                (self.parameters())
                @if !request.is_null() {
                    h4 { "Body" }
                    (fields(document, &request["schema"]))
                }
                (self.call(document, request, base_url))
                (self.reply(document))
                (self.answers())
            }
        }
    }

    fn scope(&self) -> Markup {
        let scope = self.value["security"][0]["adminToken"][0].as_str();
        html! {
            @if let Some(scope) = scope { " " span.scope { "Needs the scope " code { (scope) } "." } }
        }
    }

    fn parameters(&self) -> Markup {
        let parameters = self.value["parameters"].as_array().map(Vec::as_slice).unwrap_or_default();
        let listed = parameters.iter().filter(|parameter| text(parameter, "in") != "path");
        let listed: Vec<&Value> = listed.collect();
        html! {
            @if !listed.is_empty() {
                h4 { "Parameters" }
                dl {
                    @for parameter in listed {
                        dt {
                            code { (text(parameter, "name")) } " "
                            span.type { (text(parameter, "in")) }
                            @if parameter["required"] == true { " " span.type { "required" } }
                        }
                        dd {
                            (prose(text(parameter, "description")))
                            (prose(text(&parameter["schema"], "description")))
                            (bounds(&parameter["schema"]))
                        }
                    }
                }
            }
        }
    }

    fn call(&self, document: &Value, request: &Value, base_url: &str) -> Markup {
        let body = (!request.is_null()).then(|| example::of_content(document, request));
        html! {
            h4 { "Call" }
            pre { code {
                (example::curl(base_url, self.method, self.path, self.is_admin(), body.as_ref()))
            } }
        }
    }

    pub(super) fn is_admin(&self) -> bool {
        self.value["security"][0].get("adminToken").is_some()
    }

    fn reply(&self, document: &Value) -> Markup {
        let responses = self.value["responses"].as_object().into_iter().flatten();
        let good = responses.filter(|(status, _)| status.starts_with('2'));
        html! {
            @for (status, response) in good {
                @let content = &response["content"]["application/json"];
                h4 { "Reply " span.status { (status) } }
                @if content.is_null() {
                    p { (text(response, "description")) "; no body." }
                } @else {
                    pre { code { (example::pretty(&example::of_content(document, content))) } }
                    details {
                        summary { "Fields" }
                        (fields(document, &content["schema"]))
                    }
                }
            }
        }
    }

    fn answers(&self) -> Markup {
        let responses = self.value["responses"].as_object().into_iter().flatten();
        let others = responses.filter(|(status, _)| !status.starts_with('2'));
        html! {
            h4 { "Otherwise" }
            dl.answers {
                @for (status, response) in others {
                    dt { span.status { (status) } }
                    dd { (prose(text(response, "description"))) }
                }
            }
        }
    }
}

/// How deep fields within fields are shown.
const DEPTH_MAX: usize = 4;
/// A choice of more forms than this, such as the types of questions, is not expanded.
const FORMS_MAX: usize = 2;

/// The fields of an object. A list shows the fields of its items, a combined schema those of its
/// parts.
fn fields(document: &Value, schema: &Value) -> Markup {
    fields_to_depth(document, schema, DEPTH_MAX)
}

fn fields_to_depth(document: &Value, schema: &Value, depth: usize) -> Markup {
    let schema = resolved(document, schema);
    let schema = match schema["properties"].get("items") {
        Some(items) if schema["properties"].get("next").is_some() => {
            resolved(document, &items["items"])
        }
        _ => schema,
    };
    let properties = schema["properties"].as_object();
    let parts = schema["allOf"].as_array().map(Vec::as_slice).unwrap_or_default();
    let required = schema["required"].as_array().map(Vec::as_slice).unwrap_or_default();
    html! {
        @for part in parts { (fields_to_depth(document, part, depth)) }
        @if let Some(properties) = properties {
            dl {
                @for (name, property) in properties {
                    dt {
                        code { (name) } " " span.type { (example::type_of(document, property)) }
                        @if required.iter().any(|word| word == name) {
                            " " span.type { "required" }
                        }
                    }
                    dd {
                        (prose(text(property, "description"))) (bounds(property))
                        @if depth > 1 {
                            @for inner in objects_in(document, property) {
                                (fields_to_depth(document, inner, depth - 1))
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The objects that a field holds: itself, the items of a list, or each form of a choice.
fn objects_in<'a>(document: &'a Value, property: &'a Value) -> Vec<&'a Value> {
    let schema = resolved(document, property);
    if schema["items"].is_object() {
        return objects_in(document, &schema["items"]);
    }
    let forms = ["oneOf", "anyOf"].iter().find_map(|it| schema[it].as_array());
    let Some(forms) = forms else {
        return if schema["properties"].is_object() { vec![schema] } else { Vec::new() };
    };
    let inner: Vec<&Value> = forms.iter().flat_map(|it| objects_in(document, it)).collect();
    if inner.len() > FORMS_MAX { Vec::new() } else { inner }
}

/// The limits of a parameter or field, if the schema has them and the description does not.
fn bounds(schema: &Value) -> Markup {
    let within = |least: &str, most: &str, unit: &str| {
        let most = schema[most].as_f64()?;
        Some(match schema[least].as_f64().filter(|&least| least > 0.0 || unit.is_empty()) {
            Some(least) => format!("{least} to {most}{unit}"),
            None => format!("At most {most}{unit}"),
        })
    };
    let limits = [
        within("minimum", "maximum", ""),
        within("minLength", "maxLength", " characters"),
        within("minItems", "maxItems", " items"),
        within("minProperties", "maxProperties", " entries"),
    ];
    let described = text(schema, "description");
    html! {
        @for limit in limits.into_iter().flatten().filter(|limit| !described.contains(limit)) {
            " " span.limit { (limit)
                @if let Some(default) = schema.get("default") { ", by default " (default) }
                "." }
        }
    }
}
