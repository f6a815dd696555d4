/*
 * Saves the draft by itself, a moment after the last change.
 *
 * It says how things stand at every moment: saved, saving, not saved and why. Where the server cannot be reached it
 * goes on trying. Where somebody else, or another tab, has saved meanwhile, it stops and asks: nothing is merged
 * or overwritten in silence.
 */

import { prune } from "./pruning.js";

/** So long after the last change; and at the latest so long after the first one that is not saved. */
const REST_MS = 700;
const WAIT_MS_MAX = 4000;
const RETRY_MS = [2000, 4000, 8000, 15_000, 30_000];
/** The most that a browser goes on sending after a page was left: of 64 KiB, which all such requests share. */
const KEEPALIVE_BYTES_MAX = 60_000;
/** States that a person mends: every change is a reason to try again. */
const STUCK = ["signed-out", "refused"];

export class Saving extends EventTarget {
  constructor(draft, { address, tag }) {
    super();
    Object.assign(this, { draft, address, tag, state: "saved", failures: 0, since: 0 });
    this.last = JSON.stringify(draft.definition);
    draft.addEventListener("change", () => this.touch());
    addEventListener("online", () => this.isDirty && this.state !== "conflict" && this.soon(0));
    addEventListener("beforeunload", (event) => { if (this.isDirty) event.preventDefault() });
    document.addEventListener("visibilitychange", () => {
      if (!this.isDirty || this.state === "conflict") return;
      // A page that is left, or a tab that is put aside, may not come back; one that is seen again may be signed in again.
      if (document.hidden) this.save();
      else if (this.state === "signed-out") this.soon(0);
    });
  }

  get isDirty() {
    return this.state !== "saved";
  }

  touch() {
    if (this.state === "conflict") return;
    prune(this.draft.definition);
    // After a failure the server may have what was sent all the same: only a save tells.
    if (JSON.stringify(this.draft.definition) === this.last && !this.isUnderWay && this.failures === 0) {
      clearTimeout(this.timer);
      return this.become("saved");
    }
    if (this.state === "saved") this.since = Date.now();
    if (this.state !== "saving") this.become(this.failures > 0 ? this.state : "changed");
    this.isStale = true;
    const rest = Math.min(REST_MS, Math.max(this.since + WAIT_MS_MAX - Date.now(), 0));
    // What is tried again by itself needs no more of it.
    if (this.failures === 0 || STUCK.includes(this.state)) this.soon(rest);
  }

  soon(ms) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.save(), ms);
  }

  /** Saves what there is, and is over when it is saved. False where it cannot be. */
  async flush() {
    clearTimeout(this.timer);
    while (this.isUnderWay) await this.isUnderWay;
    if (this.isDirty && this.state !== "conflict") await this.save();
    return this.state === "saved";
  }

  save() {
    this.isUnderWay ??= this.send().finally(() => (this.isUnderWay = null));
    return this.isUnderWay;
  }

  body() {
    return JSON.stringify({ tag: this.tag, definition: this.draft.definition });
  }

  async send() {
    clearTimeout(this.timer);
    this.isStale = false;
    // So that what cannot be saved is tried again after a rest, and not with every letter.
    this.since = Date.now();
    this.become("saving");
    const text = JSON.stringify(this.draft.definition);
    const body = this.body();
    // So that what is under way when the page is left arrives. A browser that has no room for it refuses to send it
    // at all, so nothing is tried again in this way while the page is there.
    const isFirst = this.failures === 0 || document.hidden;
    const keepalive = isFirst && new Blob([body]).size < KEEPALIVE_BYTES_MAX;
    const headers = { "Content-Type": "application/json" };
    // Whoever is signed out is sent to a page to sign in, which would look like a reply.
    const redirect = "manual";
    const reply = await fetch(this.address, { method: "POST", body, headers, keepalive, redirect }).catch(() => null);
    const said = reply?.headers.get("content-type") === "application/json" ? await reply.json().catch(() => null) : null;
    if (reply?.ok && said?.tag) return this.stored(said, text);
    if (reply?.status === 409 && said?.definition) return this.overtaken(said);
    this.failures += 1;
    const wait = RETRY_MS[Math.min(this.failures, RETRY_MS.length) - 1];
    if (!reply) this.become("offline");
    else if (reply.type === "opaqueredirect" || reply.status === 401) this.become("signed-out");
    else if (reply.status >= 500 || reply.status === 429) this.become("failed");
    else {
      // Trying the same again would not help; what was changed since may.
      this.become("refused");
      return this.isStale && this.soon(REST_MS);
    }
    this.soon(wait);
  }

  stored({ tag, faults }, text) {
    Object.assign(this, { tag, failures: 0, last: text, since: Date.now() });
    this.become(this.isStale ? "changed" : "saved");
    this.dispatchEvent(new CustomEvent("stored", { detail: { faults } }));
    if (this.isStale) this.soon(REST_MS);
  }

  overtaken(theirs) {
    this.theirs = theirs;
    this.become("conflict");
  }

  /** What is written here takes the place of what was saved meanwhile. */
  keepMine() {
    this.tag = this.theirs.tag;
    this.become("changed");
    return this.save();
  }

  /** What was saved meanwhile takes the place of what is written here. */
  takeTheirs() {
    const { tag, definition, faults } = this.theirs;
    Object.assign(this, { tag, last: JSON.stringify(definition), failures: 0, isStale: false });
    this.become("saved");
    this.draft.replace(definition);
    this.dispatchEvent(new CustomEvent("stored", { detail: { faults } }));
  }

  become(state) {
    this.state = state;
    this.dispatchEvent(new CustomEvent("state"));
  }
}
