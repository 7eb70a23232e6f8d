-- Agrees that no later grant here has these fences or lower ones, each only while its owner holds the lock and the grant's own
-- fence here is not higher. For quorums of servers.
-- KEYS: fence, then per item: lock
-- ARGV: call, fence retention ms, end of every owner, then per item: ID#FENCE
-- Reply: server ms, call, then per item an array: raised | higher FENCE | missing | other VALUE PTTL | error MESSAGE
--- @include shared/now
--- @include shared/read
--- @include shared/value
--- @include shared/fence
local ID_CHARACTERS, ITEMS_AT = 22, 3
local fenceKey, retention, tail = KEYS[1], tonumber(ARGV[2]), ARGV[3]
local replies = { digits(now), ARGV[1] }

-- Sees to it that the last fence is at least this one. Returns the text of the error when there is one.
local function raiseLast(fence)
  local last, unreadable = lastFence(fenceKey)
  if unreadable or last >= fence then
    return unreadable
  end
  return writeLast(fenceKey, last, fence, retention)
end

local function raise(lock, owner, fence)
  local value, unreadable = readString(lock)
  if unreadable then
    return { 'error', unreadable }
  elseif not value then
    return { 'missing' }
  elseif not isOwnedBy(value, owner) then
    return { 'other', value, digits(redis.call('PTTL', lock)) }
  end
  local own = string.match(value, '^#(%d+)', #owner + 1)
  if tonumber(own) > fence then
    return { 'higher', own }
  end
  local failure = raiseLast(fence)
  return failure and { 'error', failure } or { 'raised' }
end

for i = 1, #KEYS - 1 do
  local item = ARGV[ITEMS_AT + i]
  local id, fence = string.sub(item, 1, ID_CHARACTERS), string.match(item, '#(%d+)$')
  replies[i + 2] = raise(KEYS[i + 1], id .. tail, tonumber(fence))
end
return replies
