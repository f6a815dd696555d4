//! Which worker has an app: computed as Citus does, from the hash of the app's id and the range of
//! hashes that each shard has.
//!
//! The ranges are read again periodically, so for some seconds after a shard was moved or split
//! they may be out of date. Nothing depends on them except the composition of commits: one for apps
//! of several workers is a two-phase commit.

use sluice_flow::id::AppId;
use tokio_postgres::{Client, Error};

/// The shards of the tables of apps, which are all placed alike, in the order of their ranges.
#[derive(Debug, Default)]
pub(super) struct Shards(Vec<Shard>);

#[derive(Debug)]
struct Shard {
    /// The first hash of its range, which ends where the next one begins.
    first: i32,
    /// The number of its worker, as in `pg_dist_node`.
    worker: u32,
}

impl Shards {
    pub(super) async fn read(client: &Client) -> Result<Self, Error> {
        let sql = "SELECT shardminvalue::integer, groupid FROM pg_dist_shard \
             JOIN pg_dist_placement USING (shardid) \
             WHERE logicalrelid = 'apps'::regclass ORDER BY 1";
        let shard = |row: &tokio_postgres::Row| {
            let worker: i32 = row.try_get(1)?;
            Ok(Shard { first: row.try_get(0)?, worker: worker.cast_unsigned() })
        };
        client.query(sql, &[]).await?.iter().map(shard).collect::<Result<_, Error>>().map(Self)
    }

    /// `None` if no shard is known.
    pub(super) fn worker_of(&self, app: AppId) -> Option<u32> {
        let hash = hash_of(*app.uuid().as_bytes());
        let after = self.0.partition_point(|shard| shard.first <= hash);
        after.checked_sub(1).and_then(|index| self.0.get(index)).map(|shard| shard.worker)
    }
}

/// `uuid_hash` of PostgreSQL: Bob Jenkins' hash of 16 bytes.
fn hash_of(id: [u8; 16]) -> i32 {
    let word = |at: usize| u32::from_le_bytes([id[at], id[at + 1], id[at + 2], id[at + 3]]);
    let start = 0x9e37_79b9_u32.wrapping_add(16).wrapping_add(3_923_095);
    let [mut a, mut b, mut c] = [word(0), word(4), word(8)].map(|part| start.wrapping_add(part));
    for (first, second, third) in [(4, 6, 8), (16, 19, 4)] {
        a = a.wrapping_sub(c) ^ c.rotate_left(first);
        c = c.wrapping_add(b);
        b = b.wrapping_sub(a) ^ a.rotate_left(second);
        a = a.wrapping_add(c);
        c = c.wrapping_sub(b) ^ b.rotate_left(third);
        b = b.wrapping_add(a);
    }
    a = a.wrapping_add(word(12));
    c = (c ^ b).wrapping_sub(b.rotate_left(14));
    a = (a ^ c).wrapping_sub(c.rotate_left(11));
    b = (b ^ a).wrapping_sub(a.rotate_left(25));
    c = (c ^ b).wrapping_sub(b.rotate_left(16));
    a = (a ^ c).wrapping_sub(c.rotate_left(4));
    b = (b ^ a).wrapping_sub(a.rotate_left(14));
    c = (c ^ b).wrapping_sub(b.rotate_left(24));
    c.cast_signed()
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    /// From `SELECT uuid_hash('…')`.
    const HASHES: [(&str, i32); 4] = [
        ("00000000-0000-0000-0000-000000000000", 1_353_656_403),
        ("019a3c00-0000-7000-8000-000000000001", -1_366_195_786),
        ("019a3c00-0000-7000-8000-000000000002", 681_973_032),
        ("ffffffff-ffff-ffff-ffff-ffffffffffff", -682_383_255),
    ];

    #[test]
    fn an_id_has_the_hash_that_the_server_computes() {
        for (id, hash) in HASHES {
            assert_eq!(hash_of(id.parse::<Uuid>().unwrap().into_bytes()), hash, "{id}");
        }
    }

    #[test]
    fn an_app_is_on_the_worker_of_the_shard_whose_range_has_its_hash() {
        let shard = |(first, worker)| Shard { first, worker };
        for (id, hash) in HASHES {
            let app = AppId::from_uuid(id.parse().unwrap());
            let shards = Shards([(i32::MIN, 1), (hash, 2), (hash + 1, 3)].map(shard).into());
            assert_eq!(shards.worker_of(app), Some(2), "{id}");
            let shards = Shards([(i32::MIN, 1), (hash + 1, 2)].map(shard).into());
            assert_eq!(shards.worker_of(app), Some(1), "{id}");
            assert_eq!(Shards::default().worker_of(app), None);
        }
    }
}
