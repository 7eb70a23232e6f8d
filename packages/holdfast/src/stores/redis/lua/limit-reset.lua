-- Forgets all usage of many subjects. Blocks stay.
-- KEYS: per item: subject, usage (and one more for each further rule)
-- ARGV: call, number of rules
-- Reply: server ms, call, then per item: done, or an array: error MESSAGE
--- @include shared/now
--- @include shared/read
--- @include shared/limit-write
--- @include shared/limit-side
local more, ITEM_KEYS = 0, 2
more = tonumber(ARGV[2]) - 1
local count = #KEYS / (ITEM_KEYS + more)

-- What is of another type is not ours to delete.
local function forget(key)
  return errorOf(redis.pcall('STRLEN', key)) or errorOf(redis.pcall('DEL', key))
end

local function reset(key, usages)
  local value, failure = readString(key)
  local subject = { key = key, present = value }
  parseSide(subject, value)
  subject.reservations = nil
  failure = failure or (value and saveSide(subject))
  for _, usage in ipairs(usages) do
    failure = failure or forget(usage)
  end
  return failure and { 'error', failure } or 'done'
end

local replies = { now, ARGV[1] }
for i = 1, count do
  local at = 1 + (ITEM_KEYS + more) * (i - 1)
  replies[i + 2] = reset(KEYS[at], { KEYS[at + 1], unpack(KEYS, at + 2, at + 1 + more) })
end
return replies
