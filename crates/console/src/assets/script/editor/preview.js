/*
 * The preview: the hosted page in a frame. It gets a message when the draft changes or another question is selected,
 * and then updates without losing its answers.
 */

import { el } from "./dom.js";
import { nameOf } from "./languages.js";

/** The width of the desktop that is shown. */
const DESKTOP_PX = 1280;

export class Preview {
  constructor(place, draft, saving, sections) {
    Object.assign(this, { place, draft, isEnding: false });
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
    // The ending is shown while its fields are edited.
    sections.root.addEventListener("focusin", ({ target }) => this.showEnding(target.dataset?.pointer?.startsWith("/ending") ?? false));
    sections.addEventListener("shown", ({ detail }) => detail.name !== "texts" && this.showEnding(false));
    this.stage = place.querySelector(".stage");
    new ResizeObserver(() => this.fit()).observe(this.stage);
    this.offerLanguages();
    this.frame.src = this.address();
  }

  showEnding(isEnding) {
    if (this.isEnding === isEnding) return;
    this.isEnding = isEnding;
    this.refresh({});
  }

  address() {
    const query = new URLSearchParams();
    const question = this.draft.question?.id;
    if (this.isEnding) query.set("ending", "yes");
    else if (question) query.set("question", question);
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
    this.stage.dataset.width = choice.dataset.width;
    this.fit();
  }

  /** A desktop has its real width, scaled down to the space that there is. */
  fit() {
    const { style } = this.frame;
    if (this.stage.dataset.width !== "desktop") return void (style.inlineSize = style.blockSize = style.transform = "");
    const scale = Math.min(this.stage.clientWidth / DESKTOP_PX, 1);
    style.inlineSize = `${DESKTOP_PX}px`;
    style.blockSize = `${this.stage.clientHeight / scale}px`;
    style.transform = `scale(${scale})`;
  }
}
