// How a snippet of each language is run: the block of the guide, a call of its function, nothing between.
//
// A language whose runtime or library is not at hand says so, and the test that asked is skipped by name.
// TypeScript and Python are always there, since the tests bring their libraries. Rust is missing here:
// its snippet is compiled and run by the tests of the binary, beside the library that it needs.

import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

import { python } from "./python.mjs";

const run = promisify(execFile);
const COMPILER = join(import.meta.dirname, "node_modules/.bin/tsc");
const GO_JWT = "github.com/golang-jwt/jwt/v5 v5.2.2";

/** Runs `work` in a folder that is gone afterwards. */
async function inFolder(parent, work) {
  const folder = await mkdtemp(join(parent, "snippet-"));
  try {
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** The reason why a command cannot be run in a folder, or nothing where it can. */
function missing(what, cwd, command, ...args) {
  const reason = (error) => `${what}: ${(error.stderr || error.message).trim().split("\n")[0]}`;
  return run(command, args, { cwd }).then(() => undefined, reason);
}

/** By the name of the fence: `missing`, why it cannot be run; `sign`, the token that a snippet makes. */
export const LANGUAGES = {
  ts: {
    missing: async () => undefined,
    // Below this folder, where "jose" is found as in a project.
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
