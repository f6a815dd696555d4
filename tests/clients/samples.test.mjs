// The code samples of the API reference: every one is checked by its language, and then run. There is a server for each language, with the
// same content; all operations are called in the same order, and what the three print is compared.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { createServer } from "node:http";
import { once } from "node:events";
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, before, test } from "node:test";
import { promisify } from "node:util";

import { PYTHON } from "./python.mjs";
import { JPEG, startWorld } from "./samples/world.mjs";
import { startMailServer } from "./smtp.mjs";

const run = promisify(execFile);
const HERE = import.meta.dirname;
const ROOT = resolve(HERE, "../..");
const COMPILER = join(HERE, "node_modules/.bin/tsc");
const RUN_MS_MAX = 240_000;
const EXAMPLE_URL = "https://feedback.example.com";
const FILE = "responses.csv";
const LANGUAGES = { curl: "sh", TypeScript: "ts", Python: "py" };

/** What changes something, in an order in which each finds what it names; in between, the results of what was submitted. */
const CHANGES = [
  "createApp", "updateApp", "createFlow", "putDraft", "publishFlow", "validateResponse", "submitResponse", "countVisit", "listResponses", "getSummary",
  "exportResponses", "createKey", "createIdentityKey", "createToken", "createUser", "createWebhook", "createReport", "createInvitations", "uploadAsset",
  "putShortPath", "putInvitationEmail", "sendTestMail", "testWebhook", "redeliver", "redeliverFailed", "replayWebhook", "rotateWebhookSecret",
  "updateWebhook", "updateReport", "replaceReportLink", "setUserRole", "resetUser", "resetSecondFactor", "updateUser", "republishVersion", "retireVersion",
  "closeFlow", "reopenFlow", "updateFlow", "resumeOutbound", "deleteTestResponses", "deleteResponse", "exportPerson", "erasePerson", "eraseRespondent",
  "revokeInvitation", "revokeReport", "revokeToken", "revokeIdentityKey", "deleteWebhook", "deleteAsset", "archiveFlow", "restoreFlow", "revokeKey",
];

/** Operations that a server in this state refuses, and with which code. */
const REFUSED = {
  eraseRespondent: "respondent_not_found",
};

let operations, folder, receiver, mail;
const worlds = {};
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "sluice-samples-"));
  receiver = createServer((request, reply) => request.resume().on("end", () => reply.writeHead(204).end()));
  await once(receiver.listen(0, "127.0.0.1"), "listening");
  mail = await startMailServer("none");
  const address = `http://127.0.0.1:${receiver.address().port}/`;
  const started = await Promise.allSettled(Object.keys(LANGUAGES).map(async (language) => { worlds[language] = await startWorld({ receiver: address, mail }); }));
  for (const { reason } of started) if (reason) throw reason;
  const document = await (await fetch(`${worlds.curl.server.url}/openapi.json`)).json();
  operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, ...operation })));
  operations.sort((a, b) => (a.operationId < b.operationId ? -1 : 1));
  await writeSamples();
});
after(async () => {
  for (const { server } of Object.values(worlds)) await server.stop();
  receiver?.close();
  await mail?.stop();
  if (folder) await rm(folder, { recursive: true, force: true });
});

const sample = (operation, language) => operation["x-codeSamples"].find(({ label }) => label === language).source;

async function writeSamples() {
  for (const [language, extension] of Object.entries(LANGUAGES)) {
    await mkdir(join(folder, language));
    for (const operation of operations) await writeFile(join(folder, language, `${operation.operationId}.${extension}`), sample(operation, language));
  }
  await mkdir(join(folder, "TypeScript/node_modules/@types"), { recursive: true });
  await symlink(join(ROOT, "sdk/typescript"), join(folder, "TypeScript/node_modules/sluice"));
  await symlink(join(HERE, "node_modules/@types/node"), join(folder, "TypeScript/node_modules/@types/node"));
  await writeFile(join(folder, "TypeScript/package.json"), '{"type":"module"}');
}

