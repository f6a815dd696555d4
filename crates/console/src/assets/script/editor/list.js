/*
 * The questions in order. The selected one shows its form. Questions can be moved by dragging, with
 * buttons, and with Alt and the arrow keys; moves are announced.
 */

import { announce, button, el, pointer, redraw } from "./dom.js";
import { draggable } from "./dragging.js";
import { isJoined, sectionOf } from "./grouping.js";
import { typeIcon } from "./icons.js";
import { questionForm } from "./question.js";
import { typeOf } from "./types.js";
import { inWords, quoted } from "./words.js";

export class List {
  constructor(place, draft, context) {
    Object.assign(this, { place, draft, context });
    draft.addEventListener("change", ({ detail }) => (detail.shape ? this.draw() : this.refreshHead(draft.selected)));
    draft.addEventListener("select", () => this.draw());
    place.addEventListener("keydown", (event) => this.onKey(event));
    this.followFaults();
    this.draw();
  }

  draw() {
    const { draft } = this;
    if (!draft.isShapely) {
      const text = "The JSON has no valid list of questions, so they cannot be shown as forms. Fix it under JSON.";
      return redraw(this.place, el("p", { className: "note warn" }, text));
    }
    const items = draft.questions.map((question, at) => this.item(question, at));
    const list = el("ol", { className: "questions" }, items);
    const isEmpty = items.length === 0;
    const add = el("button", { type: "button", className: `button add${isEmpty ? " primary" : ""}`, onclick: () => this.context.palette.open(draft.questions.length) }, "+ Add question");
    const empty = () => el("section", { className: "empty", data: { pointer: "/questions" }, aria: { label: "No questions yet" } },
      el("h2", {}, "Write your first question"), el("p", {}, "Choose its type, then write it. The preview shows what respondents see."), add);
    redraw(this.place, isEmpty ? empty() : [list, el("div", { className: "buttons" }, add)]);
    this.context.faults.mark();
  }

  // The headings also mark questions that need fixing.
  followFaults() {
    this.context.faults.addEventListener("change", () => this.refreshHead());
  }

  item(question, at) {
    const isOpen = at === this.draft.selected;
    const grip = el("span", { className: "grip", aria: { hidden: "true" }, title: "Drag to move" }, "⠿");
    const open = el("button", {
      type: "button", className: "open", data: { key: `open-${at}` },
      aria: { expanded: String(isOpen) }, onclick: () => this.choose(at),
    });
    const { definition } = this.draft;
    const section = sectionOf(definition, question.id);
    const joined = isJoined(definition, at);
    const classes = ["item", isOpen && "chosen", section && "grouped", joined && "joined"].filter(Boolean);
    const item = el("li", { className: classes.join(" "), data: { at } },
      section && !joined && this.sectionHead(section),
      el("div", { className: "head" }, grip, open, this.movers(at)),
      isOpen && el("div", { className: "body" }, questionForm(this.draft, at, this.context), this.tools(question, at)));
    this.fillHead(open, question, at);
    draggable(item, grip, (to) => this.move(at, to, "open-"));
    return item;
  }

  /** The heading of the questions that share a page, above the first of them. */
  sectionHead(section) {
    const path = ["sections", this.draft.definition.sections.indexOf(section), "title"];
    const title = el("input", {
      className: "input", value: section.title ?? "", placeholder: "Section title (optional)", aria: { label: "Section title" },
      data: { pointer: pointer(path) }, oninput: () => this.draft.set(path, title.value),
    });
    const count = section.questions.length;
    return el("div", { className: "section-head", data: { pointer: pointer(path.slice(0, 2)) } },
      title,
      el("span", { className: "hint" }, count === 1 ? "1 question on its own page" : `${count} questions on one page`),
      button("Ungroup", () => this.ungroup(section), { className: "button small quiet", aria: { label: "Ungroup: one question per page" } }));
  }

  ungroup(section) {
    const at = this.draft.questions.findIndex(({ id }) => id === section.questions[0]);
    this.draft.ungroup(section);
    this.context.undoable("Ungrouped. Each question has its own page.");
    this.place.querySelector(`[data-key="open-${at}"]`)?.focus();
  }

