// A real OpenID provider (panva's, certified) for the console, with its own pages.
//
// The name entered on its login page selects the account; the test defines the account's claims.

import { once } from "node:events";
import { createServer } from "node:http";

import Provider from "oidc-provider";

export const CLIENT_ID = "sluice";
export const CLIENT_SECRET = "a secret: of the client & 100% odd";

/** Listens on a free port. `serve` configures it when the address of its client is known. */
export async function startProvider() {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const issuer = `http://127.0.0.1:${server.address().port}`;
  const serve = (redirectUri, claimsOf, more = {}) => {
    const provider = new Provider(issuer, {
      clients: [{
        client_id: CLIENT_ID, client_secret: CLIENT_SECRET, redirect_uris: [redirectUri],
        grant_types: ["authorization_code"], response_types: ["code"],
      }],
      pkce: { required: () => true },
      claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["name"] },
      findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id, ...claimsOf(id) }) }),
      cookies: { keys: ["of the tests"] },
      ...more,
    });
    server.on("request", provider.callback());
  };
  const stop = () => new Promise((done) => { server.close(done); server.closeAllConnections(); });
  return { issuer, serve, stop };
}
