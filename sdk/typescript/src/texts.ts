// An author's texts as they are shown: translated, with placeholders filled in and Markdown
// rendered.
//
// The same rules as crates/flow/src/{piping,markdown}.rs and crates/hosted/src/texts.rs;
// tests/golden/texts.json holds both to them. Only links, emphasis and lists become elements, and
// every text is escaped.

import { own } from "./logic.js";
import type { Answers, Choice, Image, Question, Snapshot, Translation } from "./types.js";

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

type Inline = string | { name: "em" | "strong" | "a"; address?: string; parts: Inline[] } | Placeholder;
interface Placeholder {
  source: "answer" | "tag" | "score";
  id: string;
  fallback: string;
  length: number;
}

const PLACEHOLDER = /^\{\{\p{White_Space}*(?:(answer|tag):([^{}|]*)|score\p{White_Space}*)(?:\|([^{}]*))?\}\}/u;

/** The placeholder at the start of a text. */
function placeholder(text: string): Placeholder | undefined {
  const [all, source = "score", id = "", fallback = ""] = PLACEHOLDER.exec(text) ?? [];
  return all ? { source: source as "score", id: trim(id), fallback: trim(fallback), length: all.length } : undefined;
}

/** By white space of Unicode, as the server does. */
const trim = (text: string): string => text.replace(/^\p{White_Space}+|\p{White_Space}+$/gu, "");

/** A text without Markdown, such as a label: only placeholders are filled in. */
export function fill(text: string, values: Values, isChoice = false): string {
  let out = "";
  for (let at = 0; at < text.length; ) {
    const rest = text.slice(at, at + 3);
    if (rest === "\\{{") {
      out += "{";
      at += 2;
    } else if (rest.startsWith("\\\\")) {
      out += "\\\\";
      at += 2;
    } else {
      const found = rest.startsWith("{{") ? placeholder(text.slice(at)) : undefined;
      out += found ? (isChoice && hasLabels(found, values) ? found.fallback : valueOf(found, values)) : text[at];
      at += found?.length ?? 1;
    }
  }
  return out;
}

const hasLabels = ({ source, id }: Placeholder, { questions }: Values) => {
  const question = source === "answer" && questions.find((question) => question.id === id);
  return question && (question.options || question.rows);
};

