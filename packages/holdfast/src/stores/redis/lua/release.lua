-- Gives many locks back, each only if its owner still holds it, and wakes the next waiter of each.
-- KEYS: per item: lock, queue
-- ARGV: call, process, wake channel prefix, then per item: owner
-- Reply: server ms, call, then per item an array: released WOKE(0|1) | missing | other VALUE PTTL | error MESSAGE
--- @include shared/now
--- @include shared/read
--- @include shared/value
--- @include shared/queue
local replies = { digits(now), ARGV[1] }
for i = 1, #KEYS / 2 do
  local lock, queue, owner = KEYS[2 * i - 1], KEYS[2 * i], ARGV[3 + i]
  local value, failure = readString(lock)
  if failure then
    replies[i + 2] = { 'error', failure }
  elseif not value then
    replies[i + 2] = { 'missing' }
  elseif ownerOf(value) ~= owner then
    replies[i + 2] = { 'other', value, digits(redis.call('PTTL', lock)) }
  else
    local deleted = redis.pcall('DEL', lock)
    if errorOf(deleted) then
      replies[i + 2] = { 'error', errorOf(deleted) }
    else
      replies[i + 2] = { 'released', wakeNext(queue, ARGV[2], ARGV[3], lock) and '1' or '0' }
    end
  end
end
return replies
