// Every code block of docs/ is accounted for: commands and requests are run here, against a real server, or in guides-stories.test.mjs; the
// tables name the test that runs or covers a block otherwise, or why none does. A new block that is neither fails the first test.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, before, test } from "node:test";
import { promisify } from "node:util";

import { blocks, DOCS, ROOT } from "./guide-blocks.mjs";
import { startServer } from "./server.mjs";

const run = promisify(execFile);
const BINARY = resolve(process.env.SLUICE_BIN ?? join(ROOT, "target/debug/sluice"));
const RUN_MS_MAX = 120_000;
/** One pixel. */
const JPEG = [
  "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAP////////////////////////////////////////////////////////////////////////////",
  "//////////2wBDAf//////////////////////////////////////////////////////////////////////////////////////wAARCAAB",
  "AAEDASIAAhEBAxEB/8QAFQABAQAAAAAAAAAAAAAAAAAAAAL/xAAUEAEAAAAAAAAAAAAAAAAAAAAA/8QAFQEBAQAAAAAAAAAAAAAAAAAAAQP/xA",
  "AUEQEAAAAAAAAAAAAAAAAAAAAA/9oADAMBAAIRAxEAPwCQAo//2Q==",
].join("");

/** Pages whose blocks another test runs, and the test. */
const PAGES_ELSEWHERE = {
  "identity": "tests/clients/snippets.test.mjs",
  "question-types": "tests/clients/docs.test.mjs",
  "start": "tests/clients/docs.test.mjs",
};

/**
 * The blocks of the other pages that are not commands for this server: [page, part of the block, the file that covers it]. A file with
 * many tests is followed by the name of the test.
 */
const ELSEWHERE = [
  ["api", '"code":"invalid"', "tests/clients/guides.test.mjs"],
  ["api", '"closeAfter":200', "tests/clients/guides.test.mjs"],
  ["api", "If-Match", "tests/clients/guides-stories.test.mjs"],
  ["assistants", "mcpServers", "tests/clients/mcp.test.mjs"],
  ["assistants", "--read-only", "tests/clients/mcp.test.mjs"],
  ["backup", "SLUICE_BACKUP_PASSPHRASE", "crates/sluice/tests/cli/backup.rs"],
  ["backup", "sluice restore /backup/full.gz", "tests/clients/guides-stories.test.mjs"],
  ["backup", "--since /backup/full.gz", "tests/clients/guides-stories.test.mjs"],
  ["backup", "/usr/local/bin/sluice-backup FOLDER", "crates/sluice/tests/cli/backup.rs"],
  ["email", "--smtp-url", "tests/clients/guides-stories.test.mjs"],
  ["embed", "<iframe", "tests/browser/support/host.mjs"],
  ["embed", "embed.js", "tests/browser/embed-opened.test.mjs"],
  ["events", "def verify", "tests/clients/events.test.mjs"],
  ["events", "func Verify", "tests/clients/events.test.mjs"],
  ["events", "fn verify", "crates/sluice/tests/cli/signing.rs"],
  ["events", 'from "standardwebhooks"', "tests/clients/events.test.mjs"],
  ["events", "def catch_up", "tests/clients/events.test.mjs"],
  ["events", 'open("events.jsonl", "a")', "tests/clients/events.test.mjs"],
  ["events", "CREATE OR REPLACE TABLE", "tests/clients/events.test.mjs"],
  ["events", "duckdb warehouse.db", "tests/clients/events.test.mjs"],
  ["events", "text/event-stream", "crates/web/tests/admin/webhooks.rs", "fn the_event_log_is_streamed_from_the_last_event_id"],
  ["events", '"flow.published"', "crates/web/tests/admin/webhooks.rs", "fn the_event_log_is_read_page_by_page"],
  ["events", '"event.batch"', "crates/engine/tests/engine/webhooks/batches.rs", "fn events_of_a_second_share_a_request_that_is_signed_as_one"],
  ["events", '"omitted"', "crates/sluice/tests/cli/nats/mod.rs", "fn an_event_that_is_too_large_is_published_once_without_its_contents"],
  ["events", '"format": "slack"', "crates/web/tests/admin/webhooks.rs"],
  ["exports", "--follow responses/", "tests/clients/pipelines.test.mjs"],
  ["exports", "import duckdb", "tests/clients/pipelines.test.mjs"],
  ["exports", "import pandas", "tests/clients/pipelines.test.mjs"],
  ["exports", "def texts", "tests/clients/exports.py"],
  ["flows-as-code", "sluice flow apply", "tests/clients/guides-stories.test.mjs"],
  ["flows-as-code", "3 changes", "tests/clients/guides-stories.test.mjs"],
  ["flows-as-code", "key: lunch", "tests/clients/guides-stories.test.mjs"],
  ["flows-as-code", "sluice flow pull", "tests/clients/guides-stories.test.mjs"],
  ["flows-as-code", "sluice flow window", "tests/clients/guides-stories.test.mjs"],
  ["flows", "unknown type; did you mean", "tests/clients/guides.test.mjs"],
  ["flows", "YAML reads this as a number", "tests/clients/guides.test.mjs"],
  ["funnel", '"opened": 120', "crates/web/tests/admin/funnel.rs", "fn a_funnel_has_the_figures_that_were_reported"],
  ["funnel", "navigator.sendBeacon", "tests/browser/visits.test.mjs"],
  ["import/README", "sluice import typeform", "tests/clients/guides-stories.test.mjs"],
  ["import/README", "runs from 1 to 5", "tests/clients/guides-stories.test.mjs"],
  ["import/README", '"notMapped"', "tests/clients/guides-stories.test.mjs"],
  ["import/google-forms", "FormApp.getActiveForm", "tests/clients/guides-stories.test.mjs"],
  ["import/google-forms", "sluice import", "tests/clients/guides-stories.test.mjs"],
  ["import/responses", "sluice import responses", "tests/clients/guides-stories.test.mjs"],
  ["import/responses", "columns:", "tests/clients/guides-stories.test.mjs"],
  ["import/responses", '"csv":true', "tests/clients/guides-stories.test.mjs"],
  ["import/surveyjs", "sluice import", "tests/clients/guides-stories.test.mjs"],
  ["import/xlsform", "sluice import", "tests/clients/guides-stories.test.mjs"],
  ["installing", "sudo sed", "tests/clients/guides-stories.test.mjs"],
  ["moving", "sluice move --from sqlite:sluice-data", "tests/clients/guides-stories.test.mjs"],
  ["proxies", "--trusted-proxies", "tests/clients/proxies.test.mjs"],
  ["respondents", '"remaining": 93600', "crates/admin/src/respondents.rs", "fn an_erasure_in_the_background_is_202_and_a_finished_one_is_200"],
  ["running", "sluice recount ", "tests/clients/guides-stories.test.mjs"],
  ["running", "[profiles.staging]", "tests/clients/guides-stories.test.mjs"],
  ["running", "--profile staging", "tests/clients/guides-stories.test.mjs"],
  ["running", "--tls-cert", "tests/clients/tls.test.mjs"],
  ["running", "--admin-listen", "tests/clients/tls.test.mjs"],
  ["running", "no-demo = true", "tests/clients/guides-stories.test.mjs"],
  ["scaling", "CREATE ROLE sluice", "tests/clients/guides-stories.test.mjs"],
  ["scaling", "# on every node", "tests/clients/guides-stories.test.mjs"],
  ["trpc", '"success":true,"responseId"', "tests/clients/protocol.test.mjs"],
  ["trpc", '"code":-32600', "tests/clients/protocol.test.mjs"],
  ["trpc", "must be answered", "tests/clients/guides.test.mjs"],
  ["trpc", "retryLink", "tests/clients/retry.test.mjs"],
];

