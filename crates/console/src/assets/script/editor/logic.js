/*
 * A condition: a question or the score, a comparison, a value; groups of which all or any must be true; and negation.
 * The sentence below it summarises the condition. Questions, jumps and endings have one.
 *
 * A group with one member is stored as that member, so that the definition stays simple.
 */

import { button, el, pointer, redraw, select } from "./dom.js";
import { inWords, kindOf, quoted, testOf, testsFor } from "./words.js";
import { typeOf } from "./types.js";
import { valueField } from "./values.js";

const TESTS = {
  equals: "is", in: "is one of", notIn: "is none of", includes: "includes",
  lessThan: "is less than", greaterThan: "is more than", answered: "is answered or not",
};
const OF_DATES = { lessThan: "is before", greaterThan: "is after" };

/** When a question is shown. */
export function logicEditor(draft, at, context) {
  return conditionEditor(draft, ["questions", at, "visibleIf"], draft.questions.slice(0, at), context, {
    title: "Show this question", never: "Always", sometimes: "Only if…", sentence: (words) => `Shown only if ${words}.`,
  });
}

/** The condition at a path, about the questions `before`. `texts` are its title, its two states and its sentence. */
export function conditionEditor(draft, path, before, context, texts) {
  const key = path.join("-");
  const place = el("fieldset", { className: "logic", data: { pointer: pointer(path) }, tabIndex: -1 });
  const earlier = before.filter((each) => kindOf(each) !== "never");
  if (before.some(isScored)) earlier.push(SCORE);
  const current = path.reduce((inner, step) => inner?.[step], draft.definition);
  let root = current ? asGroup(current) : null;

  const sentence = el("p", { className: "sentence" });
  const showSentence = () => root && (sentence.textContent = texts.sentence(inWords(simplified(root), draft.questions)));
  /** With `isTyping` the fields are not redrawn, because the user is typing in one of them. */
  const changed = (isTyping = false) => {
    draft.set(path, root ? simplified(root) : undefined);
    if (isTyping) return showSentence();
    draw();
    context.faults.mark();
  };
  const draw = () => {
    const always = select([["", texts.never], ["if", texts.sometimes]], root ? "if" : "", (value) => {
      root = value ? { all: [firstTest(earlier)] } : null;
      changed();
    }, { aria: { label: texts.title }, data: { key: `when-${key}` }, disabled: earlier.length === 0 && !root });
    redraw(place,
      el("legend", { className: "label" }, texts.title),
      always,
      earlier.length === 0 && !root && el("p", { className: "hint" }, "Conditions use earlier questions; there are none yet."),
      root && group(root, null, earlier, changed, `logic-${key}`),
      root && sentence);
    showSentence();
  };
  draw();
  return place;
}

/** Stands for the score where conditions list questions; no question has this id. */
const SCORE = { id: "#score", prompt: "The score", type: "#score" };
const isScored = ({ options, score }) => score === "value" || (Array.isArray(options) && options.some((option) => typeof option?.score === "number"));

const isGroup = (condition) => Array.isArray(condition.all) || Array.isArray(condition.any);
const asGroup = (condition) => (isGroup(condition) ? structuredClone(condition) : { all: [structuredClone(condition)] });
const wordOf = (condition) => (condition.any ? "any" : "all");

function simplified(condition) {
  if (condition.not) return { not: simplified(condition.not) };
  if (!isGroup(condition)) return condition;
  const word = wordOf(condition);
  const inner = condition[word].map(simplified);
  return inner.length === 1 ? inner[0] : { [word]: inner };
}

const firstTest = (earlier) => beginning(earlier.findLast((each) => each !== SCORE) ?? earlier.at(-1));

/** A default comparison with a valid value. For a removed question, only whether it is answered. */
function beginning(question) {
  if (!question) return { question: "", answered: true };
  if (question === SCORE) return { score: true, greaterThan: 0 };
  const kind = kindOf(question);
  const first = (list) => (Array.isArray(question[list]) ? question[list][0]?.id : undefined) ?? "";
  const own = {
    one: { equals: first("options") }, some: { includes: first("options") }, number: { lessThan: typeOf(question)?.threshold },
    cells: { includes: `${first("rows")}:${first("columns")}` }, words: { equals: typeOf(question)?.words[0] },
  };
  return { question: question.id, ...(own[kind] ?? { answered: true }) };
}

