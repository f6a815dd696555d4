// Judges answers against the questions of a snapshot: the same issues as the server finds.
//
// The same rules as crates/flow/src/judge.rs and question/types; tests/golden/judge holds both to
// them. Messages name the question and what it accepts, and never repeat the answer.

import { chars, compareDecimals, isDate, isDecimal, isEmail, isPhone, isUrl, plain } from "./formats.js";
import { follow, isAbsent, isKnown, own, type Definition } from "./logic.js";
import type { Answers, Choice, Issue, IssueCode, Question } from "./types.js";

const OTHER = "other:";
const ANSWER_CHARS_MAX = 16_384;
const OTHER_CHARS_MAX = 1_000;
const LONG_TEXT_CHARS_DEFAULT = 4_000;
const LISTED_MAX = 20;

type Add = (code: IssueCode, rule: string) => void;

/** Every issue of the answers to the questions of a version. */
export function judgeKnown(definition: Definition, answers: Answers): Issue[] {
  const { questions } = definition;
  const visible = follow(definition, answers, true).questions;
  // What a condition of a newer server makes required, only the server knows.
  const isJudged = questions.every(({ next = [] }) => next.every(({ when }) => isKnown(when)));
  return questions.flatMap((question) =>
    judgeQuestion(question, answers, isJudged && visible.includes(question) && isKnown(question.visibleIf)));
}

/** Every issue of the answer to one question. */
export function judgeQuestion(question: Question, answers: Answers, isVisible = true): Issue[] {
  const { id, required, rows = [] } = question;
  const issues: Issue[] = [];
  const add: Add = (code, rule) => issues.push({ code, path: ["answers", id], message: `Question "${id}" ${rule}.` });
  const texts = own(answers, id);
  const isGiven = !isAbsent(texts);
  if (isGiven) judgeTexts(question, texts, add);
  const all = texts.join("");
  if (all.includes("\0")) add("nul_character", "takes no NUL character");
  if (chars(all) > ANSWER_CHARS_MAX) add("too_long", `takes at most ${ANSWER_CHARS_MAX} characters`);
  const isWhole = isGiven && rows.every((row) => texts.some((cell) => rowOf(cell) === row.id));
  if (required && !isWhole && isVisible) {
    add("answer_required", isGiven ? "must be answered in full" : "must be answered");
  }
  return issues;
}

function judgeTexts(question: Question, texts: readonly string[], add: Add): void {
  const { type, options = [] } = question;
  if (type === "statement") return add("not_answerable", "is a statement and takes no answer");
  if (type === "multipleChoice") return judgeSeveral(question, texts, add);
  if (type === "matrix") return judgeCells(question, texts, add);
  if (type === "ranking") {
    if (!texts.every((id) => has(options, id))) add("unknown_option", `ranks only its options: ${listed(options)}`);
    else if (texts.length !== options.length || !options.every(({ id }) => texts.includes(id))) {
      add("invalid_selection", `takes every option exactly once: ${listed(options)}`);
    }
    return;
  }
  judgeOne(question, texts, add);
}

/**
 * The types that take one text, with its format. A type that is newer than this client is left to
 * the server.
 */
const ONE: { [type: string]: [((text: string) => boolean)?, string?, IssueCode?] } = {
  shortText: [],
  longText: [],
  email: [isEmail, "an e-mail address such as ada@example.com"],
  url: [isUrl, "a web address that starts with http:// or https://"],
  phone: [isPhone, "a telephone number of 3 to 32 digits, spaces and + - ( ) ."],
  number: [isDecimal, "a decimal number such as 12 or -0.5"],
  date: [isDate, "a date as YYYY-MM-DD"],
  singleChoice: [],
  dropdown: [],
  rating: [],
  nps: [],
  yesNo: [(text) => /^(yes|no)$/.test(text), "yes or no", "unknown_option"],
  consent: [(text) => text === "accepted", "only accepted", "unknown_option"],
};

