-- Reads many locks. Changes nothing.
-- KEYS: per item: lock, queue
-- ARGV: call
-- Reply: server ms, call, then per item an array: held VALUE PTTL WAITERS | missing | error MESSAGE
--- @include shared/now
--- @include shared/read
--- @include shared/queue
local replies = { digits(now), ARGV[1] }
for i = 1, #KEYS / 2 do
  local lock, queue = KEYS[2 * i - 1], KEYS[2 * i]
  local value, failure = readString(lock)
  failure = failure or refusesWrites(lock)
  if failure then
    replies[i + 2] = { 'error', failure }
  elseif not value then
    replies[i + 2] = { 'missing' }
  else
    local left = digits(redis.call('PTTL', lock))
    replies[i + 2] = { 'held', value, left, digits(livingWaiters(queue)) }
  end
end
return replies
