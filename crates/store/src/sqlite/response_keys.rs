//! The keys of responses: integers in the order of their ids.
//!
//! [`first_key`] of an id is its time-ordered part: the millisecond and the number within it. Two
//! rules hold for every stored response:
//!
//! - The order of the keys is the order of the ids.
//! - A key is at least the [`first_key`] of its id.
//!
//! A response normally has exactly that key. It gets the next free one if that is taken: by a
//! response that another node received in the same millisecond, or one of the many in a millisecond
//! in which the clock was set back. So an id is found by a search that starts at its `first_key`
//! and nearly always ends there.
//!
//! A response that belongs between two others with adjacent keys shifts the later one up. So a key
//! is valid only within one transaction, and is never stored or returned: cursors are ids.

use rusqlite::{Connection, Result, ffi};
use sluice_flow::id::ResponseId;

use super::codec::Cells;
use super::read::one;
use crate::listing::Span;

/// Bits of a key for the number within a millisecond; the other 48 are the milliseconds.
const NUMBER_BITS: u32 = 15;
/// The number of an id that is not a version 7 UUID, or whose number is too large.
const NUMBER_MAX: i64 = (1 << NUMBER_BITS) - 1;

/// The smallest key that a response with this id can have. Grows with the id.
pub(super) fn first_key(id: u128) -> i64 {
    let millis = (id >> 80) as i64;
    // The number is 26 bits: 12 between the version and the variant, and 14 after the variant.
    let number = match (id >> 64 & 0xFFFF) as u16 {
        ..0x7000 => 0,
        0x7000 => ((id >> 48 & 0xFFFF) as i64).clamp(0x8000, 0xBFFF) - 0x8000,
        0x7001.. => NUMBER_MAX,
    };
    millis << NUMBER_BITS | number
}

/// A stored response: its key and its id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stored {
    key: i64,
    id: u128,
}

/// The key at which the responses with this id or a later one begin: all earlier ones have smaller
/// keys. And the first response from there on.
fn seek(connection: &Connection, id: u128) -> Result<(i64, Option<Stored>)> {
    let is_earlier = |stored: &Stored| stored.id < id;
    let start = first_key(id);
    let mut next = first_from(connection, start)?;
    // The key sought is after `low`, and `high` at most.
    let (mut low, mut high, mut step) = (start - 1, start, 1_i64);
    while let Some(earlier) = next.filter(is_earlier) {
        low = earlier.key;
        high = low.saturating_add(step);
        step = step.saturating_mul(2);
        next = first_from(connection, high)?;
    }
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        match first_from(connection, middle)? {
            Some(earlier) if is_earlier(&earlier) => low = earlier.key,
            found => (high, next) = (middle, found),
        }
    }
    Ok((high, next))
}

/// The key at which the responses with this id or a later one begin.
pub(super) fn from(connection: &Connection, id: u128) -> Result<i64> {
    seek(connection, id).map(|(key, _)| key)
}

/// The key at which the responses after this id begin.
pub(super) fn after(connection: &Connection, id: u128) -> Result<i64> {
    match id.checked_add(1) {
        Some(next) => from(connection, next),
        None => Ok(i64::MAX),
    }
}

/// The keys of the responses in a span of ids, from the first to the last.
pub(super) fn range(connection: &Connection, span: Span) -> Result<(i64, i64)> {
    let last = match span.last.checked_add(1) {
        Some(next) => from(connection, next)? - 1,
        None => i64::MAX,
    };
    Ok((from(connection, span.first)?, last))
}

/// The key of the response with this id, if it is stored.
pub(super) fn find(connection: &Connection, id: ResponseId) -> Result<Option<i64>> {
    let id = id.uuid().as_u128();
    let (_, next) = seek(connection, id)?;
    Ok(next.filter(|next| next.id == id).map(|next| next.key))
}

/// Assigns keys to the responses that one transaction stores.
///
/// Remembers between which stored responses the last one was placed. Ids nearly always ascend, so
/// the next one belongs there too, and nothing is read.
#[derive(Debug, Default)]
pub(super) struct NewKeys {
    gap: Option<Gap>,
}

/// Two stored responses, or one and the end of the table, with none in between.
#[derive(Debug, Clone, Copy)]
struct Gap {
    after: Option<Stored>,
    before: Option<Stored>,
}

/// The result of looking for a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Placed {
    /// A free key.
    Free(i64),
    /// The key of a stored response with the same id.
    Taken(i64),
}

impl NewKeys {
    /// The key of a new response, if it belongs where the last one was placed.
    pub(super) fn next(&mut self, id: ResponseId) -> Option<i64> {
        let id = id.uuid().as_u128();
        let gap = self.gap.as_mut()?;
        let key = gap.key_of(id)?;
        gap.after = Some(Stored { key, id });
        Some(key)
    }

