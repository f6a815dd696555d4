-- One submission for wrk: the body comes from the environment, so that all servers get the same.
-- Every reply is read, since a refusal may come with status 200; the figures are printed as JSON.
local ACCEPTED = '"success":true'
local thread_of_load

refused = 0

wrk.method = "POST"
wrk.body = os.getenv("SLUICE_BENCH_BODY")
wrk.headers["content-type"] = "application/json"

function setup(thread)
   thread_of_load = thread
end

function response(status, _, body)
   if status ~= 200 or not body:find(ACCEPTED, 1, true) then
      refused = refused + 1
   end
end

function done(summary, latency, _)
   local errors = summary.errors
   print(string.format(
      '{"requests":%d,"microseconds":%d,"refused":%d,"lost":%d,"p50_ms":%.3f,"p99_ms":%.3f}',
      summary.requests, summary.duration, thread_of_load:get("refused"),
      errors.connect + errors.read + errors.write + errors.timeout,
      latency:percentile(50) / 1000, latency:percentile(99) / 1000))
end
