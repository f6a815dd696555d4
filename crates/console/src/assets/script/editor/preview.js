/*
 * The preview: the hosted page in a frame. It shows what is being edited: the selected question,
 * the welcome screen, an ending, a translation. It gets a message when that or the draft changes,
 * and then updates without losing its answers.
 */

import { el, pathOf } from "./dom.js";
import { nameOf } from "./languages.js";

/** The width of the desktop that is shown. */
const DESKTOP_PX = 1280;
const REMEMBERED = "sluice-preview-width";

const remembered = () => { try { return localStorage.getItem(REMEMBERED) } catch { return null } };

export class Preview {
  constructor(place, draft, saving, sections) {
    Object.assign(this, { place, draft, target: {} });
    this.frame = place.querySelector("iframe");
    this.languages = place.querySelector("select");
    this.alone = place.querySelector("a");
    this.base = this.alone.getAttribute("href");
    this.frame.addEventListener("load", () => { this.isReady = true; if (this.pending) this.refresh(this.pending) });
    this.languages.addEventListener("change", () => this.refresh({}));
    for (const choice of place.querySelectorAll("button[data-width]")) choice.addEventListener("click", () => this.choose(choice));
    // Use the theme of the surrounding page.
    new MutationObserver(() => this.frame.contentWindow.location.replace(this.address())).observe(document.documentElement, { attributeFilter: ["data-theme"] });
    draft.addEventListener("select", () => { this.target = {}; this.refresh({}) });
    saving.addEventListener("stored", () => { this.offerLanguages(); this.refresh({ keep: Object.keys(this.target).length === 0 }) });
    sections.root.addEventListener("focusin", ({ target }) => this.follow(target.closest("[data-pointer]")?.dataset.pointer));
    sections.addEventListener("shown", ({ detail }) => ["texts", "languages"].includes(detail.name) || this.show({}));
    this.stage = place.querySelector(".stage");
    // A phone is readable in its real size. A desktop is scaled down, so it is shown only if the
    // author chose it.
    const isNarrow = matchMedia("(max-width: 40rem)").matches;
    this.widen(place.querySelector(`button[data-width=${!isNarrow && remembered() === "desktop" ? "desktop" : "phone"}]`));
    new ResizeObserver(() => this.fit()).observe(this.stage);
    this.offerLanguages();
    this.frame.src = this.address();
  }

  /** Shows the screen of a field, in the language of a translation. */
  follow(pointer) {
    if (!pointer) return;
    const path = pathOf(pointer);
    const isTranslated = path[0] === "translations";
    const language = isTranslated ? path[1] : undefined;
    const isOther = language !== undefined && language !== this.languages.value;
    if (isOther && [...this.languages.options].some(({ value }) => value === language)) {
      this.languages.value = language;
      this.target = {};
    }
    this.show(this.targetOf(isTranslated ? path.slice(2) : path));
  }

  /** The screen of a path; translations have ids in place of indexes. */
  targetOf([first, which]) {
    const { definition } = this.draft;
    const named = (list) => (Array.isArray(list) ? (list.find((each) => each?.id === which) ?? list[which]) : undefined);
    if (first === "welcome") return { screen: "welcome" };
    if (first === "ending") return { ending: "*" };
    if (first === "endings") return { ending: named(definition.endings)?.id ?? "*" };
    if (first === "sections") return { question: named(definition.sections)?.questions?.[0] };
    if (["title", "description"].includes(first)) return { question: this.draft.questions[0]?.id };
    const question = first === "questions" ? named(this.draft.questions)?.id : undefined;
    return question === this.draft.question?.id ? {} : { question };
  }

  show(target) {
    if (JSON.stringify(this.target) === JSON.stringify(target)) return;
    this.target = target;
    this.refresh({});
  }

  address() {
    const query = new URLSearchParams();
    const question = this.target.question ?? this.draft.question?.id;
    if (this.target.ending) query.set("ending", this.target.ending);
    else if (question && this.target.screen !== "welcome") query.set("question", question);
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

  /** The author's choice applies to the next flow too. */
  choose(choice) {
    try { localStorage.setItem(REMEMBERED, choice.dataset.width) } catch { /* not allowed */ }
    this.widen(choice);
  }

  widen(choice) {
    for (const each of this.place.querySelectorAll("button[data-width]")) each.setAttribute("aria-pressed", String(each === choice));
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
