//! Finds the smallest set of items that moved.

use std::collections::BTreeSet;

/// The items that are out of order: without them the rest is increasing. The smallest such set, so
/// that moving one question from the end to the beginning is one move, not many.
pub(super) fn moved(places: &[usize]) -> BTreeSet<usize> {
    // For each index, the length of the longest increasing subsequence ending there, and its
    // predecessor.
    let mut rows: Vec<(usize, Option<usize>)> = Vec::with_capacity(places.len());
    for (at, &place) in places.iter().enumerate() {
        let before = (0..at).filter(|&one| places[one] < place).max_by_key(|&one| rows[one].0);
        rows.push((before.map_or(1, |one| rows[one].0 + 1), before));
    }
    let mut staying = BTreeSet::new();
    let mut next = (0..rows.len()).max_by_key(|&at| rows[at].0);
    while let Some(at) = next {
        staying.insert(places[at]);
        next = rows[at].1;
    }
    places.iter().copied().filter(|place| !staying.contains(place)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fewest_moves_are_reported() {
        for (places, expected) in [
            (vec![], vec![]),
            (vec![0, 1, 2], vec![]),
            (vec![0, 2, 5], vec![]),
            (vec![3, 0, 1, 2], vec![3]),
            (vec![1, 2, 3, 0], vec![0]),
            (vec![0, 3, 1, 2, 4], vec![3]),
        ] {
            assert_eq!(moved(&places).into_iter().collect::<Vec<_>>(), expected, "{places:?}");
        }
        assert_eq!(moved(&[1, 0]).len(), 1);
        assert_eq!(moved(&[4, 3, 2, 1, 0]).len(), 4);
    }
}
