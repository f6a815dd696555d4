/*
 * Fields that only some types have. The server sends which type has which field, and its label.
 */

import { choicesEditor } from "./choices.js";
import { el, field, select, tick } from "./dom.js";

export function ownFields(draft, at, type, context) {
  const of = (...kinds) => type.fields.filter(({ kind }) => kinds.includes(kind));
  const lists = of("choices").map((own) => choicesEditor(draft, at, own, context));
  const others = of("count", "number", "date", "word", "text").map((own) => one(draft, at, own));
  const ticks = of("flag").map((own) => one(draft, at, own));
  return [...lists, others.length > 0 && el("div", { className: "inline" }, others), ...ticks].filter(Boolean);
}

/** The type and limits of the field in the form. */
const INPUTS = {
  count: ({ min, max }) => ({ type: "number", step: 1, min, max }),
  number: () => ({ type: "number", step: "any" }),
  date: () => ({ type: "date" }),
  text: () => ({ type: "text" }),
};

function one(draft, at, own) {
  const path = ["questions", at, own.name];
  const value = draft.questions[at][own.name];
  // The order decides which fields options have.
  const set = (next) => draft.set(path, next, { shape: own.name === "optionOrder" });
  if (own.kind === "flag") return tick(own.label, value === true, set, path);
  if (own.kind === "word") {
    const chosen = value ?? own.words[0][0];
    return field(own.label, select(own.words, chosen, set), { path, hint: own.hint });
  }
  const properties = INPUTS[own.kind](own);
  const input = el("input", { className: "input", ...properties, value: value ?? "" });
  // Keep invalid numbers as typed, so that the fault can be shown.
  const read = () => (properties.type !== "number" || input.value === "" ? input.value : Number(input.value));
  input.addEventListener("input", () => set(read()));
  return field(own.label, input, { path, hint: own.hint });
}