const failing = (error) => { throw new Error(`${error.stdout}\n${error.stderr}\n${error.message}`); };

test("every operation has a sample in each language", () => {
  assert.ok(operations.length > 90, `${operations.length}`);
  for (const operation of operations) {
    assert.deepEqual(operation["x-codeSamples"].map(({ label }) => label), Object.keys(LANGUAGES), operation.operationId);
  }
});

test("every sample is valid in its language", async (t) => {
  const names = operations.map(({ operationId }) => operationId);
  await t.test("bash", async () => {
    const check = `for file in *.sh; do bash -n "$file" || exit 1; done`;
    await run("bash", ["-c", check], { cwd: join(folder, "curl") }).catch(failing);
  });
  await t.test("Python", async () => {
    await run(PYTHON, ["-W", "error", "-m", "py_compile", ...names.map((name) => `${name}.py`)], { cwd: join(folder, "Python") }).catch(failing);
  });
  await t.test("TypeScript, with its types", async () => {
    const options = {
      strict: true, target: "es2022", module: "nodenext", moduleDetection: "force", skipLibCheck: true, types: ["node"], lib: ["es2022", "dom"], outDir: "out",
    };
    await writeFile(join(folder, "TypeScript/tsconfig.json"), JSON.stringify({ compilerOptions: options, include: ["*.ts"] }));
    await run(COMPILER, ["-p", "."], { cwd: join(folder, "TypeScript"), timeout: RUN_MS_MAX }).catch(failing);
  });
});

/** The samples of one language in a folder, for its own server: with its address and its ids. */
async function fill(language, extension) {
  const { server, ids } = worlds[language];
  const target = join(folder, `${language}-filled`);
  await mkdir(target);
  const source = language === "TypeScript" ? "TypeScript/out" : language;
  const soon = `${new Date().getFullYear() + 1}-`;
  const examples = Object.entries(ids).map(([name, id]) => [exampleId(name), id]);
  for (const { operationId } of operations) {
    let text = await readFile(join(folder, source, `${operationId}.${extension}`), "utf8");
    for (const [example, id] of examples) text = text.replaceAll(example, id);
    text = text.replaceAll(EXAMPLE_URL, server.url).replaceAll(/\b202[67]-(?=\d\d-\d\dT)/g, soon);
    await writeFile(join(target, `${operationId}.${extension}`), text);
  }
  await writeFile(join(target, "cat.jpg"), JPEG);
  await writeFile(join(target, "package.json"), '{"type":"module"}');
  if (language === "TypeScript") await symlink(join(folder, "TypeScript/node_modules"), join(target, "node_modules"));
  return target;
}

