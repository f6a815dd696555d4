//! Conditions of the source. [`crate::resolve`] turns them into those of Sluice.

#[derive(Debug, Clone)]
pub(crate) enum Cond {
    All(Vec<Cond>),
    Any(Vec<Cond>),
    Not(Box<Cond>),
    /// A test of an answer, by the question's name; of a row, if it is a matrix.
    Answer {
        key: String,
        row: Option<String>,
        test: Test,
    },
    Score(Test),
    /// A test that Sluice does not have, with the reason.
    Unsupported(String),
}

#[derive(Debug, Clone)]
pub(crate) enum Test {
    Is(String),
    OneOf(Vec<String>),
    AllOf(Vec<String>),
    /// A list that has all of these, or a text with this one in it.
    Contains(Vec<String>),
    Answered,
    Less(String),
    LessOrEqual(String),
    Greater(String),
    GreaterOrEqual(String),
}

impl Cond {
    pub(crate) fn answer(key: impl Into<String>, test: Test) -> Self {
        Self::Answer { key: key.into(), row: None, test }
    }

    pub(crate) fn not(self) -> Self {
        Self::Not(Box::new(self))
    }

    pub(crate) fn unsupported(reason: impl Into<String>) -> Self {
        Self::Unsupported(reason.into())
    }

    /// The names of the questions that it reads.
    pub(crate) fn keys(&self) -> Vec<&str> {
        match self {
            Self::All(all) | Self::Any(all) => all.iter().flat_map(Self::keys).collect(),
            Self::Not(inner) => inner.keys(),
            Self::Answer { key, .. } => vec![key],
            Self::Score(_) | Self::Unsupported(_) => Vec::new(),
        }
    }
}
