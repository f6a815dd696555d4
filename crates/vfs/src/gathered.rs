//! Writes that continue one another, kept until they can be made as one.
//!
//! SQLite writes each page of a commit to the log in two parts, a header and the page, so a commit
//! of ten pages makes twenty calls of the kernel. They are consecutive, and nobody may rely on them
//! before the sync that ends the commit, so they are kept and written just before it.

/// SQLite's own file system writes fewer than 128 KiB with one call, and takes a larger number for
/// a full disk. Also, a long transaction does not grow in memory.
const BYTES_MAX: usize = 128 * 1024 - 1;

#[derive(Debug, Default)]
pub(crate) struct Gathered {
    /// Where in the file the bytes begin.
    at: i64,
    bytes: Vec<u8>,
}

impl Gathered {
    /// Keeps a write. False if those that are kept must be written first.
    pub(crate) fn keep(&mut self, at: i64, bytes: &[u8]) -> bool {
        if self.bytes.is_empty() {
            self.at = at;
        } else if self.bytes.len() + bytes.len() > BYTES_MAX || at != self.end() {
            return false;
        }
        self.bytes.extend_from_slice(bytes);
        true
    }

    fn end(&self) -> i64 {
        self.at.saturating_add_unsigned(self.bytes.len() as u64)
    }

    /// Hands over what is kept, if anything, and forgets it: after an error SQLite writes again.
    pub(crate) fn pass_on<T>(&mut self, write: impl FnOnce(i64, &[u8]) -> T) -> Option<T> {
        if self.bytes.is_empty() {
            return None;
        }
        let written = write(self.at, &self.bytes);
        self.bytes.clear();
        Some(written)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passed_on(gathered: &mut Gathered) -> Option<(i64, Vec<u8>)> {
        gathered.pass_on(|at, bytes| (at, bytes.to_vec()))
    }

    #[test]
    fn writes_that_continue_one_another_become_one() {
        let mut gathered = Gathered::default();
        assert_eq!(passed_on(&mut gathered), None);
        assert!(gathered.keep(32, b"header") && gathered.keep(38, b"page"));
        assert!(!gathered.keep(38, b"again"), "a write in between");
        assert!(!gathered.keep(43, b"gap"), "a gap");
        assert_eq!(passed_on(&mut gathered), Some((32, b"headerpage".to_vec())));
        assert_eq!(passed_on(&mut gathered), None, "only once");
        assert!(gathered.keep(0, b"elsewhere"));
        assert_eq!(passed_on(&mut gathered), Some((0, b"elsewhere".to_vec())));
    }

    #[test]
    fn a_long_transaction_is_written_in_parts() {
        let mut gathered = Gathered::default();
        let page = vec![7; 4096];
        let kept = (0..1000_i64).take_while(|page_number| gathered.keep(page_number * 4096, &page));
        assert_eq!(kept.count(), BYTES_MAX / 4096);
        let (_, bytes) = passed_on(&mut gathered).unwrap();
        assert!(bytes.len() < 128 * 1024, "SQLite would report a full disk");
    }
}
