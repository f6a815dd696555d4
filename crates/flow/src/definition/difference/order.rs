//! Which of several things moved, where as few as possible did.

use std::collections::BTreeSet;

/// The members that are out of order: without them the rest rises. Of all ways to see it, one with
/// the fewest moves, so that taking one question from the end to the beginning is one move, not
/// many.
pub(super) fn moved(places: &[usize]) -> BTreeSet<usize> {
    // The longest rising row that ends at each place, and what comes before it there.
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
    fn as_few_as_possible_have_moved() {
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
