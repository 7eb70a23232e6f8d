-- Prolongs many leases, each only if owner and fence stand there. Never creates a key, never writes a value, never shortens.
-- KEYS: per item: lock
-- ARGV: call, then per item: OWNER#FENCE, ttl ms, not after ms
-- Reply: server ms, call, then per item an array: renewed | missing | other VALUE PTTL | late | error MESSAGE
--- @include shared/now
--- @include shared/read
--- @include shared/value
local replies = { digits(now), ARGV[1] }
for i = 1, #KEYS do
  local lock, at = KEYS[i], 1 + 3 * (i - 1)
  local grant, ttl, notAfter = ARGV[at + 1], tonumber(ARGV[at + 2]), tonumber(ARGV[at + 3])
  local value, failure = readString(lock)
  if now > notAfter then
    replies[i + 2] = { 'late' }
  elseif failure then
    replies[i + 2] = { 'error', failure }
  elseif not value then
    replies[i + 2] = { 'missing' }
  elseif not isGrant(value, grant) then
    replies[i + 2] = { 'other', value, digits(redis.call('PTTL', lock)) }
  else
    local left = redis.call('PTTL', lock)
    local set = redis.pcall('PEXPIRE', lock, digits(math.max(left, ttl)))
    replies[i + 2] = errorOf(set) and { 'error', errorOf(set) } or { 'renewed' }
  end
end
return replies
