//! Whether an export has ids or labels.

/// What questions and options are called in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ValuesAs {
    /// By their ids, which never change.
    #[default]
    Ids,
    /// Questions by their text in the newest version that asks them, options by their label in the
    /// version that was answered.
    Labels,
}

impl ValuesAs {
    pub const ALL: &[Self] = &[Self::Ids, Self::Labels];

    /// Its name in requests and on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ids => "ids",
            Self::Labels => "labels",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|values| values.as_str() == name)
    }
}
