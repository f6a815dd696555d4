// Requests that are sent to both Sluice and a real @trpc/server, each named after what is unusual about it.
//
// `input` is the body of one valid call. Only protocol behaviour is compared; other tests check how Sluice validates
// flows and answers. `majors` are the versions of @trpc/server to compare with, if not only version 11: Sluice follows
// version 11 where the two differ, except for the streams of version 10's client.

const CALL = "/response.submit";
const JSON_TYPE = ["Content-Type", "application/json"];
const BOTH = [10, 11];

/** A POST of JSON. */
const post = (name, body, { path = CALL, headers = [JSON_TYPE], ...more } = {}) => ({
  name,
  request: { method: "POST", path, headers, body, ...more },
  majors: more.majors ?? [11],
});

/** A request without a body. */
const bare = (name, method, path, headers = []) => ({
  name,
  request: { method, path, headers, body: null },
  majors: [11],
});

const times = (count, of) => Array.from({ length: count }, (_, at) => of(at));

/** All exchanges for a valid input, given as JSON. */
export function exchanges(input) {
  const calls = (count) => `{${times(count, (at) => `"${at}":${input}`).join(",")}}`;
  const batch = (count) => `/${times(count, () => CALL.slice(1)).join(",")}?batch=1`;
  return [
    ...bodies(input),
    ...contentTypes(input, calls),
    ...methods(input),
    ...paths(input),
    ...queries(input, calls),
    ...batches(input, calls, batch),
    ...streams(input, calls, batch),
    ...connections(input),
  ];
}

function bodies(input) {
  const wrapped = `{"json":${input}}`;
  return [
    post("one call", input, { majors: BOTH }),
    post("whitespace around the input", ` \r\n\t${input}\n `),
    post("a byte order mark", `\ufeff${input}`),
    post("an empty body", ""),
    post("only whitespace", "  \n"),
    post("garbage", "no json"),
    post("cut off", input.slice(0, -3)),
    post("a trailing comma in the object", `${input.slice(0, -1)},}`),
    post("two values", `${input}${input}`),
    post("comments", `/* x */${input}`),
    post("NaN", `{"flowVersionId":NaN}`),
    post("an empty object", "{}"),
    post("an array", `[${input}]`),
    post("a string", `"text"`),
    post("null", "null"),
    post("true", "true"),
    post("a number", "1"),
    post("wrapped by superjson", wrapped),
    post("a JSON-RPC envelope", `{"id":1,"method":"mutation","params":{"input":${input}}}`),
    post("Content-Encoding: identity", input, { headers: [JSON_TYPE, ["Content-Encoding", "identity"]] }),
    post("invalid UTF-8 outside a string", Buffer.from([0x7b, 0xff, 0x7d])),
    post("UTF-16", Buffer.from("{}", "utf16le")),
    post("a control character in a string", `{"flowVersionId":"a\u0001"}`),
  ];
}

function contentTypes(input, calls) {
  const typed = (name, ...values) => post(name, input, { headers: values.map((value) => ["Content-Type", value]) });
  return [
    typed("JSON with a character set", "application/json; charset=utf-8"),
    typed("JSON with another character set", "application/json;charset=latin1"),
    typed("whitespace before the parameter", "application/json ; charset=utf-8"),
    typed("plain text", "text/plain"),
    typed("plain text that mentions JSON", "text/plain; application/json"),
    typed("JSON by another name", "text/json"),
    typed("a type with JSON as a prefix", "application/jsonp"),
    typed("JSON Lines", "application/jsonl"),
    typed("a list of types", "text/plain, application/json"),
    typed("an invalid type", "nonsense"),
    typed("an empty type", ""),
    typed("a form", "application/x-www-form-urlencoded"),
    typed("two headers, JSON first", "application/json", "text/plain"),
    typed("two headers, JSON second", "text/plain", "application/json"),
    post("no type", input, { headers: [] }),
    post("plain text in a batch", calls(1), { path: `${CALL}?batch=1`, headers: [["Content-Type", "text/plain"]] }),
    post("an octet stream in a batch", calls(1), {
      path: `${CALL}?batch=1`,
      headers: [["Content-Type", "application/octet-stream"]],
    }),
    typed("multipart without a boundary", "multipart/form-data"),
  ];
}

