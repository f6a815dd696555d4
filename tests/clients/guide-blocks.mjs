// The code blocks of the guides in docs/.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";

export const ROOT = resolve(import.meta.dirname, "../..");
export const DOCS = join(ROOT, "docs");

/** The code blocks of a page, in order. */
export async function blocks(name) {
  const text = await readFile(join(DOCS, `${name}.md`), "utf8");
  return [...text.matchAll(/^```(\w+)\n(.*?)^```$/gms)].map(([, language, code]) => ({ language, code }));
}

/** The block of a page that contains this text. */
export async function blockWith(name, part) {
  const found = (await blocks(name)).find(({ code }) => code.includes(part));
  assert.ok(found, `${name}.md has no block with ${part}`);
  return found.code;
}

/** The commands of a block, without comments: a command goes on after a backslash. */
export const commands = (code) =>
  code.replaceAll("\\\n", " ").split("\n").map((line) => line.replace(/(^|\s)#\s.*$/, "").trim()).filter((line) => line !== "");
