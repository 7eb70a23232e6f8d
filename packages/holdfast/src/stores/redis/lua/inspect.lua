-- Reads many locks. Changes nothing.
-- KEYS: per item: lock, queue
-- ARGV: none
-- Reply: server ms, then per item an array: held VALUE PTTL WAITERS | missing | error MESSAGE
--- @include shared/now
local replies = { digits(now) }
for i = 1, #KEYS / 2 do
  local lock, queue = KEYS[2 * i - 1], KEYS[2 * i]
  local value = redis.pcall('GET', lock)
  if errorOf(value) then
    replies[i + 1] = { 'error', errorOf(value) }
  elseif not value then
    replies[i + 1] = { 'missing' }
  else
    local left = digits(redis.call('PTTL', lock))
    replies[i + 1] = { 'held', value, left, digits(redis.call('ZCOUNT', queue, 1, '+inf')) }
  end
end
return replies
