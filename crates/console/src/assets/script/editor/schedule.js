/*
 * The settings that take effect without publishing. They are saved automatically, like the draft.
 * The server sends and receives UTC; the fields show local time. Without JavaScript they are in
 * UTC, and labelled so. An unchanged field is sent back unchanged, because an hour that occurs
 * twice would otherwise be ambiguous.
 *
 * Hidden fields hold the values that were shown, and the server changes only what differs from
 * them: what a colleague saved in the meantime stays. After a save the page shows what is stored.
 */

import { el } from "./dom.js";

const REST_MS = 2000;
const RETRY_MS = 5000;

/** Whether the year of a time is complete. */
const isWhole = ({ value }) => value === "" || Number.parseInt(value, 10) >= 2000;

const pad = (number) => String(number).padStart(2, "0");

const localText = (at) => `${at.getFullYear()}-${pad(at.getMonth() + 1)}-${pad(at.getDate())}T${pad(at.getHours())}:${pad(at.getMinutes())}`;

export class Schedule extends EventTarget {
  constructor(form) {
    super();
    Object.assign(this, { form, state: "saved", given: new Map() });
    this.times = [...form.querySelectorAll("input[type=datetime-local]")];
    for (const field of this.times) this.showTime(field, field.value);
    const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
    for (const place of form.querySelectorAll("[data-utc]")) place.textContent = zone;
    form.addEventListener("formdata", ({ formData }) => this.convert(formData));
  }

