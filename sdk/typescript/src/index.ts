// The client of the Sluice API.

export { PAYLOAD_GENERATION, type Calls } from "./calls.js";
export { createSluice, type Sluice, type SluiceOptions } from "./client.js";
export { SluiceError } from "./errors.js";
export { judge, judgeQuestion } from "./judge.js";
export { arrange, follow, type Definition, type Route } from "./logic.js";
export { browserContext } from "./context.js";
export type { AppRouter, AppRouterV10 } from "./router.js";
export {
  Session, type CarriedOver, type EndingView, type PageView, type QuestionView, type SessionResult, type StartOptions,
  type WelcomeView,
} from "./session.js";
export type { CallOptions, TransportOptions } from "./transport.js";
export type * from "./types.js";
