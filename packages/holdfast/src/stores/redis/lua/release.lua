-- Gives many locks back, each only if its owner still holds it, and wakes the next waiter of each.
-- KEYS: per item: lock, queue
-- ARGV: call, process, wake channel prefix ({} before it: in a cluster), end of every owner, ids
--       ids: of all items one after the other, 22 characters each; with the end of every owner they are the owners. Owners that
--       have no such id are the end alone.
-- Reply: server ms, call, then `all` when every lock was released and nobody waits.
--        Else per item: released | woken (released, and another process was woken), or an array:
--        missing | other VALUE PTTL | error MESSAGE
--- @include shared/now
local ID_CHARACTERS = 22
local count = #KEYS / 2
local locks, queues, owners = {}, {}, {}
for i = 1, count do
  locks[i], queues[i] = KEYS[2 * i - 1], KEYS[2 * i]
  owners[i] = string.sub(ARGV[5], ID_CHARACTERS * (i - 1) + 1, ID_CHARACTERS * i) .. ARGV[4]
end
local values = redis.call('MGET', unpack(locks))

-- As nearly always: every lock is ours, nobody waits for any. What follows below is dear, function by function, even where
-- it is not called.
local simple = redis.pcall('EXISTS', unpack(queues)) == 0
for i = 1, count do
  local value, owner = values[i], owners[i]
  simple = simple and value and string.sub(value, 1, #owner + 1) == owner .. '#' and #value - #owner <= 17
    and string.find(value, '^%d+$', #owner + 2)
end
if simple then
  local deleted = redis.pcall('DEL', unpack(locks))
  -- The same lock twice in this very call: both are told that it is free.
  if type(deleted) == 'number' then
    return { digits(now), ARGV[1], 'all' }
  end
end

--- @include shared/read
--- @include shared/value
--- @include shared/queue
local replies = { digits(now), ARGV[1] }

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
  elseif not isOwnedBy(value, owners[i]) then
    replies[i + 2] = other(locks[i], value)
  else
    ours[#ours + 1], owned[#owned + 1] = i, locks[i]
    replies[i + 2] = 'released'
  end
end

if #ours > 0 then
  local failure = errorOf(redis.pcall('DEL', unpack(owned)))
  for _, i in ipairs(ours) do
    if failure then
      replies[i + 2] = { 'error', failure }
    elseif wakeNext(queues[i], ARGV[2], ARGV[3], locks[i]) then
      replies[i + 2] = 'woken'
    end
  end
end
return replies
