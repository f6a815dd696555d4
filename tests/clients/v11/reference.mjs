export { initTRPC } from "@trpc/server";
export { createHTTPServer } from "@trpc/server/adapters/standalone";
