-- Blocks many subjects, each for a while from now, or with 0 no longer.
-- KEYS: per item: subject
-- ARGV: call, then per item: duration ms
-- Reply: server ms, call, then per item: done, or an array: error MESSAGE
--- @include shared/now
--- @include shared/read
--- @include shared/limit-write
--- @include shared/limit-side

local function block(key, duration)
  local value, failure = readString(key)
  if failure then
    return failure
  end
  local subject = { key = key, present = value }
  parseSide(subject, value)
  subject.blocked, subject.duration = nil, nil
  if duration > 0 then
    subject.blocked, subject.duration = now + duration, duration
  end
  return saveSide(subject)
end

local replies = { now, ARGV[1] }
for i = 1, #KEYS do
  local failure = block(KEYS[i], tonumber(ARGV[1 + i]))
  replies[i + 2] = failure and { 'error', failure } or 'done'
end
return replies
