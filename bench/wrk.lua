-- What wrk sends and how it checks replies, from a table that bench/load.py writes.
--
-- One request is sent repeatedly; several alternate. If the table has expected texts, every reply is
-- checked, because a refusal may have status 200. Otherwise (reads) bench/load.py checks wrk's byte
-- count instead, so that the load spends little time on each reply.
local spec = dofile(os.getenv("SLUICE_BENCH_SPEC"))
local thread_of_load

-- Globals, so that `done` can read them from the load thread.
refused = 0
first_wrong = ""
seen = {}

function setup(thread)
   thread_of_load = thread
end

local first = spec.requests[1]
wrk.method, wrk.path, wrk.body, wrk.headers = first.method, first.path, first.body, first.headers

if #spec.requests > 1 then
   local raw, turn = {}, 0

   function init()
      for index, one in ipairs(spec.requests) do
         one.headers["Host"] = spec.host
         raw[index] = wrk.format(one.method, one.path, one.headers, one.body)
      end
   end

   function request()
      turn = turn % #raw + 1
      return raw[turn]
   end
end

-- Without a text, anything except the reply to a submission matches.
local function times(body, text)
   if text == "" then return body:find('"success":', 1, true) and 0 or 1 end
   local count, at = 0, 1
   while true do
      local _, last = body:find(text, at, true)
      if not last then return count end
      count, at = count + 1, last + 1
   end
end

if #spec.replies > 0 then
   for index in ipairs(spec.replies) do seen[index] = 0 end

   function response(status, _, body)
      for index, good in ipairs(spec.replies) do
         if status == good.status and times(body, good.text) == good.times then
            seen[index] = seen[index] + 1
            return
         end
      end
      refused = refused + 1
      if refused == 1 then first_wrong = status .. " " .. body:sub(1, 300) end
   end
end

function done(summary, latency, _)
   local errors = summary.errors
   print("wrong: " .. thread_of_load:get("first_wrong"):gsub("%c", " "))
   print(string.format(
      '{"requests":%d,"microseconds":%d,"bytes":%d,"refused":%d,"lost":%d,"bad_status":%d,'
         .. '"p50_ms":%.3f,"p99_ms":%.3f,"p999_ms":%.3f,"seen":[%s]}',
      summary.requests, summary.duration, summary.bytes, thread_of_load:get("refused"),
      errors.connect + errors.read + errors.write + errors.timeout, errors.status,
      latency:percentile(50) / 1000, latency:percentile(99) / 1000, latency:percentile(99.9) / 1000,
      table.concat(thread_of_load:get("seen"), ",")))
end
