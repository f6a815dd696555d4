// The cases that the server is tested with too: judging, the way through the questions, and texts.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { test } from "node:test";

import { arrange, check, follow, judge } from "../dist/check.js";
import { html } from "../dist/html.js";
import { progressAt } from "../dist/logic.js";
import { bestLocale, fill, plainText, translate } from "../dist/texts.js";

const ROOT = resolve(import.meta.dirname, "../../..");
const JUDGE = resolve(ROOT, "tests/golden/judge");
const read = (path) => JSON.parse(readFileSync(resolve(ROOT, path), "utf8"));
const FILES = readdirSync(JUDGE).filter((name) => name.endsWith(".json"));

for (const name of FILES) {
  const { about, definition, cases } = read(`tests/golden/judge/${name}`);
  test(`${name}: ${about}`, () => {
    for (const { answers, submission, issues, score } of cases) {
      const sent = submission ?? {
        flowVersionId: "fv_1", flowVersionPayloadGeneration: "4", respondentAnalyticsAdmission: "collection_only", answers,
      };
      const found = check(definition, sent).map(({ code, path }) => ({ code, path }));
      assert.deepEqual(found, issues, JSON.stringify(sent));
      if (score !== undefined) assert.equal(follow(definition, answers, true).score, score, JSON.stringify(answers));
    }
  });
}

test("the server is tested with every file", () => {
  const source = readFileSync(resolve(ROOT, "crates/flow/tests/flow/golden.rs"), "utf8");
  for (const name of FILES) assert.ok(source.includes(`judge/${name}"`), name);
});

test("a question type that is newer than this client is left to the server", () => {
  const questions = [{ id: "q", type: "drawing", prompt: "?", options: [{ id: "a", label: "A" }], required: true }];
  const codes = (answers) => judge({ questions }, answers).map(({ code }) => code);
  assert.deepEqual([codes({ q: "b" }), codes({ q: ["x", "y"] }), codes({})], [[], [], ["answer_required"]]);
});

test("a condition that is newer than this client hides no question, and the server decides what is required", () => {
  const when = [{ question: "a", matches: "x" }, { weather: "sunny" }, { not: { question: "a", matches: "x" } }, { all: [{ question: "a", answered: true }, { any: [{ new: 1 }] }] }];
  for (const visibleIf of when) {
    const questions = [{ id: "a", type: "shortText", prompt: "?", required: true }, { id: "b", type: "shortText", prompt: "?", required: true, visibleIf }];
    assert.deepEqual(follow({ questions }, {}).questions.map(({ id }) => id), ["a", "b"], JSON.stringify(visibleIf));
    assert.deepEqual(judge({ questions }, {}).map(({ path }) => path[1]), ["a"]);
    assert.deepEqual(progressAt({ questions }, {}, "a"), { number: 1, of: 2 });
    const jumping = [{ ...questions[0], next: [{ when: visibleIf, to: "end" }] }, { ...questions[1], visibleIf: undefined }];
    assert.deepEqual(judge({ questions: jumping }, {}), []);
    assert.deepEqual(follow({ questions: jumping }, {}).questions.map(({ id }) => id), ["a", "b"], "not taken");
  }
});

for (const { name, definition, answers, visible, ending, required } of read("tests/golden/newer.json").cases) {
  test(`conditions of a newer server: ${name}`, () => {
    const route = follow(definition, answers);
    assert.deepEqual([route.questions.map(({ id }) => id), route.ending?.id ?? ""], [visible, ending]);
    const issues = judge(definition, answers).map(({ code, path }) => [code, path[1]]);
    assert.deepEqual(issues, required.map((id) => ["answer_required", id]));
  });
}

