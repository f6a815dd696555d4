// The shape of a submission: everything that can be checked without its version.
//
// The same rules as crates/flow/src/submission; tests/golden/judge holds both to them. `context`
// never causes an issue.

import { chars, isEmail } from "./formats.js";
import { PAYLOAD_GENERATION } from "./generation.js";
import type { Answers, Issue, IssueCode } from "./types.js";

const ANSWERS_MAX = 300;
const ANSWER_CHARS_MAX = 16_384;
const ANSWER_ITEMS_MAX = 1_000;
const TAGS_MAX = 50;
const TAG_NAME_CHARS_MAX = 64;
const TAG_VALUE_CHARS_MAX = 500;
const TAG_ITEMS_MAX = 50;
const IDENTITIES_MAX = 10;
const IDENTITIES_SENT_MAX = 100;
const KEY_CHARS_MAX = 255;

type Path = (string | number)[];
type Values = { [name: string]: unknown };

/** By code point, as the server sorts names; `<` compares UTF-16 units. */
export function compareKeys(one: string, other: string): number {
  const [a, b] = [[...one], [...other]];
  const at = a.findIndex((char, at) => char !== b[at]);
  if (at < 0) return a.length - b.length;
  return b[at] === undefined ? 1 : a[at]!.codePointAt(0)! - b[at].codePointAt(0)!;
}

/**
 * A value as the server reads it from JSON: without `undefined`, and with U+FFFD in place of half a
 * surrogate pair.
 */
export const asSent = (value: unknown): unknown => {
  const json = JSON.stringify(value);
  return json === undefined ? undefined : JSON.parse(json.replace(/\\(?:\\|ud[89a-f]..)/g, (it) => (it === "\\\\" ? it : "\\ufffd")));
};

/** Every issue of the shape of a submission, as it was read from JSON, and its answers. */
export function checkShape(sent: unknown): { issues: Issue[]; answers: Answers } {
  const shape = new Shape();
  if (!isObject(sent)) {
    const message = `A submission must be a JSON object; this is ${kindOf(sent)}.`;
    return { issues: [{ code: "invalid_type", path: [], message }], answers: {} };
  }
  shape.text(sent, "flowVersionId", "a string, the id of a published version");
  const generation = sent["flowVersionPayloadGeneration"];
  if (shape.word(sent, "flowVersionPayloadGeneration", [PAYLOAD_GENERATION]) === false) {
    shape.add("payload_generation_mismatch", ["flowVersionPayloadGeneration"],
      `is "${quoted(generation as string)}"; it must be the generation in which the version was fetched, and versions are served in "${PAYLOAD_GENERATION}".`);
  }
  const admissions = ["collection_only", "admitted"];
  if (shape.word(sent, "respondentAnalyticsAdmission", admissions) === false) {
    const value = quoted(sent["respondentAnalyticsAdmission"] as string);
    shape.add("invalid_value", ["respondentAnalyticsAdmission"], `is "${value}"; it must be ${oneOf(admissions)}.`);
  }
  const answers = shape.answers(sent["answers"]);
  shape.identities(sent["identities"]);
  const { metadata } = sent;
  if (metadata != null && !isObject(metadata)) shape.wrongType(["metadata"], metadata, "an object");
  else shape.tags(metadata?.["tags"]);
  shape.assignment(sent["flowAssignmentId"]);
  shape.key(sent["idempotencyKey"]);
  return { issues: shape.issues, answers };
}

class Shape {
  issues: Issue[] = [];

  add(code: IssueCode, path: Path, what: string): false {
    this.issues.push({ code, path, message: `${shown(path)} ${what}` });
    return false;
  }

  wrongType(path: Path, found: unknown, allowed: string): false {
    const isScalar = typeof found === "number" || typeof found === "boolean";
    const hint = isScalar && /^(a|the) string/.test(allowed) ? " Write it in quotes." : "";
    return this.add("invalid_type", path, `is ${kindOf(found)}; it must be ${allowed}.${hint}`);
  }

  missing(path: Path, allowed: string): false {
    return this.add("field_required", path, `is required: it must be ${allowed}.`);
  }

