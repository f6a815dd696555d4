/*
 * Undo and redo for every change of the draft. Each step is the whole definition: drafts are small,
 * and nothing can be forgotten. Typing in one field is one step until there is a pause; a change
 * that follows from another one, such as an id generated from a text, is part of it.
 */

import { announce } from "./dom.js";

/** A pause of this length while typing starts a new step. */
const PAUSE_MS = 1000;
const STEPS_MAX = 200;

export class History {
  constructor(draft, root) {
    Object.assign(this, { draft, root, past: [], future: [] });
    this.now = this.snapshot();
    this.undoButton = root.querySelector("[data-undo]");
    this.redoButton = root.querySelector("[data-redo]");
    draft.addEventListener("change", ({ detail }) => this.record(detail));
    draft.addEventListener("select", () => (this.now = { ...this.now, selected: draft.selected }));
    this.undoButton.addEventListener("click", () => this.undo());
    this.redoButton.addEventListener("click", () => this.redo());
    document.addEventListener("keydown", (event) => this.onKey(event));
    this.show();
  }

  snapshot() {
    return { text: JSON.stringify(this.draft.definition), selected: this.draft.selected };
  }

  record({ key, follows }) {
    if (this.isRestoring) return;
    const before = this.now;
    this.now = this.snapshot();
    if (before.text === this.now.text) return;
    const isTyping = key !== undefined && key === this.key && Date.now() - this.at < PAUSE_MS;
    if (!isTyping && !(follows && this.past.length > 0)) this.past.push(before);
    if (this.past.length > STEPS_MAX) this.past.shift();
    this.future = [];
    if (!follows) Object.assign(this, { key, at: Date.now() });
    this.show();
  }

  undo() {
    this.step(this.past, this.future, "Undone.");
  }

  redo() {
    this.step(this.future, this.past, "Redone.");
  }

  step(from, to, message) {
    const wanted = from.pop();
    if (!wanted) return;
    to.push(this.now);
    this.now = wanted;
    this.key = undefined;
    this.isRestoring = true;
    this.draft.selected = wanted.selected;
    this.draft.replace(JSON.parse(wanted.text));
    this.draft.dispatchEvent(new CustomEvent("select"));
    this.isRestoring = false;
    // Saving may have removed stale translations.
    this.now = this.snapshot();
    this.show();
    announce(message);
  }

  show() {
    this.undoButton.disabled = this.past.length === 0;
    this.redoButton.disabled = this.future.length === 0;
  }

  /** Ctrl or ⌘ with Z, and with Shift or Y to redo. Fields outside the draft keep their own. */
  onKey(event) {
    if (!(event.ctrlKey || event.metaKey) || event.altKey) return;
    const key = event.key.toLowerCase();
    if (key !== "z" && key !== "y") return;
    const field = event.target.closest?.("input, textarea, select");
    const isOwn = !field || field.id === "title-field" || (field.dataset.pointer !== undefined || field.dataset.key !== undefined);
    if (!isOwn || event.target.closest?.("dialog")) return;
    event.preventDefault();
    if (key === "y" || event.shiftKey) this.redo();
    else this.undo();
  }
}
