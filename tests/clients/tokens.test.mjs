// Tokens of independent libraries, with every algorithm and every form of a key: accepted on every route, and
// refused with the right code if anything is wrong.

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";

import * as jose from "jose";

import { enforcing } from "./identity.mjs";
import { pythonService } from "./python.mjs";
import { startServer } from "./server.mjs";

const pyjwt = pythonService([join(import.meta.dirname, "pyjwt.py")]);
const PUBLIC_ALGORITHMS = ["RS256", "ES256", "EdDSA"];

/** Each library creates a key pair (a private PEM, a public PEM and a JWK) and signs with a PEM or a secret. */
const LIBRARIES = [
  {
    name: "jose",
    async makeKeys(algorithm) {
      const { publicKey, privateKey } = await jose.generateKeyPair(algorithm, { extractable: true });
      const [pem, jwk] = [await jose.exportSPKI(publicKey), await jose.exportJWK(publicKey)];
      return { private: await jose.exportPKCS8(privateKey), pem, jwk };
    },
    async sign(algorithm, key, claims, header) {
      const isSecret = algorithm === "HS256";
      const signer = isSecret ? new TextEncoder().encode(key) : await jose.importPKCS8(key, algorithm);
      return new jose.SignJWT(claims).setProtectedHeader({ alg: algorithm, ...header }).sign(signer);
    },
  },
  {
    name: "PyJWT",
    makeKeys: (...wanted) => pyjwt({ action: "makeKeys", arguments: wanted }),
    sign: (...wanted) => pyjwt({ action: "sign", arguments: wanted }),
  },
];

let server;
let publisher;
let published;
before(async () => {
  // This process serves the key sets; it is neither public nor on https.
  server = await startServer({ args: ["--jwks-allow", "127.0.0.1", "--jwks-allow-http"] });
  publisher = createServer((_, reply) => reply.end(JSON.stringify({ keys: published })));
  publisher.listen(0, "127.0.0.1");
  await once(publisher, "listening");
});
after(async () => {
  publisher?.close();
  await server?.stop();
});

for (const library of LIBRARIES) {
  describe(library.name, () => {
    test("HS256 with a secret from the server", async () => {
      const app = await enforcing(server, "HS256", { type: "hs256" });
      await check(app, (claims) => library.sign("HS256", app.secret, claims, { kid: app.kid }));
    });

    for (const algorithm of PUBLIC_ALGORITHMS) {
      describe(algorithm, () => {
        let keys;
        before(async () => (keys = await library.makeKeys(algorithm)));

        test("with a public key in PEM", async () => {
          const app = await enforcing(server, algorithm, { type: "publicKey", pem: keys.pem, kid: "in-pem" });
          assert.equal(app.kid, "in-pem");
          await check(app, (claims) => library.sign(algorithm, keys.private, claims, { kid: app.kid }));
          // A single key needs no id.
          await app.assertAccepts(await library.sign(algorithm, keys.private, app.claims(), {}));
        });

        test("with a public key as a JWK", async () => {
          const app = await enforcing(server, algorithm, { type: "publicKey", jwk: { ...keys.jwk, kid: "as-jwk" } });
          assert.equal(app.kid, "as-jwk");
          await check(app, (claims) => library.sign(algorithm, keys.private, claims, { kid: app.kid }));
        });

        test("with a key set at a URL, and its issuer", async () => {
          const other = await library.makeKeys(algorithm);
          published = [{ ...other.jwk, kid: "other" }, { ...keys.jwk, kid: "in-set", use: "sig" }];
          const { port } = publisher.address();
          const issuer = "https://id.example";
          const app = await enforcing(server, algorithm, { type: "jwks", url: `http://127.0.0.1:${port}/${library.name}/${algorithm}`, issuer });
          const signed = (claims) => library.sign(algorithm, keys.private, { iss: issuer, ...claims }, { kid: "in-set" });
          await check(app, signed);
          await app.assertRefuses(await signed(app.claims({ iss: "https://other.example" })), "token_invalid");
          const misnamed = await library.sign(algorithm, keys.private, app.claims({ iss: issuer }), { kid: "other" });
          await app.assertRefuses(misnamed, "token_invalid");
        });

        test("a token of another key is refused", async () => {
          const other = await library.makeKeys(algorithm);
          const app = await enforcing(server, algorithm, { type: "publicKey", pem: keys.pem });
          const forged = await library.sign(algorithm, other.private, app.claims(), { kid: app.kid });
          await app.assertRefuses(forged, "token_invalid");
        });
      });
    }
  });
}

/** A token from `sign` is accepted; a changed or expired one, or one for another audience, is not. */
async function check(app, sign) {
  const good = await sign(app.claims());
  await app.assertAccepts(good);
  for (const changed of withOneCharacterChanged(good)) await app.assertRefuses(changed, "token_invalid");
  const now = Math.floor(Date.now() / 1000);
  // Beyond the minute of allowed clock difference.
  await app.assertRefuses(await sign(app.claims({ iat: now - 300, exp: now - 61 })), "token_expired");
  await app.assertRefuses(await sign(app.claims({ aud: `${app.appId}x` })), "token_invalid");
  await app.assertRefuses(await sign(app.claims({ iat: now + 300, exp: now + 600 })), "token_invalid");
}

/** The token with the middle character of each part replaced, and with the last one replaced. */
function* withOneCharacterChanged(token) {
  const [header, claims, signature] = token.split(".").map((part) => part.length);
  const middles = [header / 2, header + 1 + claims / 2, header + claims + 2 + signature / 2].map(Math.floor);
  for (const place of [...middles, token.length - 1]) {
    const other = token[place] === "A" ? "B" : "A";
    yield token.slice(0, place) + other + token.slice(place + 1);
  }
}
