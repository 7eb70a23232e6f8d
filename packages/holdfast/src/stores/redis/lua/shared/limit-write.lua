-- Writing what is kept of subjects. No key is ever without an expiry.

-- The expiry of a key of which nothing counts from `over` on. Redis keeps a key throughout the millisecond of its expiry, so it is
-- the one before; but a key that expired now would never be there.
local function expiryBefore(over)
  return string.format('%d', math.max(now + 1, over - 1))
end

-- Sets a key that must be a string or not be there. `present` says that it was read.
local function store(key, value, expires, present)
  if present then
    return redis.pcall('SET', key, value, 'PXAT', expires)
  end
  -- NX: what is of another type was not read, and is not ours to overwrite.
  local reply = redis.pcall('SET', key, value, 'PXAT', expires, 'NX')
  if reply then
    return reply
  end
  local found = redis.pcall('TYPE', key)
  return { err = 'WRONGTYPE a ' .. (found.ok or 'value of another type') .. ' lies at ' .. key }
end

-- Sets a key until `expires` (digits), or deletes it when there is no value: nothing of it counts any more.
local function keep(key, value, expires, present)
  if value then
    return store(key, value, expires, present)
  end
  return present and redis.pcall('DEL', key)
end
