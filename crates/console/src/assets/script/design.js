/*
 * The design of hosted pages: shows the control of a custom value only if that is chosen, saves
 * every change, and shows it in the preview. The server compares each part with what it was when
 * the page was made, so that what others changed in the meantime stays.
 */

import { announce, el } from "./editor/dom.js";
import { fitting, send } from "./editor/images.js";
import { siteAddress } from "./site.js";

const REST_MS = 400;
const RETRY_MS = 5000;
const PICTURE_BYTES_MAX = 64 * 1024;
const WORDS = {
  saved: "Saved", saving: "Saving…", invalid: "Not saved",
  offline: "Not saved: the server cannot be reached. Trying again…",
  failed: "Not saved: the server failed to store the design. Trying again…",
  refused: "Not saved: the server refused this change. Reload the page.",
  "signed-out": "Not saved: you are signed out. Sign in in another tab, then continue here.",
};

class Designer {
  constructor(root) {
    this.form = root.querySelector("#design");
    this.frame = root.querySelector("iframe");
    this.alone = root.querySelector(".toolbar a");
    this.base = this.alone.getAttribute("href");
    this.themes = root.querySelector("[data-themes]");
    this.themes.hidden = false;
    this.isLoading = false;
    this.frame.addEventListener("load", () => { this.isLoading = false; if (this.isStale) this.preview(this.theme) });
    for (const chip of this.themes.children) chip.addEventListener("click", () => this.preview(chip.dataset.previews));
    this.theme = document.documentElement.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
    this.preview(this.theme);
    for (const part of this.form.querySelectorAll("[data-part]")) this.show(part);
    for (const picker of this.form.querySelectorAll("[data-picks]")) this.pair(picker);
    for (const chooser of this.form.querySelectorAll("[data-uploads]")) chooser.addEventListener("change", () => this.upload(chooser));
    for (const chooser of this.form.querySelectorAll("[data-picture]")) chooser.addEventListener("change", () => this.read(chooser));
    this.last = this.body();
    this.form.addEventListener("input", ({ target }) => {
      const part = target.closest("[data-part]");
      if (part) this.show(part);
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.save(), REST_MS);
    });
    this.form.addEventListener("change", () => this.save());
    this.form.addEventListener("submit", (event) => { event.preventDefault(); this.save() });
    addEventListener("beforeunload", (event) => { if (this.body() !== this.last) event.preventDefault() });
  }

  show(part) {
    for (const [selector, choice] of [["[data-own]", "own"], ["[data-own-image]", "image"]]) {
      const own = part.querySelector(selector);
      if (own) own.hidden = !part.querySelector(`input[value=${choice}]`).checked;
    }
  }

  /** A colour can be picked or typed. */
  pair(picker) {
    const field = document.getElementById(picker.dataset.picks);
    const isWhole = () => /^#[0-9a-f]{6}$/i.test(field.value.trim());
    picker.hidden = false;
    if (isWhole()) picker.value = field.value.trim();
    picker.addEventListener("input", () => (field.value = picker.value));
    field.addEventListener("input", () => { if (isWhole()) picker.value = field.value.trim() });
  }

  /** Puts a picture into the form as text. */
  read(chooser) {
    const [file] = chooser.files;
    chooser.setCustomValidity("");
    if (!file) return;
    if (file.size > PICTURE_BYTES_MAX) {
      chooser.setCustomValidity("This image is larger than 64 KiB.");
      return void chooser.reportValidity();
    }
    const reader = new FileReader();
    reader.addEventListener("load", () => {
      const own = chooser.closest("[data-own]");
      own.querySelector("input[type=hidden]").value = reader.result;
      own.querySelector(".logo-frame").hidden = false;
      own.querySelector("img").src = reader.result;
      this.save();
    });
    reader.readAsDataURL(file);
  }

  /** Stores an image on the server; the design has only its id. */
  async upload(chooser) {
    const [file] = chooser.files;
    if (!file) return;
    const own = chooser.closest("[data-own-image]");
    const state = own.querySelector("[data-upload-state]");
    state.textContent = "Uploading…";
    const ready = await fitting(file).catch(() => null);
    const { assetId, message } = ready
      ? await send(chooser.dataset.uploads, ready, () => {})
      : { message: "This file is not an image that can be used here. Choose a PNG, JPEG or WebP file." };
    state.textContent = message ?? "";
    if (!assetId) return void (chooser.value = "");
    own.querySelector("input[type=hidden]").value = assetId;
    own.querySelector(".logo-frame").hidden = false;
    own.querySelector("img").src = siteAddress(`a/${assetId}`);
    this.save();
  }

  body() {
    return new URLSearchParams(new FormData(this.form)).toString();
  }

  save() {
    clearTimeout(this.timer);
    this.isUnderWay ??= this.send().finally(() => (this.isUnderWay = null));
    return this.isUnderWay;
  }

  async send() {
    for (let body = this.body(); body !== this.last; body = this.body()) {
      this.become("saving");
      const headers = { Accept: "application/json", "Content-Type": "application/x-www-form-urlencoded" };
      const reply = await fetch(this.form.action, { method: "POST", body, headers, redirect: "manual" }).catch(() => null);
      const result = reply?.headers.get("content-type") === "application/json" ? await reply.json().catch(() => null) : null;
      if (!result) {
        const isSignedOut = reply?.type === "opaqueredirect" || reply?.status === 401;
        const isFinal = reply && !isSignedOut && reply.status < 500 && reply.status !== 429;
        if (!isFinal) setTimeout(() => this.save(), RETRY_MS);
        return this.become(isSignedOut ? "signed-out" : isFinal ? "refused" : reply ? "failed" : "offline");
      }
      this.mark(result.faults);
      if (result.faults.length > 0) return this.become("invalid");
      this.last = body;
      this.take(result, new URLSearchParams(body));
      this.preview(this.theme);
    }
    this.become("saved");
  }

  /** What was saved is from now on what the part was. */
  take({ was, notes, isOwn }, sent) {
    const isSettled = this.body() === this.last;
    for (const [name, mark] of Object.entries(was)) {
      this.form.elements[`${name}.was`].value = mark;
      const own = this.form.elements[`${name}.own`];
      // A picture is sent once.
      if (own?.type === "hidden" && own.value === sent.get(`${name}.own`)) own.value = "";
    }
    for (const [name, note] of Object.entries(notes)) document.getElementById(`${name}-note`).textContent = note;
    const reset = document.getElementById("reset");
    if (reset) reset.hidden = !isOwn;
    if (isSettled) this.last = this.body();
  }

  mark(faults) {
    for (const old of this.form.querySelectorAll(".error")) old.remove();
    for (const field of this.form.querySelectorAll("[aria-invalid]")) field.removeAttribute("aria-invalid");
    for (const { field, message } of faults) {
      const input = document.getElementById(field);
      const part = input?.closest("[data-part]");
      if (!part) continue;
      part.append(el("p", { className: "error", id: `${part.dataset.part}-error`, role: "alert" }, `${message}.`));
      input.setAttribute("aria-invalid", "true");
    }
  }

  preview(theme) {
    this.theme = theme;
    for (const chip of this.themes.children) chip.setAttribute("aria-pressed", String(chip.dataset.previews === theme));
    const address = `${this.base}?theme=${theme}`;
    this.alone.href = address;
    // A browser may ignore an address that it is loading already, so this follows.
    this.isStale = this.isLoading;
    if (this.isLoading) return;
    this.isLoading = true;
    this.frame.contentWindow.location.replace(address);
  }

  become(state) {
    const place = document.getElementById("saving");
    if (state !== this.state && !["saved", "saving"].includes(state)) announce(WORDS[state]);
    this.state = state;
    if (!place) return;
    place.hidden = false;
    place.textContent = WORDS[state];
    place.dataset.state = state;
  }
}

const root = document.getElementById("designer");
if (root && !root.querySelector("#design > fieldset").disabled) new Designer(root);
