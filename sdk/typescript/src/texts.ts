// An author's texts as they are shown: translated, with placeholders filled in and without
// marks. html.ts renders the marks.
//
// The same rules as crates/flow/src/{piping,markdown}.rs and crates/hosted/src/texts.rs;
// tests/golden/texts.json holds both to them.

import { own } from "./logic.js";
import type { Answers, Choice, Question, Snapshot } from "./types.js";

const DEPTH_MAX = 4;
const STEPS_MAX = 100_000;

/** What texts can repeat. */
export interface Values {
  questions: readonly Question[];
  /** Only the answers to visible questions. */
  answers: Answers;
  score: number | undefined;
  tags: Answers;
  /** How an answer to a yes-no question or a consent reads. */
  words: { yes: string; no: string; agree: string };
}

/** How Markdown becomes HTML: `html` of `sluice/ui`. */
export interface Renderer {
  /** A text without blocks, for a heading. */
  inline(text: string, values: Values): string;
  /** A text with paragraphs and lists. */
  block(text: string, values: Values): string;
}

export type Inline = string | { name: "em" | "strong" | "a"; address?: string; parts: Inline[] } | Placeholder;
export interface Placeholder {
  source: "answer" | "tag" | "score";
  id: string;
  fallback: string;
  length: number;
}

