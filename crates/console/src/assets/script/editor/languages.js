/*
 * Translations side by side: the original next to every other language. Missing translations are
 * marked; respondents get the original there.
 */

import { announce, button, el, field, pointer, redraw } from "./dom.js";
import { textsOf } from "./pruning.js";

const COMMON = ["ar", "bg", "bn", "cs", "da", "de", "el", "en", "es", "et", "fa", "fi", "fr", "he", "hi", "hr", "hu", "id", "it", "ja", "ko", "lt", "lv", "nl", "no", "pl", "pt-BR", "pt", "ro", "ru", "sk", "sl", "sr", "sv", "th", "tr", "uk", "vi", "zh-Hans", "zh-Hant"];

/** The name of a language, if the browser knows it. */
export function nameOf(tag) {
  try { return new Intl.DisplayNames(["en"], { type: "language" }).of(tag) ?? tag } catch { return tag }
}

const suggestions = (id) => el("datalist", { id }, COMMON.map((tag) => el("option", { value: nameOf(tag) }, tag)));

/** The tag of a language that was typed as a name or as a tag; as typed if it is neither. */
function tagOf(text) {
  const wanted = text.trim();
  return COMMON.find((tag) => nameOf(tag).toLowerCase() === wanted.toLowerCase()) ?? wanted;
}

const isTag = (text) => { try { return Intl.getCanonicalLocales(text).length === 1 } catch { return false } };

/** The field for the default language. */
export function languageField(draft) {
  const input = el("input", { className: "input", value: draft.definition.defaultLocale ?? "en", autocomplete: "off", oninput: () => draft.set(["defaultLocale"], tagOf(input.value)) });
  input.setAttribute("list", "languages-known");
  return el("div", {}, field("Default language", input, { path: ["defaultLocale"], hint: "A name such as German, or a tag such as de or pt-BR" }), suggestions("languages-known"));
}

/** Every text with its path and description. */
function textsIn(definition) {
  const texts = [];
  const add = (path, what, original) => original && texts.push({ path, what, original: String(original) });
  add(["title"], "Title", definition.title);
  add(["description"], "Description", definition.description);
  for (const [name, what] of [["title", "title"], ["body", "text"], ["buttonText", "button"]]) {
    add(["welcome", name], `Welcome: ${what}`, definition.welcome?.[name]);
  }
  (Array.isArray(definition.questions) ? definition.questions : []).forEach((question, at) => {
    const { plain, lists } = textsOf(question);
    const words = { prompt: "question", help: "help", lowLabel: "low end", highLabel: "high end" };
    for (const name of plain) add(["questions", question.id, name], `${at + 1}: ${words[name]}`, question[name]);
    for (const name of lists) for (const choice of question[name]) add(["questions", question.id, name, choice?.id], `${at + 1}: ${name.slice(0, -1)}`, choice?.label);
    add(["questions", question.id, "imageAlt"], `${at + 1}: image`, question.image?.alt);
    if (lists.includes("options")) for (const choice of question.options) add(["questions", question.id, "optionAlts", choice?.id], `${at + 1}: image of option`, choice?.image?.alt);
  });
  const listed = (name) => (Array.isArray(definition[name]) ? definition[name] : []);
  for (const section of listed("sections")) add(["sections", section?.id, "title"], "Section", section?.title);
  add(["ending", "title"], "Ending: title", definition.ending?.title);
  add(["ending", "body"], "Ending: text", definition.ending?.body);
  for (const ending of listed("endings")) {
    add(["endings", ending?.id, "title"], `Ending ${ending?.id}: title`, ending?.title);
    add(["endings", ending?.id, "body"], `Ending ${ending?.id}: text`, ending?.body);
  }
  return texts;
}

const at = (value, path) => path.reduce((inner, step) => inner?.[step], value);

export class Languages {
  constructor(place, draft, context) {
    Object.assign(this, { place, draft, context });
    draft.addEventListener("change", ({ detail }) => {
      if (place.hidden) this.isStale = true;
      else if (detail.shape) this.draw();
      else this.count();
    });
    context.sections.addEventListener("shown", () => this.isStale && !place.hidden && this.draw());
    this.draw();
  }

