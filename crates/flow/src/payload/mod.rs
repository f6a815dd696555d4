//! The table of payload generations: the forms in which a snapshot is served.
//!
//! A generation never changes its bytes once it is served. A new one is one new file in this folder
//! and one line in the table below (with its `mod`); no other code names a generation.

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

            /// The newest generation.
            pub const LATEST: Self = Self::ALL[Self::ALL.len() - 1];

            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }

        /// The snapshot's JSON in this generation; always the same bytes.
        pub fn render(snapshot: &Snapshot, generation: Generation) -> Vec<u8> {
            match generation { $(Generation::$variant => $module::render(snapshot),)* }
        }
    };
}

generations! {
    G4 = "4" in g4;
}

impl Generation {
    /// Its index in [`Self::ALL`].
    pub fn index(self) -> usize {
        self as usize
    }

    /// The generation with this name on the wire.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|generation| generation.as_str() == name)
    }
}
