// The hosted page with script, 1 of 9: which questions the answers lead to.
//
// The page works whole without any script: it is one form that the server takes step by step. The
// script shows the same form one question at a time and sends the same fields, and the server's reply
// is a page whose <main> takes the place of this one. So there is one set of rules, the server's; what
// is checked here only spares a round trip. Deliberately absent: a second format, a template, a library.
//
// The server joins the nine files into one module, in the order in which they number themselves, and
// leaves comments and indentation out; so no text may go over the end of a line.
//
// This file is `visibleIf` as crates/flow/src/logic.rs has it; both pass crates/flow/tests/visible_if.json.

/**
 * Whether answers (lists of texts by question id) meet a condition.
 * `allowsOther` says of a question whether "other" means any answer in one's own words.
 */
export function holds(condition, answers, allowsOther = () => false) {
  const each = (inner) => holds(inner, answers, allowsOther);
  if (condition.all) return condition.all.every(each);
  if (condition.any) return condition.any.some(each);
  if (condition.not) return !each(condition.not);
  const given = answers[condition.question] ?? [];
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

/** Negative, zero or positive; NaN, which meets no comparison, where the text is of another kind. */
function compare(text, operand, other) {
  if (typeof operand === "number") return isDecimal(text) ? compareDecimals(text, plain(operand)) : NaN;
  if (other && operand === "other") return text.startsWith("other:") ? 0 : NaN;
  if (text === operand) return 0;
  return isDate(text) ? (text < operand ? -1 : 1) : NaN;
}

const isDecimal = (text) => text.length <= 64 && /^-?(\d+(\.\d+)?|\.\d+)$/.test(text);

/** The 30th of February is read as a day of March, which is then another text. */
const isDate = (text) => /^\d{4}-\d\d-\d\d$/.test(text) && new Date(text).toJSON()?.startsWith(text);

/** A number of JSON without exponent. */
const plain = (number) =>
  number.toLocaleString("en", { useGrouping: false, maximumFractionDigits: 20 });

/** Exact, as an answer may have more digits than a binary number holds. */
function compareDecimals(...texts) {
  const parts = texts.map((text) => text.split("."));
  const length = Math.max(...parts.map(([, fraction = ""]) => fraction.length));
  const [one, two] = parts.map(([whole, fraction = ""]) => BigInt(whole + fraction.padEnd(length, "0")));
  return one < two ? -1 : Number(one > two);
}
