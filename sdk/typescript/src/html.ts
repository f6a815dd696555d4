// Markdown as HTML, for sessions that are started with `{ html }`.
//
// The same rules as crates/flow/src/markdown.rs; tests/golden/texts.json holds both to them. Only
// links, emphasis and lists become elements, and every text is escaped.

import { inline, trim, valueOf, type Inline, type Renderer, type Values } from "./texts.js";

/** Renders the texts of a session as HTML that is safe to insert into a page. */
export const html: Renderer = {
  inline: (text, values) => write(inline(text), values),
  block: (text, values) =>
    blocks(text).map(({ name, items }) => {
      const inner = items.map((parts) => element(name === "p" ? "" : "li", write(parts, values)));
      return element(name, inner.join(""));
    }).join(""),
};

const element = (name: string, inner: string, attributes = ""): string => (name ? `<${name}${attributes}>${inner}</${name}>` : inner);

const escape = (text: string): string => text.replace(/[&<>"]/g, (char) => `&${{ "&": "amp", "<": "lt", ">": "gt" }[char] ?? "quot"};`);

const write = (parts: Inline[], values: Values): string =>
  parts.map((part) => {
    if (typeof part === "string") return escape(part);
    if ("source" in part) return escape(valueOf(part, values));
    const { name, address, parts } = part;
    const link = address && ` href="${escape(address)}" target="_blank" rel="noopener noreferrer"`;
    return element(name, write(parts, values), link);
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
