// The client of the Sluice API.

export type { Calls } from "./calls.js";
export { createSluice, type Sluice, type SluiceOptions } from "./client.js";
export { SluiceError } from "./errors.js";
export { PAYLOAD_GENERATION } from "./generation.js";
export type { AppRouter, AppRouterV10 } from "./router.js";
export {
  Session, type CarriedOver, type EndingView, type PageView, type QuestionView, type SessionResult, type StartOptions,
  type WelcomeView,
} from "./session.js";
export type { CallOptions, TransportOptions } from "./transport.js";
export type { Renderer, Values } from "./texts.js";
export type * from "./types.js";
