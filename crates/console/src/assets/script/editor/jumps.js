/*
 * The jumps of a question: where a respondent continues, each with an optional condition; and the
 * endings by condition.
 */

import { button, el, field, pointer, redraw, select } from "./dom.js";
import { idFrom } from "./ids.js";
import { conditionEditor } from "./logic.js";
import { jumpInWords, quoted } from "./words.js";

const WHEN_JUMPING = { title: "When", never: "Always", sometimes: "Only if", sentence: () => "" };
const WHEN_ENDING = { title: "Show this ending", never: "Only after a jump to it", sometimes: "If…", sentence: (words) => `Shown if ${words}.` };

const listAt = (holder, name) => (Array.isArray(holder[name]) ? holder[name] : []);

export function jumpsEditor(draft, at, context) {
  const question = draft.questions[at];
  const path = ["questions", at, "next"];
  const place = el("fieldset", { className: "jumps", data: { pointer: pointer(path) }, tabIndex: -1 });
  const jumps = () => listAt(question, "next");
  const put = (next) => { draft.set(path, next.length > 0 ? next : undefined); draw(); context.faults.mark() };
  const later = draft.questions.slice(at + 1).map(({ id, prompt }) => [id, `Go to ${quoted(prompt || id)}`]);
  const endings = listAt(draft.definition, "endings").map(({ id, title }) => [`end:${id}`, `Go to the ending ${quoted(title || id)}`]);
  const targets = [...later, ["end", "Go to the end"], ...endings];

  const one = (jump, n) => {
    const known = targets.some(([id]) => id === jump?.to) ? targets : [[jump?.to ?? "", jump?.to ? `${jump.to} (not possible)` : "Choose"], ...targets];
    const to = select(known, jump?.to, (value) => { draft.set([...path, n, "to"], value); showSentence() }, { aria: { label: `Jump ${n + 1}: where to` }, data: { pointer: pointer([...path, n, "to"]) } });
    return el("div", { className: "group", data: { pointer: pointer([...path, n]) } },
      el("div", { className: "buttons" }, to, button("✕", () => put(jumps().filter((_, each) => each !== n)), { className: "button small quiet", aria: { label: `Remove jump ${n + 1}` } })),
      conditionEditor(draft, [...path, n, "when"], draft.questions.slice(0, at + 1), context, WHEN_JUMPING));
  };
  const sentence = el("p", { className: "sentence" });
  const showSentence = () => {
    const words = jumps().map((jump) => jumpInWords(jump ?? {}, draft.questions)).join("; otherwise ");
    sentence.textContent = words && `After this question: ${words}.`;
  };
  const draw = () => {
    redraw(place,
      el("legend", { className: "label" }, "After this question"),
      jumps().length === 0 && el("p", { className: "hint" }, "The next question follows."),
      jumps().map(one),
      el("div", { className: "buttons" }, button("+ Jump", () => put([...jumps(), { to: targets[0][0] }]), { data: { key: `jump-${at}` } })),
      sentence);
    showSentence();
  };
  for (const kind of ["input", "change", "click"]) place.addEventListener(kind, showSentence);
  draw();
  return place;
}

/** The endings by condition, for the page of the other texts. */
export function endingsEditor(draft, context) {
  const { definition } = draft;
  const endings = listAt(definition, "endings");
  const put = (next) => draft.set(["endings"], next.length > 0 ? next : undefined, { shape: true });
  const control = (name, label, path, value, hint) => {
    const input = el(name, { className: "input", value: value ?? "", oninput: () => draft.set(path, input.value) });
    return field(label, input, { path, hint });
  };
  const one = (ending, n) => {
    const path = ["endings", n];
    const move = (by) => { const next = [...endings]; next.splice(n + by, 0, ...next.splice(n, 1)); put(next) };
    return el("fieldset", { className: "ending", data: { pointer: pointer(path) }, tabIndex: -1 },
      el("legend", { className: "label" }, `Ending ${ending?.id ?? ""}`),
      control("input", "Title", [...path, "title"], ending?.title),
      control("textarea", "Text", [...path, "body"], ending?.body),
      control("input", "Redirect URL", [...path, "redirectUrl"], ending?.redirectUrl),
      conditionEditor(draft, [...path, "when"], draft.questions, context, WHEN_ENDING),
      el("div", { className: "buttons" },
        button("↑", () => move(-1), { className: "button small quiet", disabled: n === 0, aria: { label: `Move ending ${n + 1} up` } }),
        button("↓", () => move(1), { className: "button small quiet", disabled: n === endings.length - 1, aria: { label: `Move ending ${n + 1} down` } }),
        button("Remove", () => put(endings.filter((_, each) => each !== n)), { className: "button small quiet", aria: { label: `Remove ending ${n + 1}` } })));
  };
  const add = () => put([...endings, { id: idFrom("ending", endings.map((ending) => ending?.id)), title: "" }]);
  return el("div", { className: "stack", data: { pointer: "/endings" } },
    el("p", { className: "hint" }, "Endings for some answers: the first that applies is shown instead of the ending above."),
    endings.map(one),
    el("div", { className: "buttons" }, button("+ Ending", add, { data: { key: "add-ending" } })));
}
