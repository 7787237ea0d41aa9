-- Sends prepared bodies in turn and prints what came back as JSON: wrk -s wrk.lua URL -- FILE MEDIA_TYPE METHOD.
-- The file has for each body its length, 4 bytes little-endian, and the body.

local prepared, sent = {}, 0

function init(arguments)
   local file = assert(io.open(arguments[1], "rb"))
   local all, place = file:read("*a"), 1
   file:close()
   while place < #all do
      local a, b, c, d = all:byte(place, place + 3)
      local stop = place + 3 + a + 256 * (b + 256 * (c + 256 * d))
      local headers = {["Content-Type"] = arguments[2]}
      prepared[#prepared + 1] = wrk.format(arguments[3], nil, headers, all:sub(place + 4, stop))
      place = stop + 1
   end
end

function request()
   sent = sent + 1
   return prepared[sent % #prepared + 1]
end

function done(summary, latency)
   local broken = summary.errors.connect + summary.errors.read + summary.errors.write + summary.errors.timeout
   io.write(string.format(
      '{"answers": %d, "seconds": %f, "refused": %d, "broken": %d, "p50_ms": %f, "p99_ms": %f}\n',
      summary.requests, summary.duration / 1e6, summary.errors.status, broken,
      latency:percentile(50) / 1e3, latency:percentile(99) / 1e3))
end
