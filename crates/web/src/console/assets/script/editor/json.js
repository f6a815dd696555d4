/*
 * The definition as JSON, for those who prefer it. It follows every change made elsewhere, and every change made in
 * it is made everywhere, as long as it can be read.
 */

import { button } from "./dom.js";

const ORDER = [
  "title", "description", "defaultLocale", "respondentAnalytics", "questions", "ending", "translations",
  "id", "type", "prompt", "help", "label", "required", "max", "min", "shape", "integer", "lowLabel", "highLabel",
  "options", "rows", "columns", "allowOther", "minSelected", "maxSelected", "minLength", "maxLength", "visibleIf",
];
const REST_MS = 300;

const place = (key) => (ORDER.includes(key) ? ORDER.indexOf(key) : ORDER.length);

/** The fields in the order in which a person would write them. */
export function ordered(value) {
  if (Array.isArray(value)) return value.map(ordered);
  if (value === null || typeof value !== "object") return value;
  const keys = Object.keys(value).sort((one, two) => place(one) - place(two));
  return Object.fromEntries(keys.map((key) => [key, ordered(value[key])]));
}

export const written = (definition) => JSON.stringify(ordered(definition), null, 2);

/** What is wrong with a text that should be JSON, in words; nothing where it is all right. */
export function wrongWith(text) {
  try {
    const value = JSON.parse(text);
    return value !== null && typeof value === "object" && !Array.isArray(value) ? "" : "It must be an object in { }.";
  } catch (error) {
    const at = /position (\d+)/.exec(error.message);
    const line = at ? text.slice(0, Number(at[1])).split("\n").length : /line (\d+)/.exec(error.message)?.[1];
    return `It cannot be read${line ? `: look at line ${line}` : ""}. (${error.message})`;
  }
}

export class Json {
  constructor(area, draft, said, sections) {
    Object.assign(this, { area, draft, said, wrong: "" });
    draft.addEventListener("change", () => this.follow());
    sections.addEventListener("shown", () => this.follow());
    area.addEventListener("input", () => {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.take(), REST_MS);
    });
    area.addEventListener("blur", () => this.take());
    addEventListener("beforeunload", (event) => { if (this.wrong) event.preventDefault() });
    this.drop = button("Drop what is typed here", () => {
      this.wrong = "";
      this.follow();
      area.focus();
    });
    said.after(this.drop);
    this.follow();
  }

  follow() {
    if (this.isTaking) return;
    // What was typed and cannot be read yet is nowhere else: nothing takes its place but by the button.
    if (this.wrong) return this.tell();
    const isOutOfView = this.area.closest("[hidden]");
    if (isOutOfView || document.activeElement === this.area) return;
    this.area.value = written(this.draft.definition);
    this.tell();
  }

  take() {
    clearTimeout(this.timer);
    if (!this.wrong) this.before = JSON.stringify(this.draft.definition);
    this.wrong = wrongWith(this.area.value);
    this.tell();
    if (this.wrong) return;
    const definition = JSON.parse(this.area.value);
    if (JSON.stringify(ordered(definition)) === JSON.stringify(ordered(this.draft.definition))) return;
    this.isTaking = true;
    this.draft.replace(definition);
    this.isTaking = false;
  }

  tell() {
    const { wrong } = this;
    const isOvertaken = wrong && JSON.stringify(this.draft.definition) !== this.before;
    this.said.textContent = !wrong ? "" : isOvertaken
      ? `${wrong} What you typed here is not applied. The draft was changed elsewhere meanwhile; once this can be read it takes the place of that.`
      : `${wrong} What you typed here is kept, and not applied until it can be read.`;
    this.said.hidden = this.drop.hidden = !wrong;
    this.area.setAttribute("aria-invalid", String(Boolean(wrong)));
  }
}
