-- Stores the outcomes of many runs, each only if its owner still has the record, or where there is none any more.
-- KEYS: per item: record
-- ARGV: call, retention ms, then per item: OWNER ATTEMPT, FINGERPRINT FORM, body
-- Reply: server ms, call, then all when all are stored. Else per item: done | other, or an array: error MESSAGE
--- @include shared/now
local ITEMS_AT, ITEM_ARGS = 2, 3
local retention, nowText = ARGV[2], digits(now)

-- As nearly always: it is the first run of this key, whose fingerprint is the record's. What follows below is dear, function by
-- function, even where it is not called; so is string.match.
local replies, left = { nowText, ARGV[1] }, 0
for i = 1, #KEYS do
  local at = ITEMS_AT + ITEM_ARGS * (i - 1)
  local value, reply = redis.pcall('GET', KEYS[i]), false
  local run = ARGV[at + 1]
  local head = 'running ' .. run .. ' '
  if type(value) == 'string' and string.sub(run, -2) == ' 1' and string.sub(value, 1, #head) == head then
    local record = 'done ' .. run .. ' ' .. nowText .. ' 0 ' .. ARGV[at + 2] .. '\n' .. ARGV[at + 3]
    reply = not redis.pcall('SET', KEYS[i], record, 'PX', retention).err and 'done'
  end
  replies[i + 2] = reply
  left = reply and left or left + 1
end
if left == 0 then
  return { nowText, ARGV[1], 'all' }
end

--- @include shared/read
--- @include shared/once-record
local function complete(key, run, outcome, body)
  local owner, attempt = string.match(run, '^(%S+) (%d+)$')
  local fingerprint, form = string.match(outcome, '^(%S+) (%S+)$')
  local record, failure = readRecord(key)
  if failure then
    return { 'error', failure }
  end
  if record and not runs(record, owner) then
    return record.state == 'done' and record.owner == owner and 'done' or 'other'
  end
  record = changed(record or { attempt = tonumber(attempt), fingerprint = '-' }, 'done', owner, form, body)
  record.fingerprint = fingerprint ~= '-' and fingerprint or record.fingerprint
  failure = writeRecord(key, record, retention)
  return failure and { 'error', failure } or 'done'
end

for i = 1, #KEYS do
  local at = ITEMS_AT + ITEM_ARGS * (i - 1)
  if not replies[i + 2] then
    replies[i + 2] = complete(KEYS[i], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3])
  end
end
return replies
