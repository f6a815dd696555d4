/*
 * The settings that take effect without publishing. They are saved automatically, like the draft. The server
 * sends and receives UTC; the fields show local time. Without JavaScript they are in UTC, and labelled so. An unchanged
 * field is sent back unchanged, because an hour that occurs twice would otherwise be ambiguous.
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
    for (const field of this.times) {
      if (!field.value) continue;
      const utc = field.value;
      field.value = localText(new Date(`${utc}Z`));
      this.given.set(field, { utc, shown: field.value });
    }
    const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
    for (const place of form.querySelectorAll("[data-utc]")) place.textContent = zone;
    form.addEventListener("formdata", ({ formData }) => this.convert(formData));
  }

  /** Saves from now on: when a field is left, or after a pause. Half of a typed year or limit must not close the flow. */
  start() {
    this.last = this.body();
    this.form.addEventListener("focusout", () => this.save());
    this.form.addEventListener("input", () => {
      clearTimeout(this.timer);
      if (this.times.every(isWhole)) this.timer = setTimeout(() => this.isLimiting() || this.save(), REST_MS);
    });
    this.form.addEventListener("change", ({ target }) => { if (target.matches("select, [type=radio], [type=checkbox]")) this.save() });
    this.form.addEventListener("submit", (event) => { event.preventDefault(); this.save() });
    addEventListener("beforeunload", (event) => (["saved", "saving"].includes(this.state) ? this.save() : event.preventDefault()));
  }

  convert(formData) {
    for (const field of this.times) {
      const { utc, shown } = this.given.get(field) ?? {};
      if (field.value && field.value === shown) formData.set(field.name, utc);
      else if (field.value) formData.set(field.name, new Date(field.value).toISOString().slice(0, 16));
    }
  }

  body() {
    return new URLSearchParams(new FormData(this.form)).toString();
  }

  /** Resolves when everything is saved, or cannot be. */
  async flush() {
    await this.save();
    return this.state === "saved";
  }

  save() {
    this.isUnderWay ??= this.send().finally(() => (this.isUnderWay = null));
    return this.isUnderWay;
  }

  async send() {
    for (let body = this.body(); body !== this.last; body = this.body()) {
      this.become("saving");
      const headers = { Accept: "application/json", "Content-Type": "application/x-www-form-urlencoded" };
      const reply = await fetch(this.form.action, { method: "POST", body, headers, redirect: "manual", keepalive: true }).catch(() => null);
      const result = reply?.headers.get("content-type") === "application/json" ? await reply.json().catch(() => null) : null;
      if (!result) {
        setTimeout(() => this.save(), RETRY_MS);
        return this.become(reply?.type === "opaqueredirect" || reply?.status === 401 ? "signed-out" : reply ? "failed" : "offline");
      }
      this.mark(result.faults);
      if (result.faults.length > 0) return this.become("invalid");
      this.last = body;
      this.showState(result.state);
      if (body === this.body()) this.showLimits(result.limits);
    }
    this.become("saved");
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

  /** A new quota becomes one of the list, and the counts are current. */
  showLimits(html) {
    const { newQuota, newQuotaLimit } = this.form.elements;
    // Half of a new quota is not stored yet.
    if (Boolean(newQuota?.value) !== Boolean(newQuotaLimit?.value)) return;
    const focused = document.activeElement?.id;
    this.form.querySelector("#limits").outerHTML = html;
    if (focused) document.getElementById(focused)?.focus();
    this.last = this.body();
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
