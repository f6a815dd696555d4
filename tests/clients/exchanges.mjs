// Requests that Sluice and a real @trpc/server are both sent, each named after what is odd about it.
//
// `call(input)` is the body of one right call. Only what both can be asked is here: what Sluice decides about a flow and its
// answers is tested elsewhere. `majors` are the versions of @trpc/server to compare with, where it is not version 11 alone:
// Sluice follows that one wherever the two differ, but for the streams of version 10's client.

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

/** All exchanges for a right input, given as JSON. */
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
    post("white space around the input", ` \r\n\t${input}\n `),
    post("a byte order mark", `\ufeff${input}`),
    post("an empty body", ""),
    post("white space alone", "  \n"),
    post("garbage", "no json"),
    post("cut off", input.slice(0, -3)),
    post("a comma too many", `${input.slice(0, -1)},}`),
    post("two values", `${input}${input}`),
    post("comments", `/* x */${input}`),
    post("NaN", `{"flowVersionId":NaN}`),
    post("an empty object", "{}"),
    post("an array", `[${input}]`),
    post("a text", `"text"`),
    post("null", "null"),
    post("true", "true"),
    post("a number", "1"),
    post("wrapped as by superjson", wrapped),
    post("an envelope of JSON-RPC", `{"id":1,"method":"mutation","params":{"input":${input}}}`),
    post("identity as its encoding", input, { headers: [JSON_TYPE, ["Content-Encoding", "identity"]] }),
    post("bytes that are no UTF-8 outside of a text", Buffer.from([0x7b, 0xff, 0x7d])),
    post("UTF-16", Buffer.from("{}", "utf16le")),
    post("a control character within a text", `{"flowVersionId":"a\u0001"}`),
  ];
}

function contentTypes(input, calls) {
  const typed = (name, ...values) => post(name, input, { headers: values.map((value) => ["Content-Type", value]) });
  return [
    typed("JSON with a character set", "application/json; charset=utf-8"),
    typed("JSON with another character set", "application/json;charset=latin1"),
    typed("white space before the parameter", "application/json ; charset=utf-8"),
    typed("plain text", "text/plain"),
    typed("plain text that mentions JSON", "text/plain; application/json"),
    typed("JSON by another name", "text/json"),
    typed("a name that begins like JSON", "application/jsonp"),
    typed("JSON Lines", "application/jsonl"),
    typed("a list of types", "text/plain, application/json"),
    typed("nonsense", "nonsense"),
    typed("an empty type", ""),
    typed("a form", "application/x-www-form-urlencoded"),
    typed("two headers, JSON first", "application/json", "text/plain"),
    typed("two headers, JSON second", "text/plain", "application/json"),
    post("no type", input, { headers: [] }),
    post("plain text in a batch", calls(1), { path: `${CALL}?batch=1`, headers: [["Content-Type", "text/plain"]] }),
    post("bytes in a batch", calls(1), {
      path: `${CALL}?batch=1`,
      headers: [["Content-Type", "application/octet-stream"]],
    }),
    typed("parts without a boundary", "multipart/form-data"),
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
    post("PUT of a right input", input, { method: "PUT" }),
    post("PATCH of a right input", input, { method: "PATCH" }),
    post("DELETE with a right input", input, { method: "DELETE" }),
    post("PUT of an unknown procedure", input, { method: "PUT", path: "/response.unknown" }),
  ];
}

function paths(input) {
  const at = (name, path) => post(name, input, { path });
  return [
    at("an unknown procedure", "/response.unknown"),
    at("an unknown router", "/unknown.submit"),
    at("a router in place of a procedure", "/response"),
    at("a longer path", "/response.submit.more"),
    at("an empty path", "/"),
    at("a slash at the end", `${CALL}/`),
    at("two slashes at the end", `${CALL}//`),
    at("two slashes at the beginning", `/${CALL}`),
    at("a slash in place of the dot", "/response/submit"),
    at("a dot at the beginning", "/.response.submit"),
    at("a dot at the end", `${CALL}.`),
    at("two dots", "/response..submit"),
    at("capital letters", "/Response.Submit"),
    at("an escaped letter", "/response.%73ubmit"),
    at("an escaped dot", "/response%2Esubmit"),
    at("an escaped slash", "/response%2Fsubmit"),
    at("an escape of an escape", "/response.%2573ubmit"),
    at("an escape of bytes that are no UTF-8", "/response.%ff"),
    at("half an escape", "/response.submit%2"),
    at("a member that every object has", "/constructor"),
    at("another one", "/__proto__"),
    at("one of a router", "/response.toString"),
    at("a comma without a batch", `${CALL},response.submit`),
    at("a parameter of the path", `${CALL};x=1`),
    at("markup", "/%3Cb%3E%22"),
    at("a very long path", `/${"a".repeat(1500)}`),
  ];
}

