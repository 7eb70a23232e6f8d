-- Gives many locks back, each only if its owner still holds it, and wakes the next waiter of each.
-- KEYS: per item: lock, queue
-- ARGV: call, process, wake channel prefix, then per item: owner
-- Reply: server ms, call, then per item: released | woken (released, and another process was woken), or an array:
--        missing | other VALUE PTTL | error MESSAGE
--- @include shared/now
--- @include shared/read
--- @include shared/value
--- @include shared/queue
local replies = { digits(now), ARGV[1] }
local count = #KEYS / 2
local locks, queues = {}, {}
for i = 1, count do
  locks[i], queues[i] = KEYS[2 * i - 1], KEYS[2 * i]
end
local values = redis.call('MGET', unpack(locks))

-- What is no text has no value above: reading it alone tells what it is.
local function absent(lock)
  local _, failure = readString(lock)
  return failure and { 'error', failure } or { 'missing' }
end

local ours, owned = {}, {}
for i = 1, count do
  local value = values[i]
  if not value then
    replies[i + 2] = absent(locks[i])
  elseif not isOwnedBy(value, ARGV[3 + i]) then
    replies[i + 2] = { 'other', value, digits(redis.call('PTTL', locks[i])) }
  else
    ours[#ours + 1], owned[#owned + 1] = i, locks[i]
    replies[i + 2] = 'released'
  end
end

if #ours > 0 then
  local failure = errorOf(redis.pcall('DEL', unpack(owned)))
  local crowded = not failure and redis.call('EXISTS', unpack(queues)) > 0
  for _, i in ipairs(ours) do
    if failure then
      replies[i + 2] = { 'error', failure }
    elseif crowded and wakeNext(queues[i], ARGV[2], ARGV[3], locks[i]) then
      replies[i + 2] = 'woken'
    end
  end
end
return replies
