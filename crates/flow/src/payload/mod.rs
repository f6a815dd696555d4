//! The table of payload generations: the forms in which a snapshot is served.
//!
//! A generation, once served, never changes its bytes. A new one is one new file and one line here.

mod g4;

use crate::snapshot::Snapshot;

macro_rules! generations {
    ($($variant:ident = $name:literal in $module:ident;)*) => {
        /// One form of the snapshot on the wire.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Generation { $($variant,)* }

        impl Generation {
            /// Every generation that is served, oldest first.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }

        /// The snapshot's JSON in this generation; the same bytes for ever.
        pub fn render(snapshot: &Snapshot, generation: Generation) -> Vec<u8> {
            match generation { $(Generation::$variant => $module::render(snapshot),)* }
        }
    };
}

generations! {
    G4 = "4" in g4;
}

impl Generation {
    /// The generation that clients call so.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|generation| generation.as_str() == name)
    }
}
