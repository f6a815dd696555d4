//! The table of payload generations. (stub)
use crate::snapshot::Snapshot;
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Generation { G4 }
impl Generation {
    pub const ALL: &[Self] = &[Self::G4];
    pub fn as_str(self) -> &'static str { match self { Self::G4 => "4" } }
    pub fn named(name: &str) -> Option<Self> { Self::ALL.iter().copied().find(|g| g.as_str() == name) }
}
/// The snapshot's JSON in this generation; the same bytes for ever.
pub fn render(_snapshot: &Snapshot, _generation: Generation) -> Vec<u8> { todo!() }
