/*
 * The dialog with the types of a new question, each with a short description.
 */

import { el } from "./dom.js";
import { typeIcon } from "./icons.js";
import { free } from "./ids.js";
import { allTypes } from "./types.js";

/** The number of empty choices that a new list starts with, if it is not two. */
const CHOICES_AT_FIRST = { columns: 3 };

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

/** Empty choices: what the author does not write is never published. */
const beginningOf = (name) => Array.from({ length: CHOICES_AT_FIRST[name] ?? 2 }, (_, at) => ({ id: `${name.replace(/s$/, "")}-${at + 1}`, label: "" }));

export function newQuestion(type, questions) {
  const question = { id: free("question", questions.map(({ id }) => id)), type: type.name, prompt: "" };
  for (const { name, kind } of type.fields) if (kind === "choices") question[name] = beginningOf(name);
  return question;
}
