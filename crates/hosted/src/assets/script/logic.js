// The script of the hosted page, 1 of 10: which questions are visible.
//
// The page works completely without a script: it is one form that the server handles step by step.
// The script shows the same form one question at a time and sends the same fields, and the <main>
// of the server's reply replaces that of this page. So there is one set of rules, the server's;
// checks here only save a round trip. Deliberately absent: a second format, a template, a library.
//
// The server joins the ten files into one module, in the order of their numbers, and strips
// comments and indentation; so no string may span lines.
//
// This file implements conditions and jumps like crates/flow/src/logic.rs and route.rs; both pass
// visible_if.json and routes.json in crates/flow/tests.

/**
 * The way through the questions: the visible ones, what is given to each by its id, the score, and
 * where the last jump led. A question has an id, `visibleIf`, `next`, and `given()`: texts with
 * their scores. `forced` is always visible.
 */
export function follow(questions, allowsOther, forced) {
  const [given, answers] = [{ __proto__: null }, { __proto__: null }];
  let [points, to] = [0, ""];
  const meets = (condition) => !condition || holds(condition, answers, allowsOther, points / 100);
  const route = questions.filter((question) => {
    const { id, visibleIf, next = [] } = question;
    if (to === id && to !== "end") to = "";
    if (id !== forced && (to || !meets(visibleIf))) return false;
    to = "";
    given[id] = question.given();
    answers[id] = given[id].map(({ text }) => text);
    for (const { score } of given[id]) points += Math.round((score ?? 0) * 100);
    to = next.find(({ when }) => meets(when))?.to ?? "";
    return true;
  });
  return { route, given, answers, score: points / 100, to };
}

/**
 * The place of a question on the way, and the number of questions on the longest way from there:
 * Definition::place_of.
 */
export function placeOf(questions, at, allowsOther) {
  const earlier = questions.slice(0, at);
  let { route: { length }, answers, to } = follow(earlier, allowsOther);
  const isDecided = (condition) =>
    [...JSON.stringify(condition).matchAll(/"(?:question":"([^"]+)"|score":)/g)].every(([, id]) => earlier.some((it) => it.id === id));
  const following = questions.slice(at).filter(({ id, visibleIf }, later) => {
    if (to === id && to !== "end") to = "";
    return !later || (!to && (!visibleIf || !isDecided(visibleIf) || holds(visibleIf, answers, allowsOther)));
  });
  return [length + 1, length + following.length];
}

/**
 * Whether answers (lists of texts by question id) meet a condition.
 * `allowsOther` returns whether "other" matches any free-text answer of a question.
 */
export function holds(condition, answers, allowsOther = () => false, score = 0) {
  const each = (inner) => holds(inner, answers, allowsOther, score);
  if (condition.all) return condition.all.every(each);
  if (condition.any) return condition.any.some(each);
  if (condition.not) return !each(condition.not);
  const given = condition.score ? [plain(score)] : (answers[condition.question] ?? []);
  const isGiven = given.length > 1 || Boolean(given[0]);
  if ("answered" in condition) return isGiven === condition.answered;
  if (!isGiven) return false;
  const other = allowsOther(condition.question);
  const order = (operand, text = given[0]) => compare(text, operand, other);
  if ("equals" in condition) return order(condition.equals) === 0;
  if (condition.in) return condition.in.some((operand) => order(operand) === 0);
  if (condition.notIn) return !condition.notIn.some((operand) => order(operand) === 0);
  if ("includes" in condition) return given.some((text) => order(condition.includes, text) === 0);
  if ("lessThan" in condition) return order(condition.lessThan) < 0;
  return order(condition.greaterThan) > 0;
}

/** Negative, zero or positive; NaN, which matches no comparison, if the text is of another kind. */
function compare(text, operand, other) {
  if (typeof operand === "number") return isDecimal(text) ? compareDecimals(text, plain(operand)) : NaN;
  if (other && operand === "other") return text.startsWith("other:") ? 0 : NaN;
  if (text === operand) return 0;
  return isDate(text) ? (text < operand ? -1 : 1) : NaN;
}

const isDecimal = (text) => text.length <= 64 && /^-?(\d+(\.\d+)?|\.\d+)$/.test(text);

/** Rejects invalid dates: 30 February is parsed as a day in March, which has another text. */
const isDate = (text) => /^\d{4}-\d\d-\d\d$/.test(text) && new Date(text).toJSON()?.startsWith(text);

/** A JSON number without exponent. */
const plain = (number) =>
  number.toLocaleString("en", { useGrouping: false, maximumFractionDigits: 20 });

/** Exact, because an answer may have more digits than a double. */
function compareDecimals(...texts) {
  const parts = texts.map((text) => text.split("."));
  const length = Math.max(...parts.map(([, fraction = ""]) => fraction.length));
  const [one, two] = parts.map(([whole, fraction = ""]) => BigInt(whole + fraction.padEnd(length, "0")));
  return one < two ? -1 : Number(one > two);
}
