// The page's own texts in every language, with plural forms, and the direction of texts.

import assert from "node:assert/strict";
import { after, test } from "node:test";

import { checkAccess } from "./support/console.mjs";
import { becomes, matches } from "./support/until.mjs";
import { openWorld } from "./support/world.mjs";

const world = await openWorld();
after(() => world.close());

const NEXT = {
  en: "Next", de: "Weiter", fr: "Suivant", es: "Siguiente", "pt-BR": "Avançar", it: "Avanti", nl: "Volgende",
  pl: "Dalej", tr: "İleri", ar: "التالي", ja: "次へ", "zh-Hans": "下一步",
};
const QUESTIONS = [
  { id: "text", type: "shortText", prompt: "Text", required: true, maxLength: 30 },
  { id: "last", type: "yesNo", prompt: "Last?" },
];

for (const [locale, next] of Object.entries(NEXT)) {
  test(`the page is in ${locale}, with and without script, and fits a phone`, async () => {
    const flow = await world.flow({ questions: QUESTIONS, defaultLocale: locale });
    for (const [size, script] of [["phone", true], ["desktop", false]]) {
      const page = await world.visit(flow.path, { size, script });
      await becomes(() => page.locator(".actions .primary").innerText(), next);
      await becomes(() => page.locator("html").getAttribute("lang"), locale);
      await page.locator(".primary").click();
      await page.locator("#q-text .error").waitFor();
      const width = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
      assert.equal(width[0], width[1]);
      if (script) await checkAccess(page, locale);
    }
  });
}

/** The text below a field of at most 30 characters with this many left. */
const LEFT = {
  en: { 1: "1 character left", 3: "3 characters left" },
  pl: { 1: "Pozostał 1 znak", 3: "Pozostały 3 znaki", 5: "Pozostało 5 znaków", 0: "Pozostało 0 znaków" },
  ar: { 0: "لم يبقَ أي حرف", 1: "بقي حرف واحد", 2: "بقي حرفان", 3: /^بقيت .* أحرف$/u },
  ja: { 1: "残り 1 文字", 3: "残り 3 文字" },
};

for (const [locale, texts] of Object.entries(LEFT)) {
  test(`numbers have their plural forms in ${locale}`, async () => {
    const flow = await world.flow({ questions: QUESTIONS, defaultLocale: locale });
    const page = await world.visit(flow.path);
    for (const [left, text] of Object.entries(texts)) {
      await page.locator("#q-text .text").fill("x".repeat(30 - left));
      const found = async () => page.locator("#q-text .count").innerText();
      if (text instanceof RegExp) await matches(found, text);
      else await becomes(found, text);
    }
  });
}

test("each text of an author has the direction of its first letter", async () => {
  const questions = [{ id: "pick", type: "singleChoice", prompt: "مرحبا", help: "Plain help", options: [{ id: "a", label: "נעם" }, { id: "b", label: "Latin" }] }];
  const flow = await world.flow({ title: "كيف الحال", description: "Latin first", questions, defaultLocale: "en" });
  const page = await world.visit(flow.path);
  const direction = (selector) => page.locator(selector).evaluate((element) => getComputedStyle(element).direction);
  for (const [selector, expected] of [
    ["h1", "rtl"], [".lead", "ltr"], ["#p-pick", "rtl"], ["#h-pick", "ltr"], [".choice:has([value=a]) span", "rtl"], [".choice:has([value=b]) span", "ltr"],
  ]) assert.equal(await direction(selector), expected, selector);
  assert.equal(await page.locator("html").getAttribute("dir"), "ltr");
});
