-- Takes a process out of many queues. Where the lock is free, the next waiter is woken: it may have been our turn.
-- KEYS: per item: lock, queue
-- ARGV: call, process, wake channel prefix ({} before it: in a cluster)
-- Reply: server ms, call, then per item an array: left | error MESSAGE
--- @include shared/now
--- @include shared/queue
local replies = { digits(now), ARGV[1] }
for i = 1, #KEYS / 2 do
  local lock, queue = KEYS[2 * i - 1], KEYS[2 * i]
  local removed = redis.pcall('ZREM', queue, ARGV[2], 'beat:' .. ARGV[2])
  if errorOf(removed) then
    replies[i + 2] = { 'error', errorOf(removed) }
  else
    if redis.call('EXISTS', lock) == 0 then
      wakeNext(queue, ARGV[2], ARGV[3], lock)
    end
    replies[i + 2] = { 'left' }
  end
end
return replies
