// Generated texts become the same HTML here and on the hosted page of a real server.
//
//   TEXTS=2000 SEED=7 node --test test/hosted-texts.test.mjs

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { startServer } from "../../../tests/clients/server.mjs";
import { html } from "../dist/html.js";

const TEXTS = Number(process.env.TEXTS ?? 60);
const SEED = Number(process.env.SEED ?? Date.now() % 2 ** 31);
const PIECES = [
  "*", "**", "_", "__", "[", "](", "[x](", ")", "https://a.example", "mailto:a@b", "javascript:x", "\n- ", "\n1. ", "\n* ", "\n\n", "\n", "\"", "'", "&", "<", ">",
  "{{tag:plan|<i>*x*}}", "{{tag:seats|few}}", "{{tag:none}}", "\\", "\\{{tag:plan}}", " ", "a", "b", "ä", "漢", "😀", "x_y", "1. ", "- ", "  ", "\t", "(", "{", "}", "{{", "}}", "\u00a0",
];
const VALUES = { questions: [], answers: {}, score: 0, tags: { plan: "pro" }, words: {} };

let server;
before(async () => (server = await startServer({ args: ["--rate-per-address", "0", "--rate-per-app", "0"] })));
after(() => server.stop());

/** The description on the page, without the elements that only its script reads. */
function shownOn(page) {
  const [start, name] = /<(p|div) class="lead" dir="auto">/.exec(page) ?? assert.fail("the page has no description");
  const from = page.indexOf(start) + start.length;
  const inner = page.slice(from, page.indexOf(`</${name}>`, from)).replace(/<span data-pipe="[^"]*" data-fallback="[^"]*">(.*?)<\/span>/gs, "$1");
  return name === "p" ? `<p>${inner}</p>` : inner;
}

test(`${TEXTS} generated texts (seed ${SEED})`, async (t) => {
  t.diagnostic(`seed ${SEED}`);
  let state = SEED;
  const below = (count) => (state = (state * 1_103_515_245 + 12_345) % 2 ** 31) % count;
  const { appId } = await server.createApp("Texts");
  for (let count = 0; count < TEXTS; ) {
    const text = Array.from({ length: 1 + below(14) }, () => PIECES[(below(2 ** 31) >> 8) % PIECES.length]).join("");
    // Only white space is no text, and "\n1. " alone is a text without content.
    if (!html.block(text, VALUES).replace(/<[^>]*>/g, "").trim()) continue;
    count++;
    const { flowId } = await server.createFlow(appId, "Text", {
      title: "Text", description: text, questions: [{ id: "q", type: "rating", prompt: "?" }],
    });
    const page = await (await fetch(`${server.url}/f/${flowId}?tags.plan=pro`)).text();
    assert.equal(html.block(text, VALUES), shownOn(page), JSON.stringify({ seed: SEED, text }));
  }
});
