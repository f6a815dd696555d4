// TLS without a proxy: real clients, a certificate that changes under load, files that cannot be used, and clients that never
// finish their handshake. Also a separate address for the administration, with and without TLS.

import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { copyFile, mkdtemp, rm, writeFile } from "node:fs/promises";
import http from "node:http";
import http2 from "node:http2";
import https from "node:https";
import net from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import tls from "node:tls";
import { promisify } from "node:util";

import { createCertificate, freePort, HOST } from "./proxies.mjs";
import { BINARY, startServer } from "./server.mjs";

const run = promisify(execFile);
const folder = await mkdtemp(join(tmpdir(), "sluice-tls-"));
after(() => rm(folder, { recursive: true, force: true }));
const first = await createCertificate(join(folder, "first"));
const second = await createCertificate(join(folder, "second"));

/** The files that the server reads, with this certificate in them. */
async function filesWith(name, certificate) {
  const files = { cert: join(folder, `${name}.crt`), key: join(folder, `${name}.key`) };
  await copyFile(certificate.chain, files.cert);
  await copyFile(certificate.key, files.key);
  return { ...files, args: ["--tls-cert", files.cert, "--tls-key", files.key] };
}

/** Calls of the admin API and others, by a client that trusts this certificate. */
function client(url, ca, options = {}) {
  const agent = new https.Agent({ ca, servername: HOST, ...options });
  const call = async (path, { method = "GET", headers = {}, body } = {}) => {
    const request = https.request(new URL(path, url), { agent, method, headers });
    request.end(body);
    const [reply] = await once(request, "response");
    let text = "";
    for await (const chunk of reply.setEncoding("utf8")) text += chunk;
    return { status: reply.statusCode, headers: reply.headers, text };
  };
  return Object.assign(call, { close: () => agent.destroy() });
}

/** The serial number of the certificate that a new connection gets. */
async function served(url) {
  const { port } = new URL(url);
  const socket = tls.connect({ host: "127.0.0.1", port, servername: HOST, rejectUnauthorized: false });
  await once(socket, "secureConnect");
  const { serialNumber } = socket.getPeerCertificate();
  socket.destroy();
  return serialNumber;
}

async function condition(check, message) {
  for (const end = Date.now() + 60_000; !(await check()); await pause(50)) assert.ok(Date.now() < end, message);
}

test("curl, node and HTTP/2 clients get the same service", async () => {
  const { args } = await filesWith("clients", first);
  const server = await startServer({ args: [...args, "--public-url", `https://${HOST}`] });
  try {
    const { port, protocol } = new URL(server.url);
    assert.equal(protocol, "https:");
    const { stdout } = await run("curl", ["-sS", "--http1.1", "--cacert", first.chain, "-D", "-", `https://127.0.0.1:${port}/readyz`]);
    assert.match(stdout, /^HTTP\/1\.1 200/);
    assert.match(stdout, /strict-transport-security: max-age=31536000/i);
    assert.match(stdout, /ready\n$/);
    const over2 = await run("curl", ["-sS", "--cacert", first.chain, "-o", "/dev/null", "-w", "%{http_version}", `https://127.0.0.1:${port}/readyz`]);
    assert.equal(over2.stdout, "2");

    const call = client(server.url, first.ca);
    const apps = await call("/api/admin/v1/apps", { headers: { authorization: `Bearer ${server.token}` } });
    assert.deepEqual(JSON.parse(apps.text).items, []);
    const metrics = await call("/metrics");
    const expiry = Number(/^sluice_tls_certificate_expiry_timestamp_seconds(?:\{\})? (\d+)$/m.exec(metrics.text)?.[1]);
    const inDays = (expiry * 1000 - Date.now()) / 86_400_000;
    assert.ok(inDays > 1 && inDays < 2.1, metrics.text);
    call.close();

    const session = http2.connect(server.url, { ca: first.ca, servername: HOST });
    const stream = session.request({ ":path": "/readyz" });
    const [headers] = await once(stream, "response");
    assert.equal(headers[":status"], 200);
    assert.equal(session.alpnProtocol, "h2");
    stream.resume();
    session.close();

    // A certificate that the client does not trust, and a client that speaks plain HTTP.
    const distrusting = client(server.url, second.ca);
    await assert.rejects(() => distrusting("/readyz"), /certificate/i);
    const [plain] = await once(http.get(`http://127.0.0.1:${port}/readyz`), "response");
    assert.equal(plain.statusCode, 400);
    plain.resume();
  } finally {
    await server.stop();
  }
});

