// The links of @trpc/client 11 that reach an HTTP server, and how to create a client of each.

import * as trpc from "@trpc/client";

export const name = "@trpc/client 11";
export const { TRPCClientError } = trpc;

export const links = [
  { name: "httpLink", link: trpc.httpLink },
  { name: "httpBatchLink", link: trpc.httpBatchLink, batches: true },
  {
    name: "httpBatchStreamLink",
    link: trpc.httpBatchStreamLink,
    batches: true,
    streams: ["trpc-accept", "application/jsonl"],
  },
];

export const client = (link, options) => trpc.createTRPCClient({ links: [link(options)] });
