-- Changes a fenced value only under a fence that is not lower than the stored one, or only the fence itself.
-- KEYS: record
-- ARGV: change (write | remove | check | raise), fence, once (1 | 0), lock or empty, ttl ms or empty, keep ms, value
-- Reply: done, or an array: stale FENCE | lock NAME
local change, fence, once, lock = ARGV[1], ARGV[2], ARGV[3] == '1', ARGV[4]
local ttl, keep, value = tonumber(ARGV[5]), tonumber(ARGV[6]), ARGV[7]

-- Fences are compared as digits: the largest are more than a Lua number can hold.
local function below(a, b)
  if #a ~= #b then
    return #a < #b
  end
  return a < b
end

local stored = redis.call('HMGET', KEYS[1], 'fence', 'lock')
local accepted, registered = stored[1] or '0', stored[2] or ''
if registered ~= '' and lock ~= '' and registered ~= lock then
  return { 'lock', registered }
end
if change ~= 'raise' and (below(fence, accepted) or (once and fence == accepted)) then
  return { 'stale', accepted }
end

if below(accepted, fence) then
  redis.call('HSET', KEYS[1], 'fence', fence)
end
if lock ~= '' then
  redis.call('HSET', KEYS[1], 'lock', lock)
end

local clock = redis.call('TIME')
local now = tonumber(clock[1]) * 1000 + math.floor(tonumber(clock[2]) / 1000)
if change == 'write' then
  redis.call('HSET', KEYS[1], 'value', value, 'until', ttl and string.format('%.0f', now + ttl) or '')
elseif change == 'remove' then
  redis.call('HDEL', KEYS[1], 'value', 'until')
end

-- The fence outlives the value: a late writer must still find it.
local ends = redis.call('HGET', KEYS[1], 'until')
if ends == '' then
  redis.call('PERSIST', KEYS[1])
else
  redis.call('PEXPIRE', KEYS[1], string.format('%.0f', math.max(keep, (tonumber(ends or '0') or 0) - now)))
end
return 'done'