function methods(input) {
  const preflight = [["Origin", "https://shop.example"], ["Access-Control-Request-Method", "POST"]];
  return [
    bare("GET of a mutation", "GET", CALL),
    bare("GET of a mutation with its input", "GET", `${CALL}?input=${encodeURIComponent(input)}`),
    bare("GET of a batch of mutations", "GET", `${CALL},${CALL.slice(1)}?batch=1`),
    bare("GET of an unknown procedure", "GET", "/response.unknown"),
    bare("HEAD", "HEAD", CALL),
    bare("HEAD of an unknown procedure", "HEAD", "/response.unknown"),
    bare("PUT without a body", "PUT", CALL),
    bare("PATCH without a body", "PATCH", CALL),
    bare("DELETE without a body", "DELETE", CALL),
    bare("OPTIONS", "OPTIONS", CALL),
    bare("OPTIONS of an unknown procedure", "OPTIONS", "/response.unknown"),
    bare("a preflight", "OPTIONS", CALL, preflight),
    post("PUT with a valid input", input, { method: "PUT" }),
    post("PATCH with a valid input", input, { method: "PATCH" }),
    post("DELETE with a valid input", input, { method: "DELETE" }),
    post("PUT of an unknown procedure", input, { method: "PUT", path: "/response.unknown" }),
  ];
}

function paths(input) {
  const at = (name, path) => post(name, input, { path });
  return [
    at("an unknown procedure", "/response.unknown"),
    at("an unknown router", "/unknown.submit"),
    at("a router instead of a procedure", "/response"),
    at("a longer path", "/response.submit.more"),
    at("an empty path", "/"),
    at("a trailing slash", `${CALL}/`),
    at("two trailing slashes", `${CALL}//`),
    at("two leading slashes", `/${CALL}`),
    at("a slash instead of the dot", "/response/submit"),
    at("a leading dot", "/.response.submit"),
    at("a trailing dot", `${CALL}.`),
    at("two dots", "/response..submit"),
    at("capital letters", "/Response.Submit"),
    at("an escaped letter", "/response.%73ubmit"),
    at("an escaped dot", "/response%2Esubmit"),
    at("an escaped slash", "/response%2Fsubmit"),
    at("a double escape", "/response.%2573ubmit"),
    at("an escape of invalid UTF-8", "/response.%ff"),
    at("an incomplete escape", "/response.submit%2"),
    at("a property of Object.prototype", "/constructor"),
    at("__proto__", "/__proto__"),
    at("a property of Object.prototype on a router", "/response.toString"),
    at("a comma without a batch", `${CALL},response.submit`),
    at("a path parameter", `${CALL};x=1`),
    at("markup", "/%3Cb%3E%22"),
    at("a very long path", `/${"a".repeat(1500)}`),
  ];
}

function queries(input, calls) {
  const asked = (name, query, body = input) => post(name, body, { path: `${CALL}?${query}` });
  const params = (value) => `connectionParams=${encodeURIComponent(JSON.stringify(value))}`;
  return [
    asked("an empty query", ""),
    asked("an unknown parameter", "x=1"),
    asked("batch=0", "batch=0"),
    asked("batch=true", "batch=true", calls(1)),
    asked("batch without a value", "batch"),
    asked("BATCH=1", "BATCH=1"),
    asked("an escaped batch=1", "%62atch=%31", calls(1)),
    asked("batch=0 and then 1", "batch=0&batch=1", calls(1)),
    asked("the input in the query instead of the body", `input=${encodeURIComponent(input)}`, ""),
    asked("connection parameters", params({ token: "x" })),
    asked("connection parameters that are not JSON", "connectionParams=x"),
    asked("connection parameters that are not an object", params([1])),
  ];
}

function batches(input, calls, batch) {
  const two = (name, path, body) => post(name, body, { path: `${path}?batch=1` });
  const unknown = "response.unknown";
  const both = `${CALL},${unknown}`;
  return [
    post("a batch of one", calls(1), { path: batch(1), majors: BOTH }),
    post("a batch of three", calls(3), { path: batch(3), majors: BOTH }),
    post("a batch of 50", calls(50), { path: batch(50) }),
    post("a batch of 101", calls(101), { path: batch(101) }),
    two("one valid call, one unknown", both, calls(2)),
    two("all unknown", `/${unknown},${unknown}`, calls(2)),
    two("one valid call, one without input", `${CALL},response.submit`, calls(1)),
    two("one valid call, one with an invalid input", `${CALL},response.submit`, `{"0":${input},"1":{}}`),
    two("an invalid input and an unknown procedure", both, `{"0":{},"1":${input}}`),
    two("more inputs than calls", CALL, calls(3)),
    two("a null input", `${CALL},response.submit`, `{"0":${input},"1":null}`),
    two("an index with a leading zero", CALL, `{"00":${input}}`),
    two("a repeated index", CALL, `{"0":{},"0":${input}}`),
    two("a string as the body", CALL, `"text"`),
    two("an array as the body", CALL, `[${input}]`),
    two("an object without inputs", CALL, "{}"),
    two("an empty body of a batch", CALL, ""),
    two("garbage in a batch", `${CALL},response.submit`, "no json"),
    two("an empty path of a batch", "/", calls(1)),
    two("a trailing comma", `${CALL},`, calls(2)),
    two("a leading comma", `/,response.submit`, calls(2)),
    two("an escaped comma", `${CALL}%2Cresponse.submit`, calls(2)),
    two("a space after the comma", `${CALL},%20response.submit`, calls(2)),
    two("a trailing slash of a batch", `${CALL},response.submit/`, calls(2)),
    two("an incomplete escape in a batch", `${CALL},response.%2`, calls(2)),
  ];
}

