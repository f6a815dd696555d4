//! Names of roles.

use sluice_engine::rows::Role;

use super::super::reply::Refused;

pub(super) const ALL: &[(&str, &str)] = &[
    ("viewer", "Viewer: sees flows and responses"),
    ("editor", "Editor: also edits and exports"),
    ("owner", "Owner: everything, also people"),
];

pub(super) const WITH_NONE: &[(&str, &str)] =
    &[("none", "No role"), ("viewer", "Viewer"), ("editor", "Editor"), ("owner", "Owner")];

pub(super) fn role_of(word: Option<&str>) -> Option<Role> {
    match word? {
        "viewer" => Some(Role::Viewer),
        "editor" => Some(Role::Editor),
        "owner" => Some(Role::Owner),
        _ => None,
    }
}

/// A role, or none. "None" must be explicit: a missing or mistyped value removes nothing.
pub(super) fn chosen(word: Option<&str>) -> Result<Option<Role>, Refused> {
    match word {
        Some("none") => Ok(None),
        word => role_of(word).map(Some).ok_or(Refused::Unreadable),
    }
}

pub(super) fn role_label(role: Role) -> &'static str {
    match role {
        Role::Viewer => "Viewer",
        Role::Editor => "Editor",
        Role::Owner => "Owner",
    }
}
