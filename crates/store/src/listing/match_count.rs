//! What is known of many responses without keeping any: how many, and how their tags are called.

use std::collections::BTreeSet;

use sluice_flow::submission::each_entry;

#[derive(Debug, Default)]
pub(crate) struct MatchCount {
    pub(crate) responses: u64,
    pub(crate) tag_names: BTreeSet<String>,
    /// The tags that came last: those of the next row are often the same.
    last: String,
}

impl MatchCount {
    pub(crate) fn add(&mut self, tags: Option<&str>) {
        self.responses += 1;
        let Some(tags) = tags.filter(|tags| *tags != self.last) else { return };
        self.last.clear();
        self.last.push_str(tags);
        let names = &mut self.tag_names;
        // What cannot be read has no names; the page that shows the row says so.
        let _unreadable = each_entry(tags, |name, _| {
            if !names.contains(&*name) {
                names.insert(name.into_owned());
            }
        });
    }
}
