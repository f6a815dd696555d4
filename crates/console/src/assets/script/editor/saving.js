/*
 * Saves the draft automatically, a moment after the last change.
 *
 * It always shows the status: saved, saving, or not saved with the reason. If the server is
 * unreachable, it keeps trying. If someone else, or another tab, saved in the meantime, it stops
 * and asks: nothing is silently merged or overwritten.
 */

import { prune } from "./pruning.js";

/** Delay after the last change, and maximum delay after the first unsaved change. */
const REST_MS = 700;
const WAIT_MS_MAX = 4000;
const RETRY_MS = [2000, 4000, 8000, 15_000, 30_000];
/**
 * Maximum body that a browser still sends after the page is closed; all such requests share 64 KiB.
 */
const KEEPALIVE_BYTES_MAX = 60_000;
/** States that need user action: every change triggers another attempt. */
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
      // A closed page or hidden tab may not come back; a visible one may be signed in again.
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
    // After a failure the server may still have stored the draft: only another save can tell.
    if (JSON.stringify(this.draft.definition) === this.last && !this.isUnderWay && this.failures === 0) {
      clearTimeout(this.timer);
      return this.become("saved");
    }
    if (this.state === "saved") this.since = Date.now();
    if (this.state !== "saving") this.become(this.failures > 0 ? this.state : "changed");
    this.isStale = true;
    const rest = Math.min(REST_MS, Math.max(this.since + WAIT_MS_MAX - Date.now(), 0));
    // Automatic retries are already scheduled.
    if (this.failures === 0 || STUCK.includes(this.state)) this.soon(rest);
  }

  soon(ms) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.save(), ms);
  }

  /** Saves the draft and resolves when it is saved; false if that fails. */
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
    // Retry after a pause, and not with every keystroke.
    this.since = Date.now();
    this.become("saving");
    const text = JSON.stringify(this.draft.definition);
    const body = this.body();
    // Keepalive lets a pending save complete after the page is closed. A browser without room for
    // it refuses the request, so retries on an open page do not use it.
    const isFirst = this.failures === 0 || document.hidden;
    const keepalive = isFirst && new Blob([body]).size < KEEPALIVE_BYTES_MAX;
    const headers = { "Content-Type": "application/json" };
    // A signed-out user is redirected to the sign-in page, which would look like a reply.
    const redirect = "manual";
    const reply = await fetch(this.address, { method: "POST", body, headers, keepalive, redirect }).catch(() => null);
    const result = reply?.headers.get("content-type") === "application/json" ? await reply.json().catch(() => null) : null;
    if (reply?.ok && result?.tag) return this.stored(result, text);
    if (reply?.status === 409 && result?.definition) return this.overtaken(result);
    this.failures += 1;
    const wait = RETRY_MS[Math.min(this.failures, RETRY_MS.length) - 1];
    if (!reply) this.become("offline");
    else if (reply.type === "opaqueredirect" || reply.status === 401) this.become("signed-out");
    else if (reply.status >= 500 || reply.status === 429) this.become("failed");
    else {
      // Retrying the same draft would not help; later changes may.
      this.become("refused");
      return this.isStale && this.soon(REST_MS);
    }
    this.soon(wait);
  }

  stored({ tag, faults, unpublished }, text) {
    Object.assign(this, { tag, failures: 0, last: text, since: Date.now() });
    this.become(this.isStale ? "changed" : "saved");
    this.dispatchEvent(new CustomEvent("stored", { detail: { faults, unpublished } }));
    if (this.isStale) this.soon(REST_MS);
  }

  overtaken(theirs) {
    this.theirs = theirs;
    this.become("conflict");
  }

  /** Overwrites the other save with this draft. */
  keepMine() {
    this.tag = this.theirs.tag;
    this.become("changed");
    return this.save();
  }

  /** Replaces this draft with the other save. */
  takeTheirs() {
    const { tag, definition, faults, unpublished } = this.theirs;
    Object.assign(this, { tag, last: JSON.stringify(definition), failures: 0, isStale: false });
    this.become("saved");
    this.draft.replace(definition);
    this.dispatchEvent(new CustomEvent("stored", { detail: { faults, unpublished } }));
  }

  become(state) {
    this.state = state;
    this.dispatchEvent(new CustomEvent("state"));
  }
}
