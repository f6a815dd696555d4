//! Pages of a bounded size.

use serde_json::Value;

/// Items of a page that ends before it is too large.
#[derive(Debug)]
pub(super) struct Page {
    pub(super) items: Vec<Value>,
    bytes: usize,
    items_max: usize,
    bytes_max: usize,
}

impl Page {
    pub(super) fn new(items_max: usize, bytes_max: usize) -> Self {
        Self { items: Vec::new(), bytes: 0, items_max, bytes_max }
    }

    /// Adds an item, or returns false if the page is full. The first item always has room, so that
    /// every page gets further than the last.
    pub(super) fn push(&mut self, item: Value) -> bool {
        let bytes = item.to_string().len();
        let has_room = self.items.len() < self.items_max && self.bytes + bytes <= self.bytes_max;
        if !has_room && !self.items.is_empty() {
            return false;
        }
        self.bytes += bytes;
        self.items.push(item);
        true
    }
}

/// A number of items that a caller asked for, within limits.
pub(super) fn within(asked: Option<u32>, default: usize, max: usize) -> usize {
    asked.map_or(default, |asked| (asked as usize).clamp(1, max))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_page_ends_by_number_or_by_size_and_is_never_empty() {
        for (items_max, bytes_max, size, expected) in
            [(3, 1_000, 10, 3), (10, 30, 8, 3), (10, 5, 100, 1)]
        {
            let mut page = Page::new(items_max, bytes_max);
            let text = "x".repeat(size);
            let added = (0..10).take_while(|_| page.push(json!(text))).count();
            assert_eq!(added, expected, "{items_max} {bytes_max} {size}");
        }
    }

    #[test]
    fn a_limit_stays_within_its_bounds() {
        assert_eq!(within(None, 20, 100), 20);
        assert_eq!(within(Some(0), 20, 100), 1);
        assert_eq!(within(Some(1_000), 20, 100), 100);
    }
}
