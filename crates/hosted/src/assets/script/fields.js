// 2 of 10: the fields of one question.

/** The kinds of inputs that one types into; the server names them. */
const TYPED = ["text", "paragraph", "email", "url", "phone", "number"];
const isTicked = (field) => /radio|checkbox/.test(field.type);

/**
 * The answer to a question as the server reads it: texts with their labels and scores, none if
 * there is no answer.
 */
function givenTo(section) {
  const given = [];
  for (const field of section.querySelectorAll("[name]")) {
    const [kind, id, part] = field.name.split(".");
    const text = plainText(field, section.dataset.input);
    if (text === "" || (isTicked(field) && !field.checked)) continue;
    if (kind === "matrix") given.push({ text: `${part}:${text}`, label: field.ariaLabel });
    if (kind === "rank") given[text - 1] = { text: part, label: field.parentElement.querySelector(".label").textContent };
    if (kind !== "answers") continue;
    const own = text === "other:" ? field.form.elements[`other.${id}`].value.trim() : "";
    const { dataset } = field.selectedOptions?.[0] ?? field;
    const label = field.selectedOptions?.[0].text ?? (isTicked(field) ? field.parentElement.textContent : text);
    given.push({ text: text + own, label: own || label.trim(), score: dataset.score });
  }
  return given.filter(Boolean);
}

const answerOf = (section) => givenTo(section).map(({ text }) => text);

/** Fills placeholders in texts with the labels of answers, or the score. */
function pipe(main, { given, score }) {
  const valueOf = (name, fallback) =>
    (name === "#" ? String(score) : (given[name] ?? []).map(({ label }) => label).join(", ")) || fallback;
  for (const place of main.querySelectorAll("[data-pipe]")) {
    place.textContent = valueOf(place.dataset.pipe, place.dataset.fallback);
  }
  for (const place of main.querySelectorAll("[data-parts]")) {
    const text = JSON.parse(place.dataset.parts).map((part) => (part.trim ? part : valueOf(...part))).join("");
    if (place.matches("option")) place.textContent = text;
    else place.ariaLabel = text;
  }
}

/** The value of a field; numbers are converted from the reader's notation. */
function plainText({ value }, input) {
  if (input === "paragraph") return value;
  if (input !== "number") return value.trim();
  const comma = (1.5).toLocaleString(knownLanguage())[1] === "," && !value.includes(".");
  const plain = value.trim().replace(/[٠-٩۰-۹]/g, (digit) => digit.charCodeAt(0) & 15).replace("٫", ".").replace("−", "-");
  return comma ? plain.replace(",", ".") : plain;
}

/** The problem with the answer to a question, or nothing. A loose check: the server decides. */
function faultOf(section, words) {
  const given = answerOf(section);
  const { input, required, rule } = section.dataset;
  const isRequired = required !== undefined;
  if (given.length === 0) return isRequired ? words.required : "";
  const rows = section.querySelectorAll("tbody tr").length;
  if (input === "grid" && isRequired && given.length < rows) return words.rows;
  if (given.includes("other:")) return words.required;
  return isWithin(section.dataset, given) ? "" : (rule ?? words.required);
}

function isWithin({ input, min, max, minLength, maxLength, integer }, given) {
  const text = given[0];
  const length = [...text].length;
  const isBetween = (value) => !(value < min) && !(value > max);
  if (length < minLength || length > maxLength) return false;
  if (input === "some") return isBetween(given.length);
  if (input === "number") {
    return isDecimal(text) && isBetween(Number(text)) && (integer === undefined || !text.includes("."));
  }
  if (input === "date") return isBetween(text);
  if (input === "email") return /^\S+@\S+\.\S+$/.test(text);
  if (input === "url") return /^https?:\/\/[^\s/]/i.test(text);
  if (input === "phone") return /^[\d +().-]{3,32}$/.test(text);
  return true;
}

/** Adds the scheme that people omit: "example.com". */
function completeAddress(field) {
  if (field.type === "url" && /^[^\s:/]+\.[^\s:]+$/.test(field.value)) field.value = `https://${field.value}`;
}

/** Shows the number of characters left when there are few. */
function countLeft(section, words) {
  const max = Number(section?.dataset.maxLength);
  const field = section?.querySelector(".text");
  if (!max || !field) return;
  const left = max - [...field.value].length;
  const shown = section.querySelector(".count") ?? element("p", { className: "count", role: "status" });
  shown.textContent = left < max / 5 ? plural(words.left, left) : "";
  field.after(shown);
}

/**
 * The page's language, for numbers and times. Browsers refuse some tags, such as zh-yue and x-ours.
 */
function knownLanguage() {
  const { lang } = document.documentElement;
  const isKnown = (tag) => { try { return Intl.getCanonicalLocales(tag).length > 0; } catch { return false; } };
  return [lang, lang.split("-")[0], "en"].find(isKnown);
}

/** A text with a number, in the plural form of the page's language. */
function plural(forms, number) {
  const lang = knownLanguage();
  return fill(forms[new Intl.PluralRules(lang).select(number)] ?? forms.other, { n: number.toLocaleString(lang) });
}

/** Focuses the text field, or else the heading, so that it is read aloud and digits select. */
function focusOn(section) {
  const heading = section.querySelector("h1, h2");
  if (heading) heading.tabIndex = -1;
  const target = TYPED.includes(section.dataset.input) ? section.querySelector(".text") : heading;
  target?.focus({ preventScroll: true });
}

/** Focuses the first field of a question, so that its error can be corrected at once. */
function focusField(section) {
  const field = section.querySelector("fieldset .text, fieldset input, fieldset select:not([hidden]), fieldset button");
  field?.focus({ preventScroll: true });
  section.scrollIntoView({ block: "nearest" });
}

function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

const fill = (text, values) => text.replace(/\{(\w+)\}/g, (_, name) => values[name]);
