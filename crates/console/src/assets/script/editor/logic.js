/*
 * A condition, which reads as a sentence: a question or the score, a comparison or its opposite, a
 * value; and groups of which all, any, not all or none must be true. The sentence below it
 * summarises the condition. Questions, jumps and endings have one.
 *
 * A group with one member is stored as that member, so that the definition stays simple.
 */

import { button, el, pointer, redraw, select } from "./dom.js";
import { inWords, kindOf, testOf, testsFor } from "./words.js";
import { typeOf } from "./types.js";
import { valueField } from "./values.js";

/** The comparisons, each with its opposite. A name with an exclamation mark is negated. */
const TESTS = {
  equals: "is", "!equals": "is not", in: "is one of", "!in": "is not one of", notIn: "is answered, but is none of",
  "!notIn": "is unanswered, or is one of", includes: "includes", "!includes": "does not include",
  lessThan: "is less than", "!lessThan": "is not less than", greaterThan: "is more than", "!greaterThan": "is not more than",
  answered: "is answered", "!answered": "is not answered",
};
const OF_DATES = { lessThan: "is before", "!lessThan": "is not before", greaterThan: "is after", "!greaterThan": "is not after" };
const OF_GROUPS = [["all", "All of these are true"], ["any", "Any of these is true"], ["!all", "Not all of these are true"], ["!any", "None of these is true"]];

/** When a question is shown. */
export function logicEditor(draft, at, context) {
  return conditionEditor(draft, ["questions", at, "visibleIf"], draft.questions.slice(0, at), context, {
    title: "Show this question", never: "Always", sometimes: "Only if", sentence: (words) => `Shown only if ${words}.`,
  });
}

/**
 * The condition at a path, about the questions `before`. `texts` are its title, its two states and
 * its sentence.
 */
export function conditionEditor(draft, path, before, context, texts) {
  const key = path.join("-");
  const place = el("fieldset", { className: "logic", data: { pointer: pointer(path) }, tabIndex: -1 });
  const earlier = before.filter((each) => kindOf(each) !== "never");
  if (before.some(isScored)) earlier.push(SCORE);
  const current = path.reduce((inner, step) => inner?.[step], draft.definition);
  let root = current ? asGroup(current) : null;

  const sentence = el("p", { className: "sentence" });
  const showSentence = () => root && (sentence.textContent = texts.sentence(inWords(simplified(root), draft.questions, { isWhole: true })));
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
      root && group(root, (next) => { root = next; changed() }, null, earlier, changed, `logic-${key}`),
      root && sentence);
    showSentence();
  };
  draw();
  return place;
}

/** Stands for the score where conditions list questions; no question has this id. */
const SCORE = { id: "#score", prompt: "The score", type: "#score" };
const isScored = ({ options, score }) => score === "value" || (Array.isArray(options) && options.some((option) => typeof option?.score === "number"));

/** A copy without double negations. */
function cleaned(condition) {
  if (condition.not?.not) return cleaned(condition.not.not);
  if (condition.not) return { not: cleaned(condition.not) };
  if (!isGroup(condition)) return { ...condition };
  const word = wordOf(condition);
  return { [word]: condition[word].map(cleaned) };
}

const isGroup = (condition) => Array.isArray(condition.all) || Array.isArray(condition.any);
const isNegatedGroup = (condition) => Boolean(condition.not && isGroup(condition.not));
const asGroup = (condition) => {
  const copy = cleaned(condition);
  return isGroup(copy) || isNegatedGroup(copy) ? copy : { all: [copy] };
};
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

/** A group, which may be negated. `put` replaces it. */
function group(whole, put, remove, earlier, changed, key) {
  const isNot = isNegatedGroup(whole);
  const condition = isNot ? whole.not : whole;
  const word = wordOf(condition);
  const items = condition[word];
  const chosen = (next) => {
    const plain = { [next.replace("!", "")]: items };
    put(next.startsWith("!") ? { not: plain } : plain);
  };
  const head = items.length > 1 || remove || isNot
    ? select(OF_GROUPS, `${isNot ? "!" : ""}${word}`, chosen, { aria: { label: "Match" }, data: { key: `${key}-word` } })
    : null;
  const joint = (n) => n > 0 && el("span", { className: "joint" }, word === "any" ? "or" : "and");
  return el("div", { className: "group" },
    (head || remove) && el("div", { className: "buttons" }, head, remove && button("Remove group", remove, { className: "button small quiet" })),
    items.map((item, n) => [joint(n), entry(items, n, earlier, changed, `${key}-${n}`)]).flat(),
    el("div", { className: "buttons" },
      button("+ Condition", () => { items.push(firstTest(earlier)); changed() }, { data: { key: `${key}-add` } }),
      button("+ Group", () => { items.push({ any: [firstTest(earlier), firstTest(earlier)] }); changed() }, { className: "button small quiet", data: { key: `${key}-group` } })));
}

/** One member of a group: a comparison or another group, either of which may be negated. */
function entry(items, n, earlier, changed, key) {
  const put = (next, isTyping) => { items[n] = next; changed(isTyping) };
  const remove = () => { items.splice(n, 1); if (items.length === 0) items.push(firstTest(earlier)); changed() };
  if (isGroup(items[n]) || isNegatedGroup(items[n])) {
    return el("div", { className: "entry" }, group(items[n], put, remove, earlier, changed, key));
  }
  return el("div", { className: "entry" }, comparison(() => items[n], put, earlier, key),
    button("✕", remove, { className: "button small quiet", aria: { label: "Remove this condition" } }));
}

function comparison(current, put, earlier, key) {
  const { isNot, condition } = opened(current());
  const question = condition.score ? SCORE : earlier.find(({ id }) => id === condition.question);
  // Whole texts: two questions may start alike.
  const known = earlier.map(({ id, prompt }) => [id, prompt?.trim() || id]);
  const options = question ? known : [[condition.question ?? "", condition.question || "Choose a question"], ...known];
  const test = testOf(condition);
  const words = kindOf(question) === "date" ? { ...TESTS, ...OF_DATES } : TESTS;
  const chosen = `${isNot ? "!" : ""}${test}`;
  const fitting = testsFor(question).flatMap((each) => [each, `!${each}`]).filter((each) => each !== "!notIn");
  const offered = (fitting.includes(chosen) ? fitting : [chosen, ...fitting]).map((each) => [each, words[each] ?? each]);
  const close = (next, isNegated) => (isNegated ? { not: next } : next);
  const retest = (next) => put(close(retested(opened(current()).condition, next.replace("!", ""), question), next.startsWith("!")));
  return el("div", { className: "test" },
    select(options, question?.id ?? condition.question, (id) => put(beginning(earlier.find((each) => each.id === id))), { className: "input of-question", aria: { label: "Question" }, data: { key: `${key}-question` } }),
    select(offered, chosen, retest, { className: "input of-test", aria: { label: "Comparison" }, data: { key: `${key}-test` } }),
    test !== "answered" && valueField(condition, question, (next, isTyping) => put(close(next, isNot), isTyping), `${key}-value`));
}

/** A comparison without its negation. "Not answered" has two forms; both are shown as one. */
function opened(entry) {
  const condition = entry.not ?? entry;
  const isNot = "not" in entry;
  if (condition.answered === false) return { isNot: !isNot, condition: { ...condition, answered: true } };
  return { isNot, condition };
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