    /// The key of a new response. Every response that got a key before must be stored by now.
    pub(super) fn place(&mut self, connection: &Connection, id: ResponseId) -> Result<Placed> {
        if let Some(key) = self.next(id) {
            return Ok(Placed::Free(key));
        }
        let bits = id.uuid().as_u128();
        let mut gap = match last_before(connection, i64::MAX)? {
            Some(last) if last.id >= bits => {
                let (key, before) = seek(connection, bits)?;
                if let Some(same) = before.filter(|before| before.id == bits) {
                    return Ok(Placed::Taken(same.key));
                }
                Gap { after: last_before(connection, key)?, before }
            }
            last => Gap { after: last, before: None },
        };
        if gap.key_of(bits).is_none()
            && let Some(before) = &mut gap.before
        {
            shift(connection, before.key)?;
            before.key += 1;
        }
        self.gap = Some(gap);
        self.next(id).map(Placed::Free).ok_or_else(out_of_keys)
    }
}

impl Gap {
    /// A free key for this id, if it belongs here and there is one.
    fn key_of(&self, id: u128) -> Option<i64> {
        let free = match self.after {
            None => 0,
            Some(after) if after.id < id => after.key + 1,
            Some(_) => return None,
        };
        let key = free.max(first_key(id));
        match self.before {
            Some(before) if before.id <= id || before.key <= key => None,
            // The last integer stays free, so that there is a key after every response.
            _ => (key < i64::MAX).then_some(key),
        }
    }
}

/// Frees a key: shifts the response that has it, and all that follow without a gap.
fn shift(connection: &Connection, from: i64) -> Result<()> {
    let mut end = from;
    {
        let sql =
            "SELECT response_key FROM responses WHERE response_key >= ?1 ORDER BY response_key";
        let mut select = connection.prepare_cached(sql)?;
        let mut rows = select.query([from])?;
        while let Some(row) = rows.next()?
            && row.get::<_, i64>(0)? == end
        {
            end += 1;
        }
    }
    if end == i64::MAX {
        return Err(out_of_keys());
    }
    let sql = "UPDATE responses SET response_key = ?1 + 1 WHERE response_key = ?1";
    let mut update = connection.prepare_cached(sql)?;
    (from..end).rev().try_for_each(|key| update.execute([key]).map(drop))
}

/// The first response with this key or a greater one.
fn first_from(connection: &Connection, key: i64) -> Result<Option<Stored>> {
    let sql = "SELECT response_key, response_id FROM responses WHERE response_key >= ?1 \
         ORDER BY response_key LIMIT 1";
    one(connection, sql, [key], stored)
}

/// The last response with a smaller key.
fn last_before(connection: &Connection, key: i64) -> Result<Option<Stored>> {
    let sql = "SELECT response_key, response_id FROM responses WHERE response_key < ?1 \
         ORDER BY response_key DESC LIMIT 1";
    one(connection, sql, [key], stored)
}

fn stored(cells: &mut Cells) -> Result<Stored> {
    Ok(Stored { key: cells.take()?, id: cells.take().map(u128::from_be_bytes)? })
}