function queries(input, calls) {
  const asked = (name, query, body = input) => post(name, body, { path: `${CALL}?${query}` });
  const params = (value) => `connectionParams=${encodeURIComponent(JSON.stringify(value))}`;
  return [
    asked("an empty query", ""),
    asked("a parameter that means nothing", "x=1"),
    asked("batch=0", "batch=0"),
    asked("batch=true", "batch=true", calls(1)),
    asked("batch without a value", "batch"),
    asked("BATCH=1", "BATCH=1"),
    asked("an escaped batch=1", "%62atch=%31", calls(1)),
    asked("batch=0 and then 1", "batch=0&batch=1", calls(1)),
    asked("the input in the query, and none in the body", `input=${encodeURIComponent(input)}`, ""),
    asked("parameters of a connection", params({ token: "x" })),
    asked("parameters of a connection that are no JSON", "connectionParams=x"),
    asked("parameters of a connection that are no object", params([1])),
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
    two("one right, one unknown", both, calls(2)),
    two("all unknown", `/${unknown},${unknown}`, calls(2)),
    two("one right, one without its input", `${CALL},response.submit`, calls(1)),
    two("one right, one with a wrong input", `${CALL},response.submit`, `{"0":${input},"1":{}}`),
    two("a wrong input and an unknown procedure", both, `{"0":{},"1":${input}}`),
    two("more inputs than calls", CALL, calls(3)),
    two("an input of null", `${CALL},response.submit`, `{"0":${input},"1":null}`),
    two("a position with a zero before it", CALL, `{"00":${input}}`),
    two("a position twice", CALL, `{"0":{},"0":${input}}`),
    two("a text as the body", CALL, `"text"`),
    two("an array as the body", CALL, `[${input}]`),
    two("an object without inputs", CALL, "{}"),
    two("an empty body of a batch", CALL, ""),
    two("garbage in a batch", `${CALL},response.submit`, "no json"),
    two("an empty path of a batch", "/", calls(1)),
    two("a comma at the end", `${CALL},`, calls(2)),
    two("a comma at the beginning", `/,response.submit`, calls(2)),
    two("an escaped comma", `${CALL}%2Cresponse.submit`, calls(2)),
    two("a space after the comma", `${CALL},%20response.submit`, calls(2)),
    two("a slash at the end of a batch", `${CALL},response.submit/`, calls(2)),
    two("half an escape in a batch", `${CALL},response.%2`, calls(2)),
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
    accepting("JSON Lines of a right and a wrong input", lines, 2, `{"0":${input},"1":{}}`),
    post("JSON Lines of a right and an unknown call", calls(2), {
      path: `${CALL},response.unknown?batch=1`,
      headers: [JSON_TYPE, lines],
    }),
    post("JSON Lines of an unknown call", calls(1), { path: "/response.unknown?batch=1", headers: [JSON_TYPE, lines] }),
    post("JSON Lines without a batch", input, { headers: [JSON_TYPE, lines] }),
    accepting("the same in capital letters", ["trpc-accept", "APPLICATION/JSONL"], 2),
    accepting("another value", ["trpc-accept", "text/event-stream"], 2),
    accepting("JSON Lines by Accept", ["Accept", "application/jsonl"], 2),
    accepting("JSON Lines in a list", ["Accept", "text/html, application/jsonl"], 2),
    accepting("JSON Lines with a weight", ["Accept", "application/jsonl;q=0.9"], 2),
    accepting("JSON by Accept", ["Accept", "application/json"], 2),
    accepting("anything by Accept", ["Accept", "*/*"], 2),
    accepting("markup by Accept", ["Accept", "text/html"], 2),
    accepting("another mode of batches", ["trpc-batch-mode", "other"], 2),
    accepting("the stream of version 10", ["trpc-batch-mode", "stream"], 3),
    old("a stream of one", 1),
    old("a stream of three", 3),
    old("a stream of 50", 50),
    old("a stream of garbage", 2, "no json"),
    old("a stream of a right and a wrong input", 2, `{"0":${input},"1":{}}`),
    {
      ...post("a stream of a right and an unknown call", calls(2), {
        path: `${CALL},response.unknown?batch=1`,
        headers: [JSON_TYPE, ["trpc-batch-mode", "stream"]],
      }),
      majors: [10],
    },
    old("both kinds of stream at once", 2, calls(2), [lines]),
    { ...accepting("another mode of batches", ["trpc-batch-mode", "other"], 2), majors: [10] },
  ];
}

function connections(input) {
  const headed = (name, ...headers) => post(name, input, { headers: [JSON_TYPE, ...headers] });
  return [
    post("HTTP/1.0", input, { http: "1.0" }),
    post("HTTP/1.0 that would stay", input, { http: "1.0", headers: [JSON_TYPE, ["Connection", "close"]] }),
    post("chunks", input, { chunked: true }),
    post("two pieces", input, { splitAt: 5 }),
    post("a body that is asked for", input, { expects: true, headers: [JSON_TYPE, ["Expect", "100-continue"]] }),
    headed("an ETag", ["If-None-Match", "*"]),
    headed("a wish for gzip", ["Accept-Encoding", "gzip"]),
    headed("an origin", ["Origin", "https://shop.example"]),
    headed("a cookie", ["Cookie", "a=1"]),
    headed("a method to be taken instead", ["X-HTTP-Method-Override", "GET"]),
    headed("a source of version 11", ["x-trpc-source", "nextjs-react"]),
  ];
}
