// The types of the tRPC router of Sluice, for `@trpc/client` without this client.
//
// They describe what `@trpc/client` reads of a router, without importing `@trpc/server`. Its two
// majors read different types, so there is one for each.

import type { Submission, SubmitResult, ValidateResult } from "./types.js";

interface ErrorShape {
  message: string;
  code: any;
  data: {
    code: any;
    httpStatus: number;
    path?: string;
    /** Which limit was exceeded: `rate_limited` or `daily_quota_reached`. */
    reason?: string;
  };
}

interface RootTypes<Transformer> {
  ctx: object;
  meta: object;
  errorShape: ErrorShape;
  transformer: Transformer;
}

interface Config<Types, Transformer> {
  $types: Types;
  transformer: Transformer;
  errorFormatter: any;
  allowOutsideOfServer: boolean;
  isServer: boolean;
  isDev: boolean;
}

interface Mutation<Input, Output> {
  _def: {
    $types: { input: Input; output: Output; errorShape: unknown };
    procedure: true;
    type: "mutation";
    meta: unknown;
    experimental_caller: boolean;
    inputs: any[];
  };
  meta: unknown;
  (options: any): Promise<Output>;
}

interface Procedures {
  response: {
    /** Stores one response. */
    submit: Mutation<Submission, SubmitResult>;
    /** Judges a submission, and stores nothing. */
    validate: Mutation<Submission, ValidateResult>;
  };
}

/**
 * The router for `@trpc/client` 11: `createTRPCClient<AppRouter>({ links: [httpLink({ url })] })`.
 */
export interface AppRouter {
  _def: {
    _config: Config<RootTypes<false>, any>;
    router: true;
    procedure?: never;
    procedures: Procedures;
    record: Procedures;
    lazy: any;
  };
  createCaller: any;
}

/** What `@trpc/client` 10 recognises as "no transformer". */
interface DefaultTransformerV10 {
  _default: true;
  input: { serialize: (object: any) => any; deserialize: (object: any) => any };
  output: { serialize: (object: any) => any; deserialize: (object: any) => any };
}

type ConfigV10 = Config<RootTypes<DefaultTransformerV10>, DefaultTransformerV10>;

interface MutationV10<Input, Output> {
  _type: "mutation";
  _procedure: true;
  _def: {
    _config: ConfigV10;
    _meta: object;
    _ctx_out: object;
    _input_in: Input;
    _input_out: Input;
    _output_in: Output;
    _output_out: Output;
    inputs: any[];
    output?: any;
    meta?: any;
    resolver?: any;
    middlewares: any[];
    mutation?: boolean;
    query?: boolean;
    subscription?: boolean;
  };
  meta?: object;
  (options: any): Promise<unknown>;
}

interface RouterV10<Record> {
  _def: {
    _config: ConfigV10;
    router: true;
    procedures: Record;
    record: Record;
    queries: {};
    mutations: {};
    subscriptions: {};
  };
  createCaller: any;
  getErrorShape: any;
}

/**
 * The router for `@trpc/client` 10: `createTRPCProxyClient<AppRouterV10>({ links: [httpLink({ url
 * })] })`.
 */
export type AppRouterV10 = RouterV10<{
  response: RouterV10<{
    submit: MutationV10<Submission, SubmitResult>;
    validate: MutationV10<Submission, ValidateResult>;
  }>;
}>;
