// How to run a snippet of each language: the code block of the guide, followed by a call of its function.
//
// If the runtime or library of a language is missing, its test is skipped with the reason. TypeScript and
// Python are always available, because the tests install their libraries. Rust is not here: the tests of the
// binary compile and run its snippet.

import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

import { python } from "./python.mjs";

const run = promisify(execFile);
const COMPILER = join(import.meta.dirname, "node_modules/.bin/tsc");
/** Without a network, the module of Go is never there. */
const LOOK_MS_MAX = 120_000;
const GO_JWT = "github.com/golang-jwt/jwt/v5 v5.2.2";

/** Runs `work` in a temporary folder. */
async function inFolder(parent, work) {
  const folder = await mkdtemp(join(parent, "snippet-"));
  try {
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** The reason why a command cannot run in a folder, or nothing if it can. */
function missing(what, cwd, command, ...args) {
  const reason = (error) => `${what}: ${(error.stderr || error.message).trim().split("\n")[0]}`;
  return run(command, args, { cwd, timeout: LOOK_MS_MAX }).then(() => undefined, reason);
}

/** By fence name: `missing`, the reason why it cannot run; `sign`, the token that a snippet creates. */
export const LANGUAGES = {
  ts: {
    missing: async () => undefined,
    // Below this folder, so that "jose" is resolved as in a project.
    sign: (snippet, args) => inFolder(import.meta.dirname, async (folder) => {
      await writeFile(join(folder, "sign.ts"), snippet);
      const call = `import { sign } from "./sign.js"; console.log(await sign(...process.argv.slice(2)));`;
      await writeFile(join(folder, "main.mjs"), call);
      const strict = ["--strict", "--skipLibCheck", "--target", "es2022", "--module", "nodenext", "--types", "node"];
      await run(COMPILER, [...strict, join(folder, "sign.ts")], { cwd: folder })
        .catch((error) => { throw new Error(error.stdout || error.message); });
      return (await run(process.execPath, [join(folder, "main.mjs"), ...args])).stdout.trim();
    }),
  },
  python: {
    missing: async () => undefined,
    sign: (snippet, args) => python(["-", ...args], `${snippet}\nimport sys\nprint(sign(*sys.argv[1:]))\n`),
  },
  go: {
    missing: async () => (await missing("no Go", ".", "go", "version")) ?? inFolder(tmpdir(), async (folder) => {
      await goModule(folder);
      return missing(`no ${GO_JWT}`, folder, "go", "mod", "download");
    }),
    sign: (snippet, args) => inFolder(tmpdir(), async (folder) => {
      await goModule(folder);
      const imports = `package main\nimport ("fmt"; "os"; "time"; "github.com/golang-jwt/jwt/v5")\n`;
      const call = `func main() {
        token, err := Sign(os.Args[1], os.Args[2], os.Args[3], os.Args[4])
        if err != nil { panic(err) }
        fmt.Println(token)
      }`;
      await writeFile(join(folder, "main.go"), `${imports}${snippet}\n${call}\n`);
      return (await run("go", ["run", "-mod=mod", ".", ...args], { cwd: folder })).stdout.trim();
    }),
  },
  ruby: {
    missing: () => missing("no Ruby with the gem jwt", ".", "ruby", "-e", 'require "jwt"'),
    sign: async (snippet, args) => (await run("ruby", ["-e", `${snippet}\nputs sign(*ARGV)`, "--", ...args])).stdout.trim(),
  },
};

function goModule(folder) {
  return writeFile(join(folder, "go.mod"), `module snippet\ngo 1.18\nrequire ${GO_JWT}\n`);
}
