// Random definitions with every type, condition and jump, and random submissions to them, many of which are wrong in one place.

/** A generator of numbers that gives the same ones for the same seed. */
export function random(seed) {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (count) => Math.floor(next() * count);
  const pick = (items) => items[below(items.length)];
  return { chance: (share) => next() < share, below, between: (low, high) => low + below(high - low + 1), pick };
}

const IDS = ["a", "b", "c", "d-1", "e_2"];
const TEXTS = ["x", "some text", "other:", "other: ", "other:\u3000", "other:more", "é", "😀😀", "a\nb", "a\n", " ", "yes", "7", "\u0000", "x\u0000", "\ud800", "l".repeat(40)];
const NUMBERS = ["0", "-0", "00", "7", "07", "7.0", "-7", "6.99", "7.01", ".5", "-.5", "0.50", "5.", "1e3", "+7", "", "10", "100", "99999999999999999999", "-12.5", "-12.50", "-12.51", "7\n", "٣", "1,5", "9".repeat(64), "9".repeat(65), "12.5", "0.1", "0.10000000000000000001"];
const BOUNDS = [0, -1, 7, 10, 12.5, -12.5, 0.1, 1e-7, 100, 1e15];
const DATES = ["2024-02-29", "2023-02-29", "1900-02-29", "2000-02-29", "0000-01-01", "0001-01-01", "9999-12-31", "2024-12-31", "2024-13-01", "2024-04-31", "2024-1-1", "2024-06-15", "2024-06-16", "2024-06-14\n", "2024-06-15T00:00"];
const GOOD_DATES = ["0001-01-01", "2023-06-15", "2024-02-29", "2024-06-15", "2025-01-01", "9999-12-31"];
const MAILS = ["ada@example.com", "a.b+c@mail.example.co", "jörg@müller.example", "ada@localhost", "a@b..c", ".a@b.c", "a@-b.cd", "a b@c.de", "a@b.c\n", "@b.c", "a@@b.c", "a@b\u2028.c", `${"a".repeat(64)}@b.cd`, `${"a".repeat(65)}@b.cd`, `a@${"b".repeat(63)}.c`, `a@${"b".repeat(64)}.c`, "o'neil_{x}@e.org", "\"a b\"@c.de"];
const URLS = ["https://example.com", "HTTP://e.com/a?b=c", "ftp://e.com", "https://", "https:e.com", "https://e .com", "https://e.com\n", "javascript:alert(1)", "https://[::1]/", "https://[", "https://e.com:99999/", `https://e.com/${"a".repeat(2040)}`, "https://münchen.example/ß"];
const PHONES = ["112", "+49 (0) 30 1-2.3", "12", "call", "1".repeat(32), "1".repeat(33), "+()-.", "112\n", "٠١٢٣"];

const label = (id) => ({ id, label: id.toUpperCase() });

function options(r, count) {
  const scored = r.chance(0.3);
  return IDS.slice(0, count).map((id, at) => (scored ? { ...label(id), score: at - 1 } : label(id)));
}

function lengths(r) {
  const range = r.chance(0.4) ? { minLength: r.between(0, 4), maxLength: r.between(4, 30) } : {};
  return range;
}

/** The fields of each type, besides those of all questions. */
const TYPES = {
  shortText: lengths,
  longText: lengths,
  email: lengths,
  url: (r) => (r.chance(0.2) ? { maxLength: 30 } : {}),
  phone: (r) => (r.chance(0.2) ? { minLength: 5 } : {}),
  number: (r) => {
    const [min, max] = [r.pick(BOUNDS), r.pick(BOUNDS)].sort((one, other) => one - other);
    return { ...(r.chance(0.5) && { min }), ...(r.chance(0.5) && { max }), ...(r.chance(0.3) && { integer: true }) };
  },
  date: (r) => {
    const [min, max] = [r.pick(GOOD_DATES), r.pick(GOOD_DATES)].sort();
    return { ...(r.chance(0.4) && { min }), ...(r.chance(0.4) && { max }) };
  },
  singleChoice: (r) => ({ options: options(r, r.between(1, 5)), allowOther: r.chance(0.4) }),
  dropdown: (r) => ({ options: options(r, r.between(1, 5)), allowOther: r.chance(0.4) }),
  multipleChoice: (r) => {
    const count = r.between(1, 5);
    const min = r.between(0, count);
    return {
      options: options(r, count), allowOther: r.chance(0.4),
      ...(r.chance(0.4) && { minSelected: min }), ...(r.chance(0.4) && { maxSelected: r.between(Math.max(min, 1), count) }),
    };
  },
  ranking: (r) => ({ options: IDS.slice(0, r.between(2, 4)).map(label) }),
  matrix: (r) => ({ rows: IDS.slice(0, r.between(1, 3)).map(label), columns: IDS.slice(0, r.between(1, 3)).map(label) }),
  rating: (r) => ({ max: r.between(3, 10), ...(r.chance(0.2) && { score: "value" }) }),
  nps: (r) => (r.chance(0.2) ? { score: "value" } : {}),
  yesNo: () => ({}),
  consent: () => ({}),
  statement: () => ({}),
};

