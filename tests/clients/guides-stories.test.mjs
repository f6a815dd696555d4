// Blocks of the guides that need more than a server: files, a database, another server. Each is taken from its page and run as it is; only
// addresses, paths and ids are replaced. guides.test.mjs lists which block is run where.

import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { copyFile, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import vm from "node:vm";

import { blockWith, commands, ROOT } from "./guide-blocks.mjs";
import { python } from "./python.mjs";
import { startServer } from "./server.mjs";
import { startMailServer } from "./smtp.mjs";

const run = promisify(execFile);
const BINARY = resolve(process.env.SLUICE_BIN ?? join(ROOT, "target/debug/sluice"));
const FIXTURES = join(ROOT, "crates/import/tests/fixtures");
const RUN_MS_MAX = 120_000;

let folder, server, app, env;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "sluice-stories-"));
  await mkdir(join(folder, "bin"));
  await symlink(BINARY, join(folder, "bin/sluice"));
  server = await startServer();
  app = await server.createApp("Stories");
  env = { PATH: `${join(folder, "bin")}:${process.env.PATH}`, HOME: folder, SLUICE_SERVER: server.url, SLUICE_TOKEN: server.token };
});
after(async () => {
  await server?.stop();
  if (folder) await rm(folder, { recursive: true, force: true });
});

/** Runs commands in one shell; they must end with this code. Returns what they printed. */
async function sh(code, { cwd = folder, ends = 0, more = {} } = {}) {
  const ran = await run("bash", ["--norc", "-euo", "pipefail", "-c", code], { cwd, env: { ...env, ...more }, timeout: RUN_MS_MAX, maxBuffer: 1 << 26 })
    .catch((error) => error);
  assert.equal(ran.code ?? 0, ends, `${code}\n${ran.stdout}\n${ran.stderr}`);
  return ran.stdout;
}

/** A folder for one story. */
async function place(name) {
  const path = join(folder, name);
  await mkdir(path);
  return path;
}

const LUNCH = `flow: { key: lunch, labels: [food] }
title: Lunch
questions:
  - { id: taste, type: rating, prompt: "How was lunch?" }
  - { id: why, type: longText, prompt: "Why?" }
`;
const VISIT = "flow: { key: visit }\ntitle: Visit\nquestions: [{ id: nps, type: nps, prompt: Again }]\n";

