//! The difference between two settings of a flow, one sentence for each change.

use super::FlowSettings;
use crate::closing::{Quota, in_words};
use crate::definition::Definition;
use crate::logic::words::quoted;
use crate::phrase::counted;
use crate::time::{Timestamp, Window};

/// What a file changes about the settings of a flow. Quotas are described with the questions of the
/// definition, if there is one.
pub fn difference(
    before: &FlowSettings,
    after: &FlowSettings,
    definition: Option<&Definition>,
) -> Vec<String> {
    let mut texts = Vec::new();
    if let Some((was, now)) = changed(&before.key, &after.key) {
        texts.push(match was {
            Some(was) => format!("The key is now {now}; it was {was}"),
            None => format!("The key is now {now}"),
        });
    }
    if let Some((_, now)) = changed(&before.name, &after.name) {
        texts.push(format!("The name is now {}", quoted(now)));
    }
    if let Some((was, now)) = changed(&before.labels, &after.labels) {
        compare_labels(&mut texts, was.map_or(&[], Vec::as_slice), now);
    }
    if let Some((was, now)) = changed(&before.live_window, &after.live_window) {
        compare_windows(&mut texts, was.copied().unwrap_or_default(), *now);
    }
    if let Some((_, now)) = changed(&before.grace_window_seconds, &after.grace_window_seconds) {
        texts.push(match now {
            Some(seconds) => {
                format!("The grace window is now {}", counted(u64::from(*seconds), "second"))
            }
            None => "The grace window is now that of the app".to_owned(),
        });
    }
    if let Some((_, now)) = changed(&before.close_after, &after.close_after) {
        texts.push(match now {
            Some(limit) => {
                format!("It now closes after {}", counted(u64::from(*limit), "response"))
            }
            None => "It no longer closes after a number of responses".to_owned(),
        });
    }
    if let Some((was, now)) = changed(&before.quotas, &after.quotas) {
        compare_quotas(&mut texts, was.map_or(&[], Vec::as_slice), now, definition);
    }
    texts
}

/// Both values, if the newer one is given and differs.
fn changed<'s, T: PartialEq>(
    before: &'s Option<T>,
    after: &'s Option<T>,
) -> Option<(Option<&'s T>, &'s T)> {
    let now = after.as_ref()?;
    (before.as_ref() != Some(now)).then_some((before.as_ref(), now))
}

fn compare_labels(texts: &mut Vec<String>, was: &[String], now: &[String]) {
    let before = texts.len();
    let come = now.iter().filter(|label| !was.contains(label));
    texts.extend(come.map(|label| format!("New label {}", quoted(label))));
    let gone = was.iter().filter(|label| !now.contains(label));
    texts.extend(gone.map(|label| format!("The label {} was removed", quoted(label))));
    if texts.len() == before {
        texts.push("Labels reordered".to_owned());
    }
}

fn compare_windows(texts: &mut Vec<String>, was: Window, now: Window) {
    let mut end = |verb: &str, was: Option<Timestamp>, now: Option<Timestamp>, open: &str| {
        texts.push(match (was, now) {
            (was, now) if was == now => return,
            (_, None) => open.to_owned(),
            (None, Some(now)) => format!("It now {verb} at {now}"),
            (Some(was), Some(now)) => format!("It now {verb} at {now} instead of {was}"),
        });
    };
    end("opens", was.starts_at, now.starts_at, "It now opens at once");
    end("closes", was.ends_at, now.ends_at, "It no longer closes at a time");
}

fn compare_quotas(
    texts: &mut Vec<String>,
    was: &[Quota],
    now: &[Quota],
    definition: Option<&Definition>,
) {
    let before = texts.len();
    for quota in now {
        let Quota { id, when, limit } = quota;
        let condition = || in_words(when, definition);
        match was.iter().find(|it| it.id == *id) {
            None => {
                let most = counted(u64::from(*limit), "response");
                texts.push(format!("New quota {id}: at most {most} if {}", condition()));
            }
            Some(old) => {
                if old.limit != *limit {
                    let most = counted(u64::from(*limit), "response");
                    texts.push(format!("Quota {id}: at most {most} instead of {}", old.limit));
                }
                if old.when != *when {
                    texts.push(format!("Quota {id} now counts responses if {}", condition()));
                }
            }
        }
    }
    let gone = was.iter().filter(|it| !now.iter().any(|quota| quota.id == it.id));
    texts.extend(gone.map(|quota| format!("The quota {} was removed", quota.id)));
    if texts.len() == before {
        texts.push("Quotas reordered".to_owned());
    }
}
