-- What .ci/bench gives to wrk: a method, a body ("" for none), and milliseconds between requests.

function init(arguments)
    wrk.method, wrk.body = arguments[1], arguments[2]
    local pause = tonumber(arguments[3])
    if pause > 0 then
        delay = function() return pause end
    end
end

-- Print in one line: p50 and p99 in milliseconds, answers a second, failures.
function done(summary, latency)
    local errors = summary.errors
    local failed = errors.connect + errors.read + errors.write + errors.status + errors.timeout
    local p50, p99 = latency:percentile(50) / 1000, latency:percentile(99) / 1000
    local rate = summary.requests * 1000000 / summary.duration
    print(string.format("figures %.3f %.3f %.1f %d", p50, p99, rate, failed))
end
