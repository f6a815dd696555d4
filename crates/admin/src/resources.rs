//! The table of what has an entity tag, and of the operations that change it.

use ReplyTag::{OfBody, Read};

/// An operation with an entity tag.
#[derive(Debug)]
pub(crate) struct Operation {
    pub(crate) method: &'static str,
    /// Its path, as a template.
    pub(crate) path: &'static str,
    /// The path of the resource that `If-Match` is about, with the same parameters; empty for one
    /// that the operation creates.
    pub(crate) resource: &'static str,
    pub(super) reply: ReplyTag,
}

/// Where the tag of a successful reply comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReplyTag {
    /// The reply is the resource.
    OfBody,
    /// The reply is something else; the resource is read.
    Read,
}

const fn entry(
    method: &'static str,
    path: &'static str,
    resource: &'static str,
    reply: ReplyTag,
) -> Operation {
    Operation { method, path, resource, reply }
}

/// A resource that is read at its own path.
const fn read(path: &'static str) -> Operation {
    entry("GET", path, path, OfBody)
}

/// The members of resources that change by themselves: `If-Match` does not compare them.
const MOVING: [(&str, &[&str]); 3] = [
    (FLOW, &["counted"]),
    (ENDPOINT, &["cursor", "failingSince", "state"]),
    (OUTBOUND, &["mails", "deliveries", "sinks"]),
];

const APP: &str = "/apps/{appId}";
const FLOW: &str = "/flows/{flowId}";
const DRAFT: &str = "/flows/{flowId}/draft";
const SHORT_PATH: &str = "/flows/{flowId}/short-path";
const INVITATION_EMAIL: &str = "/flows/{flowId}/invitation-email";
const REPORT: &str = "/flows/{flowId}/reports/{reportId}";
const VERSION: &str = "/flow_versions/{flowVersionId}";
const ENDPOINT: &str = "/apps/{appId}/webhooks/{webhookId}";
const DELIVERY: &str = "/apps/{appId}/webhooks/{webhookId}/deliveries/{deliveryId}";
const INVITATION: &str = "/invitations/{flowAssignmentId}";
const RESPONSE: &str = "/responses/{responseId}";
const RESPONDENT: &str = "/respondents/{respondentId}";
const TOKEN: &str = "/tokens/{tokenId}";
const USER: &str = "/users/{userId}";
const OUTBOUND: &str = "/outbound";

pub(crate) const OPERATIONS: &[Operation] = &[
    read(APP),
    entry("POST", "/apps", "", OfBody),
    entry("PATCH", APP, APP, OfBody),
    entry("POST", "/apps/{appId}/keys", APP, Read),
    entry("DELETE", "/apps/{appId}/keys/{apiKey}", APP, Read),
    read(FLOW),
    entry("POST", "/apps/{appId}/flows", "", OfBody),
    entry("PATCH", FLOW, FLOW, OfBody),
    entry("DELETE", FLOW, FLOW, Read),
    entry("POST", "/flows/{flowId}/close", FLOW, OfBody),
    entry("POST", "/flows/{flowId}/reopen", FLOW, OfBody),
    entry("POST", "/flows/{flowId}/restore", FLOW, OfBody),
    read(DRAFT),
    entry("PUT", DRAFT, DRAFT, OfBody),
    entry("POST", "/flows/{flowId}/publish", DRAFT, Read),
    read(SHORT_PATH),
    entry("PUT", SHORT_PATH, SHORT_PATH, OfBody),
    read(INVITATION_EMAIL),
    entry("PUT", INVITATION_EMAIL, INVITATION_EMAIL, OfBody),
    read(REPORT),
    entry("PATCH", REPORT, REPORT, OfBody),
    entry("DELETE", REPORT, REPORT, Read),
    entry("POST", "/flows/{flowId}/reports/{reportId}/link", REPORT, Read),
    read(VERSION),
    read("/flow_versions/{flowVersionId}/schema"),
    entry("POST", "/flow_versions/{flowVersionId}/retire", VERSION, OfBody),
    entry("POST", "/flow_versions/{flowVersionId}/republish", VERSION, Read),
    read(ENDPOINT),
    entry("PATCH", ENDPOINT, ENDPOINT, OfBody),
    entry("DELETE", ENDPOINT, ENDPOINT, Read),
    entry("POST", "/apps/{appId}/webhooks/{webhookId}/secret", ENDPOINT, Read),
    entry("POST", "/apps/{appId}/webhooks/{webhookId}/replay", ENDPOINT, OfBody),
    entry("POST", "/apps/{appId}/webhooks/{webhookId}/redeliver", ENDPOINT, Read),
    entry("POST", "/apps/{appId}/webhooks/{webhookId}/test", ENDPOINT, Read),
    read(DELIVERY),
    entry(
        "POST",
        "/apps/{appId}/webhooks/{webhookId}/deliveries/{deliveryId}/redeliver",
        DELIVERY,
        Read,
    ),
    read(INVITATION),
    entry("DELETE", INVITATION, INVITATION, Read),
    read(RESPONSE),
    entry("DELETE", RESPONSE, RESPONSE, Read),
    read(RESPONDENT),
    entry("DELETE", RESPONDENT, RESPONDENT, Read),
    read(TOKEN),
    entry("DELETE", TOKEN, TOKEN, Read),
    read(USER),
    entry("PATCH", USER, USER, OfBody),
    entry("PUT", "/users/{userId}/role", USER, Read),
    entry("POST", "/users/{userId}/reset", USER, Read),
    entry("DELETE", "/users/{userId}/second-factor", USER, Read),
    read(OUTBOUND),
    entry("POST", "/outbound/resume", OUTBOUND, Read),
];

