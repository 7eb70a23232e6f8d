-- Reads a fenced value, unless its time is over.
-- KEYS: record
-- ARGV: none
-- Reply: nil when there is no value, else an array: value, fence
local stored = redis.call('HMGET', KEYS[1], 'value', 'fence', 'until')
local value, fence, ends = stored[1], stored[2], stored[3]
if not value then
  return nil
end
if ends ~= '' then
  local clock = redis.call('TIME')
  local now = tonumber(clock[1]) * 1000 + math.floor(tonumber(clock[2]) / 1000)
  if now >= tonumber(ends) then
    return nil
  end
end
return { value, fence }