function judgeOne(question: Question, texts: readonly string[], add: Add): void {
  const { type, max, minLength, maxLength = type === "longText" ? LONG_TEXT_CHARS_DEFAULT : undefined } = question;
  if (!ONE[type]) return;
  if (texts.length !== 1) return add("wrong_answer_kind", "takes one text, not a list");
  const text = texts[0]!;
  const count = chars(text);
  if (count < (minLength ?? 0) || count > (maxLength ?? Infinity)) {
    add("out_of_range", `takes a text of ${within(minLength, maxLength)} characters`);
  }
  const [isRight, format, code = "invalid_format"] = ONE[type];
  if (isRight && !isRight(text)) add(code, `takes ${format}`);
  else if (type === "number") {
    if (question.integer && text.includes(".")) add("invalid_format", "takes a whole number");
    judgeRange(question, (bound) => compareDecimals(text, bound), add);
  } else if (type === "date") judgeRange(question, (bound) => (text < bound ? -1 : Number(text > bound)), add);
  else if (type === "rating") judgeMark(text, 1, (max as number | undefined) ?? 5, add);
  else if (type === "nps") judgeMark(text, 0, 10, add);
  else if (question.options) judgeChoice(question, text, add);
}

function judgeRange({ type, ...question }: Question, compare: (bound: string) => number, add: Add): void {
  const [min, max] = [question.min, question.max].map((bound) => (typeof bound === "number" ? plain(bound) : bound));
  if ((min && compare(min) < 0) || (max && compare(max) > 0)) add("out_of_range", `takes a ${type} ${within(min, max)}`);
}

function judgeMark(text: string, low: number, high: number, add: Add): void {
  const isPlain = /^(0|[1-9]\d*)$/.test(text);
  if (isPlain && Number(text) >= low && Number(text) <= high) return;
  add(isPlain ? "out_of_range" : "invalid_format", `takes a whole number from ${low} to ${high}`);
}

/** Returns whether the choice is valid. */
function judgeChoice({ options = [], allowOther }: Question, chosen: string, add: Add): boolean {
  const isOther = chosen.startsWith(OTHER);
  if (!isOther && has(options, chosen)) return true;
  if (isOther && allowOther) {
    const text = chosen.slice(OTHER.length);
    if (/^\p{White_Space}*$/u.test(text)) add("invalid_format", "takes other: only with a text after it");
    else if (chars(text) > OTHER_CHARS_MAX) add("out_of_range", `takes at most ${OTHER_CHARS_MAX} characters after other:`);
    else return true;
  } else {
    add("unknown_option", `takes only its options: ${listed(options)}${allowOther ? ", or other: and a text" : ""}`);
  }
  return false;
}

function judgeSeveral(question: Question, texts: readonly string[], add: Add): void {
  const { options = [], minSelected, maxSelected } = question;
  // Stops at the first that is unknown.
  texts.every((text) => judgeChoice(question, text, add));
  // A second free text repeats the first.
  const distinct = new Set(texts.map((text) => (text.startsWith(OTHER) ? OTHER : text)));
  if (texts.length > options.length + 1 || distinct.size < texts.length) {
    add("invalid_selection", "takes each option at most once");
  }
  if (texts.length < (minSelected ?? 0) || texts.length > (maxSelected ?? Infinity)) {
    add("out_of_range", `takes ${within(minSelected, maxSelected)} options`);
  }
}

function judgeCells({ rows = [], columns = [] }: Question, cells: readonly string[], add: Add): void {
  if (!cells.every((cell) => cell.includes(":"))) return add("invalid_format", "takes <row>:<column> for each row");
  if (!cells.every((cell) => has(rows, rowOf(cell)) && has(columns, cell.slice(rowOf(cell).length + 1)))) {
    add("unknown_option", `takes <row>:<column> of rows ${listed(rows)} and columns ${listed(columns)}`);
  }
  if (cells.length > rows.length || new Set(cells.map(rowOf)).size < cells.length) {
    add("invalid_selection", "takes one column for each row");
  }
}

const rowOf = (cell: string): string => cell.split(":", 1)[0]!;
const has = (choices: readonly Choice[], id: string): boolean => choices.some((choice) => choice.id === id);

/** The ids of choices; of many, only the first and the number of the rest. */
function listed(choices: readonly Choice[]): string {
  const ids = choices.slice(0, LISTED_MAX).map(({ id }) => id).join(", ");
  return choices.length > LISTED_MAX ? `${ids} and ${choices.length - LISTED_MAX} more` : ids;
}

const within = (min: string | number | undefined, max: string | number | undefined): string =>
  min == null ? `at most ${max}` : max == null ? `at least ${min}` : `from ${min} to ${max}`;
