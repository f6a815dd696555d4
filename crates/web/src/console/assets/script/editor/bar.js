/*
 * The bar above the editor: how saving stands, what to do where it does not, and publishing.
 */

import { button, el, say } from "./dom.js";

const WORDS = {
  saved: "All changes are saved.",
  changed: "Not saved yet …",
  saving: "Saving …",
  offline: "Not saved: the server cannot be reached. Your changes are kept here and saved as soon as it can.",
  failed: "Not saved: the server could not store it. Trying again …",
  "signed-out": "Not saved: you are no longer signed in. Sign in in another tab, then go on here: your changes are kept on this page.",
  refused: "Not saved: the server does not take it. You may no longer be allowed to change this flow, or it has become too long. Your changes are kept on this page, and the next one is tried again.",
  conflict: "Not saved: somebody else, or another tab, has saved meanwhile.",
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
    // Every save said aloud would be too much; what goes wrong, and that it is well again, is not.
    const isWell = ["saved", "changed", "saving"].includes(state);
    if (!isWell) say(WORDS[state]);
    else if (this.wasIll && state === "saved") say("Saved again.");
    this.wasIll = !isWell || (this.wasIll && state !== "saved");
    const actions = {
      offline: () => [button("Try now", () => this.saving.save())],
      failed: () => [button("Try now", () => this.saving.save())],
      refused: () => [button("Try now", () => this.saving.save())],
      "signed-out": () => [el("a", { className: "button small", href: "/console/sign-in", target: "_blank" }, "Sign in"), button("Try now", () => this.saving.save())],
      conflict: () => [button("Keep mine", () => this.saving.keepMine()), button("Take theirs", () => this.saving.takeTheirs())],
    };
    this.more.replaceChildren(...(actions[state]?.() ?? []));
  }

  /** What is published is what is seen here: so it is saved first, and named by its tag. */
  async publish(event, form) {
    if (form.dataset.ready) return;
    event.preventDefault();
    if (!(await this.saving.flush())) return;
    if (this.faults.all.length > 0) return this.faults.goTo(this.faults.all[0].pointer);
    form.elements.tag.value = this.saving.tag;
    form.dataset.ready = "1";
    // Not while this submit is still being told: the browser would ignore another one.
    setTimeout(() => form.requestSubmit());
  }

  async review(event, link) {
    event.preventDefault();
    if (await this.saving.flush()) location.href = link.href;
  }
}
