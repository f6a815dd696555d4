// The README's TypeScript example: it equals the file in examples/, type-checks, and stores a response in the
// demo survey of a first start.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { copyFile, mkdtemp, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { promisify } from "node:util";

import { startServer } from "./server.mjs";

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, "../..");
const EXAMPLE = join(ROOT, "examples/submit.ts");
const COMPILER = join(import.meta.dirname, "node_modules/.bin/tsc");

let server;
let folder;
before(async () => {
  server = await startServer({ demo: true });
  // Next to the packages of v11, so that the example resolves them as in a project.
  folder = await mkdtemp(join(import.meta.dirname, "v11/example-"));
});
after(async () => {
  if (folder) await rm(folder, { recursive: true, force: true });
  await server?.stop();
});

test("the README contains the example file unchanged", async () => {
  const readme = await readFile(join(ROOT, "README.md"), "utf8");
  const example = await readFile(EXAMPLE, "utf8");
  assert.ok(readme.includes("```ts\n" + example + "```"), "README.md differs from examples/submit.ts");
});

test("the example type-checks, runs, and stores its answers", async () => {
  await copyFile(EXAMPLE, join(folder, "submit.ts"));
  const strict = ["--strict", "--skipLibCheck", "--target", "es2022", "--module", "nodenext", "--types", "node"];
  await run(COMPILER, [...strict, "--outDir", folder, join(folder, "submit.ts")], { cwd: folder })
    .catch((error) => assert.fail(error.stdout || error.message));

  const { items: [app] } = await server.admin("GET", "/apps");
  const { items: [flow] } = await server.admin("GET", `/apps/${app.appId}/flows`);
  const { stdout } = await run(process.execPath, [join(folder, "submit.js")], {
    env: { SLUICE_URL: server.url, SLUICE_API_KEY: app.apiKeys[0], SLUICE_FLOW_ID: flow.flowId },
  });

  const responseId = /^Stored as (rs_\S+)$/m.exec(stdout)?.[1];
  assert.ok(responseId, stdout);
  const stored = await server.admin("GET", `/responses/${responseId}`);
  assert.deepEqual(stored.answers, { nps: "9", use: ["api"], docs: "5" });
  assert.deepEqual(stored.metadata, { tags: { plan: "pro" } });
});
