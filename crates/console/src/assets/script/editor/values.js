/*
 * The value of a comparison: an option, a number, a date, a text, a cell of a matrix; one or
 * several.
 */

import { el, select } from "./dom.js";
import { typeOf } from "./types.js";
import { kindOf, testOf } from "./words.js";

export function valueField(condition, question, put, key) {
  const test = testOf(condition);
  const about = condition.score ? { score: true } : { question: condition.question };
  const set = (value, isTyping) => put({ ...about, [test]: value }, isTyping);
  const value = condition[test];
  const kind = kindOf(question);
  if (kind === "cells") return cells(question, String(value ?? ""), set, key);
  const choices = choicesOf(question, kind);
  const isMany = ["in", "notIn"].includes(test);
  if (choices && isMany) return several(choices, Array.isArray(value) ? value : [], set, key);
  if (choices) return one(choices, value, set, key);
  return isMany ? listed(kind, Array.isArray(value) ? value : [], set, key) : typed(kind, value, set, key);
}

function choicesOf(question, kind) {
  if (kind === "words") return typeOf(question).words.map((word) => [word, word]);
  if (kind !== "one" && kind !== "some") return null;
  const options = (question.options ?? []).map(({ id, label }) => [id, label || id]);
  return question.allowOther ? [...options, ["other", "Other (free text)"]] : options;
}

function one(choices, value, set, key) {
  const options = choices.some(([id]) => id === value) ? choices : [[value ?? "", value ? `${value} (removed)` : "Choose"], ...choices];
  return select(options, value, set, { aria: { label: "Value" }, data: { key } });
}

function several(choices, chosen, set, key) {
  return el("span", { className: "several", role: "group", aria: { label: "Values" } }, choices.map(([id, label], n) => {
    const box = el("input", { type: "checkbox", checked: chosen.includes(id), data: { key: `${key}-${n}` } });
    box.addEventListener("change", () => set(box.checked ? [...chosen, id] : chosen.filter((each) => each !== id)));
    return el("label", { className: "check" }, box, el("span", {}, label));
  }));
}

function cells(question, value, set, key) {
  const [row = "", column = ""] = value.split(":");
  const part = (list, chosen, label, put) => select((question[list] ?? []).map((each) => [each.id, each.label || each.id]), chosen, put, { aria: { label }, data: { key: `${key}-${list}` } });
  return el("span", { className: "several" },
    part("rows", row, "Row", (next) => set(`${next}:${column}`)),
    part("columns", column, "Column", (next) => set(`${row}:${next}`)));
}

const TYPES = { number: "number", score: "number", date: "date" };

/** Converts to a number if possible; otherwise keeps the text, so that the fault can be shown. */
const read = (kind, text) => (TYPES[kind] === "number" && text.trim() !== "" && !Number.isNaN(Number(text)) ? Number(text) : text);

function typed(kind, value, set, key) {
  const input = el("input", { className: "input", type: TYPES[kind] ?? "text", step: "any", value: value ?? "", aria: { label: "Value" }, data: { key } });
  input.addEventListener("input", () => set(read(kind, input.value), true));
  return input;
}

function listed(kind, values, set, key) {
  const input = el("input", { className: "input", value: values.join(", "), placeholder: "Values, separated by commas", aria: { label: "Values, separated by commas" }, data: { key } });
  input.addEventListener("input", () => set(input.value.split(",").map((text) => read(kind, text.trim())).filter((each) => each !== ""), true));
  return input;
}