test("a scheme of a link is ASCII, and unknown ids are sorted by code point", () => {
  const values = { questions: [], answers: {}, tags: {}, score: 0, words: {} };
  assert.equal(html.inline("[x](http\u017f://a.example)", values), "[x](http\u017f://a.example)");
  assert.match(html.inline("[x](HTTPS://a.example)", values), /^<a href="HTTPS:/);
  const ids = judge({ questions: [] }, { "\u{1f600}": "x", "\uff5e": "x", a: "x" }).map(({ path }) => path[1]);
  assert.deepEqual(ids, ["a", "\uff5e", "\u{1f600}"]);
});

test("answers lead through the questions as on the server and the hosted page", () => {
  const { flows, cases } = read("crates/flow/tests/flow/routes.json");
  for (const { flow, answers, visible, ending, score } of cases) {
    const route = follow(flows[flow], answers);
    const shown = { visible: route.questions.map(({ id }) => id), ending: route.ending?.id ?? null, score: route.score ?? 0 };
    assert.deepEqual(shown, { visible, ending, score }, JSON.stringify({ flow, answers }));
    assert.ok(Object.keys(route.answers).every((id) => visible.includes(id)));
  }
});

test("conditions hold as on the server and the hosted page", () => {
  const { questions, cases } = read("crates/flow/tests/flow/visible_if.json");
  for (const { if: condition, answers, holds } of cases) {
    const last = { id: "last", type: "statement", prompt: "?", visibleIf: condition };
    const { questions: visible } = follow({ questions: [...questions, last] }, answers, true);
    assert.equal(visible.at(-1) === last, holds, JSON.stringify({ condition, answers }));
  }
});

test("texts become the same HTML as on the hosted page", () => {
  const { questions, answers, tags, cases } = read("tests/golden/texts.json");
  const values = { questions, answers, tags, score: 4, words: { yes: "Yes", no: "No", agree: "I agree" } };
  for (const expected of cases) {
    const { text } = expected;
    const shown = { text, html: html.block(text, values), inline: html.inline(text, values), plain: plainText(text, values), label: fill(text, values) };
    assert.deepEqual(shown, expected);
  }
});

test("a random order keeps fixed options in their places, and stays the same for one visit", () => {
  const options = Array.from({ length: 8 }, (_, at) => ({ id: String(at), label: "x", fixed: at === 0 || at === 5 }));
  const question = { id: "q", type: "singleChoice", prompt: "?", options, optionOrder: "random" };
  const first = new Map();
  for (let visit = 0; visit < 3_000; visit++) {
    const order = arrange(question, `visit ${visit}`).map(({ id }) => id);
    assert.deepEqual([order[0], order[5], order.toSorted().join("")], ["0", "5", "01234567"]);
    assert.deepEqual(arrange(question, `visit ${visit}`).map(({ id }) => id), order);
    first.set(order[1], (first.get(order[1]) ?? 0) + 1);
  }
  // Each of the six options that move comes first about equally often.
  assert.equal(first.size, 6);
  assert.ok([...first.values()].every((count) => count > 400 && count < 600), JSON.stringify([...first]));
  assert.deepEqual(arrange({ ...question, optionOrder: undefined }, "x"), options);
});

test("progress never goes back, whatever is answered", () => {
  const yes = (question) => ({ question, equals: "yes" });
  const ask = (id, visibleIf, next) => ({ id, type: "yesNo", prompt: "?", ...(visibleIf && { visibleIf }), ...(next && { next }) });
  const questions = [
    ask("a", undefined, [{ when: yes("a"), to: "d" }]), ask("b", yes("a"), [{ when: yes("b"), to: "f" }]),
    ask("c", { not: yes("a") }, [{ when: yes("c"), to: "e" }]), ask("d", { any: [yes("b"), yes("c")] }),
    ask("e", yes("a"), [{ when: yes("e"), to: "end" }]), ask("f", { all: [yes("d"), { not: yes("e") }] }), ask("g"),
  ];
  for (let path = 0; path < 128; path++) {
    const given = {};
    let before = [0, 1];
    for (let at = 0; ; at++) {
      const question = follow({ questions }, given).questions[at];
      if (!question) break;
      const { number, of } = progressAt({ questions }, given, question.id);
      const place = [number, of];
      assert.ok(place[0] * before[1] > before[0] * place[1] && place[0] <= place[1], `${path}: ${before} ${place}`);
      given[question.id] = (path >> questions.indexOf(question)) & 1 ? "yes" : "no";
      before = place;
    }
  }
});

test("texts are shown in the best language, and otherwise in the default one", () => {
  const snapshot = {
    locales: ["en", "de", "pt-BR"], defaultLocale: "en", title: "Title", ending: { title: "Thanks", redirectUrl: null }, welcome: { title: "Hi", buttonText: "Go" },
    questions: [{ id: "q", type: "singleChoice", prompt: "Which?", help: "Help", options: [{ id: "a", label: "A", image: { assetId: "as_1", alt: "cat" } }, { id: "b", label: "B" }] }],
    sections: [{ id: "s", title: "Section", questions: ["q"] }], endings: [{ id: "e", title: "End" }],
    translations: { de: {
      title: "Titel", welcome: { title: "Hallo" }, ending: { title: "Danke" }, endings: { e: { title: "Ende" } }, sections: { s: { title: "Teil" } },
      questions: { q: { prompt: "Welche?", options: { a: "Ah" }, optionAlts: { a: "Katze" } } },
    } },
  };
  for (const [wanted, locale] of [[["de-AT"], "de"], [["fr", "PT"], "pt-BR"], [["pt-PT"], "pt-BR"], [["fr"], "en"], [[], "en"], [["EN-us"], "en"]]) {
    assert.equal(bestLocale(snapshot, wanted), locale, wanted.join());
  }
  const rare = { ...snapshot, locales: ["en", "i-hak", "x-ours"] };
  for (const [tag, locale] of [["I-HAK", "i-hak"], ["x-ours-too", "x-ours"], ["i-klingon", "en"], ["x-theirs", "en"], ["EN-yue-HK", "en"]]) {
    assert.equal(bestLocale(rare, [tag]), locale, tag);
  }
  const german = translate(snapshot, "de");
  assert.deepEqual([german.title, german.welcome, german.ending.title, german.endings[0].title, german.sections[0].title],
    ["Titel", { title: "Hallo", buttonText: "Go" }, "Danke", "Ende", "Teil"]);
  const [{ prompt, help, options }] = german.questions;
  assert.deepEqual([prompt, help, options.map(({ label }) => label), options[0].image], ["Welche?", "Help", ["Ah", "B"], { assetId: "as_1", alt: "Katze" }]);
  assert.equal(translate(snapshot, "en"), snapshot);
});
