/*
 * The title in the header as a field: the same text as in the definition.
 */

import { el } from "./dom.js";

export class Title {
  constructor(place, draft) {
    Object.assign(this, { draft, heading: place.querySelector("h1") });
    this.input = el("input", {
      className: "title-field", id: "title-field", value: draft.definition.title ?? "", placeholder: "Untitled", maxLength: 300, autocomplete: "off",
      aria: { label: "Title" },
      oninput: () => draft.set(["title"], this.input.value),
      onkeydown: (event) => { if (event.key === "Enter") this.input.blur() },
    });
    this.heading.classList.add("unseen");
    this.heading.after(this.input);
    draft.addEventListener("change", () => this.follow());
    this.follow();
  }

  follow() {
    const title = String(this.draft.definition.title ?? "");
    if (this.input.value !== title) this.input.value = title;
    this.heading.textContent = title || "Untitled";
  }
}