  noNul(text: string, path: Path): boolean {
    return !text.includes("\0") || this.add("nul_character", path, "has a NUL character (\\u0000); leave it out.");
  }

  within(text: string, max: number, path: Path): boolean {
    const count = chars(text);
    return count <= max || this.add("too_long", path, `has ${count} characters; at most ${max} are allowed.`);
  }

  text(fields: Values, name: string, allowed = "a string", at: Path = []): string | undefined {
    const value = fields[name];
    const path = [...at, name];
    if (value == null) this.missing(path, allowed);
    else if (typeof value !== "string") this.wrongType(path, value, "a string");
    else if (this.noNul(value, path)) return value;
    return undefined;
  }

  /** Whether a required field is one of these words; `undefined` if it is no text. */
  word(fields: Values, name: string, words: string[]): boolean | undefined {
    const value = fields[name];
    const isSingle = words.length === 1;
    if (value == null) this.missing([name], (isSingle ? "the string " : "") + oneOf(words));
    else if (typeof value !== "string") this.wrongType([name], value, `the string ${oneOf(words)}`);
    else return words.includes(value);
    return undefined;
  }

  /** The entries of a map that are not null, sorted; none if there are too many. */
  entries(value: unknown, max: number, path: Path): [string, unknown][] {
    if (value == null) return [];
    if (!isObject(value)) {
      this.wrongType(path, value, `an object whose values are each ${TEXTS}, such as {"name": "value"}`);
      return [];
    }
    const entries = Object.entries(value).filter(([, it]) => it != null);
    if (entries.length <= max) return entries.sort(([a], [b]) => compareKeys(a, b));
    this.add("too_long", path, `has ${entries.length} entries; at most ${max} are allowed.`);
    return [];
  }

  /** Whether a value is a text or a list of texts; otherwise reports its first problem. */
  texts(value: unknown, itemsMax: number, nested: IssueCode, path: Path): value is string | string[] {
    const wrong = (found: unknown, allowed: string, path: Path): false =>
      nested === "nested_tag" && typeof found === "object" && found
        ? this.add(nested, path, `is ${kindOf(found)}; tags are flat, so it must be ${allowed}.`)
        : this.wrongType(path, found, allowed);
    if (typeof value === "string") return this.noNul(value, path);
    if (!Array.isArray(value)) return wrong(value, TEXTS, path);
    if (value.length > itemsMax) return this.add("too_long", path, `has too many items; at most ${itemsMax} are allowed.`);
    return value.every((item: unknown, at) =>
      typeof item === "string" ? this.noNul(item, [...path, at]) : wrong(item, "a string", [...path, at]));
  }

  answers(value: unknown): Answers {
    const answers: Answers = {};
    for (const [id, answer] of this.entries(value, ANSWERS_MAX, ["answers"])) {
      const path = ["answers", id];
      this.noNul(id, path);
      if (!this.texts(answer, ANSWER_ITEMS_MAX, "invalid_type", path)) continue;
      const count = [answer].flat().reduce((sum, text) => sum + chars(text), 0);
      if (count > ANSWER_CHARS_MAX) this.add("too_long", path, `has ${count} characters; at most ${ANSWER_CHARS_MAX} are allowed.`);
      set(answers, id, answer);
    }
    return answers;
  }

  tags(value: unknown): void {
    const at = ["metadata", "tags"];
    for (const [name, tag] of this.entries(value, TAGS_MAX, at)) {
      const path = [...at, name];
      const count = chars(name);
      if (!name) this.add("invalid_value", path, `is a tag without a name; a name must have 1 to ${TAG_NAME_CHARS_MAX} characters.`);
      else if (count > TAG_NAME_CHARS_MAX) {
        this.add("too_long", path, `is a tag whose name has ${count} characters; at most ${TAG_NAME_CHARS_MAX} are allowed.`);
      } else this.noNul(name, path);
      if (!this.texts(tag, TAG_ITEMS_MAX, "nested_tag", path)) continue;
      if (typeof tag === "string") this.within(tag, TAG_VALUE_CHARS_MAX, path);
      else tag.every((text, item) => this.within(text, TAG_VALUE_CHARS_MAX, [...path, item]));
    }
  }

