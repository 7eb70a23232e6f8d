-- Frees many keys, each only if its owner runs. Earlier runs whose end is not known stay counted.
-- KEYS: per item: record
-- ARGV: call, retention ms, then per item: OWNER STARTED
--       STARTED: 1 when the work was begun: one that was not does not count
-- Reply: server ms, call, then per item: freed | missing | other, or an array: error MESSAGE
--- @include shared/now
--- @include shared/read
--- @include shared/once-record
local ITEMS_AT = 2
local retention = ARGV[2]

local function free(key, owner, started)
  local record, failure = readRecord(key)
  if failure then
    return { 'error', failure }
  elseif not record then
    return 'missing'
  elseif not runs(record, owner) then
    return record.state == 'open' and record.owner == owner and 'freed' or 'other'
  elseif record.attempt == 1 then
    failure = errorOf(redis.pcall('DEL', key))
  else
    record = changed(record, 'open', owner, '-', '')
    record.attempt = record.attempt - (started == '1' and 0 or 1)
    failure = writeRecord(key, record, retention)
  end
  return failure and { 'error', failure } or 'freed'
end

local replies = { digits(now), ARGV[1] }
for i = 1, #KEYS do
  local owner, started = string.match(ARGV[ITEMS_AT + i], '^(%S+) (%d)$')
  replies[i + 2] = free(KEYS[i], owner, started)
end
return replies