/** The id that samples have for a parameter of a path. */
function exampleId(name) {
  const operation = operations.find(({ path }) => path.includes(`{${name}}`));
  const { pathname } = new URL(/https:[^'\s]*/.exec(sample(operation, "curl"))[0]);
  return pathname.split("/")[operation.path.split("/").indexOf(`{${name}}`)];
}

const RUNNERS = {
  curl: async (cwd, ids, env) => {
    // The status follows the body, and a file is printed as if it were the body.
    const one = `curl() { command curl -sS -w '\\n%{http_code}' "$@"; }; for id in "$@"; do rm -f ${FILE}; . "./$id.sh"; [ ! -f ${FILE} ] || cat ${FILE}; printf '\\0'; done`;
    const { stdout } = await run("bash", ["-c", one, "bash", ...ids], { cwd, env, timeout: RUN_MS_MAX, maxBuffer: 1 << 26 }).catch(failing);
    return stdout.split("\0").slice(0, -1).map((text, index) => {
      const isFile = /^\n\d{3}/.test(text) && text.length > 5;
      const [, body, status] = isFile ? [null, text.slice(4), text.slice(1, 4)] : /^(.*)\n(\d{3})$/s.exec(text);
      return status < "300" ? { id: ids[index], printed: [parsed(body) ?? Number(status)] } : { id: ids[index], failed: body };
    });
  },
  TypeScript: (cwd, ids, env) => withRunner(process.execPath, "run.mjs", cwd, ids, env),
  Python: (cwd, ids, env) => withRunner(PYTHON, "run.py", cwd, ids, { ...env, PYTHONPATH: join(ROOT, "sdk/python/src") }),
};

async function withRunner(command, script, cwd, ids, env) {
  const options = { cwd, env: { ...env, FILE, SAMPLES: JSON.stringify(ids) }, timeout: RUN_MS_MAX, maxBuffer: 1 << 26 };
  const { stdout } = await run(command, [join(HERE, "samples", script)], options).catch(failing);
  return stdout.trim().split("\n").map((line) => JSON.parse(line));
}

function parsed(body) {
  if (body === "") return undefined;
  try {
    return JSON.parse(body);
  } catch {
    return body;
  }
}

/** What the SDKs print of a reply, and what a client without them makes of the same reply. */
const OF_SDK = {
  fetchVersion: ({ title, questions }) => [title, questions.length],
  resolveFlow: ({ flowVersionId, status }) => [flowVersionId, status],
  submitResponse: ({ result: { data } }) => [data.responseId],
  validateResponse: ({ result: { data } }) => [data.success],
};
/** The SDK for Python prints the items of all pages. */
const OF_ADMIN = { listEvents: ({ items }) => items, listResponses: ({ items }) => items };

/** Members whose values differ between the servers, the last two if midnight passed meanwhile. */
const OWN = new Set(["secret", "token", "tag", "draftTag", "latencyMillis", "days", "overTime"]);

/** Without what differs between the servers: ids, times, secrets, addresses. */
function masked(value) {
  if (Array.isArray(value)) return value.map(masked);
  if (typeof value === "string") {
    return value.replaceAll(/\b(app|fl|fv|rs|rp|tk|us|fa|rep|as|ml|evt|ep|dl|pk|ik|au)_[0-9A-Za-z]{22}\b/g, "$1_…")
      .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "time").replaceAll(/127\.0\.0\.1:\d+/g, "server").replaceAll(/(\/r\/|#)[\w-]{16,}/g, "$1…");
  }
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([name, it]) => [name, OWN.has(name) ? "…" : masked(it)]));
}

test("the samples of all operations do the same in the three languages", { timeout: 2 * RUN_MS_MAX }, async (t) => {
  const reads = operations.filter(({ method }) => method === "get").map(({ operationId }) => operationId);
  const all = operations.map(({ operationId }) => operationId);
  assert.deepEqual([...new Set([...reads, ...CHANGES])].sort(), all, "every operation is run");
  const order = [...reads, ...CHANGES];
  const outcomes = Object.fromEntries(await Promise.all(Object.entries(LANGUAGES).map(async ([language, extension]) => {
    const cwd = await fill(language, extension === "ts" ? "js" : extension);
    const env = { PATH: process.env.PATH, HOME: folder, SLUICE_TOKEN: worlds[language].server.token };
    return [language, await RUNNERS[language](cwd, order, env)];
  })));
  for (const [index, id] of order.entries()) {
    await t.test(id, () => {
      const [curl, ts, py] = Object.keys(LANGUAGES).map((language) => outcomes[language][index]);
      for (const outcome of [curl, ts, py]) assert.equal(outcome?.id, id);
      if (REFUSED[id]) {
        for (const { failed } of [curl, ts, py]) assert.equal(parsed(failed)?.code, REFUSED[id]);
        return;
      }
      for (const { failed } of [curl, ts, py]) assert.equal(failed, undefined);
      const [reply] = curl.printed;
      assert.deepEqual(masked(ts.printed), masked(OF_SDK[id]?.(reply) ?? [reply]), "TypeScript");
      assert.deepEqual(masked(py.printed), masked(OF_SDK[id]?.(reply) ?? OF_ADMIN[id]?.(reply) ?? [reply]), "Python");
    });
  }
});
