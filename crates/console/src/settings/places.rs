//! The scope of a role or a token: one app, or all apps. The app is selected from a list; if there
//! are too many, its id is typed.

use maud::{Markup, html};
use sluice_engine::{AdminError, Missing};
use sluice_flow::definition::Fault;
use sluice_flow::id::AppId;

use super::super::parts::field::Field;
use super::super::request::Fields;
use super::super::sidebar::Sidebar;

/// The value for all apps and the instance. It must be explicit: a missing or mistyped value
/// selects nothing.
pub(super) const EVERYWHERE: &str = "all";
/// The name of the field, and the pointer of its faults.
const NAME: &str = "appId";
const POINTER: &str = "/appId";

/// The field, with the value chosen or typed before.
pub(super) fn field(id: &str, sidebar: &Sidebar, typed: &str, error: Option<&str>) -> Markup {
    if sidebar.has_more_apps {
        let hint = "There are too many apps to list. Enter the ID of one from the list of apps (app_…), or “all” \
                    for all apps and the instance.";
        return Field {
            id,
            name: Some(NAME),
            label: "App",
            value: typed,
            hint: Some(hint),
            error,
            required: true,
            ..Field::default()
        }
        .draw();
    }
    let described = error.map(|_| format!("{id}-error"));
    let chosen = typed.trim();
    html! {
        div.field {
            label for=(id) { "App" }
            select.input id=(id) name=(NAME) required aria-describedby=[&described] aria-invalid=[error.map(|_| "true")] {
                option value="" { "Choose…" }
                option value=(EVERYWHERE) selected[chosen == EVERYWHERE] { "All apps and the instance" }
                @for app in &sidebar.apps {
                    option value=(app.app_id) selected[chosen == app.app_id.to_string()] { (app.name) }
                }
            }
            @if let Some(error) = error { p.error id={ (id) "-error" } { (error) } }
        }
    }
}

/// The scope that the form selects: an app, or everywhere.
pub(super) fn chosen(form: &Fields) -> Result<Option<AppId>, Fault> {
    match form.get(NAME) {
        Some(EVERYWHERE) => Ok(None),
        place => {
            let app = place.and_then(|id| id.parse().ok());
            app.map(Some).ok_or_else(|| Fault::new(POINTER, "must be an app or all apps"))
        }
    }
}

/// The faults of a form; an unknown app is a fault of this field.
pub(super) fn faults(error: AdminError) -> Result<Vec<Fault>, AdminError> {
    match error {
        AdminError::Invalid(faults) => Ok(faults),
        AdminError::NotFound(Missing::App) => {
            Ok(vec![Fault::new(POINTER, "is not the ID of an app")])
        }
        other => Err(other),
    }
}

/// The name of an app, or its id if the side bar does not list it.
pub(super) fn app_name(sidebar: &Sidebar, app: AppId) -> String {
    let known = sidebar.apps.iter().find(|row| row.app_id == app);
    known.map_or_else(|| app.to_string(), |row| row.name.clone())
}
