//! The most frequent tags of any number of responses, found in bounded memory.
//!
//! Each name and each value has a counter. If there are too many counters, the same number is
//! subtracted from all of them and those that reach zero are dropped (the Misra-Gries algorithm).
//! So a name is lost only if it makes up less than 1 in 512 of all names that were sent, in
//! whatever order they arrive; a value, less than 1 in 8,192.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use super::bytes::Damaged;
use super::contribution::{Delta, Head, contributions};
use super::daily::DailyCounts;
use super::tags::{
    TAG_NAMES_MAX, TAG_NAMES_ROOM, TAG_VALUES_MAX, TAG_VALUES_ROOM, TagCounts, Tags,
};

/// The most counters for names and for values. If there are more, at most half of them are kept.
const NAME_COUNTERS_MAX: usize = 16 * TAG_NAMES_ROOM;
const VALUE_COUNTERS_MAX: usize = 16 * TAG_VALUES_ROOM;

/// Counts the tags of the responses of one version and day, to choose those that
/// [`DailyCounts`] counts separately.
#[derive(Debug, Default)]
pub struct TagCensus {
    names: Counters,
    /// Keys are the name and the value, separated by a zero byte.
    values: Counters,
}

impl TagCensus {
    /// Counts the tags of the responses that a delta adds.
    pub fn add(&mut self, delta: &Delta) -> Result<(), Damaged> {
        let mut reader = contributions(delta.as_bytes());
        while let Some(head) = reader.next_head()? {
            let mut before = None;
            for (name, value) in Head::read(head)?.tags {
                // A name counts once per response, however many values it has. They are adjacent.
                if before.replace(name) != Some(name) {
                    self.names.add(name.to_owned());
                }
                if let Some(value) = value {
                    self.values.add(format!("{name}\0{value}"));
                }
            }
            reader.answers().skip()?;
        }
        self.names.limit(NAME_COUNTERS_MAX);
        self.values.limit(VALUE_COUNTERS_MAX);
        Ok(())
    }

    /// Whether daily counts have no room for all of these tags.
    pub fn is_over(&self) -> bool {
        self.names.is_over(TAG_NAMES_ROOM) || self.values.is_over(TAG_VALUES_ROOM)
    }

    /// Empty daily counts for the same responses. If they have no room for all of their tags,
    /// they count the most frequent separately.
    pub fn empty_counts(&self) -> DailyCounts {
        if !self.is_over() {
            return DailyCounts::default();
        }
        let names = self.names.by_frequency().take(TAG_NAMES_MAX);
        let mut chosen: BTreeMap<String, TagCounts> =
            names.map(|name| (name.to_owned(), TagCounts::default())).collect();
        for (name, value) in self.values.by_frequency().filter_map(|it| it.split_once('\0')) {
            if let Some(tag) = chosen.get_mut(name)
                && tag.values.len() < TAG_VALUES_MAX
            {
                tag.values.insert(value.to_owned(), 0);
            }
        }
        DailyCounts::from_tags(Tags::only(chosen))
    }
}

#[derive(Debug, Default)]
struct Counters {
    counts: HashMap<String, u64>,
    has_dropped: bool,
}

impl Counters {
    fn add(&mut self, key: String) {
        *self.counts.entry(key).or_default() += 1;
    }

    fn limit(&mut self, max: usize) {
        if self.counts.len() <= max {
            return;
        }
        let mut counts: Vec<u64> = self.counts.values().copied().collect();
        let (_, least, _) = counts.select_nth_unstable_by_key(max / 2, |count| Reverse(*count));
        self.counts.retain(|_, count| {
            *count = count.saturating_sub(*least);
            *count > 0
        });
        self.has_dropped = true;
    }

    fn is_over(&self, room: usize) -> bool {
        self.has_dropped || self.counts.len() > room
    }

    /// The most frequent first; ties in key order.
    fn by_frequency(&self) -> impl Iterator<Item = &str> {
        let mut counts: Vec<_> = self.counts.iter().collect();
        counts.sort_by_key(|(key, count)| (Reverse(**count), *key));
        counts.into_iter().map(|(key, _)| key.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Contribution, Gathered};
    use super::*;
    use crate::submission::Admission;

    fn delta(tags: &str) -> Delta {
        let mut delta = Delta::default();
        delta.add(&Contribution::from_stored(None, "{}", Some(tags), Admission::Admitted));
        delta
    }

    /// The tags of these responses as counted by a recount.
    fn recounted(all: &[Delta]) -> DailyCounts {
        let mut census = TagCensus::default();
        all.iter().for_each(|delta| census.add(delta).unwrap());
        let mut daily = census.empty_counts();
        for delta in all {
            daily.put(&Gathered::from_delta(delta.as_bytes()).unwrap());
        }
        daily
    }

    #[test]
    fn a_frequent_late_tag_is_chosen_among_any_number_of_others() {
        let mut all: Vec<_> =
            (0..3_000).map(|n| delta(&format!(r#"{{"junk {n}":"x"}}"#))).collect();
        for _ in 0..20 {
            all.extend((0..60).map(|n| delta(&format!(r#"{{"often {n}":"x"}}"#))));
        }
        all.extend((0..40_000).map(|n| delta(&format!(r#"{{"plan":"junk {n}"}}"#))));
        all.extend((0..100).map(|_| delta(r#"{"plan":"pro","source":"mail"}"#)));
        let daily = recounted(&all);
        let tag = |name: &str| daily.tags().find(|(its, _)| *its == name).unwrap().1;
        assert_eq!((tag("plan").values["pro"], tag("plan").all()), (100, 40_100));
        assert_eq!(tag("source").values["mail"], 100);
        assert_eq!(daily.tags().count(), TAG_NAMES_MAX);
        assert!(daily.may_hide("junk 1", "x") && daily.may_hide("plan", "junk 1"));
    }

    #[test]
    fn a_name_with_many_values_counts_once_per_response() {
        let mut census = TagCensus::default();
        census.add(&delta(r#"{"a":["1","2","3"],"b":"1"}"#)).unwrap();
        census.add(&delta(r#"{"b":"1"}"#)).unwrap();
        assert_eq!(census.names.by_frequency().collect::<Vec<_>>(), ["b", "a"]);
        assert!(!census.is_over());
        assert_eq!(census.empty_counts(), DailyCounts::default());
    }
}
