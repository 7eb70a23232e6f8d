-- Prolongs many leases, each only if owner and fence stand there. Never creates a key, never writes a value, never shortens.
-- KEYS: per item: lock
-- ARGV: call, ttl ms, end of every owner, not after ms, then per item: ID#FENCE
--       after it +MS when its own last moment is that much later
-- Reply: server ms, call, then `all` when every lease was prolonged. Else per item an array:
--        renewed | missing | other VALUE PTTL | late | error MESSAGE
--- @include shared/now
--- @include shared/read
--- @include shared/value
local ID_CHARACTERS, ITEMS_AT = 22, 4
local ttl, tail, notAfter = tonumber(ARGV[2]), ARGV[3], tonumber(ARGV[4])
local replies, renewed = { digits(now), ARGV[1] }, 0
local count = #KEYS
for i = 1, count do
  local lock, item = KEYS[i], ARGV[ITEMS_AT + i]
  local fence, later = string.match(item, '^#(%d+)%+?(%d*)$', ID_CHARACTERS + 1)
  local grant = string.sub(item, 1, ID_CHARACTERS) .. tail .. '#' .. fence
  local value, failure = readString(lock)
  if now > notAfter + (tonumber(later) or 0) then
    replies[i + 2] = { 'late' }
  elseif failure then
    replies[i + 2] = { 'error', failure }
  elseif not value then
    replies[i + 2] = { 'missing' }
  elseif not isGrant(value, grant) then
    replies[i + 2] = other(lock, value)
  else
    local left = redis.call('PTTL', lock)
    local set = redis.pcall('PEXPIRE', lock, digits(math.max(left, ttl)))
    replies[i + 2] = errorOf(set) and { 'error', errorOf(set) } or { 'renewed' }
    renewed = renewed + (errorOf(set) and 0 or 1)
  end
end
if renewed == count then
  return { replies[1], replies[2], 'all' }
end
return replies
