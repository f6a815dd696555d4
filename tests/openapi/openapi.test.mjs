// The OpenAPI document of a running server: linters find no errors, and clients that are generated from it compile without casts and do the
// whole story: create and publish a flow, resolve, fetch, judge, submit, read results, filter by a tag, export.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { promisify } from "node:util";

import { PYTHON } from "../clients/python.mjs";
import { startServer } from "../clients/server.mjs";

const run = promisify(execFile);
const HERE = import.meta.dirname;
const TOKEN = "token-of-the-client-tests-0123456789";
const tool = (name) => join(HERE, "node_modules/.bin", name);

let server, folder, document;
before(async () => {
  server = await startServer();
  folder = await mkdtemp(join(tmpdir(), "sluice-openapi-"));
  document = join(folder, "openapi.json");
  await writeFile(document, await (await fetch(`${server.url}/openapi.json`)).text());
  await cp(join(HERE, "stories"), folder, { recursive: true });
  await symlink(join(HERE, "node_modules"), join(folder, "node_modules"));
  await writeFile(join(folder, "package.json"), '{"type":"module"}');
});
after(async () => {
  await server?.stop();
  if (folder) await rm(folder, { recursive: true, force: true });
});

/** The output of a command; its exit status does not matter. */
async function output(command, args) {
  const { stdout } = await run(command, args, { cwd: folder, maxBuffer: 64 * 1024 * 1024 }).catch((failed) => failed);
  return stdout;
}

/** Runs a command in the folder; a failure shows what it printed. */
async function works(command, args, options = {}) {
  try {
    return (await run(command, args, { cwd: folder, maxBuffer: 64 * 1024 * 1024, ...options })).stdout;
  } catch (failed) {
    throw new Error(`${command} ${args.join(" ")}: ${failed.stdout}\n${failed.stderr}`);
  }
}

describe("linters", { concurrency: true }, () => {
  test("redocly finds no errors", async (context) => {
    const { totals, problems } = JSON.parse(await output(tool("redocly"), ["lint", document, "--format", "json", "--max-problems", "500"]));
    context.diagnostic(`${totals.errors} errors, ${totals.warnings} warnings`);
    assert.deepEqual(problems.filter(({ severity }) => severity === "error"), []);
    assert.equal(totals.errors, 0);
  });

  test("spectral finds no errors", async (context) => {
    const found = JSON.parse(await output(tool("spectral"), ["lint", document, "--ruleset", join(HERE, ".spectral.yaml"), "--format", "json", "--quiet"]));
    const errors = found.filter(({ severity }) => severity === 0);
    context.diagnostic(`${errors.length} errors, ${found.length - errors.length} warnings`);
    assert.deepEqual(errors, []);
  });
});

describe("generated clients", { concurrency: true }, () => {
  test("openapi-typescript and @hey-api/openapi-ts", async () => {
    const config = {
      input: document, output: { path: join(folder, "hey"), module: { extension: ".js" } }, plugins: ["@hey-api/client-fetch"], logs: { level: "error" },
    };
    await writeFile(join(folder, "hey.config.mjs"), `export default ${JSON.stringify(config)};`);
    await Promise.all([
      works(tool("openapi-typescript"), [document, "-o", join(folder, "schema.d.ts")]),
      works(tool("openapi-ts"), ["-f", join(folder, "hey.config.mjs")]),
    ]);
    for (const name of ["openapi-fetch.ts", "hey-api.ts"]) {
      const text = await readFile(join(HERE, "stories", name), "utf8");
      assert.doesNotMatch(text, /\bas (?!const)[A-Za-z{]|@ts-|\bany\b|!\./, `${name} has a cast`);
    }
    const options = {
      strict: true, noUncheckedIndexedAccess: true, target: "es2022", module: "nodenext", outDir: "out", skipLibCheck: false, lib: ["es2022", "dom", "dom.iterable"],
      types: ["node"],
    };
    await writeFile(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions: options, files: ["openapi-fetch.ts", "hey-api.ts"] }));
    await works(tool("tsc"), ["-p", "."]);
    for (const name of ["openapi-fetch.js", "hey-api.js"]) {
      assert.match(await works(process.execPath, [join(folder, "out", name), server.url, TOKEN]), /^done/);
    }
  });

  test("openapi-python-client", async () => {
    const env = { ...process.env, PATH: `${dirname(PYTHON)}:${process.env.PATH}` };
    const options = ["generate", "--path", document, "--output-path", join(folder, "sluice_client"), "--meta", "none"];
    await works(join(dirname(PYTHON), "openapi-python-client"), options, { env });
    assert.doesNotMatch(await readFile(join(HERE, "stories/story.py"), "utf8"), /\bcast\(|type: ignore|\bAny\b/, "story.py has a cast");
    await works(PYTHON, ["-m", "mypy", "--strict", "--follow-imports=silent", "story.py"], { env });
    assert.match(await works(PYTHON, ["story.py", server.url, TOKEN]), /^done/);
  });
});
