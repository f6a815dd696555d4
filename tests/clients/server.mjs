// Starts the real binary on a free port with an empty data folder, and calls its admin API.
//
// Used by the client tests, the browser tests and scripts/replay, so that all use the server as a user
// does: started by its command line, filled through its API, stopped by a signal to its process.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";

export const BINARY = process.env.SLUICE_BIN ?? resolve(import.meta.dirname, "../../target/debug/sluice");
const ADMIN_TOKEN = "token-of-the-client-tests-0123456789";
/** The maximum wait for a start. Long enough for a busy machine. */
const START_MS_MAX = 120_000;
const PORT_PAUSE_MS = 200;

/**
 * Options: `demo`, whether an empty store gets the demo app and survey; `args`, further arguments;
 * `env`, further environment variables; `port` and `data` of a killed server, to restart it.
 */
export async function startServer({ data, ...options } = {}) {
  data ??= await mkdtemp(join(tmpdir(), "sluice-clients-"));
  // Between the end of a server and its restart, another process may use its port for a moment.
  for (const end = Date.now() + START_MS_MAX; ;) {
    try {
      return await start({ data, ...options });
    } catch (error) {
      if (!options.port || !/in use/i.test(error.message) || Date.now() > end) throw error;
    }
    await pause(PORT_PAUSE_MS);
  }
}

async function start({ demo = false, args = [], env = {}, port = 0, data }) {
  const listen = ["--listen", `127.0.0.1:${port}`, "--data", data, ...(demo ? [] : ["--no-demo"])];
  const child = spawn(BINARY, ["serve", ...listen, ...args], {
    env: { PATH: process.env.PATH, SLUICE_ADMIN_TOKEN: ADMIN_TOKEN, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let log = "";
  child.stderr.on("data", (chunk) => (log += chunk));
  const ended = once(child, "exit");
  const url = await listeningUrl(child, ended, () => log);
  const stop = async () => {
    child.kill("SIGTERM");
    const [code] = await ended;
    await rm(data, { recursive: true, force: true });
    if (code !== 0) throw new Error(`the server ended with ${code}:\n${log}`);
  };
  /** Kills it, and keeps its data. */
  const kill = async () => {
    child.kill("SIGKILL");
    await ended;
    return { demo, args, env, data, port: Number(new URL(url).port) };
  };
  /** Stops it as an operator does, and keeps its data for another node. */
  const stopOnly = async () => {
    child.kill("SIGTERM");
    const [code] = await ended;
    if (code !== 0) throw new Error(`the server ended with ${code}:\n${log}`);
  };
  return Object.assign(new Server(url, child.pid, stop, kill, () => log), { data, stopOnly });
}

/** The address in the first line of the server's output; the rest is discarded. */
async function listeningUrl(child, ended, log) {
  const timer = setTimeout(() => child.kill("SIGKILL"), START_MS_MAX);
  try {
    const first = new Promise((found) => createInterface(child.stdout).on("line", found));
    const line = await Promise.race([first, ended.then(() => "")]);
    const url = /^Sluice listening on (https?:\S+)$/.exec(line)?.[1];
    if (!url) throw new Error(`${BINARY} did not start: ${line}\n${log()}`);
    return url;
  } finally {
    clearTimeout(timer);
  }
}

class Server {
  /** An admin token. */
  token = ADMIN_TOKEN;

  constructor(url, pid, stop, kill, log) {
    this.url = url;
    /** Everything that it has logged. */
    this.log = log;
    this.pid = pid;
    this.stop = stop;
    this.kill = kill;
  }

  /** One call of the admin API; throws with the text of the problem on failure. */
  async admin(method, path, body) {
    const reply = await fetch(`${this.url}/api/admin/v1${path}`, {
      method,
      headers: {
        authorization: `Bearer ${ADMIN_TOKEN}`,
        ...(body === undefined ? {} : { "content-type": "application/json" }),
      },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const text = await reply.text();
    if (!reply.ok) throw new Error(`${method} ${path}: ${reply.status} ${text}`);
    return text === "" ? null : JSON.parse(text);
  }

  /** An app: its id, and the base of its public API. */
  async createApp(name) {
    const { appId, apiKeys } = await this.admin("POST", "/apps", { name });
    return { appId, apiKey: apiKeys[0], base: `${this.url}/api/v1/${apiKeys[0]}` };
  }

  /** A flow of `appId`, published by default. */
  async createFlow(appId, name, definition, { publish = true } = {}) {
    const body = { name, kind: "survey", definition };
    const flow = await this.admin("POST", `/apps/${appId}/flows`, body);
    if (publish) await this.admin("POST", `/flows/${flow.flowId}/publish`);
    return { flowId: flow.flowId, flowVersionId: flow.draft.flowVersionId };
  }
}