  get tags() {
    const { translations } = this.draft.definition;
    return translations && typeof translations === "object" ? Object.keys(translations) : [];
  }

  draw() {
    this.isStale = false;
    const { definition } = this.draft;
    const texts = textsIn(definition);
    const original = definition.defaultLocale ?? "en";
    const head = el("tr", {}, el("th", { scope: "col" }, "Text"), el("th", { scope: "col", lang: "en" }, `${nameOf(original)} (${original})`),
      this.tags.map((tag) => el("th", { scope: "col" }, `${nameOf(tag)} (${tag}) `, el("span", { className: "hint", data: { count: tag } }),
        button("Remove", () => this.remove(tag), { className: "button small quiet", aria: { label: `Remove ${nameOf(tag)}` } }))));
    const rows = texts.map(({ path, what, original: text }) => el("tr", {}, el("th", { scope: "row" }, what), el("td", {}, text), this.tags.map((tag) => this.cell(tag, path, what))));
    const table = el("div", { className: "scroll", tabIndex: 0, role: "region", aria: { label: "Translations" } },
      el("table", { className: "table translations" }, el("thead", {}, head), el("tbody", {}, rows)));
    const input = el("input", { className: "input", id: "new-language", placeholder: "German, French, Japanese …", autocomplete: "off", oninput: () => input.setCustomValidity("") });
    input.setAttribute("list", "languages-new");
    const add = el("form", { className: "inline", onsubmit: (event) => { event.preventDefault(); this.enter(input) } },
      el("div", { className: "field" }, el("label", { htmlFor: "new-language" }, "Add a language"), input), suggestions("languages-new"),
      el("button", { className: "button" }, "Add"));
    const empty = el("p", { className: "muted" }, "All texts are in one language. Add another language to translate them side by side.");
    redraw(this.place, el("div", { className: "stack" }, this.tags.length > 0 ? table : empty, add));
    this.count();
    this.context.faults.mark();
  }

  cell(tag, path, what) {
    const whole = ["translations", tag, ...path];
    const value = at(this.draft.definition, whole) ?? "";
    const input = el("textarea", {
      className: "input", rows: 1, value, lang: tag, dir: "auto", placeholder: "Not translated", data: { pointer: pointer(whole) },
      aria: { label: `${what} in ${nameOf(tag)}` },
      oninput: () => { this.draft.set(whole, input.value); input.classList.toggle("missing", input.value === "") },
    });
    input.classList.toggle("missing", value === "");
    return el("td", {}, input);
  }

  /** Shows the number of translated texts per language. */
  count() {
    for (const place of this.place.querySelectorAll("[data-count]")) {
      const { count: tag } = place.dataset;
      const texts = textsIn(this.draft.definition);
      const done = texts.filter(({ path }) => at(this.draft.definition, ["translations", tag, ...path])).length;
      place.textContent = `${done} of ${texts.length}`;
    }
  }

  /** Adds the language that was typed, by its name or its tag. */
  enter(input) {
    const tag = tagOf(input.value);
    if (!tag || isTag(tag)) return this.add(tag);
    input.setCustomValidity(`${tag} is not a known language. Write its tag, such as de or pt-BR.`);
    input.reportValidity();
  }

  add(tag) {
    if (!tag || this.tags.includes(tag)) return;
    this.draft.set(["translations", tag], {}, { shape: true });
    this.draw();
    this.place.querySelector(`textarea[lang="${CSS.escape(tag)}"]`)?.focus();
    announce(`${nameOf(tag)} added.`);
  }

  remove(tag) {
    const { translations } = this.draft.definition;
    delete translations[tag];
    if (this.tags.length === 0) delete this.draft.definition.translations;
    this.draft.changed();
    this.context.undoable(`${nameOf(tag)} and its translations were removed.`);
    this.place.querySelector("#new-language")?.focus();
  }
}