function group(condition, remove, earlier, changed, key) {
  const word = wordOf(condition);
  const items = condition[word];
  const chosen = (next) => {
    if (next === word) return;
    condition[next] = items;
    delete condition[word];
    changed();
  };
  const head = items.length > 1 || remove
    ? select([["all", "All of these are true"], ["any", "Any of these is true"]], word, chosen, { aria: { label: "Match" }, data: { key: `${key}-word` } })
    : null;
  return el("div", { className: "group" },
    el("div", { className: "buttons" }, head, remove && button("Remove group", remove, { className: "button small quiet" })),
    items.map((item, n) => entry(items, n, earlier, changed, `${key}-${n}`)),
    el("div", { className: "buttons" },
      button("+ Condition", () => { items.push(firstTest(earlier)); changed() }, { data: { key: `${key}-add` } }),
      button("+ Group", () => { items.push({ any: [firstTest(earlier), firstTest(earlier)] }); changed() }, { className: "button small quiet", data: { key: `${key}-group` } })));
}

/** One member of a group: a comparison or another group, optionally negated. */
function entry(items, n, earlier, changed, key) {
  const isNot = "not" in items[n];
  const inner = () => (isNot ? items[n].not : items[n]);
  const put = (next, isTyping) => { items[n] = isNot ? { not: next } : next; changed(isTyping) };
  const remove = () => { items.splice(n, 1); if (items.length === 0) items.push(firstTest(earlier)); changed() };
  const not = button("Not", () => { items[n] = isNot ? inner() : { not: inner() }; changed() }, {
    className: `button small ${isNot ? "on" : "quiet"}`, aria: { pressed: String(isNot), label: "Not: negate this condition" }, data: { key: `${key}-not` },
  });
  const content = isGroup(inner()) ? group(inner(), remove, earlier, changed, key) : comparison(inner, put, earlier, key);
  const close = !isGroup(inner()) && button("✕", remove, { className: "button small quiet", aria: { label: "Remove this condition" } });
  return el("div", { className: "entry" }, not, content, close);
}

function comparison(inner, put, earlier, key) {
  const condition = inner();
  const question = condition.score ? SCORE : earlier.find(({ id }) => id === condition.question);
  const known = earlier.map(({ id, prompt }) => [id, quoted(prompt || id).slice(1, -1)]);
  const options = question ? known : [[condition.question ?? "", condition.question || "Choose a question"], ...known];
  const test = testOf(condition);
  const words = kindOf(question) === "date" ? { ...TESTS, ...OF_DATES } : TESTS;
  const fitting = testsFor(question);
  const offered = (fitting.includes(test) ? fitting : [test, ...fitting]).map((each) => [each, words[each] ?? each]);
  return el("div", { className: "test" },
    select(options, question?.id ?? condition.question, (id) => put(beginning(earlier.find((each) => each.id === id))), { aria: { label: "Question" }, data: { key: `${key}-question` } }),
    select(offered, test, (next) => put(retested(inner(), next, question)), { aria: { label: "Comparison" }, data: { key: `${key}-test` } }),
    valueField(condition, question, put, `${key}-value`));
}

/** The same condition with another comparison; keeps the value if possible. */
function retested({ question: id, score, ...own }, test, question) {
  const value = Object.values(own)[0];
  const isMany = ["in", "notIn"].includes(test);
  const one = Array.isArray(value) ? value[0] : value;
  const fallback = Object.values(beginning(question)).at(-1);
  const plain = typeof one === "boolean" || one === undefined ? (typeof fallback === "boolean" ? "" : fallback) : one;
  if (score) return { score, [test]: plain };
  if (test === "answered") return { question: id, answered: true };
  return { question: id, [test]: isMany ? [plain] : plain };
}
