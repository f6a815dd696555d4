//! Totals over many responses without keeping any: their number, and the names of their tags.

use std::collections::BTreeSet;

use sluice_flow::submission::each_entry;

#[derive(Debug, Default)]
pub(crate) struct MatchCount {
    pub(crate) responses: u64,
    pub(crate) tag_names: BTreeSet<String>,
    /// The tags of the previous row: the next row often has the same.
    last: String,
}

impl MatchCount {
    pub(crate) fn add(&mut self, tags: Option<&str>) {
        self.responses += 1;
        let Some(tags) = tags.filter(|tags| *tags != self.last) else { return };
        self.last.clear();
        self.last.push_str(tags);
        let names = &mut self.tag_names;
        // Unreadable tags have no names; the page that shows the row reports them.
        let _unreadable = each_entry(tags, |name, _| {
            if !names.contains(&*name) {
                names.insert(name.into_owned());
            }
        });
    }
}
