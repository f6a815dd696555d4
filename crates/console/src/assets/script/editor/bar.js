/*
 * The header while editing: the save status, what is not published, discarding and publishing. A
 * failed save is explained above the editor, with what to do.
 */

import { openPage, toast } from "../dialogs.js";
import { siteAddress } from "../site.js";
import { announce, button, el } from "./dom.js";

const SHORT = { saved: "Saved", changed: "Saving…", saving: "Saving…" };
const WORDS = {
  offline: "Not saved: the server cannot be reached. Your changes are kept on this page and saved when it is back.",
  failed: "Not saved: the server failed to store your changes. Trying again…",
  "signed-out": "Not saved: you are signed out. Sign in in another tab, then continue here. Your changes are kept on this page.",
  refused: "Not saved: the server refused the draft. You may no longer have permission to edit this flow, or the draft is too long. Your changes are kept on this page and saved again with the next change.",
  conflict: "Not saved: someone else, or another tab, saved this draft in the meantime.",
};

export class Bar {
  constructor({ place, saving, faults, history, draft, published, schedule, sections }) {
    Object.assign(this, { place, saving, faults, history, draft, published, schedule, sections });
    this.words = document.getElementById("saving");
    this.unpublished = document.getElementById("unpublished");
    this.publishLink = document.querySelector("[data-publish]");
    this.discardLink = document.querySelector("[data-discard]");
    for (const each of [saving, schedule]) each?.addEventListener("state", () => this.draw());
    saving.addEventListener("stored", ({ detail }) => this.showUnpublished(detail.unpublished));
    this.publishLink?.addEventListener("click", (event) => this.publish(event));
    this.discardLink?.addEventListener("click", (event) => this.discard(event));
    document.querySelector(".flow-top")?.addEventListener("submit", (event) => this.act(event));
    this.draw();
  }

  draw() {
    const isDraft = this.saving.state !== "saved" || !this.schedule;
    const { state } = isDraft ? this.saving : this.schedule;
    if (this.shown === state) return;
    this.shown = state;
    this.words.hidden = false;
    this.words.textContent = SHORT[state] ?? "Not saved";
    this.words.dataset.state = state;
    const problem = WORDS[state];
    // Announce only failures and recoveries, not every save.
    if (problem) announce(problem);
    else if (this.wasIll && state === "saved") announce("Saved again.");
    this.wasIll = Boolean(problem) || (this.wasIll && state !== "saved");
    const again = () => [button("Try again", () => (isDraft ? this.saving : this.schedule).save())];
    const actions = {
      offline: again, failed: again, refused: again,
      "signed-out": () => [el("a", { className: "button small", href: siteAddress("console/sign-in"), target: "_blank" }, "Sign in"), ...again()],
      conflict: () => [button("Keep mine", () => this.saving.keepMine()), button("Take theirs", () => this.saving.takeTheirs())],
    };
    this.place.hidden = !problem;
    this.place.replaceChildren(...(problem ? [el("p", {}, problem), el("div", { className: "buttons" }, actions[state]())] : []));
  }

  showUnpublished(note) {
    if (!note || !this.unpublished) return;
    this.unpublished.textContent = note.text;
    this.publishLink.hidden = !note.canPublish;
    this.discardLink.hidden = !note.canDiscard;
  }

  /** Saves the visible draft, then shows what a publish would change. */
  async publish(event) {
    event.preventDefault();
    if (!(await this.flush())) return;
    if (this.faults.all.length > 0) {
      this.faults.insist();
      return this.faults.goTo(this.faults.all[0].pointer);
    }
    await openPage(this.publishLink.href);
  }

  /**
   * Saves everything that was typed; resolves to whether that succeeded. Invalid settings are
   * shown.
   */
  async flush() {
    if (await this.schedule.flush()) return this.saving.flush();
    if (this.schedule.state === "invalid") {
      this.sections.show("schedule");
      this.sections.pane("write");
      toast("The settings have errors and are not saved. Fix them first.");
    }
    return false;
  }

  /** An action of the header, such as closing the flow, applies to what was typed. */
  async act(event) {
    event.preventDefault();
    if (await this.flush()) event.target.submit();
  }

  /** Goes back to the published definition; the next change makes that final. */
  discard(event) {
    if (!this.published) return;
    event.preventDefault();
    this.draft.replace(structuredClone(this.published));
    this.undoable("Changes discarded.");
  }

  /** A toast that undoes the last step, until there is another one. */
  undoable(text) {
    const remove = toast(text, () => this.history.undo());
    this.draft.addEventListener("change", remove, { once: true });
  }
}
