-- Takes many keys, each if it may be run, or says what stands there. One that its owner has already is prolonged.
-- KEYS: per item: record
-- ARGV: call, lease ms, retention ms, retry, not after ms, then per item: OWNER, FINGERPRINT
--       retry: 1 to take over from runs whose lease is over
--       after OWNER +MS when its own last moment is that much later
-- Reply: server ms, call, then all when every record is a first run now. Else per item an array:
--        claimed ATTEMPT | running LEFT_MS ATTEMPT FINGERPRINT | done FORM BODY FINGERPRINT | mismatch FINGERPRINT | late
--        | error MESSAGE
--- @include shared/now
local ITEMS_AT, ITEM_ARGS = 5, 2
local lease, retention, retry, notAfter = tonumber(ARGV[2]), ARGV[3], ARGV[4] == '1', tonumber(ARGV[5])
local nowText, ends = digits(now), digits(now + lease)

-- As nearly always: nothing is there, or the outcome of the same payload. What follows below is dear, function by function,
-- even where it is not called; so is string.match. (SET takes NX with GET since Redis 7: before it everything goes below.)
local replies, left, fresh = { nowText, ARGV[1] }, 0, now <= notAfter
local times = ' 1 ' .. nowText .. ' ' .. ends .. ' '
for i = 1, #KEYS do
  local at = ITEMS_AT + ITEM_ARGS * (i - 1)
  local owner, fingerprint, reply = ARGV[at + 1], ARGV[at + 2], false
  if string.find(owner, '+', 1, true) then
    owner = string.match(owner, '^[^+]+')
  end
  -- Each may have more time than the call.
  if now <= notAfter then
    local record = 'running ' .. owner .. times .. fingerprint .. ' -\n'
    local value = redis.pcall('SET', KEYS[i], record, 'NX', 'GET', 'PX', retention)
    fresh = fresh and not value
    if not value then
      reply = { 'claimed', '1' }
    elseif type(value) == 'string' then
      local known, form, body = string.match(value, '^done %S+ %d+ %d+ %d+ (%S+) (%S+)\n()')
      if known and (known == '-' or fingerprint == '-' or known == fingerprint) then
        reply = { 'done', form, string.sub(value, body), known }
      end
    end
  end
  replies[i + 2] = reply
  left = reply and left or left + 1
end
if fresh then
  return { nowText, ARGV[1], 'all' }
end
if left == 0 then
  return replies
end

--- @include shared/read
--- @include shared/once-record
local function claim(key, owner, fingerprint)
  local record, failure = readRecord(key)
  if failure then
    return { 'error', failure }
  end
  if record and runs(record, owner) then
    record.ends = math.max(record.ends, now + lease)
  elseif record and record.fingerprint ~= '-' and fingerprint ~= '-' and record.fingerprint ~= fingerprint then
    return { 'mismatch', record.fingerprint }
  elseif record and record.state == 'done' then
    return { 'done', record.form, record.body, record.fingerprint }
  elseif record and record.state == 'running' and (record.ends > now or not retry) then
    return { 'running', digits(leaseLeft(record)), digits(record.attempt), record.fingerprint }
  else
    record = changed(record or { attempt = 0, fingerprint = '-' }, 'running', owner, '-', '')
    record.attempt, record.ends = record.attempt + 1, now + lease
    record.fingerprint = fingerprint ~= '-' and fingerprint or record.fingerprint
  end
  failure = writeRecord(key, record, retention)
  return failure and { 'error', failure } or { 'claimed', digits(record.attempt) }
end

for i = 1, #KEYS do
  local at = ITEMS_AT + ITEM_ARGS * (i - 1)
  local owner, later = string.match(ARGV[at + 1], '^([^+]+)%+?(%d*)$')
  if now > notAfter + (tonumber(later) or 0) then
    replies[i + 2] = { 'late' }
  elseif not replies[i + 2] then
    replies[i + 2] = claim(KEYS[i], owner, ARGV[at + 2])
  end
end
return replies
