-- Takes a process out of many queues. Where the lock is free, the next waiter is woken: it may have been our turn.
-- KEYS: per item: lock, queue
-- ARGV: process, wake channel prefix
-- Reply: server ms, then per item an array: left | error MESSAGE
--- @include shared/now
--- @include shared/queue
local replies = { digits(now) }
for i = 1, #KEYS / 2 do
  local lock, queue = KEYS[2 * i - 1], KEYS[2 * i]
  local removed = redis.pcall('ZREM', queue, ARGV[1], 'beat:' .. ARGV[1])
  if errorOf(removed) then
    replies[i + 1] = { 'error', errorOf(removed) }
  else
    if redis.call('EXISTS', lock) == 0 then
      wakeNext(queue, ARGV[1], ARGV[2], lock)
    end
    replies[i + 1] = { 'left' }
  end
end
return replies
