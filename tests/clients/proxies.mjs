// Starts nginx, HAProxy or Caddy with its file of packaging/proxies, in which only the values are replaced that the file tells
// its reader to replace, and ports. Used by the tests of proxies and by a browser test.

import { execFile, spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import https from "node:https";
import net from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";

const run = promisify(execFile);
const FILES = resolve(import.meta.dirname, "../../packaging/proxies");
export const HOST = "feedback.example.com";
const START_MS_MAX = 60_000;
const PORT_TRIES_MAX = 1_000;

/** A certificate for the host, as three PEM files. */
export async function createCertificate(folder, { days = "2", name = HOST } = {}) {
  await mkdir(folder, { recursive: true });
  const [chain, key, combined] = ["fullchain.pem", "privkey.pem", "combined.pem"].map((file) => join(folder, file));
  await run("openssl", ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", days,
    "-subj", `/CN=${name}`, "-addext", `subjectAltName=DNS:${name},IP:127.0.0.1`, "-out", chain, "-keyout", key]);
  const certificate = await readFile(chain, "utf8");
  await writeFile(combined, certificate + await readFile(key, "utf8"));
  return { chain, key, combined, ca: certificate };
}

const givenPorts = new Set();

/** A free port, never the same twice. It is below those that the system gives to others. */
export async function freePort() {
  for (let tries = 0; tries < PORT_TRIES_MAX; tries += 1) {
    const port = randomInt(10_000, 15_000);
    if (givenPorts.has(port)) continue;
    const server = net.createServer().listen(port, "127.0.0.1");
    const isFree = await once(server, "listening").then(() => true, () => false);
    if (!isFree) continue;
    server.close();
    await once(server, "close");
    givenPorts.add(port);
    return port;
  }
  throw new Error("no port is free");
}

/** Replaces each text, which must be there. */
function replaced(text, pairs) {
  for (const [from, to] of pairs) {
    if (!text.includes(from)) throw new Error(`the file has no ${from}`);
    text = text.replaceAll(from, to);
  }
  return text;
}

/** By kind: the file, its values, what checks it and what runs it. */
const KINDS = {
  nginx: {
    file: "nginx.conf",
    async prepare(folder, text, { https, http, path }) {
      const site = replaced(text, [
        ["listen 443 ssl", `listen 127.0.0.1:${https} ssl`],
        ["listen 80;", `listen 127.0.0.1:${http};`],
        ...(path ? [["location / {", `location ${path} {`]] : []),
      ]);
      await writeFile(join(folder, "site.conf"), site);
      const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map((it) => `${it}_temp_path ${folder}/${it};`);
      await writeFile(join(folder, "main.conf"), [
        "daemon off;", `pid ${folder}/pid;`, "error_log stderr;", "events {}",
        `http { access_log ${folder}/access.log; ${temporary.join(" ")} include ${folder}/site.conf; }`,
      ].join("\n"));
    },
    check: (folder) => [PROGRAMS.nginx, ["-t", "-c", join(folder, "main.conf"), "-e", "stderr"]],
    start: (folder) => [PROGRAMS.nginx, ["-c", join(folder, "main.conf"), "-e", "stderr"]],
  },
  haproxy: {
    file: "haproxy.cfg",
    async prepare(folder, text, { https, http, path }) {
      await writeFile(join(folder, "main.conf"), replaced(text, [
        ["bind :443", `bind 127.0.0.1:${https}`],
        ["bind :80", `bind 127.0.0.1:${http}`],
        ...(path ? [["    #   use_backend sluice if { path /feedback }", `    use_backend sluice if { path ${path} }`], ["default_backend sluice", ""]] : []),
      ]));
    },
    check: (folder) => [PROGRAMS.haproxy, ["-c", "-f", join(folder, "main.conf")]],
    start: (folder) => [PROGRAMS.haproxy, ["-db", "-f", join(folder, "main.conf")]],
  },
  caddy: {
    file: "Caddyfile",
    async prepare(folder, text, { https, http, path }) {
      // Where it listens is an option of the whole file.
      const options = `{\n\tadmin off\n\thttps_port ${https}\n\thttp_port ${http}\n\tdefault_bind 127.0.0.1\n}\n`;
      await writeFile(join(folder, "main.conf"), options + (path ? replaced(text, [["\thandle {", `\thandle ${path}* {`]]) : text));
    },
    check: (folder) => [PROGRAMS.caddy, ["validate", "--adapter", "caddyfile", "--config", join(folder, "main.conf")]],
    start: (folder) => [PROGRAMS.caddy, ["run", "--adapter", "caddyfile", "--config", join(folder, "main.conf")]],
  },
};

