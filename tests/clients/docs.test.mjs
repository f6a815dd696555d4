// The code blocks of the guides, run as a reader would run them: the five-minute start from its first line to its last, and every
// example of a question type with its answer.

import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, before, test } from "node:test";
import { promisify } from "node:util";

import { PYTHON, pythonService } from "./python.mjs";
import { startServer } from "./server.mjs";

const run = promisify(execFile);
const ROOT = resolve(import.meta.dirname, "../..");
const DOCS = join(ROOT, "docs");
const BINARY = resolve(process.env.SLUICE_BIN ?? join(ROOT, "target/debug/sluice"));
const COMPILER = join(import.meta.dirname, "node_modules/.bin/tsc");
const parseYaml = pythonService(["-c", `import json, sys, yaml
for line in sys.stdin:
    print(json.dumps(yaml.safe_load(json.loads(line)), default=str), flush=True)`]);
const GUIDE_URL = "http://127.0.0.1:8080";

const guide = (name) => readFile(join(DOCS, `${name}.md`), "utf8");

/** The code blocks of a text, in order. */
function blocks(text) {
  return [...text.matchAll(/^```(\w+)\n(.*?)^```$/gms)].map(([, language, code]) => ({ language, code }));
}

let server;
let app;
/** A folder in which a reader works, with `sluice` on the path. */
let folder;
let env;
before(async () => {
  server = await startServer();
  app = await server.createApp("Guide");
  folder = await mkdtemp(join(tmpdir(), "sluice-docs-"));
  await mkdir(join(folder, "bin"));
  await symlink(BINARY, join(folder, "bin/sluice"));
  env = {
    PATH: `${join(folder, "bin")}:${process.env.PATH}`, HOME: folder, SLUICE_SERVER: server.url, SLUICE_TOKEN: server.token,
    SLUICE_API_KEY: app.base.split("/").at(-1),
  };
});
after(async () => {
  await server?.stop();
  if (folder) await rm(folder, { recursive: true, force: true });
});

const shell = async (code) => (await run("bash", ["-euc", code.replaceAll(GUIDE_URL, server.url)], { cwd: folder, env })).stdout;

const responses = async (flowId) => (await server.admin("GET", `/flows/${flowId}/responses?limit=100`)).items;