  /**
   * Saves from now on: when a field is left, or after a pause. Half of a typed year or limit must
   * not close the flow.
   */
  start() {
    Object.assign(this, { isAdding: false, isAdded: false });
    this.last = this.body();
    this.form.addEventListener("focusout", () => this.save());
    this.form.addEventListener("input", () => {
      clearTimeout(this.timer);
      if (this.times.every(isWhole)) this.timer = setTimeout(() => this.isLimiting() || this.save(), REST_MS);
    });
    this.form.addEventListener("change", ({ target }) => { if (target.matches("select, [type=radio], [type=checkbox]")) this.save() });
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.isAdding = this.hasNewQuota();
      if (!this.isAdding && event.submitter === document.activeElement) this.mark([{ field: "newQuota", message: "Choose at least one answer" }]);
      this.save();
    });
    addEventListener("beforeunload", (event) => (["saved", "saving"].includes(this.state) ? this.flush() : event.preventDefault()));
  }

  /** Shows a time of the server in local time. */
  showTime(field, utc) {
    field.value = utc && localText(new Date(`${utc}Z`));
    this.given.set(field, { utc, shown: field.value });
  }

  /** A new quota is sent only when it is added, not while it is being chosen. */
  convert(formData) {
    if (this.isAdding === false) for (const name of ["newQuota", "newQuotaLimit"]) formData.delete(name);
    for (const field of this.times) {
      const { utc, shown } = this.given.get(field) ?? {};
      if (field.value && field.value === shown) formData.set(field.name, utc);
      else if (field.value) formData.set(field.name, new Date(field.value).toISOString().slice(0, 16));
    }
  }

  body() {
    return new URLSearchParams(new FormData(this.form)).toString();
  }

  /** Whether a new quota was chosen and not added yet. */
  hasNewQuota() {
    return Boolean(this.form.querySelector("[name=newQuota]:checked") || this.form.elements.newQuotaLimit?.value);
  }

  /**
   * Saves everything, also a quota that was chosen but not added; resolves to whether that
   * succeeded.
   */
  async flush() {
    this.isAdding ||= this.hasNewQuota();
    await this.save();
    return this.state === "saved";
  }

  save() {
    this.isUnderWay ??= this.send().finally(() => (this.isUnderWay = null));
    return this.isUnderWay;
  }

  async send() {
    for (let body = this.body(); body !== this.last; body = this.body()) {
      // One that is added from here on is part of the next save.
      const wasAdding = this.isAdding;
      this.become("saving");
      const headers = { Accept: "application/json", "Content-Type": "application/x-www-form-urlencoded" };
      const reply = await fetch(this.form.action, { method: "POST", body, headers, redirect: "manual", keepalive: true }).catch(() => null);
      const result = reply?.headers.get("content-type") === "application/json" ? await reply.json().catch(() => null) : null;
      if (!result) {
        setTimeout(() => this.save(), RETRY_MS);
        return this.become(reply?.type === "opaqueredirect" || reply?.status === 401 ? "signed-out" : reply ? "failed" : "offline");
      }
      this.mark(result.faults);
      const isCurrent = body === this.body();
      if (wasAdding) this.isAdding = false;
      if (result.faults.length > 0) return this.become("invalid");
      this.showState(result.state);
      this.showStored(result.values, new URLSearchParams(body));
      this.isAdded ||= wasAdding;
      if (isCurrent) this.showLimits(result.limits);
      // What was changed in the meantime is sent again.
      this.last = isCurrent ? this.body() : null;
    }
    this.become("saved");
  }

  /**
   * Shows what is stored, except in fields that were changed since they were sent, or are being
   * edited.
   */
  showStored(values, sent) {
    const now = new FormData(this.form);
    const isSpan = (name) => ["amount", "unit"].includes(name);
    const edited = document.activeElement?.name;
    for (const [name, value] of Object.entries(values)) {
      this.form.elements[`shown.${name}`].value = value;
      // An amount that does not apply yet is kept. An amount and its unit change together.
      const isUnused = isSpan(name) && values.grace !== "own";
      const isEdited = name === edited || (isSpan(name) && isSpan(edited));
      if (isUnused || isEdited || now.get(name) !== sent.get(name)) continue;
      const field = this.form.elements[name];
      if (this.times.includes(field)) this.showTime(field, value);
      else field.value = value;
    }
  }

  mark(faults) {
    for (const old of this.form.querySelectorAll(".error")) old.remove();
    for (const field of this.form.querySelectorAll("[aria-invalid]")) {
      field.removeAttribute("aria-invalid");
      field.removeAttribute("aria-errormessage");
    }
    for (const { field, message } of faults) {
      const input = this.form.querySelector(`#${CSS.escape(field)}`);
      if (!input) continue;
      const error = el("p", { className: "error", id: `${field}-error`, role: "alert" }, `${message[0].toUpperCase()}${message.slice(1)}.`);
      input.after(error);
      input.setAttribute("aria-invalid", "true");
      input.setAttribute("aria-errormessage", error.id);
    }
  }

  /** Whether a limit is being typed. */
  isLimiting() {
    return Boolean(document.activeElement?.closest("#limits"));
  }

  /**
   * A new quota becomes one of the list, and the counts are current. One that is being chosen is
   * kept.
   */
  showLimits(html) {
    const { isAdded } = this;
    this.isAdded = false;
    if (!isAdded && this.hasNewQuota()) return this.showStoredLimits(html);
    const focused = document.activeElement?.id;
    const wasOpen = !isAdded && this.form.querySelector(".new-quota")?.open;
    this.form.querySelector("#limits").outerHTML = html;
    if (wasOpen) this.form.querySelector(".new-quota")?.setAttribute("open", "");
    if (focused) document.getElementById(focused)?.focus();
  }

  /** What is stored counts as shown, so that it is not sent as a change again. */
  showStoredLimits(html) {
    const stored = new DOMParser().parseFromString(html, "text/html");
    for (const name of ["shown.closeAfter", "quotaShown"]) {
      const [before, after] = [this.form, stored].map((place) => [...place.querySelectorAll(`[name="${name}"]`)]);
      if (before.length !== after.length) return;
      before.forEach((field, at) => { field.value = after[at].value });
    }
  }

  /** The state of the flow in the header may have changed. */
  showState(state) {
    const place = document.querySelector("#title-row .state");
    place?.replaceChildren(el("span", { className: `dot ${state.class}` }), state.label);
  }

  become(state) {
    this.state = state;
    this.dispatchEvent(new CustomEvent("state"));
  }
}
