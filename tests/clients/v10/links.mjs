// The links of @trpc/client 10 that reach an HTTP server, and how to create a client of each.

import * as trpc from "@trpc/client";

export const name = "@trpc/client 10";
export const { TRPCClientError } = trpc;

export const links = [
  { name: "httpLink", link: trpc.httpLink },
  { name: "httpBatchLink", link: trpc.httpBatchLink, batches: true },
  {
    name: "unstable_httpBatchStreamLink",
    link: trpc.unstable_httpBatchStreamLink,
    batches: true,
    streams: ["trpc-batch-mode", "stream"],
  },
];

// Version 10 has the transformer in the client, version 11 in the link.
export const client = (link, { transformer, ...options }) =>
  trpc.createTRPCProxyClient({ transformer, links: [link(options)] });
