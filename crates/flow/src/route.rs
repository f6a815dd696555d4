//! The way that a set of answers takes through the questions: which are visible, the score, and the
//! ending.
//!
//! Questions are judged in order. A question is visible if no jump skips it and its `visibleIf`
//! holds. Only a visible question adds to the score and can jump. A condition about the score reads
//! the sum up to its place: before the question for `visibleIf`, with the question for its jumps,
//! and the total for endings. The script of the hosted page does the same; both pass
//! `tests/routes.json`.

use crate::definition::{Definition, NamedEnding};
use crate::logic::Condition;
use crate::question::{Question, Target};
use crate::score::Score;
use crate::text_map::TextMap;

/// The way through a definition.
#[derive(Debug, Clone, PartialEq)]
pub struct Route<'d> {
    visible: Vec<bool>,
    score: Score,
    ending: Option<&'d NamedEnding>,
}

impl<'d> Route<'d> {
    /// Whether the question at this index is visible.
    pub fn is_visible(&self, at: usize) -> bool {
        self.visible.get(at).copied().unwrap_or_default()
    }

    /// The sum over the visible questions.
    pub fn score(&self) -> Score {
        self.score
    }

    /// The ending that the answers lead to; without one, the definition's own `ending` is shown.
    pub fn ending(&self) -> Option<&'d NamedEnding> {
        self.ending
    }
}

impl Definition {
    /// The way that these answers take.
    pub fn route(&self, answers: &TextMap<'_>) -> Route<'_> {
        let mut walk = Walk::new(self);
        let mut visible = Vec::with_capacity(self.questions().len());
        while let Some((_, is_visible)) = walk.next(answers) {
            visible.push(is_visible);
        }
        Route { visible, score: walk.score, ending: walk.ending(answers) }
    }

    /// The score of these answers, if any question has one.
    pub fn score(&self, answers: &TextMap<'_>) -> Option<Score> {
        self.is_scored().then(|| self.route(answers).score)
    }

    /// The place of the question at this index among those that are visible, and the number of
    /// questions on the longest way from there. Only answers to earlier questions change them, so
    /// that the share grows with every page.
    pub fn place_of(&self, at: usize, answers: &TextMap<'_>) -> (usize, usize) {
        let mut walk = Walk::new(self);
        let mut visible_before = 0;
        while walk.at < at
            && let Some((_, is_visible)) = walk.next(answers)
        {
            visible_before += usize::from(is_visible);
        }
        let (earlier, later) = self.questions().split_at(at.min(self.questions().len()));
        let is_known = |id: &str| earlier.iter().any(|question| question.id == id);
        let can_follow = |&(each, question): &(usize, &Question)| {
            let holds = |condition: &Condition| condition.holds_at(answers, walk.score);
            let condition = question.visible_if.as_ref();
            each == at
                || each >= walk.resume_at
                    && condition.is_none_or(|it| !it.is_decided_by(&is_known) || holds(it))
        };
        let following = (at..).zip(later).filter(can_follow).count();
        (visible_before + 1, visible_before + following)
    }

    /// The answers without those to questions that are not visible. Used by a page that asks one
    /// question at a time: if a respondent goes back and changes an answer, answers to questions
    /// that are now hidden do not count.
    #[must_use]
    pub fn reached<'a>(&self, mut answers: TextMap<'a>) -> TextMap<'a> {
        let mut walk = Walk::new(self);
        while let Some((question, is_visible)) = walk.next(&answers) {
            if !is_visible {
                answers.remove(&question.id);
            }
        }
        answers
    }
}

/// A position on the way.
struct Walk<'d> {
    definition: &'d Definition,
    at: usize,
    /// Questions before this index are skipped.
    resume_at: usize,
    score: Score,
    /// The ending that a jump chose.
    chosen: Option<&'d str>,
}

impl<'d> Walk<'d> {
    fn new(definition: &'d Definition) -> Self {
        Self { definition, at: 0, resume_at: 0, score: Score::default(), chosen: None }
    }

    /// The next question, and whether it is visible. Reads only answers to questions up to it.
    fn next(&mut self, answers: &TextMap<'_>) -> Option<(&'d Question, bool)> {
        let question = self.definition.questions().get(self.at)?;
        let condition = question.visible_if.as_ref();
        let is_visible = self.at >= self.resume_at
            && condition.is_none_or(|condition| condition.holds_at(answers, self.score));
        self.at += 1;
        if is_visible {
            if let Some(answer) = answers.get(&question.id) {
                self.score += question.question_type.score(answer);
            }
            self.jump(question, answers);
        }
        Some((question, is_visible))
    }

    fn jump(&mut self, question: &'d Question, answers: &TextMap<'_>) {
        let taken = question
            .next
            .iter()
            .find(|jump| jump.when.as_ref().is_none_or(|when| when.holds_at(answers, self.score)));
        self.resume_at = match taken.map(|jump| &jump.to) {
            None => return,
            Some(Target::Question(id)) => self.definition.position(id).unwrap_or_default(),
            Some(Target::End) => usize::MAX,
            Some(Target::Ending(id)) => {
                self.chosen = Some(id);
                usize::MAX
            }
        };
    }

    fn ending(&self, answers: &TextMap<'_>) -> Option<&'d NamedEnding> {
        let mut endings = self.definition.endings().iter();
        match self.chosen {
            Some(id) => endings.find(|ending| ending.id == id),
            None => endings.find(|ending| {
                let when = ending.when.as_ref();
                when.is_some_and(|when| when.holds_at(answers, self.score))
            }),
        }
    }
}
