-- The same as limit-count for items that were asked before: each looks first for what the earlier call was answered, and leaves its
-- own answer there, in case that call is still under way.
-- KEYS: per item: reply of the first call, subject, usage (and one more for each further rule)
-- ARGV: call, rules, then per item: ask, not after ms, place in the first call, reply ms
-- Reply: server ms, call, then per item as limit-count
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
--- @include shared/limit-save
--- @include shared/limit-record
--- @include shared/limit-ask
local more, ITEM_KEYS, ITEM_ARGS = 0, 3, 4
more = readRules(ARGV[2]) - 1
local count = #KEYS / (ITEM_KEYS + more)
local values = readKeys(KEYS, 2, ITEM_KEYS + more)
local records, retention = {}, {}

local replies, subjectOf, places = { now, ARGV[1] }, {}, {}
for i = 1, count do
  local at, own = 1 + (ITEM_KEYS + more) * (i - 1), 2 + ITEM_ARGS * (i - 1)
  local first, place = KEYS[at], tonumber(ARGV[own + 3])
  local record = records[first] or readRecord(values[at]) or { part = {} }
  records[first] = record
  replies[i + 2] = answerIn(record, place) or (now > tonumber(ARGV[own + 2]) and 'late')
  if not replies[i + 2] then
    local ok, subject = pcall(subjectAt, KEYS[at + 1], KEYS[at + 2], KEYS, values, at + 1)
    if not ok then
      replies[i + 2] = failed(subject)
    else
      replies[i + 2] = answer(subject, ARGV[own + 1])
      subjectOf[i + 2] = subject
      -- At once: the same may be asked twice in this call.
      amend(record, place, replies[i + 2])
      retention[first] = ARGV[own + 4]
    end
  end
end
saveAll(replies, subjectOf)
for i = 1, count do
  local at, own = 1 + (ITEM_KEYS + more) * (i - 1), 2 + ITEM_ARGS * (i - 1)
  if subjectOf[i + 2] then
    amend(records[KEYS[at]], tonumber(ARGV[own + 3]), replies[i + 2])
  end
end
for key, ms in pairs(retention) do
  redis.call('SET', key, cmsgpack.pack(records[key]), 'PX', ms)
end
return replies
