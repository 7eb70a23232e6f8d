-- Decides about many keys whose runs ended unknown: gives each an outcome, or frees it while its runs stay counted.
-- KEYS: per item: record
-- ARGV: call, retention ms, not after ms, then per item: OWNER FORM, body
--       FORM: - to free it
--       after FORM +MS when its own last moment is that much later
-- Reply: server ms, call, then per item: settled | running | done | missing | late, or an array: error MESSAGE
--- @include shared/now
--- @include shared/read
--- @include shared/once-record
local ITEMS_AT, ITEM_ARGS = 3, 2
local retention, notAfter = ARGV[2], tonumber(ARGV[3])

local function settle(key, owner, form, body)
  local record, failure = readRecord(key)
  if failure then
    return { 'error', failure }
  elseif not record then
    return 'missing'
  elseif record.state ~= 'running' and record.owner == owner then
    return 'settled'
  elseif leaseLeft(record) > 0 then
    return 'running'
  elseif record.state == 'done' and record.form ~= 'unstored' then
    return 'done'
  end
  failure = writeRecord(key, changed(record, form == '-' and 'open' or 'done', owner, form, body), retention)
  return failure and { 'error', failure } or 'settled'
end

local replies = { digits(now), ARGV[1] }
for i = 1, #KEYS do
  local at = ITEMS_AT + ITEM_ARGS * (i - 1)
  local owner, form, later = string.match(ARGV[at + 1], '^(%S+) ([^%s+]+)%+?(%d*)$')
  if now > notAfter + (tonumber(later) or 0) then
    replies[i + 2] = 'late'
  else
    replies[i + 2] = settle(KEYS[i], owner, form, ARGV[at + 2])
  end
end
return replies