test("the five-minute start works from its first line to its last", async (t) => {
  const text = await guide("start");
  const all = blocks(text);
  const next = (language) => {
    const block = all.shift();
    assert.equal(block.language, language);
    return block.code;
  };
  await t.test("the server is started by what it says", async () => {
    assert.match(next("sh"), /^cargo install --locked --path crates\/sluice\nsluice\n$/, "the test run has built the same binary");
    assert.match(next("sh"), /^export SLUICE_TOKEN=sluice_…/);
  });
  await t.test("the flow is checked and published", async () => {
    await writeFile(join(folder, "lunch.yaml"), next("yaml"));
    const printed = await shell(next("sh").replace("--publish", `--publish --app ${app.appId}`));
    env.SLUICE_FLOW_ID = printed.match(/fl_\w+/)[0];
    assert.match(text, /`http:\/\/127\.0\.0\.1:8080\/f\/fl_…`/);
    assert.equal((await fetch(`${server.url}/f/${env.SLUICE_FLOW_ID}`)).status, 200, "its page");
    assert.match(next("sh"), /^export SLUICE_FLOW_ID=fl_….*\nexport SLUICE_API_KEY=pk_…/);
  });
  await t.test("the three calls store a response, once", async () => {
    const code = next("sh");
    const first = await shell(code);
    assert.match(first, /"success":true/);
    const again = await shell(code);
    const ids = [first, again].map((it) => it.match(/rs_\w+/)[0]);
    assert.equal(ids[0], ids[1]);
    assert.deepEqual((await responses(env.SLUICE_FLOW_ID)).map((it) => it.answers), [{ taste: "5" }]);
  });
  await t.test("the TypeScript program compiles and stores a response", async () => {
    const project = await mkdtemp(join(folder, "ts-"));
    await mkdir(join(project, "node_modules/@types"), { recursive: true });
    await symlink(join(ROOT, "sdk/typescript"), join(project, "node_modules/sluice"));
    await symlink(join(import.meta.dirname, "node_modules/@types/node"), join(project, "node_modules/@types/node"));
    await writeFile(join(project, "package.json"), '{"type":"module"}');
    await writeFile(join(project, "answer.ts"), next("ts").replaceAll(GUIDE_URL, server.url));
    const strict = ["--strict", "--skipLibCheck", "--target", "es2022", "--module", "nodenext", "--types", "node"];
    await run(COMPILER, [...strict, "answer.ts"], { cwd: project }).catch((error) => { throw new Error(error.stdout || error.message); });
    const { stdout } = await run(process.execPath, ["answer.js"], { cwd: project, env });
    assert.match(stdout, /What was missing\?/);
    assert.match(stdout, /stored as rs_/);
  });
  await t.test("the Python program stores a response", async () => {
    const code = next("python").replaceAll(GUIDE_URL, server.url);
    const { stdout } = await run(PYTHON, ["-c", code], { env: { ...env, PYTHONPATH: join(ROOT, "sdk/python/src") } });
    assert.match(stdout, /stored as rs_/);
  });
  await t.test("the answers can be read", async () => {
    const stored = (await responses(env.SLUICE_FLOW_ID)).map((it) => it.answers.taste).sort();
    assert.deepEqual(stored, ["2", "4", "5"]);
    // It waits for more until it is stopped.
    const tail = spawn("bash", ["-euc", `exec ${next("sh")}`], { cwd: folder, env });
    let shown = "";
    for await (const chunk of tail.stdout) {
      shown += chunk;
      if (new Set(shown.match(/rs_\w+/g)).size === stored.length) tail.kill("SIGINT");
    }
    assert.equal(new Set(shown.match(/rs_\w+/g)).size, stored.length, shown);
  });
  assert.deepEqual(all, [], "blocks that no step runs");
});

test("every question type has a section with a picture, and its example accepts its answer", async () => {
  const sections = (await guide("question-types")).split(/^## /m).slice(1);
  const schema = await (await fetch(`${server.url}/schemas/definition.json`)).json();
  const known = new Set(JSON.stringify(schema).match(/"const":"[a-zA-Z]+"/g).map((it) => JSON.parse(`{${it}}`).const));
  for (const section of sections) {
    const type = section.split("\n")[0];
    assert.ok(known.has(type), type);
    const picture = section.match(/\]\((images\/type-\w+\.png)\)/)?.[1];
    assert.ok(picture && existsSync(join(DOCS, picture)), `${type}: ${picture}`);
    const [example, answer, ...more] = blocks(section);
    assert.deepEqual([example.language, answer.language, more.length], ["yaml", "json", 0], type);
    assert.match(example.code, new RegExp(`type: ${type}\\b`));
    // By another parser of YAML than the server's.
    const questions = await parseYaml(example.code);
    const { flowId, flowVersionId } = await server.createFlow(app.appId, type, { title: type, questions });
    const reply = await fetch(`${app.base}/trpc/response.submit`, {
      method: "POST", headers: { "content-type": "application/json" },
      body: JSON.stringify({
        flowVersionId, flowVersionPayloadGeneration: "4", respondentAnalyticsAdmission: "collection_only", answers: JSON.parse(answer.code),
      }),
    });
    assert.ok((await reply.json()).result.data.success, type);
    assert.deepEqual((await responses(flowId))[0].answers, JSON.parse(answer.code), type);
  }
});

test("the YAML of every guide means the same to other parsers", async () => {
  const names = (await readdir(DOCS, { recursive: true })).filter((name) => name.endsWith(".md")).map((name) => name.slice(0, -3));
  assert.ok(names.length > 20);
  for (const name of names) {
    for (const { language, code } of blocks(await guide(name))) {
      if (language === "yaml") await parseYaml(code);
    }
  }
});