/** The blocks that no test runs: [page, part of the block, why]. */
const NOT_RUN = [
  ["assistants", "cargo build", "a release build of minutes"],
  ["assistants", "claude mcp add", "needs that assistant; tests/clients/mcp.test.mjs runs the command that it starts"],
  ["backup", "age -r", "needs the tool age"],
  ["backup", "OnCalendar", "needs systemd"],
  ["console", "--oidc-issuer", "needs a provider; tests/browser/oidc.test.mjs runs one"],
  ["events", "cargo build", "a release build; crates/sluice/tests/cli runs the sink with a real NATS server"],
  ["import/formbricks", "formbricks.com", "the first command needs an account there; guides-stories.test.mjs runs the second"],
  ["import/typeform", "typeform.com", "the first command needs an account there; guides-stories.test.mjs runs the second"],
  ["installing", "apt install", "installs a package; packaging/try does it on a real systemd"],
  ["installing", "systemctl", "needs systemd; packaging/try runs one"],
  ["installing", "docker compose", "needs containers"],
  ["installing", "kubectl", "needs a cluster; packaging/check renders the chart"],
  ["moving", "--example fill", "a measurement of minutes"],
  ["operating", "prometheus.yml", "a file of another program; tests/observability/run checks the one in observability/prometheus"],
  ["operating", "cargo build", "a release build; crates/sluice/tests/cli/otlp.rs runs the export with a receiver"],
  ["performance", "cargo build", "a release build of minutes"],
  ["performance", "perf record", "needs a load of minutes"],
  ["reliability", "tests/faults/run --long", "hours; ./scripts/test runs tests/faults/run --ci"],
  ["releasing", "", "builds of minutes; packaging/try runs what they make"],
  ["respondents", "erasure_load", "a measurement of minutes"],
  ["running", "prometheus.yml", "a file of another program; parsed by docs.test.mjs"],
  ["scaling", "max_connections ≥", "a formula; crates/sluice/tests/cli/documents.rs compares its numbers"],
  ["scaling", "responses_2026_12", "needs partitioned tables; crates/store/tests creates them"],
  ["scaling", "synchronous_mode_strict", "a file of Patroni; tests/faults/patroni runs one"],
  ["scaling", "target_session_attrs", "needs three machines; tests/faults/patroni runs them on one"],
  ["scaling", "citus", "needs Citus; crates/store/tests/store/citus.rs runs on a cluster"],
  ["scaling", "coordinator", "needs Citus; crates/store/tests/store/citus.rs runs on a cluster"],
  ["scaling", "SLUICE_TEST_CITUS", "needs Citus"],
  ["scaling", "workers = peak", "a formula"],
];