test("a new certificate is used without a failed request", async () => {
  const { cert, key, args } = await filesWith("reloaded", first);
  const server = await startServer({ args });
  const calls = [client(server.url, [first.ca, second.ca], { keepAlive: true }), client(server.url, [first.ca, second.ca])];
  let isOver = false;
  const counts = { replies: 0, failures: [] };
  const load = calls.map(async (call) => {
    while (!isOver) {
      const status = await call("/healthz").then((reply) => reply.status, (error) => String(error));
      if (status === 200) counts.replies += 1;
      else counts.failures.push(status);
    }
  });
  try {
    const before = await served(server.url);
    // The key follows its certificate: the pair that does not fit yet is not used.
    await copyFile(second.chain, cert);
    process.kill(server.pid, "SIGHUP");
    await condition(() => server.log().includes("was not reloaded"), "no complaint about half of a pair");
    assert.equal(await served(server.url), before);
    await copyFile(second.key, key);
    // Without a signal: the files are compared every few seconds.
    await condition(async () => (await served(server.url)) !== before, "the new certificate is not used");
    const afterwards = await served(server.url);
    // By a signal.
    await copyFile(first.key, key);
    await copyFile(first.chain, cert);
    process.kill(server.pid, "SIGHUP");
    await condition(async () => (await served(server.url)) === before, "the signal has no effect");
    assert.notEqual(afterwards, before);
    // Files that are gone or damaged change nothing.
    await rm(key);
    process.kill(server.pid, "SIGHUP");
    await condition(() => /cannot read .*reloaded\.key/.test(server.log()), "no complaint about a missing key");
    assert.equal(await served(server.url), before);
    const soFar = counts.replies;
    await condition(() => counts.replies > soFar + 20, "no more replies");
  } finally {
    isOver = true;
    await Promise.all(load);
    calls.forEach((call) => call.close());
    await server.stop();
  }
  assert.deepEqual(counts.failures, []);
  assert.ok(counts.replies > 20, String(counts.replies));
});

test("files that cannot be used are named before the server starts", async () => {
  const { cert, key } = await filesWith("wrong", first);
  const empty = join(folder, "empty.pem");
  await writeFile(empty, "nothing\n");
  const cases = [
    [["--tls-cert", cert, "--tls-key", second.key], /does not belong to the certificate/],
    [["--tls-cert", join(folder, "none.pem"), "--tls-key", key], /cannot read .*none\.pem/],
    [["--tls-cert", empty, "--tls-key", key], /empty\.pem holds no certificate/],
    [["--tls-cert", cert, "--tls-key", empty], /empty\.pem holds no private key/],
    [["--tls-cert", cert], /tls-key is missing/],
    [["--tls-key", key], /tls-cert is missing/],
  ];
  for (const [args, expected] of cases) {
    const child = spawn(BINARY, ["serve", "--listen", "127.0.0.1:0", "--data", join(folder, "unused"), ...args], {
      env: { PATH: process.env.PATH }, stdio: ["ignore", "ignore", "pipe"],
    });
    let text = "";
    child.stderr.on("data", (chunk) => (text += chunk));
    const [code] = await once(child, "exit");
    assert.notEqual(code, 0, args.join(" "));
    assert.match(text, expected);
  }
});

test("an expired certificate is served with a warning", async () => {
  const expired = join(folder, "expired");
  const { key } = await createCertificate(expired);
  const cert = join(expired, "expired.pem");
  const request = ["req", "-x509", "-key", key, "-days", "1", "-subj", `/CN=${HOST}`, "-out", cert];
  await run("faketime", ["2020-01-01 00:00:00", "openssl", ...request]);
  const server = await startServer({ args: ["--tls-cert", cert, "--tls-key", key] });
  await condition(() => server.log().includes("has expired"), "no warning");
  await server.stop();
});

test("a handshake that never ends does not hold its place", async () => {
  const { args } = await filesWith("slow", first);
  const server = await startServer({ args: [...args, "--max-connections", "1"] });
  try {
    const { port } = new URL(server.url);
    const silent = net.connect(port, "127.0.0.1");
    await once(silent, "connect");
    const begun = net.connect(port, "127.0.0.1");
    await once(begun, "connect");
    // The beginning of a ClientHello, and no more.
    begun.write(Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00]));
    // Both are cut, one after the other; then there is a place for a client that speaks.
    const ends = [once(silent, "close"), once(begun, "close")];
    silent.resume();
    begun.resume();
    silent.on("error", () => {});
    begun.on("error", () => {});
    await Promise.all(ends);
    const call = client(server.url, first.ca);
    assert.equal((await call("/healthz")).status, 200);
    call.close();
  } finally {
    await server.stop();
  }
});

test("the administration has a separate address", async () => {
  for (const { args } of [{ args: [] }, await filesWith("admin", first)]) {
    const scheme = args.length > 0 ? "https" : "http";
    const port = await freePort();
    const server = await startServer({ args: [...args, "--admin-listen", `127.0.0.1:${port}`] });
    const admin = `${scheme}://127.0.0.1:${port}`;
    const get = async (base, path) => {
      const call = scheme === "https" ? https : http;
      const [reply] = await once(call.get(new URL(path, base), { ca: first.ca, servername: HOST }), "response");
      reply.resume();
      return reply.statusCode;
    };
    try {
      for (const [path, onPublic, onAdmin] of [
        ["/readyz", 200, 200],
        ["/healthz", 200, 200],
        ["/f/fl_0000000000000000000000", 404, 404],
        ["/r/none", 404, 404],
        ["/console/sign-in", 404, 200],
        ["/", 404, 303],
        ["/api/admin/v1/apps", 404, 401],
        ["/docs", 404, 200],
        ["/openapi.json", 404, 200],
        ["/metrics", 404, 200],
      ]) {
        assert.equal(await get(server.url, path), onPublic, `public ${path}`);
        assert.equal(await get(admin, path), onAdmin, `admin ${path}`);
      }
    } finally {
      await server.stop();
    }
  }
});
