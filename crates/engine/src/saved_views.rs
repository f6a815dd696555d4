//! The views of a flow's responses that a user has saved: an address under a name.
//!
//! A view belongs to one user; nobody else sees it. Of the views of a flow, at most one is the
//! default, with which the list opens. Changes are not in the audit log, because they concern
//! nobody else.

use sluice_flow::definition::Fault;
use sluice_flow::folding::folded;
use sluice_flow::id::UserId;
use sluice_store::{At, PeopleWrite, SavedViewRow, Scope, Write};

use crate::admin::{AdminError, AdminResult};
use crate::boxed;
use crate::conflict::retry_on_conflict;
use crate::fault::faultless;
use crate::handle::FlowHandle;

/// The most views of one user in one flow.
pub const VIEWS_MAX: usize = 20;
/// The longest name, in characters, and the longest query, in bytes.
pub const VIEW_NAME_CHARS_MAX: usize = 60;
const QUERY_BYTES_MAX: usize = 6_000;

/// A view of the responses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SavedView {
    pub name: String,
    /// The query of the page's address, without the question mark.
    pub query: String,
    pub is_default: bool,
}

impl FlowHandle {
    /// The views that the caller has saved, by name; none if the caller is not a user.
    #[boxed]
    pub async fn saved_views(&self) -> AdminResult<Vec<SavedView>> {
        let core = self.permit.core(Scope::Read)?;
        let Some(user) = self.user() else { return Ok(Vec::new()) };
        let rows = core.store.list_saved_views(self.flow_id(), user).await?;
        let mut views: Vec<SavedView> = rows.into_iter().map(SavedView::from).collect();
        views.sort_by_cached_key(|view| folded(&view.name));
        Ok(views)
    }

    /// Saves a view, and replaces one with the same name; a replaced default stays the default.
    #[boxed]
    pub async fn save_view(&self, view: SavedView) -> AdminResult<()> {
        let view = SavedView { name: view.name.trim().to_owned(), ..view };
        let too_long = (view.query.len() > QUERY_BYTES_MAX)
            .then(|| Fault::new("/view", "has too many columns and filters to be saved"));
        faultless(name_fault(&view.name).into_iter().chain(too_long))?;
        self.change_views(|views| {
            if view.is_default {
                views.iter_mut().for_each(|it| it.is_default = false);
            }
            let known = views.iter().position(|it| it.name == view.name);
            match known {
                Some(at) => {
                    let is_default = views[at].is_default || view.is_default;
                    views[at] = SavedView { is_default, ..view.clone() };
                }
                None if views.len() >= VIEWS_MAX => {
                    let message = format!(
                        "cannot be added: you have {VIEWS_MAX} views of this flow; delete one first"
                    );
                    return faultless([Fault::new("/view", message)]);
                }
                None => views.push(view.clone()),
            }
            Ok(())
        })
        .await
    }

    #[boxed]
    pub async fn rename_view(&self, name: &str, to: &str) -> AdminResult<()> {
        let to = to.trim();
        faultless(name_fault(to))?;
        self.change_views(|views| {
            if name != to && views.iter().any(|it| it.name == to) {
                return faultless([Fault::new("/name", "is the name of another view")]);
            }
            to.clone_into(&mut found(views, name)?.name);
            Ok(())
        })
        .await
    }

    /// Makes a view the default, or none of them.
    #[boxed]
    pub async fn set_default_view(&self, name: Option<&str>) -> AdminResult<()> {
        self.change_views(|views| {
            views.iter_mut().for_each(|it| it.is_default = false);
            if let Some(name) = name {
                found(views, name)?.is_default = true;
            }
            Ok(())
        })
        .await
    }

    /// Deletes a view; one that does not exist is ignored.
    #[boxed]
    pub async fn delete_view(&self, name: &str) -> AdminResult<()> {
        self.change_views(|views| {
            views.retain(|it| it.name != name);
            Ok(())
        })
        .await
    }

    /// Writes the difference that a change makes to the views of the caller.
    async fn change_views(
        &self,
        change: impl Fn(&mut Vec<SavedView>) -> AdminResult<()>,
    ) -> AdminResult<()> {
        let core = self.permit.core(Scope::Read)?;
        let user_id = self.user().ok_or_else(|| {
            AdminError::conflict(
                "not_a_user",
                "views belong to users; sign in by e-mail to save one",
            )
        })?;
        let (app_id, flow_id) = (self.app_id(), self.flow_id());
        retry_on_conflict(|_| async {
            let expected = core.store.people_revision().await?;
            let stored = core.store.list_saved_views(flow_id, user_id).await?;
            let before: Vec<SavedView> = stored.into_iter().map(SavedView::from).collect();
            let mut after = before.clone();
            change(&mut after)?;
            let gone = before.iter().filter(|view| !after.iter().any(|it| it.name == view.name));
            let gone = gone.map(|view| {
                let name = view.name.clone();
                PeopleWrite::RemoveSavedView { app_id, flow_id, user_id, name }
            });
            let changed = after.iter().filter(|view| !before.contains(view)).cloned();
            let changed = changed.map(|SavedView { name, query, is_default }| {
                let row = SavedViewRow { app_id, flow_id, user_id, name, query, is_default };
                PeopleWrite::SavedView(row)
            });
            let rows: Vec<Write> = gone.chain(changed).map(Write::People).collect();
            match rows.is_empty() {
                true => Ok(()),
                false => Ok(core.apply(At::People { expected }, rows).await?),
            }
        })
        .await
    }

    /// The caller, if it is a user.
    pub(crate) fn user(&self) -> Option<UserId> {
        self.permit.actor().name.parse().ok()
    }
}

impl From<SavedViewRow> for SavedView {
    fn from(row: SavedViewRow) -> Self {
        Self { name: row.name, query: row.query, is_default: row.is_default }
    }
}

fn found<'v>(views: &'v mut [SavedView], name: &str) -> AdminResult<&'v mut SavedView> {
    let missing = || AdminError::Invalid(vec![Fault::new("/view", "does not exist any more")]);
    views.iter_mut().find(|it| it.name == name).ok_or_else(missing)
}

fn name_fault(name: &str) -> Option<Fault> {
    let fits = (1..=VIEW_NAME_CHARS_MAX).contains(&name.chars().count())
        && !name.chars().any(char::is_control);
    (!fits).then(|| {
        let message = format!("must be a text of 1 to {VIEW_NAME_CHARS_MAX} characters");
        Fault::new("/name", message)
    })
}
