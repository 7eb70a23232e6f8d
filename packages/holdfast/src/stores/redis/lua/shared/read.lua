-- Reading a plain string: what locks and fences are.

-- Why this server is not to be believed about a key, or nil: a replica may lack what its primary has, and still have what that gave up. Asks for
-- a write that changes nothing, whatever lies there. (GT came with Redis 7; before it nothing is found out.)
local function refusesWrites(key)
  local failure = errorOf(redis.pcall('PEXPIRE', key, '1', 'GT'))
  return failure and string.find(failure, 'READONLY', 1, true) and failure or nil
end

-- The string at a key, false when there is none. The second result is the text of the error when there is one; it says what
-- lies there when that is no string.
local function readString(key)
  local value = redis.pcall('GET', key)
  local failure = errorOf(value)
  if not failure then
    return value, not value and refusesWrites(key) or nil
  end
  if string.find(failure, 'WRONGTYPE', 1, true) then
    local found = redis.pcall('TYPE', key)
    failure = 'WRONGTYPE a ' .. (found.ok or 'value of another type') .. ' lies at ' .. key
  end
  return false, failure
end

-- The reply where a lock is somebody else's.
local function other(lock, value)
  local failure = refusesWrites(lock)
  if failure then
    return { 'error', failure }
  end
  return { 'other', value, digits(redis.call('PTTL', lock)) }
end