const ids = (choices) => choices.map((choice) => choice.id);
const isScored = (question) => question.score === "value" || question.options?.some((option) => option.score !== undefined);

/** A test that fits the question. */
function comparison(r, question) {
  const answered = { answered: r.chance(0.7) };
  const among = (values) => r.pick([{ equals: r.pick(values) }, { in: [r.pick(values), r.pick(values)] }, { notIn: [r.pick(values)] }, answered]);
  const ordered = (values) => r.pick([{ lessThan: r.pick(values) }, { greaterThan: r.pick(values) }, among(values)]);
  const other = question.allowOther ? ["other"] : [];
  switch (question.type) {
    case "statement": return null;
    case "ranking": return answered;
    case "number": case "rating": case "nps": return ordered([...BOUNDS, 3, 5]);
    case "date": return ordered(GOOD_DATES);
    case "yesNo": return among(["yes", "no"]);
    case "consent": return among(["accepted"]);
    case "singleChoice": case "dropdown": return among([...ids(question.options), ...other]);
    case "multipleChoice": return r.pick([{ includes: r.pick([...ids(question.options), ...other]) }, answered]);
    case "matrix": return r.pick([{ includes: `${r.pick(ids(question.rows))}:${r.pick(ids(question.columns))}` }, answered]);
    default: return among(["x", "other:more", "some text", "ada@example.com"]);
  }
}

function condition(r, earlier, depth = 0) {
  if (depth < 2 && r.chance(0.3)) {
    const parts = Array.from({ length: r.between(1, 3) }, () => condition(r, earlier, depth + 1)).filter(Boolean);
    if (parts.length === 0) return null;
    return r.pick([{ all: parts }, { any: parts }, { not: parts[0] }]);
  }
  if (earlier.some(isScored) && r.chance(0.15)) return { score: true, ...r.pick([{ lessThan: 4 }, { greaterThan: 2.5 }, { equals: 0 }]) };
  const question = earlier.length > 0 ? r.pick(earlier) : null;
  const test = question && comparison(r, question);
  return test && { question: question.id, ...test };
}

/** A definition that can be published, nearly always. */
export function definition(r) {
  const questions = [];
  const count = r.between(1, 9);
  for (let at = 0; at < count; at++) {
    const type = r.pick(Object.keys(TYPES));
    const question = { id: `q${at}`, type, prompt: `Question ${at}`, ...TYPES[type](r) };
    if (type !== "statement" && r.chance(0.5)) question.required = true;
    const visibleIf = r.chance(0.35) ? condition(r, questions) : null;
    if (visibleIf) question.visibleIf = visibleIf;
    questions.push(question);
    if (r.chance(0.3)) {
      const when = condition(r, questions);
      const to = at + 2 < count && r.chance(0.7) ? `q${r.between(at + 2, count - 1)}` : "end";
      if (when) question.next = [{ when, to }];
      if (when && r.chance(0.3)) question.next.push({ ...(r.chance(0.5) && { when: condition(r, questions) ?? when }), to: "end" });
    }
  }
  return { title: "Generated", questions };
}

/** An answer that is right, by its type; some are wrong by its limits. */
function answer(r, question) {
  const some = (choices) => choices.filter(() => r.chance(0.5));
  switch (question.type) {
    case "number": return r.pick(NUMBERS);
    case "date": return r.pick(r.chance(0.6) ? GOOD_DATES : DATES);
    case "email": return r.pick(MAILS);
    case "url": return r.pick(URLS);
    case "phone": return r.pick(PHONES);
    case "singleChoice": case "dropdown": return r.pick([...ids(question.options), ...ids(question.options), "other:more"]);
    case "multipleChoice": return [...some(ids(question.options)), ...(r.chance(0.2) ? ["other:more"] : [])];
    case "ranking": {
      const left = ids(question.options);
      return ids(question.options).map(() => left.splice(r.below(left.length), 1)[0]);
    }
    case "matrix": return (r.chance(0.6) ? ids(question.rows) : some(ids(question.rows))).map((row) => `${row}:${r.pick(ids(question.columns))}`);
    case "rating": case "nps": return String(r.between(0, 10));
    case "yesNo": return r.pick(["yes", "no"]);
    case "consent": return "accepted";
    case "statement": return "";
    default: return r.pick(TEXTS.slice(0, 13));
  }
}