/// As SQLite reports it if no rowid is left. Only ids of the year 10889 can lead to it.
fn out_of_keys() -> rusqlite::Error {
    let why = "no key is left for the response".to_owned();
    rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_FULL), Some(why))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;
    use rusqlite::params;
    use uuid::Uuid;

    use super::*;

    fn table() -> Connection {
        let connection = Connection::open_in_memory().unwrap();
        for migration in crate::schema::SQLITE {
            connection.execute_batch(migration.sql).unwrap();
        }
        connection
    }

    fn insert(connection: &Connection, key: i64, id: u128) {
        let sql = "INSERT INTO responses (response_key, flow_number, version_number, response_id, \
             admitted, answers, identity_verified, digest) VALUES (?1, 1, 1, ?2, 0, '', 0, x'')";
        connection.execute(sql, params![key, id.to_be_bytes()]).unwrap();
    }

    fn response(id: u128) -> ResponseId {
        ResponseId::from_uuid(Uuid::from_u128(id))
    }

    /// Stores an id; returns whether it is new.
    fn store(connection: &Connection, keys: &mut NewKeys, id: u128) -> bool {
        match keys.place(connection, response(id)).unwrap() {
            Placed::Free(key) => {
                insert(connection, key, id);
                true
            }
            Placed::Taken(key) => {
                assert_eq!(find(connection, response(id)).unwrap(), Some(key));
                false
            }
        }
    }

    /// Both rules hold, and every id is found.
    fn check(connection: &Connection, ids: &BTreeSet<u128>) {
        let mut select = connection
            .prepare("SELECT response_key, response_id FROM responses ORDER BY response_key")
            .unwrap();
        let rows = select.query_map([], |row| stored(&mut Cells::new(row))).unwrap();
        let rows: Vec<Stored> = rows.map(Result::unwrap).collect();
        assert_eq!(rows.iter().map(|row| row.id).collect::<Vec<_>>(), Vec::from_iter(ids.clone()));
        for row in rows {
            assert!(row.key >= first_key(row.id));
            assert_eq!(find(connection, response(row.id)).unwrap(), Some(row.key));
            assert!(from(connection, row.id).unwrap() <= row.key);
            assert!(after(connection, row.id).unwrap() > row.key);
        }
    }

    /// Ids of few milliseconds that share most of their bits, and any others.
    fn id() -> impl Strategy<Value = u128> {
        let near = (0..3_u128, 0..4_u128, 0..3_u128).prop_map(|(millis, number, random)| {
            (1_763_172_000_000 + millis) << 80 | 0x7000_8000 << 48 | number << 48 | random
        });
        let far = (0..3_u128, any::<u128>())
            .prop_map(|(millis, rest)| (1_763_172_000_000 + millis) << 80 | rest >> 48);
        prop_oneof![8 => near, 4 => far, 1 => any::<u128>()]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn the_first_key_grows_with_the_id(one in id(), other in id()) {
            prop_assert_eq!(first_key(one) < first_key(other) && one > other, false);
            prop_assert!(first_key(one) >= 0);
        }

        /// Stored in any order, in several transactions, and deleted in between.
        #[test]
        fn keys_are_in_the_order_of_ids(
            steps in prop::collection::vec((id(), 0..10_u8), 1..80)
        ) {
            let (connection, mut ids) = (table(), BTreeSet::new());
            let mut keys = NewKeys::default();
            for (id, step) in steps {
                if step == 0 {
                    // Another transaction deletes.
                    keys = NewKeys::default();
                    if let Some(gone) = ids.range(id..).next().copied() {
                        let key = find(&connection, response(gone)).unwrap().unwrap();
                        let sql = "DELETE FROM responses WHERE response_key = ?1";
                        connection.execute(sql, [key]).unwrap();
                        ids.remove(&gone);
                    }
                }
                prop_assert_eq!(store(&connection, &mut keys, id), ids.insert(id));
            }
            check(&connection, &ids);
            let absent = ids.iter().map(|id| id ^ 1).filter(|id| !ids.contains(id));
            for id in absent {
                prop_assert_eq!(find(&connection, response(id)).unwrap(), None);
                let expected = ids.range(id..).next().copied();
                let (key, next) = seek(&connection, id).unwrap();
                prop_assert_eq!(next.map(|next| next.id), expected);
                prop_assert_eq!(first_from(&connection, key).unwrap(), next);
                prop_assert!(last_before(&connection, key).unwrap().is_none_or(|it| it.id < id));
            }
        }
    }

    #[test]
    fn ascending_ids_are_placed_without_reading() {
        let connection = table();
        let mut keys = NewKeys::default();
        let ids = (0..4_u128).map(|n| 5 << 80 | 0x7000_8000 << 48 | n << 48 | 9);
        let ids = BTreeSet::from_iter(ids.chain([7 << 80]));
        for (place, id) in ids.iter().enumerate() {
            let next = keys.next(response(*id));
            assert_eq!(next.is_some(), place > 0);
            let key = match next {
                Some(key) => Placed::Free(key),
                None => keys.place(&connection, response(*id)).unwrap(),
            };
            assert_eq!(key, Placed::Free(first_key(*id)));
            insert(&connection, first_key(*id), *id);
        }
        check(&connection, &ids);
    }

    /// More responses than numbers in a millisecond, as after a clock was set back a little.
    #[test]
    fn a_crowded_millisecond_continues_in_the_next_ones() {
        let connection = table();
        let start = 1_763_172_000_000_u128 << 80 | 0x7001_8000 << 48;
        let crowded = (0..100_000_u128).step_by(7).map(|number| start | number);
        let next = (1..4_u128).map(|millis| (1_763_172_000_000 + millis) << 80 | 0x7000 << 64);
        let ids = BTreeSet::from_iter(crowded.chain(next));
        let mut keys = NewKeys::default();
        for id in &ids {
            assert!(store(&connection, &mut keys, *id));
        }
        check(&connection, &ids);
    }

    #[test]
    fn there_is_a_key_after_the_last_response() {
        let connection = table();
        let mut keys = NewKeys::default();
        let refused = keys.place(&connection, response(u128::MAX));
        assert!(refused.is_err(), "{refused:?}");
        let last = u128::MAX ^ 0xF << 76;
        assert!(store(&connection, &mut keys, last));
        assert_eq!(range(&connection, Span { first: 0, last: u128::MAX }).unwrap(), (0, i64::MAX));
        assert!(
            after(&connection, last).unwrap() > find(&connection, response(last)).unwrap().unwrap()
        );
    }
}