  fillHead(open, question, at) {
    const label = typeOf(question)?.label ?? "Unknown type";
    const parts = [
      el("span", { className: "n" }, `${at + 1}`),
      el("span", { className: "prompt" }, question.prompt || "Untitled question"),
      el("span", { className: "marks" },
        el("span", { className: "tag" }, typeIcon(typeOf(question)), label),
        question.required && el("span", { className: "tag" }, "Required"),
        this.context.faults.countIn(["questions", at]) > 0 && el("span", { className: "tag bad" }, "Needs fixing")),
      question.visibleIf && el("span", { className: "only-if" }, `Only if ${inWords(question.visibleIf, this.draft.questions, { isWhole: true })}`),
    ];
    open.replaceChildren(...parts.filter(Boolean));
  }

  /** Updates one or all headings while the user types, without redrawing the forms. */
  refreshHead(only) {
    this.place.querySelectorAll(".item").forEach((item, at) => {
      const question = this.draft.questions[at];
      if (question && (only === undefined || only === at)) this.fillHead(item.querySelector(".open"), question, at);
    });
  }

  movers(at) {
    const mover = (sign, word, by) => button(sign, () => this.move(at, at + by, `move${by}-`), {
      className: "button small quiet mover", data: { key: `move${by}-${at}` },
      aria: { label: `Move question ${at + 1} ${word}` }, disabled: at + by < 0 || at + by >= this.draft.questions.length,
    });
    return el("span", { className: "movers" }, mover("↑", "up", -1), mover("↓", "down", 1));
  }

  tools(question, at) {
    return el("div", { className: "buttons tools" },
      button("Duplicate", () => this.duplicate(at)),
      button("Add below", () => this.context.palette.open(at + 1)),
      button("Delete", () => this.remove(question, at), { className: "button small danger" }));
  }

  choose(at) {
    // A second click collapses it.
    this.draft.select(at === this.draft.selected ? -1 : at);
  }

  move(from, to, key) {
    const { prompt } = this.draft.questions[from];
    if (!this.draft.move(from, to)) return;
    const same = this.place.querySelector(`[data-key="${key}${to}"]`);
    (same && !same.disabled ? same : this.place.querySelector(`[data-key="open-${to}"]`))?.focus();
    announce(`${quoted(prompt)} is now question ${to + 1} of ${this.draft.questions.length}${this.pageInWords(to)}.`);
  }

  /** What it shares its page with, for an announcement. */
  pageInWords(at) {
    const section = sectionOf(this.draft.definition, this.draft.questions[at].id);
    const others = section ? section.questions.length - 1 : 0;
    if (others === 0) return "";
    return `, on one page with ${others === 1 ? "another question" : `${others} others`}`;
  }

  duplicate(at) {
    this.draft.duplicate(at);
    this.place.querySelector(`[data-key="open-${at + 1}"]`)?.focus();
    announce(`Duplicated as question ${at + 2}.`);
  }

  remove(question, at) {
    const uses = usesInWords(this.draft.usesOf(question.id));
    this.draft.remove(at);
    this.context.undoable(`${quoted(question.prompt || "Untitled question")} was deleted.${uses}`);
    const next = this.place.querySelector(`[data-key="open-${Math.min(at, this.draft.questions.length - 1)}"]`);
    (next ?? this.place.querySelector(".add"))?.focus();
  }

  onKey(event) {
    if (!event.altKey || !["ArrowUp", "ArrowDown"].includes(event.key)) return;
    const item = event.target.closest(".item");
    if (!item || !event.target.closest(".head")) return;
    event.preventDefault();
    const at = Number(item.dataset.at);
    this.move(at, at + (event.key === "ArrowUp" ? -1 : 1), "open-");
  }
}

/** What depended on a deleted question, as a sentence. */
function usesInWords({ conditions, jumps }) {
  const counted = (count, word) => count > 0 && `${count === 1 ? "one" : count === 2 ? "two" : count} ${word}${count === 1 ? "" : "s"}`;
  const uses = [counted(conditions, "condition"), counted(jumps, "jump")].filter(Boolean).join(" and ");
  return uses && ` ${uses[0].toUpperCase()}${uses.slice(1)} used it.`;
}
