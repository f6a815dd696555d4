/*
 * The form of one question: texts, fields of its type, condition, jumps, type and id.
 */

import { el, field, select, tick } from "./dom.js";
import { isJoined } from "./grouping.js";
import { idFrom, isMadeUp } from "./ids.js";
import { imageEditor } from "./images.js";
import { jumpsEditor } from "./jumps.js";
import { logicEditor } from "./logic.js";
import { ownFields } from "./own.js";
import { allTypes, isAnswerable, typeNamed, typeOf } from "./types.js";

export function questionForm(draft, at, context) {
  const question = draft.questions[at];
  const type = typeOf(question);
  const path = (name) => ["questions", at, name];
  const text = (name, label, { rows, hint, onchange } = {}) => {
    const input = el("textarea", { className: "input", rows, value: question[name] ?? "", oninput: () => draft.set(path(name), input.value), onchange });
    return field(label, input, { path: path(name), hint });
  };
  const isStatement = !isAnswerable(question);
  return el("div", { className: "form" },
    text("prompt", isStatement ? "Heading" : "Question", { rows: 2, onchange: () => nameIt(draft, at, context) }),
    text("help", isStatement ? "Text" : "Help", { rows: isStatement ? 4 : 1, hint: isStatement ? null : "Shown below the question" }),
    imageEditor(draft, ["questions", at], { of: `question ${at + 1}`, context }),
    type ? ownFields(draft, at, type, context) : el("p", { className: "note warn" }, "Unknown type. Choose another, or edit it under JSON."),
    !isStatement && tick("Required", question.required === true, (on) => draft.set(path("required"), on), path("required")),
    at > 0 && pageTick(draft, at),
    logicEditor(draft, at, context),
    jumpsEditor(draft, at, context),
    el("details", { className: "more", open: context.isFaulty(["questions", at, "id"]) },
      el("summary", {}, "Type and ID"),
      el("div", { className: "inline" }, typeField(draft, at, context), idField(draft, at, context)),
      warnings(draft, at, context)));
}

/** Several questions on one page. */
function pageTick(draft, at) {
  const made = tick("On the same page as the question before", isJoined(draft.definition, at), (on) => draft.group(at, on));
  made.querySelector("input").dataset.key = `page-${at}`;
  return made;
}

/** Warnings about the id, updated when it changes. */
function warnings(draft, at, context) {
  const place = el("div", {});
  const draw = () => place.replaceChildren(...[warning(draft, at, context)].filter(Boolean));
  const follow = () => (place.isConnected ? draft.questions[at] && draw() : draft.removeEventListener("change", follow));
  draw();
  // After it is in the page; the listener is removed when the element is gone.
  queueMicrotask(() => draft.addEventListener("change", follow));
  return place;
}

function typeField(draft, at, context) {
  const question = draft.questions[at];
  const known = allTypes().map(({ name, label }) => [name, label]);
  const options = known.some(([name]) => name === question.type) ? known : [[question.type ?? "", question.type ?? "–"], ...known];
  return field("Type", select(options, question.type, (name) => retype(draft, at, context, name)), { path: ["questions", at, "type"] });
}

/** Changes the type, and keeps the fields that the new type also has. */
function retype(draft, at, context, name) {
  const question = draft.questions[at];
  const type = typeNamed(name);
  const common = ["id", "type", "prompt", "help", "image", "required", "visibleIf", "next"];
  // Bounds of numbers, dates and ratings are not interchangeable.
  const kept = type.fields.map((each) => each.name).filter((each) => !["min", "max"].includes(each));
  for (const key of Object.keys(question)) if (!common.includes(key) && !kept.includes(key)) delete question[key];
  question.type = name;
  for (const { name: list, image } of type.fields) if (image === false && Array.isArray(question[list])) for (const choice of question[list]) delete choice?.image;
  if (!type.isAnswerable) delete question.required;
  const start = context.beginningOf(type);
  for (const [key, value] of Object.entries(start)) if (!common.includes(key)) question[key] ??= value;
  draft.changed();
}

function idField(draft, at) {
  const path = ["questions", at, "id"];
  const input = el("input", { className: "input mono", value: draft.questions[at].id ?? "", onchange: () => draft.rename(at, input.value.trim()) });
  return field("ID", input, { path, hint: "Answers are stored under this ID: letters, digits, _ and -" });
}

function warning(draft, at, context) {
  const question = draft.questions[at];
  const before = context.published[question.id];
  if (before && before.type !== question.type) {
    return el("p", { className: "note warn" }, "This question was published with another type. Results will count the new answers separately.");
  }
  if (before) return el("p", { className: "hint" }, "This ID is published. If you change it, results count it as a new question.");
  const isRenamed = Object.entries(context.published).some(([id, each]) => each.prompt === question.prompt && !draft.questions.some((other) => other.id === id));
  return isRenamed && el("p", { className: "note warn" }, "This question was published under another ID. Results will count it as a new question.");
}

/** Generates an id from the text, unless it was chosen or published. */
function nameIt(draft, at, context) {
  const question = draft.questions[at];
  if (!isMadeUp(question.id) || !question.prompt || context.published[question.id]) return;
  const taken = draft.questions.filter((other) => other !== question).map(({ id }) => id);
  draft.rename(at, idFrom(question.prompt, taken), { follows: true });
  const shown = document.querySelector(`[data-pointer="/questions/${at}/id"]`);
  if (shown) shown.value = question.id;
}
