/*
 * The edited definition: one JSON object, which everything else on the page shows or changes.
 *
 * It emits "change". With `shape` the forms must be redrawn. Without it only a text has changed,
 * and the form in which it is typed must stay: a redraw under the pointer would swallow a click.
 * Renaming an id also updates conditions and translations.
 */

import { dissolve, join, settle, split, tidy } from "./grouping.js";
import { free } from "./ids.js";

const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

export class Draft extends EventTarget {
  constructor(definition) {
    super();
    this.definition = definition;
    this.selected = 0;
    /** The question that was just added and is being written for the first time. */
    this.fresh = undefined;
  }

  /** The questions, if there is a list of them. */
  get questions() {
    const { questions } = this.definition;
    return Array.isArray(questions) ? questions.filter(isObject) : [];
  }

  /** Whether the forms can show it: a list of question objects only. */
  get isShapely() {
    const { questions, translations } = this.definition;
    return Array.isArray(questions) && questions.every(isObject) && (translations === undefined || isObject(translations));
  }

  get question() {
    return this.questions[this.selected];
  }

  /**
   * `key` names the field that is typed in; with `follows` the change is part of the previous one.
   */
  changed(shape = true, { key, follows = false } = {}) {
    this.dispatchEvent(new CustomEvent("change", { detail: { shape, key, follows } }));
  }

  /** Replaces the definition. */
  replace(definition) {
    this.definition = definition;
    this.selected = Math.min(this.selected, Math.max(this.questions.length - 1, 0));
    this.changed();
  }

  /** Sets the value at a path; undefined or an empty text removes it. */
  set(path, value, { shape = false } = {}) {
    let place = this.definition;
    for (const step of path.slice(0, -1)) place = place[step] ??= {};
    const isEmpty = value === undefined || value === "" || value === null || value === false;
    if (isEmpty) delete place[path.at(-1)];
    else place[path.at(-1)] = value;
    this.changed(shape, { key: shape ? undefined : path.join("/") });
  }

  select(at) {
    this.selected = at;
    this.fresh = undefined;
    this.dispatchEvent(new CustomEvent("select"));
  }

  /** `original` is the id of the question that it copies. */
  add(question, at = this.questions.length, original) {
    if (!Array.isArray(this.definition.questions)) this.definition.questions = [];
    this.definition.questions.splice(at, 0, question);
    settle(this.definition, at, original);
    this.selected = at;
    this.fresh = original ? undefined : question;
    this.changed();
    this.dispatchEvent(new CustomEvent("select"));
  }

  move(from, to) {
    const { questions } = this.definition;
    if (to < 0 || to >= questions.length || from === to) return false;
    const chosen = questions[this.selected];
    questions.splice(to, 0, ...questions.splice(from, 1));
    this.selected = Math.max(questions.indexOf(chosen), 0);
    settle(this.definition, to);
    this.changed();
    return true;
  }

  /** Puts a question on the page of the one before it, or starts a new page with it. */
  group(at, isJoined) {
    (isJoined ? join : split)(this.definition, at);
    this.changed();
  }

  /** Asks the questions of a section one by one again. */
  ungroup(section) {
    dissolve(this.definition, section);
    this.changed();
  }

  duplicate(at) {
    const copy = structuredClone(this.questions[at]);
    const { id } = copy;
    copy.id = free(`${id}`.replace(/-\d+$/, ""), this.questions.map((each) => each.id));
    for (const texts of this.translations()) if (texts.questions?.[id]) texts.questions[copy.id] = structuredClone(texts.questions[id]);
    this.add(copy, at + 1, id);
  }

  remove(at) {
    const [question] = this.definition.questions.splice(at, 1);
    for (const each of this.translations()) delete each.questions?.[question.id];
    tidy(this.definition);
    this.selected = Math.min(at, Math.max(this.questions.length - 1, 0));
    this.changed();
  }

  translations() {
    return Object.values(this.definition.translations ?? {}).filter(isObject);
  }

  /** Every condition: of questions, of their jumps, and of endings. */
  conditions(questions = this.questions) {
    const whens = (list) => (Array.isArray(list) ? list.map((each) => each?.when) : []);
    const own = questions.flatMap(({ visibleIf, next }) => [visibleIf, ...whens(next)]);
    return [...own, ...whens(this.definition.endings)];
  }

  /**
   * How many conditions of other questions and of endings use a question, and how many jumps lead
   * to it.
   */
  usesOf(id) {
    const others = this.questions.filter((question) => question.id !== id);
    const jumps = others.flatMap(({ next }) => (Array.isArray(next) ? next : [])).filter((jump) => jump?.to === id);
    const conditions = this.conditions(others).filter((condition) => {
      let isUsed = false;
      eachTest(condition, (test) => { isUsed ||= test.question === id });
      return isUsed;
    });
    return { conditions: conditions.length, jumps: jumps.length };
  }

  sections() {
    const { sections } = this.definition;
    return Array.isArray(sections) ? sections.filter(isObject) : [];
  }

  /** Renames a question id and all references to it. */
  rename(at, id, { follows = false } = {}) {
    const old = this.questions[at].id;
    this.questions[at].id = id;
    for (const condition of this.conditions()) eachTest(condition, (test) => { if (test.question === old) test.question = id });
    for (const { next } of this.questions) if (Array.isArray(next)) for (const jump of next) if (jump?.to === old) jump.to = id;
    for (const { questions } of this.sections()) if (questions?.includes(old)) questions[questions.indexOf(old)] = id;
    for (const { questions } of this.translations()) {
      if (questions?.[old] === undefined || old === id) continue;
      questions[id] = questions[old];
      delete questions[old];
    }
    this.changed(false, { follows });
  }

  /** Renames the id of an option, row or column and all references to it. */
  renameChoice(at, list, place, id, { follows = false } = {}) {
    const question = this.questions[at];
    const old = question[list][place].id;
    question[list][place].id = id;
    const changedTo = (value) => {
      if (list === "options") return value === old ? id : value;
      const [row, column] = String(value).split(":");
      return list === "rows" && row === old ? `${id}:${column}` : list === "columns" && column === old ? `${row}:${id}` : value;
    };
    for (const condition of this.conditions()) {
      eachTest(condition, (test) => {
        if (test.question !== question.id) return;
        for (const key of ["equals", "includes"]) if (key in test) test[key] = changedTo(test[key]);
        for (const key of ["in", "notIn"]) if (Array.isArray(test[key])) test[key] = test[key].map(changedTo);
      });
    }
    for (const { questions } of this.translations()) {
      const texts = questions?.[question.id];
      for (const labels of [texts?.[list], list === "options" && texts?.optionAlts]) {
        if (labels?.[old] === undefined || old === id) continue;
        labels[id] = labels[old];
        delete labels[old];
      }
    }
    this.changed(false, { follows });
  }
}

/** Calls a function for every comparison in a condition. */
function eachTest(condition, visit) {
  if (!isObject(condition)) return;
  for (const list of [condition.all, condition.any]) if (Array.isArray(list)) for (const each of list) eachTest(each, visit);
  if (condition.not) eachTest(condition.not, visit);
  if ("question" in condition) visit(condition);
}
