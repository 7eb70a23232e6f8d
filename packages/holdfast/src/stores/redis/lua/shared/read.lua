-- Reading a plain string: what locks and fences are.

-- The string at a key, false when there is none. The second result is the text of the error when there is one; it says what
-- lies there when that is no string.
local function readString(key)
  local value = redis.pcall('GET', key)
  local failure = errorOf(value)
  if not failure then
    return value
  end
  if string.find(failure, 'WRONGTYPE', 1, true) then
    local found = redis.pcall('TYPE', key)
    failure = 'WRONGTYPE a ' .. (found.ok or 'value of another type') .. ' lies at ' .. key
  end
  return false, failure
end