function streams(input, calls, batch) {
  const lines = ["trpc-accept", "application/jsonl"];
  const accepting = (name, header, count, body = calls(count)) =>
    post(name, body, { path: batch(count), headers: [JSON_TYPE, header] });
  const old = (name, count, body = calls(count), more = []) => ({
    ...post(name, body, { path: batch(count), headers: [JSON_TYPE, ["trpc-batch-mode", "stream"], ...more] }),
    majors: [10],
  });
  return [
    accepting("JSON Lines of one", lines, 1),
    accepting("JSON Lines of three", lines, 3),
    accepting("JSON Lines of 50", lines, 50),
    accepting("JSON Lines of garbage", lines, 2, "no json"),
    accepting("JSON Lines of a valid and an invalid input", lines, 2, `{"0":${input},"1":{}}`),
    post("JSON Lines of a valid and an unknown call", calls(2), {
      path: `${CALL},response.unknown?batch=1`,
      headers: [JSON_TYPE, lines],
    }),
    post("JSON Lines of an unknown call", calls(1), { path: "/response.unknown?batch=1", headers: [JSON_TYPE, lines] }),
    post("JSON Lines without a batch", input, { headers: [JSON_TYPE, lines] }),
    accepting("trpc-accept in capital letters", ["trpc-accept", "APPLICATION/JSONL"], 2),
    accepting("another trpc-accept value", ["trpc-accept", "text/event-stream"], 2),
    accepting("JSON Lines in Accept", ["Accept", "application/jsonl"], 2),
    accepting("JSON Lines in a list in Accept", ["Accept", "text/html, application/jsonl"], 2),
    accepting("JSON Lines with a weight in Accept", ["Accept", "application/jsonl;q=0.9"], 2),
    accepting("JSON in Accept", ["Accept", "application/json"], 2),
    accepting("anything in Accept", ["Accept", "*/*"], 2),
    accepting("HTML in Accept", ["Accept", "text/html"], 2),
    accepting("another batch mode", ["trpc-batch-mode", "other"], 2),
    accepting("the stream of version 10", ["trpc-batch-mode", "stream"], 3),
    old("a stream of one", 1),
    old("a stream of three", 3),
    old("a stream of 50", 50),
    old("a stream of garbage", 2, "no json"),
    old("a stream of a valid and an invalid input", 2, `{"0":${input},"1":{}}`),
    {
      ...post("a stream of a valid and an unknown call", calls(2), {
        path: `${CALL},response.unknown?batch=1`,
        headers: [JSON_TYPE, ["trpc-batch-mode", "stream"]],
      }),
      majors: [10],
    },
    old("both kinds of stream", 2, calls(2), [lines]),
    { ...accepting("another batch mode", ["trpc-batch-mode", "other"], 2), majors: [10] },
  ];
}

function connections(input) {
  const headed = (name, ...headers) => post(name, input, { headers: [JSON_TYPE, ...headers] });
  return [
    post("HTTP/1.0", input, { http: "1.0" }),
    post("HTTP/1.0 with Connection: close", input, { http: "1.0", headers: [JSON_TYPE, ["Connection", "close"]] }),
    post("chunked", input, { chunked: true }),
    post("a body in two writes", input, { splitAt: 5 }),
    post("Expect: 100-continue", input, { expects: true, headers: [JSON_TYPE, ["Expect", "100-continue"]] }),
    headed("If-None-Match", ["If-None-Match", "*"]),
    headed("Accept-Encoding: gzip", ["Accept-Encoding", "gzip"]),
    headed("an origin", ["Origin", "https://shop.example"]),
    headed("a cookie", ["Cookie", "a=1"]),
    headed("X-HTTP-Method-Override", ["X-HTTP-Method-Override", "GET"]),
    headed("x-trpc-source of version 11", ["x-trpc-source", "nextjs-react"]),
  ];
}
