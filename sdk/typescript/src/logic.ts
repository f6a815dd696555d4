// Logic: which questions are visible after conditions and jumps, the score, the ending, pages and
// progress.
//
// The same rules as crates/flow/src/{logic,route,score}.rs; both pass tests/golden/judge and
// crates/flow/tests/flow/routes.json.

import { compareDecimals, isDate, isDecimal, plain } from "./formats.js";
import type { Answer, Answers, Choice, Condition, Ending, Question, Section, Snapshot, Test } from "./types.js";

/** The parts of a snapshot that decide the way through it. */
export type Definition = Pick<Snapshot, "questions"> & Partial<Pick<Snapshot, "sections" | "endings" | "ending">>;

export interface Route {
  /** The visible questions, in order. */
  questions: Question[];
  /** Only the answers to visible questions. */
  answers: Answers;
  /** The sum of the scores; `undefined` if no question has one. */
  score: number | undefined;
  /** The ending that the answers lead to, if it is not the `ending` of the snapshot. */
  ending: Ending | undefined;
}

/** Texts by name, also if the name is that of a property of all objects. */
export const own = (answers: Answers, id: string): readonly string[] =>
  Object.hasOwn(answers, id) ? [answers[id] ?? []].flat() : [];

/** An empty text, an empty list and a list of one empty text are no answer. */
export const isAbsent = (texts: readonly string[]): boolean => texts.length < 2 && !texts[0];

/** Whether a question adds to the score. */
const isScored = ({ score, options = [] }: Question) => score === "value" || options.some((option) => option.score != null);

/** What an answer adds to the score, in hundredths: sums of whole numbers are exact. */
function points({ score, options = [] }: Question, texts: readonly string[]): number {
  if (score !== "value") {
    return options.reduce((sum, { id, score }) => sum + (texts.includes(id) ? Math.round((score ?? 0) * 100) : 0), 0);
  }
  const mark = /^\+?\d+$/.test(texts[0] ?? "") ? Number(texts[0]) : 0;
  return mark < 2 ** 32 ? mark * 100 : 0;
}

/**
 * The way that answers take through the questions. With `all`, conditions also read answers to
 * hidden questions, as the server does when it validates; without, an answer to a hidden question
 * does not count, as for a respondent who went back.
 */
export function follow(definition: Definition, given: Answers, all = false): Route {
  const { questions, endings = [] } = definition;
  const { visible, answers, sum, to, meets } = walk(questions, given, all);
  return {
    questions: visible,
    answers,
    score: questions.some(isScored) ? sum / 100 : undefined,
    ending: to.startsWith("end:")
      ? endings.find(({ id }) => `end:${id}` === to)
      : endings.find(({ when }) => when && meets(when)),
  };
}

/**
 * `to` is where the last jump leads, if that is not among the questions; `sum` is in hundredths.
 */
function walk(questions: readonly Question[], given: Answers, all: boolean) {
  const answers: { [id: string]: Answer | undefined } = all ? (given as {}) : {};
  const visible: Question[] = [];
  const known = new Map(questions.map((question) => [question.id, question]));
  let sum = 0;
  let to = "";
  const meets = (condition?: Condition, isMetIfUnknown?: true) =>
    !condition || (isKnown(condition) ? holds(condition, answers, known, sum) : isMetIfUnknown);
  for (const question of questions) {
    const { id, visibleIf, next = [] } = question;
    // `end` leads to the end, even if a question has that id.
    if (to === id && to !== "end") to = "";
    if (to || !meets(visibleIf, true)) continue;
    const texts = own(given, id);
    if (!all && Object.hasOwn(given, id)) answers[id] = given[id];
    visible.push(question);
    sum += points(question, texts);
    to = next.find(({ when }) => meets(when))?.to ?? "";
  }
  return { visible, answers, sum, to, known, meets };
}

const TESTS = ["equals", "in", "notIn", "includes", "answered", "lessThan", "greaterThan"];

/**
 * Whether this client can evaluate a condition. With one of a newer server, that it does not know, a
 * question is shown, a jump is not taken and an ending is not chosen, so that no question is missed;
 * the server decides whether an answer is required.
 */
export const isKnown = (condition: any): boolean => {
  const { all, any, not, question, score } = condition ?? { all: [] };
  const inner = all ?? any ?? not;
  return inner ? [inner].flat().every(isKnown) : !!(question || score) && TESTS.some((test) => condition[test] != null);
};

