-- SPECweb99's choice of files: a directory by Zipf's law (exponent 1), a class by the shares
-- 35, 50, 14, 1 %, a file of the class by Zipf's law over 4 3 5 2 6 1 7 8 0.
local count = 0

function setup(thread)
  thread:set("number", count)
  count = count + 1
end

local function zipf(n)
  local sums, sum = {}, 0
  for i = 1, n do
    sum = sum + 1 / i
    sums[i] = sum
  end
  return sums
end

local function choose(sums)
  local at = math.random() * sums[#sums]
  local low, high = 1, #sums
  while low < high do
    local middle = math.floor((low + high) / 2)
    if sums[middle] > at then high = middle else low = middle + 1 end
  end
  return low
end

local classes = { 0.35, 0.85, 0.99, 1.0 }
local order = { 4, 3, 5, 2, 6, 1, 7, 8, 0 }

function init(args)
  directories = zipf(tonumber(args[1]))
  files = zipf(9)
  math.randomseed(tonumber(args[2]) + number)
end

function request()
  local path = string.format("/dir%05d/class%d_%d", choose(directories) - 1,
    choose(classes) - 1, order[choose(files)])
  return wrk.format("GET", path)
end

function done(summary, latency, requests)
  local errors = summary.errors.connect + summary.errors.read + summary.errors.write
    + summary.errors.status
  print(string.format(
    '{"requests":%d,"bytes":%d,"micros":%d,"errors":%d,"p50":%d,"p90":%d,"p99":%d}',
    summary.requests, summary.bytes, summary.duration, errors, latency:percentile(50),
    latency:percentile(90), latency:percentile(99)))
end
