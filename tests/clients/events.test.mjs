// The snippets of docs/events.md, extracted and run unchanged: each verifies what the real server sends, the function that
// catches up gets the whole log, and the recipe for a warehouse loads it into DuckDB.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, unlink, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";

import { python } from "./python.mjs";
import { startServer } from "./server.mjs";

const run = promisify(execFile);
const COMPILER = join(import.meta.dirname, "node_modules/.bin/tsc");
const GUIDE = await readFile(join(import.meta.dirname, "../../docs/events.md"), "utf8");
const WAIT_MS_MAX = 120_000;

/** The code blocks below a heading, by language; the first of each. */
function blocks(heading) {
  const section = GUIDE.split(/^##+ /m).find((text) => text.startsWith(`${heading}\n`));
  const found = [...section.matchAll(/^```(\w+)\n(.*?)^```$/gms)].reverse();
  return new Map(found.map(([, language, code]) => [language, code]));
}

const SNIPPETS = blocks("Verify a signature");
/** Run by the tests of the binary. */
const ELSEWHERE = ["rust"];

/** A temporary folder, below `parent`. */
async function inFolder(parent, work) {
  const folder = await mkdtemp(join(parent, "events-"));
  try {
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/**
 * By language: `missing`, the reason why it cannot run; `verify`, whether its snippet accepts each of these requests, given as
 * `{secret, headers, body}`.
 */
const LANGUAGES = {
  ts: {
    missing: async () => undefined,
    // Below this folder, so that the library is resolved as in a project.
    verify: (snippet, requests) => inFolder(import.meta.dirname, async (folder) => {
      await writeFile(join(folder, "verify.ts"), snippet);
      await writeFile(join(folder, "requests.json"), JSON.stringify(requests));
      await writeFile(join(folder, "main.mjs"), `
        import { readFileSync } from "node:fs";
        import { verify } from "./verify.js";
        const requests = JSON.parse(readFileSync("requests.json", "utf8"));
        const accepts = ({ secret, headers, body }) => {
          try {
            return verify(secret, headers, body).id === JSON.parse(body).id;
          } catch {
            return false;
          }
        };
        console.log(JSON.stringify(requests.map(accepts)));
      `);
      const strict = ["--strict", "--skipLibCheck", "--target", "es2022", "--module", "nodenext", "--types", "node"];
      await run(COMPILER, [...strict, "verify.ts"], { cwd: folder })
        .catch((error) => { throw new Error(error.stdout || error.message); });
      return JSON.parse((await run(process.execPath, ["main.mjs"], { cwd: folder })).stdout);
    }),
  },
  python: {
    missing: async () => undefined,
    verify: async (snippet, requests) => JSON.parse(await python(["-c", `${snippet}
import json, sys
def accepts(secret, headers, body):
    try:
        return verify(secret, headers, body)["id"] == json.loads(body)["id"]
    except Exception:
        return False
print(json.dumps([accepts(**request) for request in json.load(sys.stdin)]))
`], JSON.stringify(requests))),
  },
  go: {
    missing: () => run("go", ["version"]).then(() => undefined, () => "Go is not installed"),
    verify: (snippet, requests) => inFolder(tmpdir(), async (folder) => {
      const imports = ["crypto/hmac", "crypto/sha256", "encoding/base64", "encoding/json", "errors", "fmt", "net/http", "os",
        "strconv", "strings", "time"];
      const main = `
        type request struct { Secret string; Headers map[string]string; Body string }
        func main() {
          var requests []request
          if err := json.NewDecoder(os.Stdin).Decode(&requests); err != nil { panic(err) }
          accepted := []bool{}
          for _, it := range requests {
            header := http.Header{}
            for name, value := range it.Headers { header.Set(name, value) }
            accepted = append(accepted, Verify(it.Secret, header, []byte(it.Body)) == nil)
          }
          json.NewEncoder(os.Stdout).Encode(accepted)
        }`;
      await writeFile(join(folder, "go.mod"), "module snippet\ngo 1.19\n");
      const list = imports.map((name) => JSON.stringify(name)).join("; ");
      await writeFile(join(folder, "main.go"), `package main\nimport (${list})\n${snippet}\n${main}\n`);
      const env = { HOME: folder, GOTOOLCHAIN: "local", GOFLAGS: "-mod=mod", ...process.env };
      const going = run("go", ["run", "."], { cwd: folder, env });
      going.child.stdin.end(JSON.stringify(requests));
      return JSON.parse((await going).stdout);
    }),
  },
};

let server;
let app;
let flow;
/** What a receiver of the app got, and its secret. */
const got = [];
let secret;
let listener;

before(async () => {
  server = await startServer({ args: ["--webhook-allow", "127.0.0.0/8", "--webhook-allow-http"] });
  app = await server.createApp("Events");
  const definition = { title: "Reported", questions: [{ id: "why", type: "longText", prompt: "Why?" }] };
  flow = await server.createFlow(app.appId, "Events", definition);
  listener = createServer(async (request, reply) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const { host, connection, ...headers } = request.headers;
    got.push({ headers, body: Buffer.concat(chunks).toString("utf8") });
    reply.writeHead(204).end();
  });
  listener.listen(0, "127.0.0.1");
  await once(listener, "listening");
  const url = `http://127.0.0.1:${listener.address().port}/`;
  ({ secret } = await server.admin("POST", `/apps/${app.appId}/webhooks`, { url, events: ["response.created"] }));
});
after(async () => {
  listener?.closeAllConnections();
  listener?.close();
  await server?.stop();
});

async function submit(why) {
  const input = {
    flowVersionId: flow.flowVersionId, flowVersionPayloadGeneration: "4",
    respondentAnalyticsAdmission: "collection_only", answers: { why },
  };
  const reply = await fetch(`${app.base}/trpc/response.submit`, {
    method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(input),
  });
  return (await reply.json()).result.data.responseId;
}

async function until(what, isMet) {
  const end = Date.now() + WAIT_MS_MAX;
  while (!(await isMet())) {
    assert.ok(Date.now() < end, `${what} did not happen`);
    await sleep(50);
  }
}

/** The events of a type in the log, once it has this many. */
async function logged(type, count) {
  let items;
  await until(`${count} events ${type}`, async () => {
    ({ items } = await server.admin("GET", `/apps/${app.appId}/events?limit=1000&types=${type}`));
    return items.length >= count;
  });
  return items;
}

/** Waits until the log names each of these responses. */
async function untilLogged(responses) {
  await until("every response in the log", async () => {
    const created = await logged("response.created", responses.length);
    return responses.every((id) => created.some((it) => it.data.response.responseId === id));
  });
}

test("every snippet of the guide is run by some test", () => {
  assert.deepEqual([...SNIPPETS.keys()].sort(), [...Object.keys(LANGUAGES), ...ELSEWHERE].sort());
});

for (const [language, { missing, verify }] of Object.entries(LANGUAGES)) {
  test(`the ${language} snippet verifies what the server sends, and nothing else`, async (t) => {
    const absent = await missing();
    if (absent) return t.skip(absent);
    const before = got.length;
    await submit(`é of ${language}`);
    await until("a delivery", () => got.length > before);
    const { headers, body } = got.at(-1);
    const changed = (name, value) => ({ secret, headers: { ...headers, [name]: value }, body });
    const requests = [
      { secret, headers, body },
      changed("webhook-signature", `v1,AAAA ${headers["webhook-signature"]}`),
      { secret: `whsec_${Buffer.alloc(24).toString("base64")}`, headers, body },
      { secret, headers, body: `${body} ` },
      changed("webhook-id", "evt_1"),
      changed("webhook-timestamp", String(Number(headers["webhook-timestamp"]) - 1_000)),
      changed("webhook-timestamp", "soon"),
      changed("webhook-signature", "v1,AAAA"),
    ];
    assert.deepEqual(await verify(SNIPPETS.get(language), requests), requests.map((_, index) => index < 2));
  });
}

test("a reader that catches up gets every event of the log, also in many pages", async () => {
  const snippet = blocks("Catch up after an outage").get("python").replace("limit=1000", "limit=2");
  const submitted = [];
  for (let number = 0; number < 5; number += 1) submitted.push(await submit(`caught up ${number}`));
  await untilLogged(submitted);
  const all = (await server.admin("GET", `/apps/${app.appId}/events?limit=1000`)).items;
  const first = "evt_0000000000000000000000";
  const program = `${snippet}
import sys
events = []
base, token, app, after = sys.argv[1:]
position = catch_up(base, token, app, after, events.append)
again = catch_up(base, token, app, position, events.append)
print(json.dumps([event["id"] for event in events]))
`;
  const read = async (after) => JSON.parse(await python(["-c", program, server.url, server.token, app.appId, after]));
  assert.deepEqual(await read(first), all.map((event) => event.id));
  assert.deepEqual(await read(all[1].id), all.slice(2).map((event) => event.id), "after an event");
});

test("the recipe loads the log into a warehouse: repetitions and deleted responses are gone", async () => {
  const recipe = blocks("Load events into a warehouse");
  assert.deepEqual([...recipe.keys()].sort(), ["python", "sh", "sql"]);
  await inFolder(tmpdir(), async (folder) => {
    await writeFile(join(folder, "pull.py"), recipe.get("python"));
    await writeFile(join(folder, "load.sql"), recipe.get("sql"));
    // The two commands of the guide, with the library instead of the command line of DuckDB.
    const env = { SLUICE: server.url, TOKEN: server.token, APP: app.appId };
    const pull = () => python(["-c", `
import os, runpy
os.chdir(${JSON.stringify(folder)})
os.environ.update(${JSON.stringify(env)})
runpy.run_path("pull.py")
`]);
    const query = recipe.get("sh").match(/"(SELECT .*)"/)[1];
    const load = async () => JSON.parse(await python(["-c", `
import duckdb, json, os
os.chdir(${JSON.stringify(folder)})
db = duckdb.connect("warehouse.db")
db.execute(open("load.sql").read())
parquet = db.execute("SELECT response_id FROM 'responses.parquet' ORDER BY response_id").fetchall()
print(json.dumps({"answers": db.execute(${JSON.stringify(query)}).fetchall(), "parquet": [row[0] for row in parquet],
  "events": db.execute("SELECT count(*) FROM events").fetchone()[0]}))
`]));
    const doomed = await submit("to be deleted");
    const kept = (await Promise.all(["a", "b", "b"].map((why) => submit(`loaded ${why}`)))).sort();
    await untilLogged([doomed, ...kept]);
    await pull();
    const before = await load();
    assert.ok(before.parquet.includes(doomed));
    const counted = (answers, answer) => answers.find((row) => row[1] === answer)?.[2];
    assert.deepEqual(["a", "b"].map((it) => counted(before.answers, `loaded ${it}`)), [1, 2]);
    // Without its position everything is pulled again; then only what is new.
    await unlink(join(folder, "position"));
    await server.admin("DELETE", `/responses/${doomed}`);
    await logged("response.deleted", 1);
    await pull();
    const lines = (await readFile(join(folder, "events.jsonl"), "utf8")).trim().split("\n").length;
    await pull();
    assert.equal((await readFile(join(folder, "events.jsonl"), "utf8")).trim().split("\n").length, lines);
    const loaded = await load();
    assert.ok(lines > loaded.events, "the file has repetitions");
    assert.ok(!loaded.parquet.includes(doomed), "a deleted response is loaded");
    assert.ok(kept.every((id) => loaded.parquet.includes(id)));
    assert.equal(counted(loaded.answers, "to be deleted"), undefined);
    assert.deepEqual(["a", "b"].map((it) => counted(loaded.answers, `loaded ${it}`)), [1, 2]);
  });
});
