/*
 * The fields that only some types have. Which type has which comes from the server, so that a type that is new there
 * has its form here; a field that is new needs a line in the table below.
 */

import { choicesEditor } from "./choices.js";
import { el, field, select, tick } from "./dom.js";

const count = (label, hint) => ({ kind: "number", label, hint, step: 1, min: 0 });

/** By the name of the field, or by type and field where it means something else there. */
const OWN = {
  minLength: count("Shortest answer", "In characters"),
  maxLength: count("Longest answer", "In characters"),
  minSelected: count("Fewest choices"),
  maxSelected: count("Most choices"),
  "number.min": { kind: "number", label: "Lowest number", step: "any" },
  "number.max": { kind: "number", label: "Highest number", step: "any" },
  "date.min": { kind: "date", label: "Earliest day" },
  "date.max": { kind: "date", label: "Latest day" },
  "rating.max": { kind: "number", label: "How many marks", hint: "3 to 10; without a number there are 5", step: 1, min: 3, max: 10 },
  integer: { kind: "tick", label: "Whole numbers only" },
  allowOther: { kind: "tick", label: "Offer “Other”, with an answer of one's own" },
  shape: { kind: "words", label: "Marks look like", words: { star: "Stars", number: "Numbers", emoji: "Faces" } },
  lowLabel: { kind: "text", label: "Words at the low end" },
  highLabel: { kind: "text", label: "Words at the high end" },
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
  // What is no number is kept as it was typed, so that the fault can be told.
  const read = () => (type !== "number" || input.value === "" ? input.value : Number(input.value));
  input.addEventListener("input", () => set(read()));
  return field(own.label, input, { path, hint: own.hint });
}