/** The same, or something else that a client may send. */
function variation(r, value) {
  const list = Array.isArray(value) ? value : [value];
  return r.pick([
    () => null, () => "", () => [], () => [""], () => list, () => list[0] ?? "", () => [...list, ...list], () => [...list, r.pick(IDS)],
    () => r.pick(TEXTS), () => [r.pick(TEXTS)], () => 7, () => true, () => ({ a: 1 }), () => [7], () => [null], () => `${list[0]}\n`, () => r.pick(NUMBERS),
    () => "a:b", () => ["a:a", "a:b"], () => r.between(0, 12).toString(),
  ])();
}

const OTHER_FIELDS = [
  (r) => ({ identities: r.pick([null, [], {}, [null], [{}], [{ type: "userId" }]]) }),
  (r) => ({ identities: Array.from({ length: r.pick([1, 2, 10, 11]) }, (_, at) => ({ type: "custom.id", value: `v${at}` })) }),
  (r) => ({ identities: [{ type: "userId", value: r.pick(["u", "", "u".repeat(255), "u".repeat(256), "u\u0000"]) }, { type: "userId", value: r.pick(["u", "v"]) }] }),
  (r) => ({ identities: Array.from({ length: r.pick([3, 12, 100, 101]) }, () => ({ type: "userId", value: "u" })) }),
  (r) => ({ identities: [{ type: "traits.email", value: r.pick(MAILS) }, { type: r.pick(["ok", "not ok", "", "x\n", "y".repeat(65)]), value: "z".repeat(r.pick([1, 500, 501])) }] }),
  (r) => ({ metadata: r.pick([null, {}, [], { tags: null }, { tags: [] }, { tags: { a: "b" } }, { tags: { a: { b: "c" } } }, { tags: { a: [["b"]] } }, { tags: { a: 1 } }]) }),
  (r) => ({ metadata: { tags: { [r.pick(["", "n".repeat(64), "n".repeat(65), "n\u0000", "\n"])]: r.pick([null, "v", ["v", "w"], "v".repeat(501), ["v".repeat(500)], Array(50).fill("v"), Array(51).fill("v")]) } } }),
  (r) => ({ metadata: { tags: Object.fromEntries(Array.from({ length: r.pick([50, 51]) }, (_, at) => [`t${at}`, at === 0 && r.chance(0.3) ? null : "v"])) } }),
  (r) => ({ context: r.pick([null, 7, "x", { page: 1 }, { locale: "??", userAgent: "u".repeat(9999) }]) }),
  (r) => ({ flowAssignmentId: r.pick([null, "", "mine", "x".repeat(255), "x".repeat(256), 7, "n\u0000"]) }),
  (r) => ({ idempotencyKey: r.pick([null, "", "k", "é", "k\n", "k".repeat(255), "k".repeat(256), 7]) }),
  (r) => ({ respondentAnalyticsAdmission: r.pick(["admitted", "no", null, 1]) }),
  (r) => ({ flowVersionPayloadGeneration: r.pick(["3", 4, null]) }),
  (r) => ({ flowVersionId: r.pick(["fv_0000000000000000000000", null, 1]) }),
  (r) => ({ answers: r.pick([null, [], "x", {}, { nobody: "x" }, { nobody: null }, { nobody: "" }]) }),
  () => ({ unknown: [1, { a: 2 }] }),
];

/** A submission to this definition. */
export function submission(r, flowVersionId, { questions }) {
  const answers = {};
  const share = r.pick([0.2, 0.7, 1]);
  for (const question of questions.filter(() => r.chance(share))) {
    const value = answer(r, question);
    answers[question.id] = r.chance(0.08) ? variation(r, value) : value;
  }
  const valid = { flowVersionId, flowVersionPayloadGeneration: "4", respondentAnalyticsAdmission: "collection_only", answers };
  return r.chance(0.2) ? { ...valid, ...r.pick(OTHER_FIELDS)(r) } : valid;
}
