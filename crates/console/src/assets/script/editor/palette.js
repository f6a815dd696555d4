/*
 * The dialog with the types of a new question, each with a short description.
 */

import { el } from "./dom.js";
import { typeIcon } from "./icons.js";
import { free } from "./ids.js";
import { allTypes } from "./types.js";

/** Default values of lists of choices, by field name. */
const BEGINNINGS = {
  options: () => [{ id: "option-1", label: "First" }, { id: "option-2", label: "Second" }],
  rows: () => [{ id: "row-1", label: "First" }, { id: "row-2", label: "Second" }],
  columns: () => [{ id: "column-1", label: "Bad" }, { id: "column-2", label: "Fair" }, { id: "column-3", label: "Good" }],
};

export class Palette {
  constructor(draft) {
    this.draft = draft;
    const choices = allTypes().map((type) => el("button", { type: "button", className: "kind", data: { type: type.name }, onclick: () => this.choose(type) },
      typeIcon(type), el("strong", {}, type.label), el("span", {}, type.purpose)));
    this.dialog = el("dialog", { className: "palette", aria: { label: "Add question" } },
      el("div", { className: "form" },
        el("h2", {}, "Add question"),
        el("div", { className: "kinds" }, choices),
        el("div", { className: "buttons" }, el("button", { type: "button", className: "button", onclick: () => this.dialog.close() }, "Cancel"))));
    document.body.append(this.dialog);
  }

  open(at) {
    this.at = at;
    this.dialog.showModal();
  }

  choose(type) {
    this.dialog.close();
    this.draft.add(newQuestion(type, this.draft.questions), this.at);
    const prompt = document.querySelector(".item.chosen [data-pointer$='/prompt']");
    prompt?.focus();
    prompt?.scrollIntoView({ block: "nearest" });
  }
}

const beginningOf = (name) => {
  const word = name.replace(/s$/, "");
  return BEGINNINGS[name]?.() ?? [{ id: `${word}-1`, label: "First" }, { id: `${word}-2`, label: "Second" }];
};

export function newQuestion(type, questions) {
  const question = { id: free("question", questions.map(({ id }) => id)), type: type.name, prompt: "" };
  for (const { name, kind } of type.fields) if (kind === "choices") question[name] = beginningOf(name);
  return question;
}
