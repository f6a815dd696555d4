/*
 * The definition as JSON. It follows every change made elsewhere, and its own changes apply
 * everywhere if the JSON is valid.
 */

import { button } from "./dom.js";

const ORDER = [
  "title", "description", "defaultLocale", "respondentAnalytics", "autoAdvance", "welcome", "questions", "sections", "ending", "endings", "translations",
  "id", "type", "prompt", "help", "label", "image", "assetId", "alt", "required", "max", "min", "shape", "integer", "lowLabel", "highLabel",
  "options", "rows", "columns", "allowOther", "minSelected", "maxSelected", "minLength", "maxLength", "optionOrder", "score", "fixed",
  "visibleIf", "next", "when", "to",
];
const REST_MS = 300;

const place = (key) => (ORDER.includes(key) ? ORDER.indexOf(key) : ORDER.length);

/** The fields in their usual order. */
export function ordered(value) {
  if (Array.isArray(value)) return value.map(ordered);
  if (value === null || typeof value !== "object") return value;
  const keys = Object.keys(value).sort((one, two) => place(one) - place(two));
  return Object.fromEntries(keys.map((key) => [key, ordered(value[key])]));
}

export const formatted = (definition) => JSON.stringify(ordered(definition), null, 2);

/** The problem with a JSON text, or an empty text if it is valid. */
export function jsonError(text) {
  try {
    const value = JSON.parse(text);
    return value !== null && typeof value === "object" && !Array.isArray(value) ? "" : "The JSON must be an object in { }.";
  } catch (error) {
    const at = /position (\d+)/.exec(error.message);
    const line = at ? text.slice(0, Number(at[1])).split("\n").length : /line (\d+)/.exec(error.message)?.[1];
    return `This is not valid JSON${line ? `: see line ${line}` : ""}. (${error.message})`;
  }
}

export class Json {
  constructor(area, draft, message, sections) {
    Object.assign(this, { area, draft, message, error: "" });
    draft.addEventListener("change", () => this.follow());
    sections.addEventListener("shown", () => this.follow());
    area.addEventListener("input", () => {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.take(), REST_MS);
    });
    area.addEventListener("blur", () => this.take());
    addEventListener("beforeunload", (event) => { if (this.error) event.preventDefault() });
    this.drop = button("Discard my edits", () => {
      this.error = "";
      this.follow();
      area.focus();
    });
    message.after(this.drop);
    this.follow();
  }

  follow() {
    if (this.isTaking) return;
    // Invalid input exists nowhere else: only the button replaces it.
    if (this.error) return this.showMessage();
    const isOutOfView = this.area.closest("[hidden]");
    if (isOutOfView || document.activeElement === this.area) return;
    this.area.value = formatted(this.draft.definition);
    this.showMessage();
  }

  take() {
    clearTimeout(this.timer);
    if (!this.error) this.before = JSON.stringify(this.draft.definition);
    this.error = jsonError(this.area.value);
    this.showMessage();
    if (this.error) return;
    const definition = JSON.parse(this.area.value);
    if (JSON.stringify(ordered(definition)) === JSON.stringify(ordered(this.draft.definition))) return;
    this.isTaking = true;
    this.draft.replace(definition);
    this.isTaking = false;
  }

  showMessage() {
    const { error } = this;
    const isOvertaken = error && JSON.stringify(this.draft.definition) !== this.before;
    this.message.textContent = !error ? "" : isOvertaken
      ? `${error} Your edits are not applied. The draft was changed elsewhere in the meantime; when your JSON is valid, it replaces that.`
      : `${error} Your edits are kept and applied when the JSON is valid.`;
    this.message.hidden = this.drop.hidden = !error;
    this.area.setAttribute("aria-invalid", String(Boolean(error)));
  }
}