test("flows as code: every block of the page", async () => {
  const cwd = await place("flows-as-code");
  await mkdir(join(cwd, "flows"));
  const put = (name, text) => writeFile(join(cwd, "flows", name), text);
  await put("lunch.yaml", LUNCH);
  await put("visit.yaml", VISIT);
  await sh("sluice flow apply flows/*.yaml", { cwd });
  await put("lunch.yaml", LUNCH.replace("[food]", "[food, Q4]").replace("was lunch", "was your lunch").replace(/ {2}- \{ id: why.*\n/, ""));
  const [dryRun, apply] = commands(await blockWith("flows-as-code", "--dry-run    #"));
  assert.match(await sh(dryRun, { cwd, ends: 2 }), /1 would change, 1 unchanged/);
  const shown = await blockWith("flows-as-code", "3 changes");
  assert.equal((await sh(apply, { cwd })).replaceAll(/fv_\w+/g, "fv_…"), shown);

  await put("lunch.yaml", await blockWith("flows-as-code", "closeAfter: 500"));
  assert.match(await sh("sluice flow apply flows/*.yaml", { cwd }), /1 changed, 1 unchanged/);
  assert.match(await sh("sluice flow apply flows/*.yaml", { cwd }), /0 changed, 2 unchanged/);

  const flow = await server.createFlow(app.appId, "No key yet", { title: "No key yet", questions: [{ id: "a", type: "yesNo", prompt: "A" }] });
  const [pull, pullById, diff] = commands(await blockWith("flows-as-code", "sluice flow pull lunch"));
  await rm(join(cwd, "flows/lunch.yaml"));
  await sh(pull, { cwd });
  assert.match(await sh(diff, { cwd }), /0 would change, 2 unchanged/);
  // Another flow cannot have the key as well; its file has it, until one of them is given up.
  await sh(pullById.replace("fl_…", flow.flowId).replaceAll("lunch", "other"), { cwd });
  assert.match(await sh("cat flows/other.yaml", { cwd }), /key: other/);

  await rm(join(cwd, "flows/other.yaml"));
  await buildRuns(cwd, put);

  const lines = commands(await blockWith("flows-as-code", "sluice flow window"));
  assert.equal(lines.length, 6);
  // In order, as they are printed.
  const printed = [];
  for (const line of lines) printed.push(await sh(line, { cwd }));
  const { items: [{ flowId: lunch }] } = await server.admin("GET", `/apps/${app.appId}/flows?key=lunch`);
  assert.match(printed[0], /opens   2026-12-01T08:00:00.000Z\ncloses  2026-12-24T00:00:00.000Z/);
  assert.match(printed[1], /opens   any time\ncloses  never/);
  assert.match(printed[2], /opens   any time\ncloses  2/);
  assert.match(printed[3], /^3 +closed +fv_\w{22} .*\n2 /);
  assert.match(printed[4], /retired version \d+/);
  assert.match(await sh(`${lines.at(-1)} --restore`, { cwd }), new RegExp(`restored ${lunch}`));
});

/** The steps of the build on the page, with the environment that the page gives them and no other. */
async function buildRuns(cwd, put) {
  const text = await blockWith("flows-as-code", "steps:");
  const { jobs: { flows: job } } = JSON.parse(await python(["-c", "import json, sys, yaml; print(json.dumps(yaml.safe_load(sys.stdin)))"], text));
  const values = { "https://feedback.example.com": server.url, "${{ secrets.SLUICE_TOKEN }}": server.token };
  const given = (step) => Object.fromEntries(Object.entries({ ...job.env, ...step.env }).map(([name, value]) => [name, values[value] ?? value]));
  const none = { SLUICE_SERVER: undefined, SLUICE_TOKEN: undefined };
  const step = (start) => job.steps.find(({ run: code }) => code?.startsWith(start));
  const runs = (of, options) => sh(of.run, { cwd, ...options, more: { ...none, ...given(of), ...options?.more } });
  const [check, diff, apply] = ["sluice flow check", "sluice flow diff", "sluice flow apply"].map(step);
  assert.deepEqual(job.steps.filter((it) => it.run), [check, diff, apply]);
  assert.ok(job.steps.every((it) => it["continue-on-error"] === undefined), "nothing hides a fault");
  await runs(check);
  assert.match(await runs(diff), /0 would change/);
  // A difference passes, a fault does not.
  const file = await readFile(join(cwd, "flows/visit.yaml"), "utf8");
  await put("visit.yaml", file.replace("Again", "Once more"));
  assert.match(await runs(diff), /1 would change/);
  await runs(diff, { ends: 1, more: { SLUICE_TOKEN: undefined } });
  assert.match(await runs(apply), /1 changed/);
  await runs(check);
  assert.match(await runs(diff), /0 would change/);
}

const importFile = async (cwd, format, sample, name) => copyFile(join(FIXTURES, format, sample), join(cwd, name));

test("imports: the commands and the lists of every page", async () => {
  const cwd = await place("imports");
  await importFile(cwd, "typeform", "logic.json", "form.json");
  const [dryRun, create, toFile] = commands(await blockWith("import/README", "sluice import typeform"));
  const listed = await sh(dryRun, { cwd });
  for (const line of (await blockWith("import/README", "runs from 1 to 5")).trim().split("\n")) assert.ok(listed.includes(line), `${line}\n${listed}`);
  const app = `--app ${(await server.createApp("Imports")).appId}`;
  assert.match(await sh(`${create} ${app}`, { cwd }), /fl_\w{22}/);
  await sh(toFile, { cwd });
  await sh("sluice flow check form-flow.json", { cwd });
  const shown = JSON.parse(await blockWith("import/README", '"notMapped"'));
  const printed = JSON.parse(await sh(`${create} ${app} --json`, { cwd }));
  assert.deepEqual([printed.format, printed.mapped, printed.changed, printed.notMapped], [shown.format, shown.mapped, shown.changed, shown.notMapped]);
  assert.deepEqual(Object.keys(printed).sort(), Object.keys(shown).sort());
  assert.deepEqual(Object.keys(printed.elements[0]).sort(), Object.keys(shown.elements[0]).sort());
  assert.equal(printed.definition.title, shown.definition.title);
  for (const [format, sample, name] of [["surveyjs", "every-type.json", "survey.json"], ["xlsform", "every-type.xlsx", "form.xlsx"],
    ["google-forms", "every-type.json", "form.json"], ["typeform", "every-type.json", "form.json"], ["formbricks", "every-type.json", "survey.json"]]) {
    await importFile(cwd, format, sample, name);
    const command = commands(await blockWith(`import/${format}`, "sluice import")).find((line) => line.startsWith("sluice"));
    assert.match(await sh(command, { cwd }), /\d+ elements: \d+ mapped/, format);
  }
});

test("Google Forms: the script writes the file that the command reads", async () => {
  const code = await blockWith("import/google-forms", "FormApp.getActiveForm");
  for (const name of ["simple", "every-type", "logic-quiz"]) {
    const expected = JSON.parse(await readFile(join(FIXTURES, "google-forms", `${name}.json`), "utf8"));
    let written;
    vm.runInNewContext(`${code}\ndumpForm();`, { FormApp: { getActiveForm: () => googleForm(expected) }, Logger: { log: (text) => { written = text; } } });
    // Not read by the import.
    const { id, editUrl, publishedUrl, acceptsResponses, limitOneResponsePerUser, ...read } = expected;
    assert.deepEqual(JSON.parse(written), read, name);
  }
});

/** A form as Google's script sees it. */
function googleForm(form) {
  const getters = (object, names) => Object.fromEntries(Object.entries(names).map(([getter, key]) => [getter, () => object[key]]));
  const item = (it) => {
    const full = getters(it, {
      isRequired: "isRequired", hasOtherOption: "hasOtherOption", getPoints: "points", getLowerBound: "lowerBound", getUpperBound: "upperBound",
      getLeftLabel: "leftLabel", getRightLabel: "rightLabel", getRows: "rows", getColumns: "columns", includesYear: "includesYear",
      getRatingScaleLevel: "ratingScaleLevel", getRatingIcon: "ratingIcon", getPageNavigationType: "navigation",
    });
    // What an item does not have is not a method of it.
    for (const [getter, read] of Object.entries(full)) if (read() === undefined) delete full[getter];
    full.getGoToPage = () => (it.goToPage === undefined ? null : { getId: () => it.goToPage });
    if (it.choices) full.getChoices = () => it.choices.map(choice);
    const name = it.type.toLowerCase().replace(/(^|_)(.)/g, (_, gap, letter) => letter.toUpperCase());
    const method = it.type === "DATETIME" ? "asDateTimeItem" : `as${name}Item`;
    return { ...getters(it, { getId: "id", getIndex: "index", getType: "type", getTitle: "title", getHelpText: "helpText" }), [method]: () => full };
  };
  const choice = (it) => ({
    getValue: () => it.value,
    ...(it.isCorrect === undefined ? {} : { isCorrectAnswer: () => it.isCorrect }),
    getPageNavigationType: () => it.navigation ?? null,
    getGotoPage: () => (it.goToPage === undefined ? null : { getId: () => it.goToPage }),
  });
  const names = {
    getTitle: "title", getDescription: "description", getConfirmationMessage: "confirmationMessage", isQuiz: "isQuiz", collectsEmail: "collectsEmail",
  };
  return { ...getters(form, names), getItems: () => form.items.map(item) };
}

test("importing responses: the commands, the map and the file of refused rows", async () => {
  const cwd = await place("responses");
  const { appId } = await server.createApp("Responses");
  const questions = [{ id: "nps", type: "nps", prompt: "Would you recommend us?" }, { id: "why", type: "longText", prompt: "Why?" }];
  const { flowId } = await server.createFlow(appId, "Responses", { title: "Responses", questions });
  const [judge, store, storeExport] = commands(await blockWith("import/responses", "sluice import responses")).map((line) => line.replace("fl_…", flowId));
  await writeFile(join(cwd, "answers.csv"), "nps,why\n9,good\n3,slow\n");
  assert.match(await sh(judge, { cwd }), /2 /);
  await sh(store, { cwd });
  const stored = async () => (await server.admin("GET", `/flows/${flowId}/responses`)).items.map(({ answers }) => answers);
  assert.deepEqual(await stored(), [{ nps: "9", why: "good" }, { nps: "3", why: "slow" }]);
  await sh(`sluice responses export ${flowId} --format jsonl --out export.jsonl`, { cwd });
  await sh(storeExport, { cwd });
  assert.equal((await stored()).length, 4);

  await writeFile(join(cwd, "map.yaml"), await blockWith("import/responses", "columns:"));
  const mapped = 'How likely are you to recommend us?,Your e-mail,Plan,Start time\nExtremely likely,ada@example.com,pro,"10:00"\n';
  await writeFile(join(cwd, "mapped.csv"), mapped);
  await sh(`sluice import responses mapped.csv --flow ${flowId} --map map.yaml`, { cwd });
  const last = (await server.admin("GET", `/flows/${flowId}/responses?order=desc&limit=1`)).items[0];
  assert.deepEqual([last.answers, last.metadata.tags.plan], [{ nps: "10" }, "pro"]);

  await writeFile(join(cwd, "wrong.csv"), "nps,why\n9,good\n11,fast\n");
  await sh(`sluice import responses wrong.csv --flow ${flowId} --refused refused.jsonl`, { cwd, ends: 3 });
  const shown = await blockWith("import/responses", '"csv":true');
  const refused = await readFile(join(cwd, "refused.jsonl"), "utf8");
  assert.equal(refused.replace(/(?<="key":")[0-9a-f]{64}(?=")/, "0f3a…"), shown);
});

test("the API: a change with the entity tag that was read", async () => {
  const { flowId } = await server.createFlow(app.appId, "Tagged", { title: "Tagged", questions: [{ id: "a", type: "yesNo", prompt: "A" }] });
  const [read, change] = commands(await blockWith("api", "If-Match")).map((line) => line.replaceAll("fl_…", flowId).replaceAll("$URL", `${server.url}/api/admin/v1`));
  const [, tag] = /^etag: (".*")\r$/im.exec(await sh(read));
  assert.equal(JSON.parse(await sh(change.replace('"3f1c…"', tag))).name, "Feedback 2027");
  assert.match(await sh(change.replace('"3f1c…"', tag)), /precondition_failed/);
});

test("the first user and app after an installation", async () => {
  const cwd = await place("installed");
  await writeFile(join(cwd, "sluice.env"), `# The administrator's token.\nSLUICE_ADMIN_TOKEN=${server.token}\nSLUICE_DATA=/var/lib/sluice\n`);
  const code = (await blockWith("installing", "sudo sed")).replace("sudo sed", "sed").replace("/etc/sluice/", "");
  const printed = await sh(code, { cwd, more: { SLUICE_TOKEN: undefined } });
  assert.match(printed, /\/console\/welcome#/);
  assert.match(printed, /app_\w{22}/);
});

test("profiles: the file and the commands", async () => {
  const home = await place("profiles");
  const file = (await blockWith("running", "[profiles.staging]"))
    .replaceAll(/https:\/\/\w+\.example\.com/g, server.url).replaceAll("sluice_…", server.token).replace("app_…", app.appId);
  await mkdir(join(home, ".config/sluice"), { recursive: true });
  await writeFile(join(home, ".config/sluice/config.toml"), file, { mode: 0o600 });
  const named = { HOME: home, SLUICE_SERVER: undefined, SLUICE_TOKEN: undefined };
  for (const line of commands(await blockWith("running", "--profile staging"))) assert.match(await sh(line, { more: named }), /fl_\w{22}/);
});

test("a server by its configuration file; its counts, its backups, and all of them restored", async () => {
  const cwd = await place("operate");
  const [data, other, kept] = ["data", "new", "backup"].map((name) => join(cwd, name));
  await mkdir(kept);
  const config = (await blockWith("running", "no-demo = true")).replace("0.0.0.0:8080", "127.0.0.1:0").replace("/var/lib/sluice", data);
  await writeFile(join(cwd, "sluice.toml"), config);
  const child = spawn(BINARY, ["serve", "--config", "sluice.toml"], { cwd, env, stdio: ["ignore", "pipe", "ignore"] });
  const ended = once(child, "exit");
  const [line] = await once(createInterface(child.stdout), "line");
  assert.match(line, /^Sluice listening on http/);
  const paths = (code) => code.replaceAll("/var/lib/sluice-new", other).replaceAll("/var/lib/sluice", data).replaceAll("/backup/", `${kept}/`);
  const more = { SLUICE_BACKUP_PASSPHRASE: "a passphrase for the story" };
  await sh(`sluice backup ${kept}/full.gz --data ${data}`, { cwd, more });
  await sh(paths(await blockWith("backup", "/backup/day.gz --since")), { cwd, more });
  child.kill("SIGTERM");
  assert.deepEqual(await ended, [0, null]);
  const [recount] = commands(await blockWith("running", "sluice recount "));
  await sh(`${recount} --data ${data}`, { cwd });
  const [full, day] = commands(await blockWith("backup", "sluice restore /backup/full.gz"));
  await sh(paths(full), { cwd, more });
  // One or the other, into an empty folder.
  await rm(other, { recursive: true });
  await sh(paths(day), { cwd, more });
  await sh(`sluice verify --data ${other}`, { cwd });
});

test("PostgreSQL: moving a database, restoring a backup, and a node", async () => {
  const cwd = await place("postgres");
  const database = spawn(join(ROOT, "scripts/postgres"), [], { stdio: ["pipe", "pipe", "inherit"] });
  const ended = once(database, "exit");
  try {
    const [address] = await once(createInterface(database.stdout), "line");
    const psql = (sql, url = address) => sh(`PATH=$PATH:$(ls -d /usr/lib/postgresql/*/bin | tail -n 1) psql -X -q -v ON_ERROR_STOP=1 -d '${url}' -c "$SQL"`, { cwd, more: { SQL: sql } });
    const at = (name) => address.replace("/postgres?", `/${name}?`);
    const roles = (await blockWith("scaling", "CREATE ROLE sluice")).replaceAll("sluice", "feedback");
    for (const statement of roles.split(";").filter((it) => it.trim() !== "")) await psql(statement);
    await psql("CREATE DATABASE moved");
    await psql("CREATE DATABASE empty");
    await mkdir(join(cwd, "sluice-data"));
    const first = spawn(BINARY, ["serve", "--listen", "127.0.0.1:0", "--data", "sluice-data"], { cwd, env, stdio: ["ignore", "pipe", "ignore"] });
    await once(createInterface(first.stdout), "line");
    await sh("sluice backup full.gz --data sluice-data", { cwd });
    const firstEnded = once(first, "exit");
    first.kill("SIGTERM");
    await firstEnded;
    const move = (await blockWith("moving", "sluice move --from sqlite:sluice-data")).replace("postgres://sluice@db.example/sluice", `'${at("moved")}'`);
    assert.match(await sh(move, { cwd }), /responses|records|moved/i);
    const [toNodes, serve] = commands(await blockWith("scaling", "# on every node"));
    const onNode = (line) => line.replace("sqlite:/var/lib/sluice/sluice.db", "sqlite:sluice-data/sluice.db").replace(/'postgres:\/\/sluice:…@db1[^']*'/, `'${at("feedback")}'`);
    await sh(onNode(toNodes), { cwd });
    const node = spawn("bash", ["-c", `exec ${onNode(serve).replace("0.0.0.0:8080", "127.0.0.1:0")} --data sluice-data`], { cwd, env, stdio: ["ignore", "pipe", "ignore"] });
    const nodeEnded = once(node, "exit");
    const [line] = await once(createInterface(node.stdout), "line");
    assert.equal((await fetch(`${line.split(" ").at(-1)}/readyz`)).status, 200);
    node.kill("SIGTERM");
    assert.deepEqual(await nodeEnded, [0, null]);
    const restore = commands(await blockWith("backup", "sluice restore /backup/full.gz")).at(-1);
    await sh(restore.replace("/backup/full.gz", "full.gz").replace("postgres://sluice@db.example/empty", `'${at("empty")}'`).replace("/etc/sluice", "restored"), { cwd });
    assert.match(await sh(`sluice verify --store '${at("empty")}' --data restored`, { cwd }), /./);
  } finally {
    database.stdin.end();
    await ended;
  }
});

test("e-mail: a server with the settings of the page, and its test", async () => {
  const cwd = await place("email");
  const mail = await startMailServer("none", { password: "secret" });
  try {
    const [serve, send] = commands(await blockWith("email", "--smtp-url"));
    const filled = serve.replace("SLUICE_SMTP_PASSWORD=…", "").replace("mail.example.com:587", `127.0.0.1:${mail.port}?tls=none`).replace("feedback@", "sluice@");
    const child = spawn("bash", ["-c", `exec ${filled} --listen 127.0.0.1:0 --data data`], {
      cwd, env: { ...env, SLUICE_SMTP_PASSWORD: "secret", SLUICE_ADMIN_TOKEN: server.token }, stdio: ["ignore", "pipe", "inherit"],
    });
    const ended = once(child, "exit");
    const [line] = await once(createInterface(child.stdout), "line");
    await sh(send, { cwd, more: { SLUICE_SERVER: line.split(" ").at(-1) } });
    assert.ok(await mail.mailTo("you@example.com"));
    child.kill("SIGTERM");
    assert.deepEqual(await ended, [0, null]);
  } finally {
    await mail.stop();
  }
});