function holds(condition: Condition, answers: Answers, known: Map<string, Question>, sum: number): boolean {
  const each = (inner: Condition) => holds(inner, answers, known, sum);
  if ("all" in condition) return condition.all.every(each);
  if ("any" in condition) return condition.any.some(each);
  if ("not" in condition) return !each(condition.not);
  if ("score" in condition) return passes(condition, [plain(sum / 100)], false);
  return passes(condition, own(answers, condition.question), !!known.get(condition.question)?.allowOther);
}

/**
 * Whether an answer passes a test. A comparison with a missing answer is false, also for `notIn`.
 */
function passes(test: Test, texts: readonly string[], allowOther: boolean): boolean {
  const isGiven = !isAbsent(texts);
  if (test.answered != null) return isGiven === test.answered;
  if (!isGiven) return false;
  const order = (operand: string | number, text = texts[0]!) => compare(text, operand, allowOther);
  const equals = (operand: string | number) => order(operand) === 0;
  if (test.equals != null) return equals(test.equals);
  if (test.in) return test.in.some(equals);
  if (test.notIn) return !test.notIn.some(equals);
  if (test.includes != null) return texts.some((text) => order(test.includes!, text) === 0);
  if (test.lessThan != null) return order(test.lessThan) < 0;
  return order(test.greaterThan!) > 0;
}

/** Negative, zero or positive; NaN, which passes no comparison, if the text is of another kind. */
function compare(text: string, operand: string | number, allowOther: boolean): number {
  if (typeof operand === "number") return isDecimal(text) ? compareDecimals(text, plain(operand)) : NaN;
  if (allowOther && operand === "other") return text.startsWith("other:") ? 0 : NaN;
  if (text === operand) return 0;
  return isDate(text) ? (text < operand ? -1 : 1) : NaN;
}

/** The visible questions as pages: the questions of a section share one. */
export function pagesOf<Q extends { id: string }>({ sections = [] }: Definition, visible: readonly Q[]): { section: Section | undefined; questions: Q[] }[] {
  const pages: { section: Section | undefined; questions: Q[] }[] = [];
  for (const question of visible) {
    const section = sections.find(({ questions }) => questions.includes(question.id));
    const last = pages.at(-1);
    if (section && last?.section === section) last.questions.push(question);
    else pages.push({ section, questions: [question] });
  }
  return pages;
}

/**
 * The number of a visible question, and of all questions on the longest way from there. Only
 * earlier answers change them, so that progress never goes back.
 */
export function progressAt({ questions }: Definition, given: Answers, id: string): { number: number; of: number } {
  const at = questions.findIndex((question) => question.id === id);
  let { visible, to, known, meets } = walk(questions.slice(0, at), given, false);
  /** Whether it reads only answers to earlier questions. */
  const isDecided = ({ question, score, all, any, not }: any): boolean =>
    question ? known.has(question) : !score && [all ?? any ?? not].flat().every(isDecided);
  const following = questions.slice(at).filter(({ id, visibleIf }, later) => {
    if (to === id && to !== "end") to = "";
    return later === 0 || (!to && (meets(visibleIf, true) || !isDecided(visibleIf)));
  });
  return { number: visible.length + 1, of: visible.length + following.length };
}

const MASK = 2n ** 64n - 1n;

/**
 * The options of a question in the order to show them. The same visit and question give the same
 * order.
 */
export function arrange({ id, options = [], optionOrder }: Question, visit: string): Choice[] {
  const arranged = [...options];
  if (optionOrder !== "random") return arranged;
  let state = 0xcbf29ce484222325n;
  for (const byte of new TextEncoder().encode(visit + id)) state = ((state ^ BigInt(byte)) * 0x100000001b3n) & MASK;
  const movable = options.flatMap(({ fixed }, at) => (fixed ? [] : [at]));
  for (let last = movable.length - 1; last > 0; last--) {
    state = (state + 0x9e3779b97f4a7c15n) & MASK;
    let mixed = ((state ^ (state >> 30n)) * 0xbf58476d1ce4e5b9n) & MASK;
    mixed = ((mixed ^ (mixed >> 27n)) * 0x94d049bb133111ebn) & MASK;
    const [a, b] = [movable[last]!, movable[Number((mixed ^ (mixed >> 31n)) % BigInt(last + 1))]!];
    [arranged[a], arranged[b]] = [arranged[b]!, arranged[a]!];
  }
  return arranged;
}
