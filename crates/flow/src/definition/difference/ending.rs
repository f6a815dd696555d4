//! The changes of the endings.

use super::{ChangeKind, Changes};
use crate::definition::{Definition, Ending, NamedEnding};
use crate::logic::words::quoted;

const KIND: ChangeKind = ChangeKind::Ending;

/// Records the changes of one ending, with the name that `what` gives it.
pub(super) fn compare(changes: &mut Changes, what: &str, was: &Ending, now: &Ending) {
    let title = format!("{what} title");
    changes.text(KIND, &title, was.title.as_deref(), now.title.as_deref());
    changes.text(KIND, &format!("{what} text"), was.body.as_deref(), now.body.as_deref());
    if was.redirect_url != now.redirect_url {
        let text = match &now.redirect_url {
            Some(url) => format!("The {what} now redirects to {}", quoted(url)),
            None => format!("The {what} no longer redirects"),
        };
        changes.plain(KIND, text);
    }
}

/// Records the changes of the endings by condition, matched by id.
pub(super) fn compare_named(changes: &mut Changes, before: &Definition, after: &Definition) {
    for now in after.endings() {
        let Some(was) = before.endings().iter().find(|was| was.id == now.id) else {
            let text = format!("New ending {}: shown {}", now.id, shown(after, now));
            changes.plain(KIND, text);
            continue;
        };
        compare(changes, &format!("ending {}", now.id), &was.ending, &now.ending);
        let (old, new) = (shown(before, was), shown(after, now));
        if old != new {
            let text = format!("The ending {} is now shown {new}; it was shown {old}", now.id);
            changes.plain(KIND, text);
        }
    }
    let is_kept = |was: &&NamedEnding| after.endings().iter().any(|now| now.id == was.id);
    for gone in before.endings().iter().filter(|was| !is_kept(was)) {
        changes.plain(KIND, format!("The ending {} was removed", gone.id));
    }
    let kept = |one: &Definition, other: &Definition| -> Vec<String> {
        let both = |id: &&NamedEnding| other.endings().iter().any(|ending| ending.id == id.id);
        one.endings().iter().filter(both).map(|ending| ending.id.clone()).collect()
    };
    if kept(before, after) != kept(after, before) {
        changes
            .plain(KIND, "The endings were reordered; the first that applies is shown".to_owned());
    }
}

fn shown(definition: &Definition, ending: &NamedEnding) -> String {
    match &ending.when {
        Some(when) => format!("if {}", when.in_words(definition.questions())),
        None => "only after a jump to it".to_owned(),
    }
}
