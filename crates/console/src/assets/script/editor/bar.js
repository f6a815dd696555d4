/*
 * The bar above the editor: save status, actions after a failed save, and publishing.
 */

import { announce, button, el } from "./dom.js";

const WORDS = {
  saved: "All changes saved",
  changed: "Unsaved changes",
  saving: "Saving…",
  offline: "Not saved: the server cannot be reached. Your changes are kept on this page and saved when it is back.",
  failed: "Not saved: the server failed to store the draft. Trying again…",
  "signed-out": "Not saved: you are signed out. Sign in in another tab, then continue here. Your changes are kept on this page.",
  refused: "Not saved: the server refused the draft. You may no longer have permission to edit this flow, or the draft is too long. Your changes are kept on this page and saved again with the next change.",
  conflict: "Not saved: someone else, or another tab, saved this draft in the meantime.",
};

export class Bar {
  constructor(place, saving, faults) {
    Object.assign(this, { place, saving, faults });
    this.words = place.querySelector("#saving");
    this.more = el("span", { className: "buttons" });
    this.words.after(this.more);
    saving.addEventListener("state", () => this.draw());
    faults.addEventListener("change", () => this.draw());
    for (const form of place.querySelectorAll("form[data-publish]")) form.addEventListener("submit", (event) => this.publish(event, form));
    for (const link of place.querySelectorAll("a[data-publish]")) link.addEventListener("click", (event) => this.review(event, link));
    this.draw();
  }

  draw() {
    const { state } = this.saving;
    if (this.shown === state) return;
    this.shown = state;
    this.words.textContent = WORDS[state];
    this.words.dataset.state = state;
    // Announce only failures and recoveries, not every save.
    const isWell = ["saved", "changed", "saving"].includes(state);
    if (!isWell) announce(WORDS[state]);
    else if (this.wasIll && state === "saved") announce("Saved again.");
    this.wasIll = !isWell || (this.wasIll && state !== "saved");
    const actions = {
      offline: () => [button("Try again", () => this.saving.save())],
      failed: () => [button("Try again", () => this.saving.save())],
      refused: () => [button("Try again", () => this.saving.save())],
      "signed-out": () => [el("a", { className: "button small", href: "/console/sign-in", target: "_blank" }, "Sign in"), button("Try again", () => this.saving.save())],
      conflict: () => [button("Keep mine", () => this.saving.keepMine()), button("Take theirs", () => this.saving.takeTheirs())],
    };
    this.more.replaceChildren(...(actions[state]?.() ?? []));
  }

  /** Publishes exactly the visible draft: saves it first, and sends its tag. */
  async publish(event, form) {
    if (form.dataset.ready) return;
    event.preventDefault();
    if (!(await this.saving.flush())) return;
    if (this.faults.all.length > 0) return this.faults.goTo(this.faults.all[0].pointer);
    form.elements.tag.value = this.saving.tag;
    form.dataset.ready = "1";
    // Not during this submit event: the browser would ignore another one.
    setTimeout(() => form.requestSubmit());
  }

  async review(event, link) {
    event.preventDefault();
    if (await this.saving.flush()) location.href = link.href;
  }
}
