// Every code block of the README runs: against a real server, with the package as it would be
// installed.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, before, test } from "node:test";

import { build } from "esbuild";

import { startServer } from "../../../tests/clients/server.mjs";

const ROOT = resolve(import.meta.dirname, "..");
const BINARY = process.env.SLUICE_BIN ?? resolve(ROOT, "../../target/debug/sluice");
const BLOCKS = [...readFileSync(resolve(ROOT, "README.md"), "utf8").matchAll(/^```(\w+)\n(.*?)^```$/gms)].map(([, language, code]) => ({ language, code }));
const DEFINITION = {
  title: "Feedback",
  questions: [
    { id: "nps", type: "nps", prompt: "How likely?", required: true },
    { id: "why", type: "shortText", prompt: "Why?", visibleIf: { question: "nps", lessThan: 7 } },
  ],
  ending: { title: "Thank you" },
};

let server;
let app;
let flow;
let folder;
before(async () => {
  folder = mkdtempSync(join(tmpdir(), "sluice-readme-"));
  server = await startServer();
  app = await server.createApp("Readme");
  flow = await server.createFlow(app.appId, "Feedback", DEFINITION);
});
after(async () => {
  await server.stop();
  rmSync(folder, { recursive: true });
});

/** A block with the address, key and ids of the test server. */
const filled = (code) =>
  code.replaceAll("https://feedback.example.com", server.url).replaceAll("pk_…", app.apiKey).replaceAll("fl_…", flow.flowId).replaceAll("fv_…", flow.flowVersionId);

/** Runs a module in the folder, and returns what it printed. */
async function run(code, name) {
  const outfile = join(folder, `${name}.mjs`);
  await build({
    stdin: { contents: filled(code), resolveDir: folder, loader: "ts" }, bundle: true, format: "esm", platform: "node", outfile,
    nodePaths: [resolve(ROOT, "node_modules")],
  });
  return execFileSync(process.execPath, [outfile], { encoding: "utf8", timeout: 120_000 });
}

const count = async () => (await server.admin("GET", `/flows/${flow.flowId}/responses`)).items.length;

test("every block is of a kind that is run below", () => {
  assert.deepEqual(BLOCKS.map(({ language }) => language).sort(), ["sh", "sh", "ts", "ts", "ts", "ts", "ts", "tsx"]);
});

test("the package can be installed", () => {
  const [{ code }] = BLOCKS;
  assert.equal(code, "(cd REPOSITORY/sdk/typescript && npm ci && npm run build)\nnpm install REPOSITORY/sdk/typescript\n", "the test run builds it");
  const quiet = { cwd: folder, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] };
  const packed = execFileSync("npm", ["pack", ROOT, "--ignore-scripts", "--silent"], quiet).trim().split("\n").at(-1);
  // From the folder, as printed; then from the archive that a registry would have.
  const own_folder = mkdtempSync(join(tmpdir(), "sluice-by-path-"));
  writeFileSync(join(own_folder, "package.json"), '{"type": "module"}');
  const printed = code.split("\n")[1].replace("REPOSITORY/sdk/typescript", ROOT).split(" ");
  execFileSync(printed[0], [...printed.slice(1), "--offline", "--ignore-scripts", "--no-audit", "--no-fund", "--legacy-peer-deps"], { ...quiet, cwd: own_folder });
  const linked = execFileSync(process.execPath, ["-e", 'import("sluice").then((it) => console.log(Object.keys(it).join()))'], { ...quiet, cwd: own_folder });
  assert.match(linked, /createSluice/);
  writeFileSync(join(folder, "package.json"), '{"type": "module"}');
  execFileSync("npm", ["install", `./${packed}`, "--offline", "--no-audit", "--no-fund", "--omit=peer", "--legacy-peer-deps"], quiet);
  const own = execFileSync(process.execPath, ["-e", 'import("sluice").then((it) => console.log(Object.keys(it).join()))'], quiet);
  assert.match(own, /createSluice/);
});

test("the start stores an answer", async () => {
  const output = await run(BLOCKS[1].code, "start");
  assert.match(output, /^nps nps How likely\?\n2 \[\]\nstored as rs_\w+ Thank you\n$/);
  assert.equal(await count(), 1);
});

test("types are written, and a typed session starts", async () => {
  const [, shell, typed] = BLOCKS.filter(({ language, code }) => language === "sh" || code.includes("feedbackFlow"));
  execFileSync("bash", ["-ec", filled(shell.code).replace(/^sluice /, `${BINARY} `)], {
    cwd: folder, env: { PATH: process.env.PATH, SLUICE_SERVER: server.url, SLUICE_TOKEN: "token-of-the-client-tests-0123456789" },
  });
  assert.match(readFileSync(join(folder, "feedback.ts"), "utf8"), /nps: "0" \|/);
  assert.equal(await run(typed.code, "typed"), "");
});

test("the component renders before the flow is there; react.test.mjs does the rest", async () => {
  const { code } = BLOCKS.find(({ language }) => language === "tsx");
  const rendering = `${code}\nimport { renderToString } from "react-dom/server";\nconsole.log(renderToString(<Survey />));`;
  const outfile = join(folder, "react.cjs");
  await build({
    stdin: { contents: filled(rendering), resolveDir: ROOT, loader: "tsx" }, bundle: true, format: "cjs", platform: "node", outfile, jsx: "automatic",
  });
  assert.equal(execFileSync(process.execPath, [outfile], { encoding: "utf8" }), "<p>Loading…</p>\n");
});

test("the other calls work", async () => {
  const before = await count();
  const others = BLOCKS.filter(({ language, code }) => language === "ts" && /carriedOver|sluice\/check|trpc\/client/.test(code));
  assert.equal(others.length, 3);
  assert.equal(await run(others[0].code, "carried"), "");
  assert.equal(await run(others[1].code, "check"), "");
  assert.match(await run(others[2].code, "trpc"), /^rs_\w+\n$/);
  assert.equal(await count(), before + 3);
});
