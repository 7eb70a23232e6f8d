-- Prolongs the leases of many runs, each only if its owner runs. Never makes a record.
-- KEYS: per item: record
-- ARGV: call, lease ms, retention ms, not after ms, then per item: OWNER
--       after each item +MS when its own last moment is that much later
-- Reply: server ms, call, then per item: renewed | missing | other | late, or an array: error MESSAGE
--- @include shared/now
--- @include shared/read
--- @include shared/once-record
local ITEMS_AT = 4
local lease, retention, notAfter = tonumber(ARGV[2]), ARGV[3], tonumber(ARGV[4])

local function renew(key, owner)
  local record, failure = readRecord(key)
  if failure then
    return { 'error', failure }
  elseif not record then
    return 'missing'
  elseif not runs(record, owner) then
    return 'other'
  end
  record.ends = math.max(record.ends, now + lease)
  failure = writeRecord(key, record, retention)
  return failure and { 'error', failure } or 'renewed'
end

local replies = { digits(now), ARGV[1] }
for i = 1, #KEYS do
  local owner, later = string.match(ARGV[ITEMS_AT + i], '^([^%s+]+)%+?(%d*)$')
  if now > notAfter + (tonumber(later) or 0) then
    replies[i + 2] = 'late'
  else
    replies[i + 2] = renew(KEYS[i], owner)
  end
end
return replies