/** Debian has some of them where only root finds them. */
process.env.PATH += ":/usr/sbin";
export const PROGRAMS = {
  nginx: process.env.NGINX ?? "nginx",
  haproxy: process.env.HAPROXY ?? "haproxy",
  caddy: process.env.CADDY ?? "caddy",
};

/** The place of each file that closes the metrics. */
const METRICS = { nginx: "location = /metrics", haproxy: "if { path /metrics }", caddy: "\t\tpath /metrics\n" };

/** What the comment of each file says to write, so that one machine may read the metrics. */
const ALLOWING = {
  nginx: (machine) => [["        return 404;", `        allow ${machine}; deny all; proxy_pass http://sluice;`]],
  haproxy: (machine) => [["deny_status 404 if { path /metrics }", `deny_status 404 if { path /metrics } !{ src ${machine} }`]],
  caddy: (machine) => [["\t\tpath /metrics\n", `\t\tpath /metrics\n\t\tnot remote_ip ${machine}\n`]],
};

/** A running proxy before two nodes; `path` is that of a service below one, `monitor` a machine that may read the metrics. */
export async function startProxy(kind, nodes, { path = "", monitor } = {}) {
  const folder = await mkdtemp(join(tmpdir(), `sluice-${kind}-`));
  const { chain, key, combined, ca } = await createCertificate(folder);
  const [httpsPort, httpPort] = [await freePort(), await freePort()];
  const { file, prepare, check, start } = KINDS[kind];
  const text = replaced(await readFile(join(FILES, file), "utf8"), [
    ["10.0.0.11:8080", new URL(nodes[0].url).host],
    ["10.0.0.12:8080", new URL(nodes[1].url).host],
    ...(kind === "haproxy"
      ? [["/etc/ssl/feedback/combined.pem", combined]]
      : [["/etc/ssl/feedback/fullchain.pem", chain], ["/etc/ssl/feedback/privkey.pem", key]]),
    ...(monitor ? ALLOWING[kind](monitor) : []),
    ...(path ? [[METRICS[kind], METRICS[kind].replace("/metrics", `${path}/metrics`)]] : []),
  ]);
  await prepare(folder, text, { https: httpsPort, http: httpPort, path });
  const env = { ...process.env, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder };
  await run(...check(folder), { env });
  const child = spawn(...start(folder), { env, stdio: ["ignore", "pipe", "pipe"] });
  let log = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (log += chunk));
  const ended = once(child, "exit");
  const proxy = new Proxy(kind, `https://${HOST}${path}`, { httpsPort, httpPort, ca, folder });
  proxy.log = () => log;
  proxy.stop = async () => {
    proxy.agent.destroy();
    // HAProxy and nginx: quickly, without waiting for clients.
    child.kill("SIGTERM");
    await ended;
    await rm(folder, { recursive: true, force: true });
  };
  for (const end = Date.now() + START_MS_MAX; ; await pause(50)) {
    const reply = await proxy.call("GET", `${path}/readyz`).catch(() => null);
    if (reply?.status === 200) return proxy;
    if (child.exitCode !== null || Date.now() > end) throw new Error(`${kind} did not start: ${reply?.status}\n${log}`);
  }
}

class Proxy {
  constructor(kind, url, { httpsPort, httpPort, ca, folder }) {
    Object.assign(this, { kind, url, httpsPort, httpPort, ca, folder });
    this.agent = new https.Agent({ ca, servername: HOST, keepAlive: true, maxSockets: 8 });
  }

  /** Sends a request to the proxy as a client at another address does; resolves when the head of the reply is there. */
  async open(method, path, { headers = {}, body, from = "127.0.0.1", agent = this.agent } = {}) {
    const request = https.request({
      host: "127.0.0.1", port: this.httpsPort, method, path, agent, localAddress: from, servername: HOST, ca: this.ca,
      headers: { host: HOST, ...headers },
    });
    request.end(body);
    const [reply] = await once(request, "response");
    return reply;
  }

  async call(method, path, options) {
    const reply = await this.open(method, path, options);
    let text = "";
    for await (const chunk of reply.setEncoding("utf8")) text += chunk;
    return { status: reply.statusCode, headers: reply.headers, text };
  }
}