const names = (await readdir(DOCS, { recursive: true })).filter((name) => name.endsWith(".md")).map((name) => name.slice(0, -3)).sort();
const listed = (table, name, code) => table.find(([page, part]) => page === name && code.includes(part));
const isFlow = (name, { language }) => name === "flows" && language === "yaml";
const isCommand = (name, block) =>
  block.language === "sh" && !listed(ELSEWHERE, name, block.code) && !listed(NOT_RUN, name, block.code);

let server;
let folder;
let env;
/** What the placeholders of the guides stand for. */
let ids;
before(async () => {
  server = await startServer({ args: ["--webhook-allow", "127.0.0.0/8"] });
  const app = await server.createApp("Guides");
  const questions = [
    { id: "nps", type: "nps", prompt: "Would you recommend us?" },
    { id: "why", type: "longText", prompt: "Why?" },
    { id: "plan", type: "singleChoice", prompt: "Plan?", options: [{ id: "pro", label: "Pro" }, { id: "free", label: "Free" }] },
    { id: "job", type: "shortText", prompt: "Job?" },
  ];
  const { flowId, flowVersionId } = await server.createFlow(app.appId, "Guides", { title: "Guides", questions });
  ids = { "sluice_…": server.token, "fl_…": flowId, "fv_…": flowVersionId, "app_…": app.appId };
  folder = await mkdtemp(join(tmpdir(), "sluice-guides-"));
  await mkdir(join(folder, "bin"));
  await symlink(BINARY, join(folder, "bin/sluice"));
  await writeFile(join(folder, "lunch.yaml"), "title: Lunch\nquestions: [{ id: a, type: yesNo, prompt: Good }]\n");
  await writeFile(join(folder, "people.csv"), "email,userId\nbob@example.com,bob\n");
  await writeFile(join(folder, "logo.svg"), '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 8 8"><rect width="8" height="8"/></svg>');
  await writeFile(join(folder, "cat.jpg"), Buffer.from(JPEG, "base64"));
  env = {
    PATH: `${join(folder, "bin")}:${process.env.PATH}`, HOME: folder, SLUICE_SERVER: server.url, SLUICE_URL: server.url, SLUICE: server.url,
    SLUICE_TOKEN: server.token, TOKEN: server.token, APP: app.appId, FLOW: flowId, VERSION: flowVersionId, KEY: app.base.split("/").at(-1),
  };
});
after(async () => {
  await server?.stop();
  if (folder) await rm(folder, { recursive: true, force: true });
});

