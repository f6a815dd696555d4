/*
 * The preview: the hosted page in a frame. It gets a message when the draft changes or another question is selected,
 * and then updates without losing its answers.
 */

import { el } from "./dom.js";
import { nameOf } from "./languages.js";

export class Preview {
  constructor(place, draft, saving) {
    Object.assign(this, { place, draft });
    this.frame = place.querySelector("iframe");
    this.languages = place.querySelector("select");
    this.alone = place.querySelector("a");
    this.base = this.alone.getAttribute("href");
    this.frame.addEventListener("load", () => { this.isReady = true; if (this.pending) this.refresh(this.pending) });
    this.languages.addEventListener("change", () => this.refresh({}));
    for (const choice of place.querySelectorAll("[data-width]")) choice.addEventListener("click", () => this.widen(choice));
    // Use the theme of the surrounding page.
    new MutationObserver(() => this.frame.contentWindow.location.replace(this.address())).observe(document.documentElement, { attributeFilter: ["data-theme"] });
    draft.addEventListener("select", () => this.refresh({}));
    saving.addEventListener("stored", () => { this.offerLanguages(); this.refresh({ keep: true }) });
    this.offerLanguages();
    this.frame.src = this.address();
  }

  address() {
    const query = new URLSearchParams();
    const question = this.draft.question?.id;
    if (question) query.set("question", question);
    if (this.languages.value) query.set("context.locale", this.languages.value);
    const { theme } = document.documentElement.dataset;
    if (theme) query.set("theme", theme);
    return query.size > 0 ? `${this.base}?${query}` : this.base;
  }

  /** `keep` stays at the current question of the frame. */
  refresh({ keep = false }) {
    const address = this.address();
    this.alone.href = address;
    if (!this.isReady) return (this.pending = { keep });
    this.pending = null;
    this.frame.contentWindow.postMessage({ type: "sluice:preview", address, keep }, location.origin);
  }

  offerLanguages() {
    const { defaultLocale = "en", translations } = this.draft.definition;
    const tags = [defaultLocale, ...Object.keys(translations ?? {})];
    const chosen = tags.includes(this.languages.value) ? this.languages.value : defaultLocale;
    this.languages.replaceChildren(...tags.map((tag) => el("option", { value: tag, selected: tag === chosen }, nameOf(tag))));
    this.languages.closest(".field").hidden = tags.length < 2;
  }

  widen(choice) {
    for (const each of this.place.querySelectorAll("[data-width]")) each.setAttribute("aria-pressed", String(each === choice));
    this.place.querySelector(".stage").dataset.width = choice.dataset.width;
  }
}
