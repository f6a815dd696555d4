//! Searches for marks that close something.

/// Where a mark is next. A text may have thousands of marks that are never closed, and is searched
/// once for all of them.
pub(crate) struct NextMark<'m> {
    mark: &'m str,
    /// Absent before the first search.
    found: Option<Option<usize>>,
}

impl<'m> NextMark<'m> {
    pub(crate) fn new(mark: &'m str) -> Self {
        Self { mark, found: None }
    }

    /// Its first place from here on. Calls must go forward.
    pub(crate) fn after(&mut self, text: &str, from: usize) -> Option<usize> {
        match self.found {
            Some(None) => None,
            Some(Some(at)) if at >= from => Some(at),
            _ => {
                let at = text[from..].find(self.mark).map(|at| from + at);
                self.found = Some(at);
                at
            }
        }
    }
}