const filled = (code) => Object.entries(ids).reduce((text, [name, id]) => text.replaceAll(name, id), code)
  .replaceAll(/https:\/\/feedback\.example\.com|http:\/\/127\.0\.0\.1:8080/g, server.url)
  // The end of an invitation or a report must be in the future; other times may have passed.
  .replaceAll(/(?<=--expires |"expiresAt": ")\d{4}/g, String(new Date().getUTCFullYear() + 2));

/** Commands that make what later commands of their block name, and the ids that they print. */
const MAKES = /^sluice (user add|invite add|flow push|token list|key create)/;
const MADE = /\b(us|fa|fl|tk|pk)_\w+/g;

/** Runs a block as a reader would, in one shell; a request that is refused fails it. */
async function shell(code) {
  const strict = `curl() { command curl -sS --fail --max-time 60 "$@"; }\n${filled(code)}`;
  const { stdout } = await run("bash", ["--norc", "-euo", "pipefail", "-c", strict], { cwd: folder, env, timeout: RUN_MS_MAX })
    .catch((error) => { throw new Error(`${code}\n${error.message}\n${error.stdout}`); });
  return stdout;
}

test("every block is run here, by a test that exists, or has a reason", async () => {
  for (const name of names.filter((name) => !PAGES_ELSEWHERE[name])) {
    for (const block of await blocks(name)) {
      const [covers, reason] = [ELSEWHERE, NOT_RUN].map((table) => listed(table, name, block.code));
      assert.ok(isCommand(name, block) || isFlow(name, block) || covers || reason, `no test runs this block of ${name}.md:\n${block.code}`);
      assert.ok(!(covers && reason), `${name}: ${covers}`);
    }
  }
  for (const path of Object.values(PAGES_ELSEWHERE)) assert.equal(await missing(path), "");
  for (const [, , path, name] of ELSEWHERE) assert.equal(await missing(path, name), "");
});

/** What is wrong with a file that is said to have a test; empty if nothing is. */
async function missing(path, name = "") {
  const file = await stat(join(ROOT, path)).catch(() => null);
  if (!file?.isFile()) return `${path} is not a file`;
  return (await readFile(join(ROOT, path), "utf8")).includes(name) ? "" : `${path} has no ${name}`;
}

test("an entry of the tables must be a file that has the test", async () => {
  for (const [path, name, expected] of [
    ["tests/clients", "", "tests/clients is not a file"],
    ["tests/clients/none.test.mjs", "", "tests/clients/none.test.mjs is not a file"],
    ["tests/clients/events.test.mjs", "no such test", "tests/clients/events.test.mjs has no no such test"],
    ["tests/clients/events.test.mjs", "", ""],
  ]) assert.equal(await missing(path, name), expected);
});

test("no entry of the tables is without its block", async () => {
  for (const [name, part] of [...ELSEWHERE, ...NOT_RUN]) {
    assert.ok((await blocks(name)).some(({ code }) => code.includes(part)), `${name}: ${part}`);
  }
});

for (const name of names) {
  test(`the commands of ${name}.md run`, async () => {
    for (const block of await blocks(name)) {
      if (PAGES_ELSEWHERE[name] || !isCommand(name, block)) continue;
      const before = { ...ids };
      const commands = block.code.trim().split("\n");
      for (const command of commands.some((it) => MAKES.test(it)) ? commands : [block.code]) {
        const printed = await shell(command);
        if (MAKES.test(command)) for (const [id, kind] of printed.matchAll(MADE)) ids[`${kind}_…`] = id;
      }
      ids = before;
    }
  });
}

const post = async (path, body) => (await fetch(`${server.url}${path}`, {
  method: "POST", headers: { "content-type": "application/json", authorization: `Bearer ${server.token}` }, body: JSON.stringify(body),
})).json();

test("the samples of replies in api.md and trpc.md are what the server says", async () => {
  const [error] = (await blocks("api")).filter(({ code }) => code.includes('"code":"invalid"'));
  const reply = await fetch(`${server.url}/api/admin/v1/flows/${env.FLOW}`, {
    method: "PATCH", headers: { "content-type": "application/json", authorization: `Bearer ${server.token}` }, body: '{"nmae":"x"}',
  });
  assert.deepEqual(await reply.json(), JSON.parse(error.code));
  const [limits] = (await blocks("api")).filter(({ code }) => code.includes('"closeAfter":200'));
  const set = await server.admin("PATCH", `/flows/${env.FLOW}`, JSON.parse(limits.code));
  assert.equal(set.closeAfter, 200);

  const [judged] = (await blocks("trpc")).filter(({ code }) => code.includes("must be answered"));
  const required = { title: "Required", questions: [{ id: "nps", type: "nps", prompt: "?", required: true }] };
  const { flowVersionId } = await server.createFlow(env.APP, "Required", required);
  const validate = (answers) => post(`/api/v1/${env.KEY}/trpc/response.validate`, {
    flowVersionId, flowVersionPayloadGeneration: "4", respondentAnalyticsAdmission: "collection_only", answers,
  });
  const samples = judged.code.replaceAll(/\n(?=\{)/g, "\u0000").split("\u0000").map((it) => JSON.parse(it));
  assert.deepEqual([await validate({ nps: "9" }), await validate({})], samples);
});

test("the faults that flows.md shows are what the check says", async () => {
  const shown = (await blocks("flows")).filter(({ language }) => language === "text").map(({ code }) => code.trim());
  const checked = async (text) => {
    await writeFile(join(folder, "lunch.yaml"), text);
    const { stdout } = await run("sluice", ["flow", "check", "lunch.yaml"], { cwd: folder, env }).catch((error) => error);
    return stdout;
  };
  const wrong = `title: Lunch
questions:
  - { id: a, type: npss, prompt: A }
  - { id: b, type: yesNo, prompt: B }
  - { id: c, type: yesNo, prompt: C, visibleIf: { question: d, answered: true } }
  - { id: d, type: yesNo, prompt: D }
`;
  for (const line of shown[0].split("\n")) assert.ok((await checked(wrong)).includes(line), `${line}\n${await checked(wrong)}`);
  const number = await checked("title: 2026\nquestions: [{ id: a, type: yesNo, prompt: A }]\n");
  assert.ok(number.includes(shown[1]), number);
});
