/*
 * The title in the header as a field: the same text as in the definition.
 */

import { el } from "./dom.js";

export class Title {
  constructor(place, draft) {
    Object.assign(this, { draft, heading: place.querySelector("h1") });
    // A flow is named by its title, unless it has another name.
    const named = document.querySelector("nav[aria-label=Flows] a[aria-current=page] .name");
    this.name = named?.textContent === this.heading.textContent ? named : null;
    this.input = el("textarea", {
      className: "title-field", id: "title-field", rows: 1, value: draft.definition.title ?? "", placeholder: "Untitled", maxLength: 300, autocomplete: "off",
      aria: { label: "Title" },
      // It may wrap, but it is one line of text.
      oninput: () => { this.input.value = this.input.value.replace(/\s*[\r\n]+\s*/g, " "); draft.set(["title"], this.input.value) },
      onkeydown: (event) => { if (event.key === "Enter") { event.preventDefault(); this.input.blur() } },
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
    if (this.name && title.trim()) this.name.textContent = title.trim();
  }
}
