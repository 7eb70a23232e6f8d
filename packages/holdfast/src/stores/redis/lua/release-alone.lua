-- Gives locks back by their keys alone, each only if its owner still holds it: in a cluster, while their slot moves. Wakes nobody.
-- KEYS: per item: lock
-- ARGV: call, end of every owner, ids
--       ids: of all items one after the other, 22 characters each; with the end of every owner they are the owners. Owners that
--       have no such id are the end alone.
-- Reply: server ms, call, then per item: released, or an array: missing | other VALUE PTTL | error MESSAGE
--- @include shared/now
--- @include shared/read
--- @include shared/value
local ID_CHARACTERS = 22
local replies = { digits(now), ARGV[1] }

local function release(lock, owner)
  local value, failure = readString(lock)
  if failure then
    return { 'error', failure }
  elseif not value then
    return { 'missing' }
  elseif not isOwnedBy(value, owner) then
    return other(lock, value)
  end
  failure = errorOf(redis.pcall('DEL', lock))
  return failure and { 'error', failure } or 'released'
end

for i = 1, #KEYS do
  local id = string.sub(ARGV[3], ID_CHARACTERS * (i - 1) + 1, ID_CHARACTERS * i)
  replies[i + 2] = release(KEYS[i], id .. ARGV[2])
end
return replies
