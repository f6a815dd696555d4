// A real @trpc/server with the one procedure that Sluice has, to compare replies with.
//
// Its input check is minimal: an object with a flowVersionId. What else Sluice validates (the flow, the answers) is not
// part of the protocol.

import { once } from "node:events";

const MAJORS = {
  10: () => import("./v10/reference.mjs"),
  11: () => import("./v11/reference.mjs"),
};

/** Starts the server of a major version; returns its port and a function to stop it. */
export async function startReference(major) {
  const { initTRPC, createHTTPServer } = await MAJORS[major]();
  const t = initTRPC.create();
  const submit = t.procedure.input(checked).mutation(() => ({ success: true }));
  const router = t.router({ response: t.router({ submit }) });
  const made = createHTTPServer({ router });
  // Version 10 wraps the Node.js server.
  const server = made.server ?? made;
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const stop = async () => {
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  };
  return { port: server.address().port, stop };
}

function checked(input) {
  const isObject = typeof input === "object" && input !== null && !Array.isArray(input);
  if (!isObject || typeof input.flowVersionId !== "string") throw new Error("flowVersionId is required");
  return input;
}
