//! Every limit of a definition, with its unit in its name.
//!
//! They keep a snapshot small enough to serve and judge quickly, and are far above what a real flow
//! needs. The length of a text is counted in characters, not in bytes.

pub const QUESTIONS_MAX: usize = 300;
/// Options of one question; also rows or columns of a matrix.
pub const OPTIONS_MAX: usize = 200;
/// A full matrix answer must fit into one answer of a submission.
pub const MATRIX_ROWS_MAX: usize = 100;
pub const ID_CHARS_MAX: usize = 64;

pub const TITLE_CHARS_MAX: usize = 300;
pub const DESCRIPTION_CHARS_MAX: usize = 5_000;
pub const PROMPT_CHARS_MAX: usize = 2_000;
pub const HELP_CHARS_MAX: usize = 5_000;
/// The label of an option, row, column or end of a scale.
pub const LABEL_CHARS_MAX: usize = 500;
/// The text in place of an image.
pub const ALT_CHARS_MAX: usize = 500;
pub const ENDING_BODY_CHARS_MAX: usize = 5_000;
pub const URL_CHARS_MAX: usize = 2_048;

/// The text of a button.
pub const BUTTON_CHARS_MAX: usize = 100;

/// Endings by condition, besides the last resort.
pub const ENDINGS_MAX: usize = 50;
/// Jumps after one question.
pub const JUMPS_MAX: usize = 50;
/// The largest magnitude of the score of an option.
pub const SCORE_MAX: u32 = 1_000_000;

/// Languages besides the default one.
pub const TRANSLATIONS_MAX: usize = 100;

/// Nesting depth of `all`, `any` and `not` in one `visibleIf`.
pub const CONDITION_DEPTH_MAX: usize = 8;
/// Conditions in one `all` or `any`, or values in one `in` or `notIn`.
pub const CONDITION_ITEMS_MAX: usize = 100;
pub const CONDITION_TEXT_CHARS_MAX: usize = 500;

/// The longest answer, all items of a list together; also the upper limit of `minLength` and
/// `maxLength`.
pub const ANSWER_CHARS_MAX: u32 = 16_384;
/// The longest answer to a `longText` without `maxLength`.
pub const LONG_TEXT_CHARS_DEFAULT: u32 = 4_000;
/// The text after `other:`.
pub const OTHER_CHARS_MAX: usize = 1_000;
/// The digits, sign and point of a number.
pub const NUMBER_CHARS_MAX: usize = 64;
/// The largest magnitude of a bound: whole numbers below it are exact in every client.
pub const NUMBER_BOUND_MAX: f64 = 1e15;

/// The most faults reported at once.
pub const FAULTS_MAX: usize = 500;
