/*
 * A condition in plain English, as crates/flow/src/logic/words.rs has it; both pass
 * crates/flow/tests/condition_words.json. A draft may refer to missing questions or options.
 */

import { typeOf } from "./types.js";

const NAME_CHARS_MAX = 60;

const TESTS = {
  never: [], presence: ["answered"],
  text: ["equals", "in", "notIn", "answered"],
  words: ["equals", "answered"],
  one: ["equals", "in", "notIn", "answered"],
  number: ["equals", "lessThan", "greaterThan", "in", "notIn", "answered"],
  date: ["equals", "lessThan", "greaterThan", "answered"],
  some: ["includes", "answered"], cells: ["includes", "answered"],
  score: ["lessThan", "greaterThan", "equals"],
};

/** The kind of comparison that conditions can use on this question. */
export const kindOf = (question) => (question?.type === "#score" ? "score" : (typeOf(question)?.comparison ?? "presence"));

/** The comparisons for a question, in menu order. */
export const testsFor = (question) => TESTS[kindOf(question)];

/** The comparison of a condition. */
export const testOf = (condition) => Object.keys(condition).find((key) => !["question", "score"].includes(key)) ?? "answered";

export function quoted(text) {
  const letters = [...String(text ?? "").trim()];
  return letters.length > NAME_CHARS_MAX ? `“${letters.slice(0, NAME_CHARS_MAX).join("").trimEnd()}…”` : `“${letters.join("")}”`;
}

const whole = (text) => `“${String(text ?? "").trim()}”`;

/** A condition about these questions in plain English; `isWhole` does not shorten their texts. */
export function inWords(condition, questions, { isWhole = false } = {}) {
  return part(condition, { questions, quote: isWhole ? whole : quoted }, false);
}

/**
 * With `inner`, the text becomes part of a longer one, so clauses joined by and/or need brackets.
 */
function part(condition, context, inner) {
  const joined = (conditions, word) => {
    const isOne = conditions.length === 1;
    const text = conditions.map((each) => part(each, context, inner || !isOne)).join(word);
    return inner && !isOne ? `(${text})` : text;
  };
  if (Array.isArray(condition?.all)) return joined(condition.all, " and ");
  if (Array.isArray(condition?.any)) return joined(condition.any, " or ");
  if (condition?.not) {
    const isTest = !Array.isArray(condition.not.all) && !Array.isArray(condition.not.any) && !condition.not.not;
    const negated = isTest && named(condition.not, context, describeNegated);
    return negated || `it is not true that ${part(condition.not, context, true)}`;
  }
  return named(condition ?? {}, context, describeTest);
}

/** Where a jump of `next` leads, and when. */
export function jumpInWords({ when, to }, questions) {
  const question = questions.find(({ id }) => id === to);
  const ending = /^end:(.*)/.exec(to ?? "");
  const target = to === "end" ? "the end" : ending ? `the ending ${ending[1]}` : quoted(question?.prompt || to || "…");
  return when ? `go to ${target} if ${inWords(when, questions)}` : `go to ${target}`;
}

/**
 * The question of a comparison, and what is said about it; nothing if there are no words for it.
 */
function named(condition, { questions, quote }, describe) {
  const question = questions.find(({ id }) => id === condition.question);
  const words = describe(condition, question, quote);
  return words && `${condition.score ? "the score" : quote(question?.prompt || condition.question || "…")} ${words}`;
}

function describeTest(condition, question, quote) {
  const test = testOf(condition);
  const value = condition[test];
  const one = () => operand(value, question, quote);
  const isDate = kindOf(question) === "date";
  switch (test) {
    case "answered": return value ? "is answered" : "is not answered";
    case "equals": return `is ${one()}`;
    case "in": return `is ${listed(value, question, quote, "or")}`;
    case "notIn": return `is something other than ${listed(value, question, quote, "or")}`;
    case "includes": return kindOf(question) === "cells" ? `has ${cell(String(value), question, quote)}` : `includes ${one()}`;
    case "lessThan": return `is ${isDate ? "before" : "less than"} ${one()}`;
    case "greaterThan": return `is ${isDate ? "after" : "more than"} ${one()}`;
    default: return "…";
  }
}

/** The opposite of a comparison. For "something other than" there is none that reads well. */
function describeNegated(condition, question, quote) {
  const test = testOf(condition);
  const value = condition[test];
  const one = () => operand(value, question, quote);
  const isDate = kindOf(question) === "date";
  switch (test) {
    case "answered": return value ? "is not answered" : "is answered";
    case "equals": return `is not ${one()}`;
    case "in": return Array.isArray(value) && value.length > 1 ? `is neither ${listed(value, question, quote, "nor")}` : `is not ${listed(value, question, quote, "nor")}`;
    case "includes": return kindOf(question) === "cells" ? `does not have ${cell(String(value), question, quote)}` : `does not include ${one()}`;
    case "lessThan": return `is not ${isDate ? "before" : "less than"} ${one()}`;
    case "greaterThan": return `is not ${isDate ? "after" : "more than"} ${one()}`;
    default: return null;
  }
}

function cell(text, question, quote) {
  const [row, column = ""] = text.split(":");
  return `${label(question.columns, column, quote)} for ${label(question.rows, row, quote)}`;
}

function listed(values, question, quote, word) {
  const words = (Array.isArray(values) ? values : [values]).map((value) => operand(value, question, quote));
  return words.length > 1 ? `${words.slice(0, -1).join(", ")} ${word} ${words.at(-1)}` : (words[0] ?? "…");
}

function operand(value, question, quote) {
  const kind = kindOf(question);
  if (value === undefined || value === "") return "…";
  if (typeof value === "number" || kind === "date" || kind === "words") return String(value);
  if (kind !== "one" && kind !== "some") return quote(value);
  return value === "other" && question.allowOther ? "a free-text answer" : label(question.options, value, quote);
}

const label = (choices, id, quote) => quote((choices ?? []).find((choice) => choice.id === id)?.label ?? id);
