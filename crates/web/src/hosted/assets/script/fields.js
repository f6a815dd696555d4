// 2 of 9: the fields of one question.

const TYPED = ["shortText", "longText", "email", "url", "phone", "number"];
const isTicked = (field) => /radio|checkbox/.test(field.type);

/** The answer to a question as the server will read it: a list of texts, empty where there is none. */
function answerOf(section) {
  const given = [];
  for (const field of section.querySelectorAll("[name]")) {
    const [kind, id, part] = field.name.split(".");
    if (field.value === "" || (isTicked(field) && !field.checked)) continue;
    if (kind === "matrix") given.push(`${part}:${field.value}`);
    if (kind === "rank") given[field.value - 1] = part;
    if (kind !== "answers") continue;
    const own = field.value === "other:" ? field.form.elements[`other.${id}`].value.trim() : "";
    given.push(field.value + own);
  }
  return given.filter((text) => text !== undefined);
}

/** What is wrong with the answer to a question, in words, or nothing. Loosely: the server decides. */
function faultOf(section, words) {
  const given = answerOf(section);
  const { type, required, rule } = section.dataset;
  const isRequired = required !== undefined;
  if (given.length === 0) return isRequired ? words.required : "";
  const rows = section.querySelectorAll("tbody tr").length;
  if (type === "matrix" && isRequired && given.length < rows) return words.rows;
  if (given.includes("other:")) return words.required;
  return isWithin(section.dataset, given) ? "" : (rule ?? words.required);
}

function isWithin({ type, min, max, minLength, maxLength, integer }, given) {
  const text = given[0];
  const length = [...text].length;
  const isBetween = (value) => !(value < min) && !(value > max);
  if (length < minLength || length > maxLength) return false;
  if (type === "multipleChoice") return isBetween(given.length);
  if (type === "number") {
    return isDecimal(text) && isBetween(Number(text)) && (integer === undefined || !text.includes("."));
  }
  if (type === "date") return isBetween(text);
  if (type === "email") return /^\S+@\S+\.\S+$/.test(text);
  if (type === "url") return /^https?:\/\/[^\s/]/i.test(text);
  if (type === "phone") return /^[\d +().-]{3,32}$/.test(text);
  return true;
}

/** People write "example.com"; the address that they mean has a scheme. */
function completeAddress(field) {
  if (field.type === "url" && /^[^\s:/]+\.[^\s:]+$/.test(field.value)) field.value = `https://${field.value}`;
}

/** How many characters are left, once they grow few. */
function countLeft(section, words) {
  const max = Number(section?.dataset.maxLength);
  const field = section?.querySelector(".text");
  if (!max || !field) return;
  const left = max - [...field.value].length;
  const shown = section.querySelector(".count") ?? element("p", { className: "count", role: "status" });
  const n = left.toLocaleString(document.documentElement.lang || "en");
  shown.textContent = left < max / 5 ? fill(words.left, { n }) : "";
  field.after(shown);
}

/** To the field where one types, else to the heading: so that it is read aloud, and digits pick. */
function focusOn(section) {
  const heading = section.querySelector("h2");
  if (heading) heading.tabIndex = -1;
  const target = TYPED.includes(section.dataset.type) ? section.querySelector(".text") : heading;
  target?.focus({ preventScroll: true });
}

function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

const fill = (text, values) => text.replace(/\{(\w+)\}/g, (_, name) => values[name]);
