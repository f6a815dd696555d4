// What is published: its size, its files, its types, and that it needs nothing but web standards.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { after, test } from "node:test";
import { createContext, runInContext } from "node:vm";
import { gzipSync } from "node:zlib";

import { build, transform } from "esbuild";

import { startServer } from "../../../tests/clients/server.mjs";

const ROOT = resolve(import.meta.dirname, "..");
const CORE_BYTES_MAX = 8 * 1024;
const PACKAGE = JSON.parse(readFileSync(resolve(ROOT, "package.json"), "utf8"));
const README = readFileSync(resolve(ROOT, "README.md"), "utf8");
const bundle = async (contents, format) => {
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: ROOT }, bundle: true, minify: true, format, globalName: "sdk", write: false, target: "es2022", logLevel: "error",
  });
  return outputFiles[0].contents;
};
const tsc = (project) => execFileSync(resolve(ROOT, "node_modules/.bin/tsc"), ["-p", resolve(ROOT, project)], { encoding: "utf8" });

test("the whole core has at most 8 KB gzipped", async (t) => {
  const bytes = gzipSync(await bundle('export * from "sluice"', "esm"), { level: 9 }).length;
  t.diagnostic(`${bytes} bytes`);
  assert.ok(bytes <= CORE_BYTES_MAX, `${bytes} bytes`);
});

test("what is not imported is not bundled", async () => {
  const size = async (name, from) => (await bundle(`import { ${name} } from "${from}"; globalThis.x = ${name}`, "esm")).length;
  assert.ok(await size("judge", "sluice/check") < await size("createSluice", "sluice") / 2);
  assert.ok(await size("html", "sluice/ui") < await size("createSluice", "sluice") / 2);
  for (const name of ["sluice", "sluice/check", "sluice/ui"]) assert.equal((await bundle(`import "${name}"`, "esm")).length, 0);
});

test("it runs with nothing but web standards, as in browsers and edge runtimes", async () => {
  const calls = [];
  const reply = (body) => ({ ok: true, json: async () => body });
  const snapshot = {
    flowVersionId: "fv_1", questions: [{ id: "q", type: "yesNo", prompt: "*Well*?", required: true }], title: "T", ending: {}, locales: ["en"], defaultLocale: "en",
    respondentAnalytics: "never",
  };
  const replies = [{ flowId: "fl_1", flowVersionId: "fv_1" }, snapshot, { result: { data: { success: true, responseId: "rs_1" } } }];
  const web = { fetch: async (url) => (calls.push(url), reply(replies.shift())), crypto: { getRandomValues: (it) => it }, URL, TextEncoder, AbortController, setTimeout, clearTimeout };
  const context = createContext({ ...web, sdk: undefined });
  runInContext(`${new TextDecoder().decode(await bundle('export * from "sluice"', "iife"))};globalThis.sdk = sdk`, context);
  const result = await runInContext(`(async () => {
    const session = await sdk.createSluice({ baseUrl: "https://x.example", apiKey: "pk_1" }).start("fl_1");
    if (session.issues().length !== 1 || session.questions[0].prompt !== "Well?") throw new Error("wrong");
    return session.answer("q", "yes").submit();
  })()`, context);
  assert.equal(result.responseId, "rs_1");
  assert.equal(calls.length, 3);
  // No module of Node.js is imported anywhere.
  for (const name of ["index", "check", "ui", "react"]) {
    assert.doesNotMatch(readFileSync(resolve(ROOT, `dist/${name}.js`), "utf8"), /from "node:|require\(/);
  }
});

test("the browsers that the README names know everything that it uses", async () => {
  const code = new TextDecoder().decode(await bundle('export * from "sluice"; export * from "sluice/ui"; export * from "sluice/check"', "esm"));
  // Newer than Safari 15.4, Chrome 93 and Firefox 92.
  assert.doesNotMatch(code, /\(\?<[!=]|AbortSignal\.|throwIfAborted|structuredClone|\.findLast|toSorted|toReversed|\.groupBy|static\{/);
  const target = ["safari15.4", "chrome93", "firefox92"];
  const options = { loader: "js", minify: true, target };
  assert.equal((await transform(code, options)).warnings.length, 0);
  assert.match(README, /Safari 15\.4, Chrome 93, Firefox 92/);
});

test("the README has no links that break outside of the repository", () => {
  for (const [, address] of README.matchAll(/\]\(([^)]*)\)/g)) assert.match(address, /^(https:|#)/);
});

test("the package has no dependencies, and its files are those that it names", () => {
  assert.equal(PACKAGE.dependencies, undefined);
  assert.ok(Object.keys(PACKAGE.peerDependencies).every((name) => PACKAGE.peerDependenciesMeta[name].optional));
  const [{ files }] = JSON.parse(execFileSync("npm", ["pack", "--dry-run", "--json", "--ignore-scripts"], { cwd: ROOT, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }));
  const paths = files.map(({ path }) => path);
  for (const entry of Object.values(PACKAGE.exports)) {
    for (const path of typeof entry === "string" ? [entry] : Object.values(entry)) {
      assert.ok(existsSync(resolve(ROOT, path)) && paths.includes(path.slice(2)), path);
    }
  }
  assert.ok(paths.every((path) => /^(dist|src)\/|^(README.md|LICENSE|package.json)$/.test(path)), paths.join());
});

test("wrong answers do not compile, with this client, its hook, and @trpc/client 11 and 10", () => {
  for (const project of ["test/types", "test/trpc10", "example"]) assert.equal(tsc(project), "", project);
});

test("sluice types writes the type that these tests use", async () => {
  const server = await startServer();
  after(() => server.stop());
  const { appId } = await server.createApp("Types");
  const binary = process.env.SLUICE_BIN ?? resolve(ROOT, "../../target/debug/sluice");
  const run = (args) => execFileSync(binary, args, { encoding: "utf8", env: { PATH: process.env.PATH, SLUICE_SERVER: server.url, SLUICE_TOKEN: "token-of-the-client-tests-0123456789" } });
  const [flowId] = /fl_\w+/.exec(run(["flow", "push", resolve(ROOT, "test/types/feedback.yaml"), "--app", appId, "--publish"]));
  assert.equal(run(["types", flowId]).replaceAll(flowId, "fl_1"), readFileSync(resolve(ROOT, "test/types/feedback.ts"), "utf8"));
});
