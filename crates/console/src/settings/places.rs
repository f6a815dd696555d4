//! Where a role or a token holds: in one app, or everywhere. Apps are chosen from a list as long as
//! that is one to choose from; where there are more, the id of one is typed.

use maud::{Markup, html};
use sluice_engine::{AdminError, Missing};
use sluice_flow::definition::Fault;
use sluice_flow::id::AppId;

use super::super::parts::field::Field;
use super::super::request::Fields;
use super::super::sidebar::Sidebar;

/// The word for all apps and the instance. It must be said: what is missing or mistyped is nowhere.
pub(super) const EVERYWHERE: &str = "all";
/// The name of the field, and where faults about it point.
const NAME: &str = "appId";
const POINTER: &str = "/appId";

/// The field, with what was chosen or typed before.
pub(super) fn field(id: &str, sidebar: &Sidebar, typed: &str, error: Option<&str>) -> Markup {
    if sidebar.has_more_apps {
        let hint = "There are too many apps to list. The id of one, as the list of apps has it (app_…), or the word all: \
                    all apps, and the instance.";
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

/// Where something is to hold, by the field of the form: in an app, or everywhere.
pub(super) fn chosen(form: &Fields) -> Result<Option<AppId>, Fault> {
    match form.get(NAME) {
        Some(EVERYWHERE) => Ok(None),
        place => place.and_then(|id| id.parse().ok()).map(Some).ok_or_else(|| Fault {
            pointer: POINTER.to_owned(),
            message: "must be an app or all apps".to_owned(),
        }),
    }
}

/// What is wrong with a form, where an app that is not there is a fault of this field.
pub(super) fn faults(error: AdminError) -> Result<Vec<Fault>, AdminError> {
    match error {
        AdminError::Invalid(faults) => Ok(faults),
        AdminError::NotFound(Missing::App) => Ok(vec![Fault {
            pointer: POINTER.to_owned(),
            message: "is not the ID of an app".to_owned(),
        }]),
        other => Err(other),
    }
}

/// What an app is called, as far as that is known around the page.
pub(super) fn app_name(sidebar: &Sidebar, app: AppId) -> String {
    let known = sidebar.apps.iter().find(|row| row.app_id == app);
    known.map_or_else(|| app.to_string(), |row| row.name.clone())
}
