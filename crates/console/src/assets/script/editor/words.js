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

/** A condition about these questions in plain English. */
export function inWords(condition, questions, inner = false) {
  const joined = (conditions, word) => {
    const isOne = conditions.length === 1;
    const text = conditions.map((each) => inWords(each, questions, inner || !isOne)).join(word);
    return inner && !isOne ? `(${text})` : text;
  };
  if (Array.isArray(condition?.all)) return joined(condition.all, " and ");
  if (Array.isArray(condition?.any)) return joined(condition.any, " or ");
  if (condition?.not) return `it is not true that ${inWords(condition.not, questions, true)}`;
  if (condition?.score) return `the score ${describeTest(condition)}`;
  const question = questions.find(({ id }) => id === condition?.question);
  return `${quoted(question?.prompt || condition?.question || "…")} ${describeTest(condition ?? {}, question)}`;
}

/** Where a jump of `next` leads, and when. */
export function jumpInWords({ when, to }, questions) {
  const question = questions.find(({ id }) => id === to);
  const named = /^end:(.*)/.exec(to ?? "");
  const target = to === "end" ? "the end" : named ? `the ending ${named[1]}` : quoted(question?.prompt || to || "…");
  return when ? `go to ${target} if ${inWords(when, questions)}` : `go to ${target}`;
}

function describeTest(condition, question) {
  const test = testOf(condition);
  const value = condition[test];
  const one = () => operand(value, question);
  const isDate = kindOf(question) === "date";
  switch (test) {
    case "answered": return value ? "is answered" : "is not answered";
    case "equals": return `is ${one()}`;
    case "in": return `is ${either(value, question)}`;
    case "notIn": return `is something other than ${either(value, question)}`;
    case "includes": return kindOf(question) === "cells" ? cell(String(value), question) : `includes ${one()}`;
    case "lessThan": return `is ${isDate ? "before" : "less than"} ${one()}`;
    case "greaterThan": return `is ${isDate ? "after" : "more than"} ${one()}`;
    default: return "…";
  }
}

function cell(text, question) {
  const [row, column = ""] = text.split(":");
  return `has ${label(question.columns, column)} for ${label(question.rows, row)}`;
}

function either(values, question) {
  const words = (Array.isArray(values) ? values : [values]).map((value) => operand(value, question));
  return words.length > 1 ? `${words.slice(0, -1).join(", ")} or ${words.at(-1)}` : (words[0] ?? "…");
}

function operand(value, question) {
  const kind = kindOf(question);
  if (value === undefined || value === "") return "…";
  if (typeof value === "number" || kind === "date" || kind === "words") return String(value);
  if (kind !== "one" && kind !== "some") return quoted(value);
  return value === "other" && question.allowOther ? "a free-text answer" : label(question.options, value);
}

const label = (choices, id) => quoted((choices ?? []).find((choice) => choice.id === id)?.label ?? id);