function valueOf({ source, id, fallback }: Placeholder, values: Values): string {
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
export const plainText = (text: string, values: Values): string => write(inline(text), values, false);

/** A text as HTML without blocks, for a heading. */
export const inlineHtml = (text: string, values: Values): string => write(inline(text), values, true);

/** A text as HTML: paragraphs and lists. */
export const html = (text: string, values: Values): string =>
  blocks(text).map(({ name, items }) => {
    const inner = items.map((parts) => element(name === "p" ? "" : "li", write(parts, values, true)));
    return element(name, inner.join(""));
  }).join("");

const element = (name: string, inner: string, attributes = ""): string => (name ? `<${name}${attributes}>${inner}</${name}>` : inner);

const escape = (text: string): string => text.replace(/[&<>"]/g, (char) => `&${{ "&": "amp", "<": "lt", ">": "gt" }[char] ?? "quot"};`);

const write = (parts: Inline[], values: Values, isHtml: boolean): string =>
  parts.map((part) => {
    if (typeof part === "string" || "source" in part) {
      const text = typeof part === "string" ? part : valueOf(part, values);
      return isHtml ? escape(text) : text;
    }
    const { name, address, parts } = part;
    const link = address && ` href="${escape(address)}" target="_blank" rel="noopener noreferrer"`;
    return element(isHtml ? name : "", write(parts, values, isHtml), link);
  }).join("");

interface Block {
  name: "p" | "ul" | "ol";
  items: Inline[][];
}

/**
 * An empty line ends a paragraph; lines that start with `- `, `* ` or a number and a point are
 * items of a list.
 */
function blocks(text: string): Block[] {
  const blocks: Block[] = [];
  const trimEnd = (text: string) => trim(`.${text}`).slice(1);
  let paragraph: string[] = [];
  let open: Block | undefined;
  const end = () => {
    if (paragraph.length) blocks.push({ name: "p", items: [inline(trimEnd(paragraph.join("\n")))] });
    paragraph = [];
  };
  for (const line of text.split("\n")) {
    const item = /^\p{White_Space}*(?:[-*]|(\d{1,3})\.) (.+)$/su.exec(trimEnd(line));
    if (item) {
      end();
      const name = item[1] ? "ol" : "ul";
      if (open?.name !== name) blocks.push((open = { name, items: [] }));
      open.items.push(inline(item[2]!));
      continue;
    }
    open = undefined;
    if (trimEnd(line)) paragraph.push(line);
    else end();
  }
  end();
  return blocks;
}

function inline(text: string): Inline[] {
  let steps = STEPS_MAX;
  const spend = (some: number) => (steps = Math.max(0, steps - some)) > 0;

  function parts(from: number, to: number, depth: number): Inline[] {
    const found: Inline[] = [];
    let plain = from;
    for (let at = from; at < to; ) {
      const special = specialAt(at, to, depth);
      if (!special) {
        at++;
        continue;
      }
      if (plain < at) found.push(text.slice(plain, at));
      found.push(special[0]);
      plain = at = special[1];
    }
    if (plain < to) found.push(text.slice(plain, to));
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
      if (text[end] === "\\") {
        end += 2;
        continue;
      }
      const skipped = text[end] === "{" ? placeholder(text.slice(end, to)) : undefined;
      if (skipped) {
        end += skipped.length;
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
    const isSafe = /^(https?:\/\/|mailto:)[^\p{White_Space}\p{Cc}{}<>"]+$/iu.test(address);
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
  const find = (tag: string, part = (locale: string) => locale) =>
    locales.find((locale) => part(locale).toLowerCase() === tag.toLowerCase());
  for (const tag of wanted) {
    let prefix = tag;
    let found = find(prefix);
    while (!found && prefix.includes("-")) found = find((prefix = prefix.slice(0, prefix.lastIndexOf("-"))));
    found ??= find(prefix, (locale) => locale.split("-")[0]!);
    if (found) return found;
  }
  return defaultLocale;
}

/** A snapshot with its texts in one language. */
export function translate(snapshot: Snapshot, locale: string): Snapshot {
  const texts: Translation | undefined = snapshot.translations?.[locale];
  if (!texts) return snapshot;
  const alt = (image: Image | undefined, alt: unknown) => image && alt != null && { image: { ...image, alt: alt as string } };
  const labels = (question: Question, field: "options" | "rows" | "columns", by: any = {}, alts: any = {}) =>
    question[field] && {
      [field]: question[field].map((choice) => {
        const { id, label, image } = choice;
        return { ...choice, label: by[id] ?? label, ...alt(image, alts[id]) };
      }),
    };
  const each = <T extends { id?: string }>(all: T[] | undefined, by: { [id: string]: object } = {}) =>
    all?.map((it) => ({ ...it, ...by[it.id!] }));
  const { questions = {}, endings, sections, ending, welcome, ...more } = texts;
  return {
    ...snapshot,
    ...more,
    welcome: snapshot.welcome && { ...snapshot.welcome, ...welcome },
    questions: snapshot.questions.map((question) => {
      const { options, rows, columns, imageAlt, optionAlts, ...own } = questions[question.id] ?? {};
      return {
        ...question,
        ...own,
        ...alt(question.image, imageAlt),
        ...labels(question, "options", options, optionAlts),
        ...labels(question, "rows", rows),
        ...labels(question, "columns", columns),
      };
    }),
    sections: each(snapshot.sections, sections),
    ending: { ...snapshot.ending, ...ending },
    endings: each(snapshot.endings, endings),
  } as Snapshot;
}