  identities(value: unknown): void {
    const at: Path = ["identities"];
    if (value == null) return;
    if (!Array.isArray(value)) return void this.wrongType(at, value, "an array of objects with type and value");
    if (value.length > IDENTITIES_SENT_MAX) {
      return void this.add("too_long", at, `has too many items; at most ${IDENTITIES_SENT_MAX} may be sent.`);
    }
    const known = new Set<string>();
    let users = 0;
    value.forEach((sent: unknown, index) => {
      const path = [...at, index];
      const identity = this.identity(sent, path);
      if (!identity || known.has(identity.join("\0"))) return;
      known.add(identity.join("\0"));
      if (identity[0] === "userId" && users++) this.add("duplicate_user_id", path, "is a second userId; at most one is allowed.");
    });
    if (known.size > IDENTITIES_MAX) {
      this.add("too_long", at, `has ${known.size} different items; at most ${IDENTITIES_MAX} are allowed.`);
    }
  }

  /** Its type and value, if both are right. */
  identity(sent: unknown, path: Path): [string, string] | undefined {
    if (!isObject(sent)) return void this.wrongType(path, sent, "an object with type and value");
    const [type, value] = [this.text(sent, "type", undefined, path), this.text(sent, "value", undefined, path)];
    if (type === undefined) return;
    if (!/^[\w.-]{1,64}$/.test(type)) {
      return void this.add("invalid_value", [...path, "type"],
        `is "${quoted(type)}"; it must have 1 to 64 letters (a-z, A-Z), digits, "_", "." and "-", such as "userId" or "traits.email".`);
    }
    if (value === undefined) return;
    const at = [...path, "value"];
    const isRight =
      type === "userId"
        ? value ? this.within(value, 255, at) : this.add("invalid_value", at, "is empty; a userId must have 1 to 255 characters.")
      : type === "traits.email"
        ? this.within(value, 254, at) &&
          (isEmail(value) || this.add("invalid_value", at, "is not an e-mail address; it must look like name@example.com."))
      : this.within(value, 500, at);
    return isRight ? [type, value] : undefined;
  }

  assignment(value: unknown): void {
    const path = ["flowAssignmentId"];
    if (value == null) return;
    if (typeof value !== "string") this.wrongType(path, value, "a string");
    else if (this.noNul(value, path)) this.within(value, KEY_CHARS_MAX, path);
  }

  key(value: unknown): void {
    const path = ["idempotencyKey"];
    if (value == null) return;
    if (typeof value !== "string") this.wrongType(path, value, "a string");
    else if (!/^(?:[ !#-~][ -~]{0,254}|"(?:[ !#-[\]-~]|\\["\\]){1,255}")$/.test(value)) {
      this.add("invalid_value", path, `must be 1 to ${KEY_CHARS_MAX} printable ASCII characters, quoted or bare.`);
    }
  }
}

/** Sets a field, also if its name is `__proto__`. */
const set = (answers: object, id: string, value: unknown): void =>
  void Object.defineProperty(answers, id, { value, enumerable: true, configurable: true, writable: true });

const TEXTS = "a string or an array of strings";
const QUOTED_CHARS_MAX = 64;

const isObject = (value: unknown): value is Values => typeof value === "object" && value !== null && !Array.isArray(value);

const kindOf = (value: unknown): string =>
  value == null ? "null" : Array.isArray(value) ? "an array" : /^[aeiou]/.test(typeof value) ? `an ${typeof value}` : `a ${typeof value}`;

const oneOf = (words: string[]): string => words.map((word) => `"${word}"`).join(" or ");

/** The beginning of a text, without control characters. */
function quoted(text: string): string {
  const all = [...text];
  const shown = all.slice(0, QUOTED_CHARS_MAX).map((char) =>
    /\p{Cc}/u.test(char) ? `\\u{${char.codePointAt(0)!.toString(16)}}` : char);
  return shown.join("") + (all.length > QUOTED_CHARS_MAX ? "…" : "");
}

const shown = (path: Path): string =>
  path.reduce<string>((text, step) =>
    typeof step === "number" ? `${text}[${step}]` : text ? `${text}.${quoted(step)}` : quoted(step), "");
