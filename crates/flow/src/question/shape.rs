//! What kind of value an answer is, for whoever lays answers out in columns or searches them.

use super::{Comparable, QuestionType};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Shape {
    /// Written freely.
    Text,
    /// A decimal number.
    Number,
    /// `YYYY-MM-DD`.
    Date,
    /// One of a few words or options, or `other:` with a text.
    Word,
    /// Several of them.
    List,
    /// There is never an answer.
    Nothing,
}

impl Shape {
    /// What holds the answers of two versions of which one had this and the other that.
    pub fn or(self, other: Self) -> Self {
        match (self, other) {
            (one, other) if one == other => one,
            (Self::Nothing, shape) | (shape, Self::Nothing) => shape,
            (Self::List, _) | (_, Self::List) => Self::List,
            _ => Self::Text,
        }
    }
}

impl QuestionType {
    pub fn shape(&self) -> Shape {
        match self.comparable() {
            Comparable::Never => Shape::Nothing,
            Comparable::Text => Shape::Text,
            Comparable::Number => Shape::Number,
            Comparable::Date => Shape::Date,
            Comparable::Words(_) | Comparable::OneOf { .. } => Shape::Word,
            Comparable::Presence | Comparable::SomeOf { .. } | Comparable::Cells { .. } => {
                Shape::List
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Shape; 6] =
        [Shape::Text, Shape::Number, Shape::Date, Shape::Word, Shape::List, Shape::Nothing];

    #[test]
    fn two_shapes_are_held_by_one_whichever_came_first() {
        for one in ALL {
            assert_eq!(one.or(one), one);
            for other in ALL {
                assert_eq!(one.or(other), other.or(one), "{one:?} and {other:?}");
            }
        }
        assert_eq!(Shape::Number.or(Shape::Word), Shape::Text);
        assert_eq!(Shape::Word.or(Shape::List), Shape::List);
        assert_eq!(Shape::Nothing.or(Shape::Date), Shape::Date);
    }
}
