-- Tells for many subjects what a take of this cost would be answered. Writes nothing.
-- KEYS: per item: subject, usage (and one more for each further rule)
-- ARGV: call, rules, then per item: cost
-- Reply: server ms, call, then per item a number or an array of them (see shared/limit-subject), as it stands without that take, or an array: error MESSAGE
--- @include shared/now
--- @include shared/limit-write
--- @include shared/limit-side
--- @include shared/limit-level
--- @include shared/limit-tally
--- @include shared/limit-counters
--- @include shared/limit-bucket
--- @include shared/limit-window
--- @include shared/limit-slots
--- @include shared/limit-subject
--- @include shared/limit-ask
local more, ITEM_KEYS = 0, 2
more = readRules(ARGV[2]) - 1
local count = #KEYS / (ITEM_KEYS + more)
local values = readKeys(KEYS, 1, ITEM_KEYS + more)

readOnly = true

local function peek(key, usage, at, cost)
  local subject = subjectAt(key, usage, KEYS, values, at)
  local status = subject.blocked and BLOCKED or passes(subject, cost) and ADMITTED or DENIED
  return facts(subject, status, cost)
end

local replies = { now, ARGV[1] }
for i = 1, count do
  local at = 1 + (ITEM_KEYS + more) * (i - 1)
  local ok, reply = pcall(peek, KEYS[at], KEYS[at + 1], at, tonumber(ARGV[2 + i]))
  replies[i + 2] = ok and reply or failed(reply)
end
return replies