const { source: PLACEHOLDER } = /\{\{\p{White_Space}*(?:(answer|tag):([^{}|]*)|score\p{White_Space}*)(?:\|([^{}]*))?\}\}/u;
const AT_START = RegExp("^" + PLACEHOLDER, "u");
/** Also `\{{`, which is no placeholder, and an escaped backslash before one. */
const ANYWHERE = RegExp(/\\\{(?=\{)|\\\\|/.source + PLACEHOLDER, "gu");

/** The placeholder at the start of a text. */
function placeholder(text: string): Placeholder | undefined {
  const [all, source = "score", id = "", fallback = ""] = AT_START.exec(text) ?? [];
  return all ? { source: source as "score", id: trim(id), fallback: trim(fallback), length: all.length } : undefined;
}

/** By white space of Unicode, as the server does. */
export const trim = (text: string): string => text.replace(/^\p{White_Space}+|\p{White_Space}+$/gu, "");

/** A text without Markdown, such as a label: only placeholders are filled in. */
export const fill = (text: string, values: Values, isChoice = false): string =>
  text.replace(ANYWHERE, (all) => {
    const found = placeholder(all);
    if (!found) return all[1] === "{" ? "{" : all;
    return isChoice && hasLabels(found, values) ? found.fallback : valueOf(found, values);
  });

const hasLabels = ({ source, id }: Placeholder, { questions }: Values) => {
  const question = source === "answer" && questions.find((question) => question.id === id);
  return question && (question.options || question.rows);
};

export function valueOf({ source, id, fallback }: Placeholder, values: Values): string {
  if (source === "score") return String(values.score ?? 0);
  if (source === "tag") return own(values.tags, id).join(", ") || fallback;
  const question = values.questions.find((question) => question.id === id);
  return (question && own(values.answers, id).map((text) => answerText(question, text, values)).join(", ")) || fallback;
}

/** An answer as its respondent reads it: the label of an option, not its id. */
function answerText({ type, options, rows, columns = [], allowOther }: Question, text: string, values: Values): string {
  const { yes, no, agree } = values.words;
  const label = (choices: readonly Choice[], id: string) => {
    const found = choices.find((choice) => choice.id === id);
    // A label that repeats a choice in turn shows that one's fallback.
    return found ? fill(found.label, values, true) : id;
  };
  if (rows) {
    const [row = "", ...column] = text.split(":");
    return `${label(rows, row)}: ${label(columns, column.join(":"))}`;
  }
  if (allowOther && text.startsWith("other:")) return text.slice(6);
  if (options) return label(options, text);
  if (type === "yesNo") return text === "yes" ? yes : no;
  return type === "consent" ? agree : text;
}

/** A text without its marks, for titles, attributes and headings. */
export const plainText = (text: string, values: Values): string => flat(inline(text), values);

const flat = (parts: Inline[], values: Values): string =>
  parts.map((part) => (typeof part === "string" ? part : "source" in part ? valueOf(part, values) : flat(part.parts, values))).join("");

/** The parts of a text with emphasis and links. */
export function inline(text: string): Inline[] {
  let steps = STEPS_MAX;
  const spend = (some: number) => (steps = Math.max(0, steps - some)) > 0;

  function parts(from: number, to: number, depth: number): Inline[] {
    const found: Inline[] = [];
    for (let at = from; at < to; ) {
      const [part, next] = specialAt(at, to, depth) ?? [text[at]!, at + 1];
      found.push(part);
      at = next;
    }
    return found;
  }

  /** The part that starts here, if it is not plain text, and where it ends. */
  function specialAt(at: number, to: number, depth: number): [Inline, number] | undefined {
    const mark = text[at]!;
    if (mark === "{") {
      const found = placeholder(text.slice(at, to));
      return found && [found, at + found.length];
    }
    if (mark === "\\") return at + 1 < to && "*_[]()\\{".includes(text[at + 1]!) ? [text[at + 1]!, at + 2] : undefined;
    if (depth >= DEPTH_MAX) return undefined;
    if (mark === "[") return linkAt(at, to, depth);
    if (mark !== "*" && mark !== "_") return undefined;
    const marks = at + 1 < to && text[at + 1] === mark ? 2 : 1;
    const end = closing(at, to, mark, marks);
    return end === undefined ? undefined : [{ name: marks > 1 ? "strong" : "em", parts: parts(at + marks, end, depth + 1) }, end + marks];
  }

  /** Where an emphasis is closed. Marks touch its text; an underscore counts only between words. */
  function closing(at: number, to: number, mark: string, marks: number): number | undefined {
    const isSpace = (at: number) => /[ \t\n\f\r]/.test(text[at]!);
    const isWord = (at: number) => /[^\W_]|[^\0-\x7f]/.test(text[at]!);
    const from = at + marks;
    if (from >= to || isSpace(from) || (mark === "_" && at > 0 && isWord(at - 1))) return undefined;
    for (let end = from; end + marks <= to && spend(1); ) {
      const skipped = text[end] === "\\" ? 2 : text[end] === "{" && placeholder(text.slice(end, to))?.length;
      if (skipped) {
        end += skipped;
        continue;
      }
      let run = 0;
      while (end + run < to && text[end + run] === mark) run++;
      const isInside = mark === "_" && end + run < to && isWord(end + run);
      if (run === marks && end > from && !isSpace(end - 1) && !isInside) return end;
      end += run || 1;
    }
    return undefined;
  }

  function linkAt(at: number, to: number, depth: number): [Inline, number] | undefined {
    const rest = text.slice(at, to);
    const middle = rest.indexOf("](");
    if (!spend(middle < 0 ? rest.length : middle) || middle < 0) return undefined;
    const label = rest.slice(1, middle);
    const close = rest.indexOf(")", middle + 2);
    const address = close < 0 ? "" : rest.slice(middle + 2, close);
    // Without `u`, case is ignored only in ASCII.
    const isSafe = /^(https?:\/\/|mailto:)./i.test(address) && !/[\p{White_Space}\p{Cc}{}<>"]/u.test(address);
    if (!isSafe || !trim(label) || label.includes("[")) return undefined;
    return [{ name: "a", address, parts: parts(at + 1, at + middle, Math.max(depth, DEPTH_MAX - 1)) }, at + close + 1];
  }

  return parts(0, text.length, 0);
}

/**
 * The best language for a reader: the wanted one, a shorter prefix of its tag, another variant, or
 * the default.
 */
export function bestLocale({ locales, defaultLocale }: Snapshot, wanted: readonly string[]): string {
  const find = (start: string, length?: number) =>
    locales.find((locale) => locale.slice(0, length).toLowerCase() === start.toLowerCase());
  for (const tag of wanted) {
    let prefix = tag;
    let found = find(prefix);
    while (!found && prefix.includes("-")) found = find((prefix = prefix.slice(0, prefix.lastIndexOf("-"))));
    // Tags that begin with one letter, such as i-klingon, have only that letter in common.
    if (prefix[1]) found ??= find(prefix + "-", prefix.length + 1);
    if (found) return found;
  }
  return defaultLocale;
}

/** A snapshot with its texts in one language. */
export const translate = (snapshot: Snapshot, locale: string): Snapshot => translated(snapshot, snapshot.translations?.[locale]);

/** Texts are by field, or by id in a list; that of a choice is its label. */
function translated(it: any, texts: any): any {
  if (typeof texts === "string") return it?.id ? { ...it, label: texts } : texts;
  if (!it || !texts) return it;
  if (Array.isArray(it)) return it.map((one) => translated(one, texts[one.id]));
  const { imageAlt: alt, optionAlts, ...fields } = texts;
  const out = { ...it };
  for (const field in fields) out[field] = translated(it[field], fields[field]);
  if (alt != null && it.image) out.image = { ...it.image, alt };
  out.options &&= out.options.map((option: Choice) => translated(option, { imageAlt: optionAlts?.[option.id] }));
  return out;
}