/// The operation with this method and path template.
pub(crate) fn find(method: &str, template: &str) -> Option<&'static Operation> {
    OPERATIONS.iter().find(|it| it.method == method && it.path == template)
}

impl Operation {
    /// Whether the operation takes `If-Match`.
    pub(crate) fn is_conditional(&self) -> bool {
        self.method != "GET" && !self.resource.is_empty()
    }

    /// The members of the resource that `If-Match` does not compare.
    pub(super) fn moving(&self) -> &'static [&'static str] {
        let found = MOVING.iter().find(|(resource, _)| *resource == self.tagged());
        found.map_or(&[], |(_, members)| members)
    }

    /// The template of what the tag is of.
    fn tagged(&self) -> &'static str {
        match (self.path, self.resource) {
            ("/apps/{appId}/flows", _) => FLOW,
            (_, resource) => resource,
        }
    }

    /// The path of the resource, with the parameters of this path; `None` if there is none.
    pub(super) fn resource_path(&self, path: &str) -> Option<String> {
        if self.resource.is_empty() {
            return None;
        }
        let parameters: Vec<_> = self.path.split('/').zip(path.split('/')).collect();
        let fill = |part| match parameters.iter().find(|(name, _)| *name == part) {
            Some((name, value)) if name.starts_with('{') => *value,
            _ => part,
        };
        Some(self.resource.split('/').map(fill).collect::<Vec<_>>().join("/"))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_resource_has_the_parameters_of_the_operation() {
        for (method, template, path, resource) in [
            ("POST", "/flows/{flowId}/close", "/flows/fl_1/close", Some("/flows/fl_1")),
            ("POST", "/flows/{flowId}/publish", "/flows/fl_1/publish", Some("/flows/fl_1/draft")),
            ("DELETE", "/apps/{appId}/keys/{apiKey}", "/apps/a/keys/pk_1", Some("/apps/a")),
            ("POST", "/outbound/resume", "/outbound/resume", Some("/outbound")),
            ("POST", "/apps", "/apps", None),
        ] {
            let operation = find(method, template).unwrap();
            assert_eq!(operation.resource_path(path).as_deref(), resource, "{template}");
        }
    }

    #[test]
    fn every_resource_can_be_read_and_no_operation_is_listed_twice() {
        let names: BTreeSet<_> = OPERATIONS.iter().map(|it| (it.method, it.path)).collect();
        assert_eq!(names.len(), OPERATIONS.len());
        for operation in OPERATIONS.iter().filter(|it| !it.resource.is_empty()) {
            assert!(names.contains(&("GET", operation.resource)), "{}", operation.resource);
        }
    }
}
