#!/usr/bin/env node
// Generates definitions and submissions, to compare the judgement of a client with that of the
// server.
//
//   node tests/golden/judge/generate.mjs [CASES] [SEED] > cases.jsonl
//
// Each line is {"definition": …, "submissions": [{…}, …]}. Every definition can be published. A
// submission lacks `flowVersionId`, which the reader of a line sets. The same number and seed give
// the same lines. Most submissions are nearly valid, so that each rule is met from both sides.

import { pathToFileURL } from "node:url";

const SUBMISSIONS_PER_DEFINITION = 25;

/** Yields at least `cases` submissions in lines. */
export function* lines(cases, seed) {
  const random = new Random(seed);
  for (let done = 0; done < cases; done += SUBMISSIONS_PER_DEFINITION) {
    const definition = definitionOf(random);
    const count = Math.min(SUBMISSIONS_PER_DEFINITION, cases - done);
    yield { definition, submissions: Array.from({ length: count }, () => submissionOf(random, definition)) };
  }
}

/** Mulberry32. */
class Random {
  constructor(seed) {
    this.state = seed >>> 0;
  }

  next() {
    this.state = (this.state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.state ^ (this.state >>> 15), 1 | this.state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  below(count) {
    return Math.floor(this.next() * count);
  }

  from(low, high) {
    return low + this.below(high - low + 1);
  }

  chance(share) {
    return this.next() < share;
  }

  pick(list) {
    return list[this.below(list.length)];
  }

  some(list, share = 0.5) {
    return list.filter(() => this.chance(share));
  }

  shuffled(list) {
    const all = [...list];
    for (let last = all.length - 1; last > 0; last--) {
      const other = this.below(last + 1);
      [all[last], all[other]] = [all[other], all[last]];
    }
    return all;
  }
}

// --- definitions ---------------------------------------------------------------------------------

const TYPES = [
  "shortText", "longText", "email", "url", "phone", "number", "date", "singleChoice", "dropdown", "multipleChoice", "ranking",
  "matrix", "rating", "nps", "yesNo", "consent", "statement",
];
const IDS = ["a", "b", "Q-1", "q_2", "end", "constructor", "toString", "nps", "x9", "other", "Z", "longer-id_with-parts"];
const OPTION_IDS = ["a", "b", "c", "0", "1x", "yes", "constructor", "other"];
const DATES = ["0001-01-01", "1999-12-31", "2024-02-29", "2025-06-15", "9999-12-31"];
const BOUNDS = [-1e15, -100, -1.5, -1, -0.25, 0, 1e-7, 0.1, 0.3, 1, 2.5, 7, 10, 99.99, 1000, 1e15];
const SCORES = [-2, -0.5, 0, 0.1, 0.2, 0.25, 1, 2.5, 3, 1000000];

function definitionOf(random) {
  const ids = random.shuffled(IDS).slice(0, random.from(1, 7));
  const endings = random.chance(0.4) ? ["low", "high"].slice(0, random.from(1, 2)) : [];
  const questions = [];
  for (const [at, id] of ids.entries()) {
    const question = questionOf(random, id);
    if (questions.length > 0 && random.chance(0.35)) {
      const condition = conditionOf(random, questions, 0);
      if (condition) question.visibleIf = condition;
    }
    questions.push(question);
    const targets = [...ids.slice(at + 1).filter((target) => target !== "end"), "end", ...endings.map((ending) => `end:${ending}`)];
    if (random.chance(0.25)) question.next = jumpsOf(random, questions, targets);
  }
  const definition = { title: "Generated", questions };
  if (endings.length > 0) {
    definition.endings = endings.map((id) => {
      const when = conditionOf(random, questions, 0);
      return { id, title: id, ...(when && { when }) };
    });
  }
  return definition;
}

function jumpsOf(random, questions, targets) {
  const jumps = [];
  for (let count = random.from(1, 2); count > 0; count--) {
    const when = conditionOf(random, questions, 1);
    if (when) jumps.push({ when, to: random.pick(targets) });
  }
  if (jumps.length === 0 || random.chance(0.15)) jumps.push({ to: random.pick(targets) });
  return jumps;
}

function questionOf(random, id) {
  const type = random.pick(TYPES);
  const question = { id, type, prompt: `Question ${id}` };
  if (type !== "statement" && random.chance(0.4)) question.required = true;
  const bound = (share, name, value) => random.chance(share) && (question[name] = value);
  switch (type) {
    case "shortText": case "longText": case "email": case "url": case "phone": {
      const [low, high] = [random.pick([0, 1, 2, 5, 10]), random.pick([1, 3, 12, 40, 300])].sort((a, b) => a - b);
      bound(0.25, "minLength", low);
      bound(0.35, "maxLength", Math.max(1, high));
      break;
    }
    case "number": case "date": {
      const [low, high] = [0, 0].map(() => random.pick(type === "date" ? DATES : BOUNDS)).sort((a, b) => (a < b ? -1 : 1));
      bound(0.5, "min", low);
      bound(0.5, "max", high);
      if (type === "number") bound(0.3, "integer", true);
      break;
    }
    case "singleChoice": case "dropdown": case "multipleChoice":
      choicesOf(random, question);
      break;
    case "ranking":
      question.options = listOf(random, random.from(2, 4));
      bound(0.3, "optionOrder", "random");
      break;
    case "matrix":
      question.rows = listOf(random, random.from(1, 3));
      question.columns = listOf(random, random.from(1, 3));
      break;
    case "rating":
      bound(0.7, "max", random.from(3, 10));
      bound(0.4, "score", "value");
      break;
    case "nps":
      bound(0.4, "score", "value");
  }
  return question;
}

function choicesOf(random, question) {
  const many = random.chance(0.05);
  question.options = many ? Array.from({ length: 25 }, (_, at) => ({ id: `o${at}`, label: "O" })) : listOf(random, random.from(1, 5));
  if (random.chance(0.4)) {
    question.allowOther = true;
    question.options = question.options.filter(({ id }) => id !== "other");
    if (question.options.length === 0) question.options = [{ id: "a", label: "A" }];
  }
  if (random.chance(0.5)) {
    for (const option of random.some(question.options)) option.score = random.pick(SCORES);
  }
  if (question.type === "multipleChoice") {
    const most = question.options.length + (question.allowOther ? 1 : 0);
    const [low, high] = [random.from(0, most), random.from(1, most)].sort((a, b) => a - b);
    if (random.chance(0.3)) question.minSelected = low;
    if (random.chance(0.4)) question.maxSelected = Math.max(1, high);
  }
}

const listOf = (random, count) => random.shuffled(OPTION_IDS).slice(0, count).map((id) => ({ id, label: id.toUpperCase() }));

const isScored = ({ score, options = [] }) => score !== undefined || options.some((option) => option.score !== undefined);

/** A condition on these questions; nothing if none of them can be tested. */
function conditionOf(random, questions, depth) {
  if (depth < 3 && random.chance(0.3)) {
    const [one, other] = [conditionOf(random, questions, depth + 1), conditionOf(random, questions, depth + 1)];
    if (!one || !other) return one ?? other;
    return random.pick([{ all: [one, other] }, { any: [one, other] }, { not: one }]);
  }
  if (random.chance(0.3) && questions.some(isScored)) {
    return { score: true, [random.pick(["equals", "lessThan", "greaterThan"])]: random.pick([...BOUNDS, ...SCORES]) };
  }
  const question = random.pick(questions);
  if (question.type === "statement") return undefined;
  const test = (tests, operand) => {
    const name = random.pick([...tests, "answered"]);
    const list = () => [operand(), operand()];
    const value = name === "answered" ? random.chance(0.6) : name === "in" || name === "notIn" ? list() : operand();
    return { question: question.id, [name]: value };
  };
  const equality = ["equals", "in", "notIn"];
  const order = [...equality, "lessThan", "greaterThan"];
  const option = () => random.pick([...question.options.map(({ id }) => id), ...(question.allowOther ? ["other"] : [])]);
  switch (question.type) {
    case "number": return test(order, () => random.pick(BOUNDS));
    case "rating": case "nps": return test(order, () => random.pick([0, 1, 2, 3, 5, 9, 10, 2.5]));
    case "date": return test(order, () => random.pick(DATES));
    case "yesNo": return test(equality, () => random.pick(["yes", "no"]));
    case "consent": return test(equality, () => "accepted");
    case "singleChoice": case "dropdown": return test(equality, option);
    case "multipleChoice": return test(["includes"], option);
    case "matrix": return test(["includes"], () => `${random.pick(question.rows).id}:${random.pick(question.columns).id}`);
    case "ranking": return test([], () => undefined);
    default: return test(equality, () => random.pick(["x", "ada@example.com", "hello", "112", "ä"]));
  }
}

// --- submissions ---------------------------------------------------------------------------------

const LONG = "é".repeat(301);
const TEXTS = [
  "", "x", "hello", "ä", "hello world", "two\nlines", " ", "\u00a0", "other:", "other:x", "𝒳𝒴𝒵", "e\u0301", "12345", LONG, "x".repeat(4_000),
  "x".repeat(4_001), "\ud83d", "<b>", "\u0000",
];
const EMAILS = [
  "ada@example.com", "ada.lovelace+tag@mail.example.co.uk", "o'neil_{x}@example.org", "jörg@müller.example", "a@xn--mller-kva.example",
  "ada", "@example.com", "ada@", "ada@localhost", "ada@@example.com", "a da@example.com", " ada@example.com", ".ada@example.com",
  "ada.@example.com", "a..da@example.com", "ada@example..com", "ada@-example.com", "ada@example.com.", "ada@[127.0.0.1]",
  "\"a b\"@example.com", "ada@example.com\n", `${"a".repeat(64)}@example.com`, `${"a".repeat(65)}@example.com`,
  `${"ä".repeat(33)}@example.com`, `a@${"b".repeat(63)}.com`, `a@${"b".repeat(64)}.com`, `a@${"abcdefghi.".repeat(25)}com`, "a@b.c", "١@例え.テスト",
  "a@b_c.com", "a²@x.y", "a@exa-mple.com", "a@example-.com", "\ud83d@x.y",
];
const URLS = [
  "https://example.com", "http://example.com:8080/a?b=c#d", "HTTPS://münchen.example/straße", "https://127.0.0.1/", "example.com",
  "//example.com", "https://", "https:example.com", "https:/example.com", "ftp://example.com", "javascript:alert(1)", " https://example.com",
  "https://exa mple.com", "https://example.com/\n", "https://user:pw@example.com/", "https://[::1]/", "https://[::1", "https://a:99999/",
  "https://a:65535/", "https://1.2.3", "https://256.1.1.1", "https://1.2.3.4.5", "https://%41.example/", "https://a%00b/", "https://a<b/",
  "https://?x", "https://#x", "https:///path", "https://a_b.example/", "https://-a.example/", "http://a..b/", "https://例え.テスト/",
  "https://a|b/", "https://a^b/", "https://\u00ad/", `https://example.com/${"a".repeat(2_028)}`, `https://example.com/${"a".repeat(2_029)}`,
  "https://example.com/\u00a0", "hTTp://x", "https://a\\b", "https://.", "https://a.", "https://@", "https://a@", "https://:80",
];
const PHONES = [
  "112", "+49 (0) 30 123-456.78", "12345678901234567890123456789012", "123456789012345678901234567890123", "12", "+()-.", "call me",
  "030 123 x4", "٠١٢٣", "1-2-3", "1 2", "1\n23",
];
const NUMBERS = [
  "0", "7", "-7", "007", "3.25", "-0.5", ".5", "-.5", "-", ".", "5.", "-.", "+5", "--5", "1e3", "0x10", "1,5", " 5", "5 ", "NaN", "Infinity",
  "٣", "1.2.3", "9".repeat(64), "9".repeat(65), "0.1", "0.10", "0.3", "1", "1.0", "10", "99.99", "100", "1000", "-100", "-1.5", "-0",
  "1000000000000000", "1000000000000000.1", "0.0000001", "0.00000009", "2.5", "-0.25", "",
];
const ALL_DATES = [
  ...DATES, "2024-02-28", "2025-06-14", "2025-06-16", "2000-01-01", "2023-02-29", "1900-02-29", "2024-13-01", "2024-00-10", "2024-01-00",
  "2024-04-31", "0000-01-01", "24-01-01", "2024-1-1", "2024/01/01", "2024-01-01T00:00", "+024-01-01", " 2024-01-01", "",
];
const MARKS = ["0", "1", "2", "3", "4", "5", "6", "9", "10", "11", "-1", "01", "+5", "5.0", "", "five", "99999999999", "4294967296", "٣", " 5"];
const WORDS = ["yes", "no", "accepted", "Yes", "true", "", "other:yes"];
const OWN = ["x", " ", "", "\u00a0\u2003", "\ufeff", "\u0085", "é".repeat(1_000), "é".repeat(1_001), "a:b"];

function submissionOf(random, { questions }) {
  const answers = {};
  for (const question of questions) {
    if (random.chance(question.type === "statement" ? 0.95 : 0.2)) continue;
    const answer = random.chance(0.75) ? goodAnswer(random, question) : anyAnswer(random, question);
    answers[question.id] = random.chance(0.1) ? reshaped(answer) : answer;
  }
  if (random.chance(0.05)) answers[random.pick(["unknown", "", "é", "\uffff", "𝒳", "y".repeat(70), "1", "10", "9", "a\u0000"])] = "x";
  if (random.chance(0.02)) answers[random.pick(["zzz", "ÿ", "\ue000"])] = ["x", "y"];
  const submission = {
    flowVersionPayloadGeneration: "4",
    respondentAnalyticsAdmission: random.pick(["collection_only", "collection_only", "admitted"]),
    answers,
  };
  if (random.chance(0.12)) spoil(random, submission);
  return submission;
}

/** A list of one text is that text, and the reverse. */
const reshaped = (answer) => (Array.isArray(answer) ? (answer.length === 1 ? answer[0] : answer) : [answer]);

function goodAnswer(random, question) {
  const { type, options = [], rows = [], columns = [], allowOther, minLength = 0, maxLength = 4_000 } = question;
  const ids = options.map(({ id }) => id);
  const text = () => "x".repeat(Math.min(Math.max(minLength, random.from(1, 12)), maxLength));
  switch (type) {
    case "shortText": case "longText": return random.chance(0.5) ? text() : random.pick(["hello", "x", "ä"]);
    case "email": return "ada@example.com";
    case "url": return "https://example.com";
    case "phone": return "112";
    case "number": return String(random.pick([question.min ?? 0, question.max ?? 1, 0, 1, 7])).replace(/^1e-7$/, "0.0000001");
    case "date": return random.pick([question.min, question.max, ...DATES].filter(Boolean));
    case "singleChoice": case "dropdown": return allowOther && random.chance(0.3) ? "other:x" : random.pick(ids);
    case "multipleChoice": return [...random.some(ids), ...(allowOther && random.chance(0.3) ? ["other:x"] : [])];
    case "ranking": return random.shuffled(ids);
    case "matrix": return (random.chance(0.7) ? rows : random.some(rows)).map(({ id }) => `${id}:${random.pick(columns).id}`);
    case "rating": return String(random.from(1, question.max ?? 5));
    case "nps": return String(random.from(0, 10));
    case "yesNo": return random.pick(["yes", "no"]);
    case "consent": return "accepted";
    default: return "";
  }
}

function anyAnswer(random, question) {
  const { type, options = [], rows = [], columns = [] } = question;
  const ids = [...options.map(({ id }) => id), ...OWN.map((own) => `other:${own}`), "nosuch", "", "other"];
  const cells = [...rows.flatMap((row) => columns.map((column) => `${row.id}:${column.id}`)), "nosuch:a", "a:nosuch", "a", ":", "a:b:c"];
  const several = (list) => Array.from({ length: random.from(0, 4) }, () => random.pick(list));
  if (random.chance(0.1)) return several(TEXTS.slice(0, 10));
  switch (type) {
    case "email": return random.pick(EMAILS);
    case "url": return random.pick(URLS);
    case "phone": return random.pick(PHONES);
    case "number": return random.pick(NUMBERS);
    case "date": return random.pick(ALL_DATES);
    case "singleChoice": case "dropdown": return random.pick(ids);
    case "multipleChoice": return several(ids);
    case "ranking": return random.chance(0.5) ? random.shuffled(options.map(({ id }) => id)).slice(1) : several(ids);
    case "matrix": return several(cells);
    case "rating": case "nps": return random.pick(MARKS);
    case "yesNo": case "consent": return random.pick(WORDS);
    default: return random.pick(TEXTS);
  }
}

/** Breaks a rule about the shape, or comes close. */
function spoil(random, submission) {
  const tags = (count) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`t${at}`, "v"]));
  const identities = (count) => Array.from({ length: count }, (_, at) => ({ type: "x", value: String(at) }));
  const id = { type: "userId", value: "u1" };
  Object.assign(submission, random.pick([
    { answers: random.pick([null, [], "x", 5, { a: 5 }, { a: true }, { a: {} }, { a: ["x", 5] }, { a: ["x", ["y"]] }, { a: null }, { a: [null] }]) },
    { answers: { a: random.pick(["x".repeat(16_384), "é".repeat(16_385), Array(1_000).fill(""), Array(1_001).fill(""), ["x".repeat(16_000), "y".repeat(500)]]) } },
    { answers: Object.fromEntries(Array.from({ length: random.pick([300, 301]) }, (_, at) => [`u${at}`, "x"])) },
    { flowVersionPayloadGeneration: random.pick(["3", "", 4, null, "4 ", "x".repeat(70), "\u0001", {}]) },
    { respondentAnalyticsAdmission: random.pick(["", "Admitted", null, true, [], "y".repeat(70)]) },
    { metadata: random.pick([null, {}, [], "x", { tags: null }, { tags: [] }, { tags: "x" }, { tags: { a: 5 } }, { tags: { a: { b: "c" } } }, { tags: { a: [["b"]] } }]) },
    { metadata: { tags: random.pick([tags(50), tags(51), { "": "x" }, { ["n".repeat(64)]: "x" }, { ["é".repeat(65)]: "x" }, { a: "é".repeat(500) }, { a: "x".repeat(501) }, { a: ["x", "é".repeat(501)] }, { a: Array(50).fill("x") }, { a: Array(51).fill("x") }, { a: "\u0000" }, { "a\u0000": "x" }, { a: false, b: null, "𝒳": 1, "\uffff": 2 }]) } },
    { identities: random.pick([null, {}, "x", [], [id], [id, id], [id, { type: "userId", value: "u2" }], [null], [{}], [{ type: "userId" }], [{ value: "x" }], [{ type: "", value: "x" }], [{ type: "a b", value: "x" }], [{ type: "t".repeat(65), value: "x" }], [{ type: 5, value: [] }], identities(10), identities(11), identities(100), identities(101)]) },
    { identities: [{ type: "userId", value: random.pick(["", "u".repeat(255), "é".repeat(256), "\u0000"]) }, { type: "traits.email", value: random.pick([...EMAILS, `${"a".repeat(60)}@${"b".repeat(200)}.c`]) }, { type: "other.kind", value: random.pick(["", "x".repeat(500), "x".repeat(501)]) }] },
    { flowAssignmentId: random.pick([null, "", "own", "x".repeat(255), "é".repeat(256), 5, "\u0000", {}]) },
    { idempotencyKey: random.pick([null, "", "x".repeat(256), "é", 5, "\n", [], '"K1"', '"open', 'K"1', '""']) },
    { context: random.pick([null, 5, [], { locale: 5 }, { page: "x" }, { locale: "en_US.UTF-8" }, { userAgent: "\u0000" }]) },
    { unknownField: { deep: [1, { deeper: true }] } },
  ]));
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const [cases = 2_000, seed = Date.now() >>> 0] = process.argv.slice(2).map(Number);
  console.error(`seed ${seed}`);
  for (const line of lines(cases, seed)) console.log(JSON.stringify(line));
}
