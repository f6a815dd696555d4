/*
 * Fields that only some types have. The server sends which type has which field, so a new type gets its form without
 * changes here; a new field needs a line in the table below.
 */

import { choicesEditor } from "./choices.js";
import { el, field, select, tick } from "./dom.js";

const count = (label, hint) => ({ kind: "number", label, hint, step: 1, min: 0 });

/** By field name, or by type and field if the meaning differs. */
const OWN = {
  minLength: count("Minimum length", "In characters"),
  maxLength: count("Maximum length", "In characters"),
  minSelected: count("Minimum choices"),
  maxSelected: count("Maximum choices"),
  "number.min": { kind: "number", label: "Minimum", step: "any" },
  "number.max": { kind: "number", label: "Maximum", step: "any" },
  "date.min": { kind: "date", label: "Earliest date" },
  "date.max": { kind: "date", label: "Latest date" },
  "rating.max": { kind: "number", label: "Number of steps", hint: "3 to 10; default 5", step: 1, min: 3, max: 10 },
  integer: { kind: "tick", label: "Whole numbers only" },
  allowOther: { kind: "tick", label: "Offer “Other” with free text" },
  shape: { kind: "words", label: "Style", words: { star: "Stars", number: "Numbers", emoji: "Faces" } },
  lowLabel: { kind: "text", label: "Label of the low end" },
  highLabel: { kind: "text", label: "Label of the high end" },
  options: { kind: "choices", label: "Options" },
  rows: { kind: "choices", label: "Rows" },
  columns: { kind: "choices", label: "Columns" },
};

export function ownFields(draft, at, type, context) {
  const order = Object.keys(OWN).map((key) => key.split(".").at(-1));
  const fields = [...type.fields].sort((one, two) => order.indexOf(one) - order.indexOf(two));
  const made = fields.map((name) => [name, OWN[`${type.name}.${name}`] ?? OWN[name] ?? { kind: "text", label: name }]);
  const lists = made.filter(([, own]) => own.kind === "choices").map(([name, own]) => choicesEditor(draft, at, name, own.label, context));
  const ticks = made.filter(([, own]) => own.kind === "tick").map(([name, own]) => one(draft, at, name, own));
  const others = made.filter(([, own]) => !["choices", "tick"].includes(own.kind)).map(([name, own]) => one(draft, at, name, own));
  return [...lists, others.length > 0 && el("div", { className: "inline" }, others), ...ticks].filter(Boolean);
}

function one(draft, at, name, own) {
  const path = ["questions", at, name];
  const value = draft.questions[at][name];
  const set = (next) => draft.set(path, next);
  if (own.kind === "tick") return tick(own.label, value === true, set, path);
  if (own.kind === "words") {
    const chosen = value ?? Object.keys(own.words)[0];
    return field(own.label, select(Object.entries(own.words), chosen, set), { path, hint: own.hint });
  }
  const { kind: type, step, min, max } = own;
  const input = el("input", { className: "input", type, step, min, max, value: value ?? "" });
  // Keep invalid numbers as typed, so that the fault can be shown.
  const read = () => (type !== "number" || input.value === "" ? input.value : Number(input.value));
  input.addEventListener("input", () => set(read()));
  return field(own.label, input, { path, hint: own.hint });
}
