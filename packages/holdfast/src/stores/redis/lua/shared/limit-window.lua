-- The exact sliding window: a ring of hits in one string, oldest first. Same verdicts as store/limit/algorithms/sliding-window.ts.
-- Value: w, bytes of an entry, newest hit (time, weight), weight of all, time of the oldest, capacity, tail, count; then
-- the entries: time in six bytes, weight in two (in six once a weight needs them). The newest hit stands in the header alone,
-- since it still grows. A small ring is read and written whole (`image`); of a large one only what is needed.
local RING_HEADER = 38
local RING_FORMAT = '>c1I1I6I6I6I6I4I4I4'
local RING_WHOLE = 128
local RING_CHUNK = 128
local NARROW, WIDE, NARROW_WEIGHT = 8, 12, 65535
local ENTRY = { [NARROW] = '>I6I2', [WIDE] = '>I6I6' }

-- Whether nothing may be written: then a large ring is worked on in a copy.
local readOnly = false

local function checked(reply)
  if errorOf(reply) then
    error(reply)
  end
  return reply
end

local function slidingWindow(numbers)
  local limit, per = numbers[2], numbers[3]
  local rule = { capacity = limit, facts = 3, large = limit > RING_WHOLE }

  local function empty(key)
    return { key = key, image = '', width = NARROW, newest = -1, weight = 0, used = 0, oldest = -1, capacity = 0, tail = 0, count = 0 }
  end

  -- Entries from the one at `index` on (0 is the oldest): as many of `wanted` as lie in one piece.
  local function entries(ring, index, wanted)
    local place = (ring.tail + index) % ring.capacity
    local n = math.min(wanted, ring.capacity - place, ring.count - index)
    local from = RING_HEADER + place * ring.width
    local to = from + n * ring.width
    if ring.image then
      return string.sub(ring.image, from + 1, to), n
    end
    local key = ring.key
    local bytes = checked(redis.pcall('GETRANGE', key, from, to - 1))
    if #bytes ~= to - from then
      error('ERR the window at ' .. key .. ' is cut short')
    end
    return bytes, n
  end

  local function entryAt(ring, index)
    return struct.unpack(ENTRY[ring.width], (entries(ring, index, 1)))
  end

  -- Goes through the entries, oldest first, until `visit` says stop. Returns how many it went past.
  local function walk(ring, visit)
    local index, chunk = 0, 8
    while index < ring.count do
      local bytes, n = entries(ring, index, chunk)
      for k = 0, n - 1 do
        local time, weight = struct.unpack(ENTRY[ring.width], bytes, k * ring.width + 1)
        if visit(time, weight, index + k) then
          return index + k
        end
      end
      index, chunk = index + n, RING_CHUNK
    end
    return index
  end

  -- Makes the ring an image with room for so many entries of so many bytes.
  local function rebuild(ring, capacity, width)
    local parts = {}
    if width == ring.width then
      local index = 0
      while index < ring.count do
        local bytes, n = entries(ring, index, ring.count)
        parts[#parts + 1], index = bytes, index + n
      end
    else
      walk(ring, function(time, weight)
        parts[#parts + 1] = struct.pack(ENTRY[width], time, weight)
      end)
    end
    local spare = string.rep('\0', (capacity - ring.count) * width)
    ring.image = string.rep('\0', RING_HEADER) .. table.concat(parts) .. spare
    ring.capacity, ring.width, ring.tail = capacity, width, 0
  end

  local function put(ring, index, time, weight)
    if readOnly and not ring.image then
      rebuild(ring, ring.capacity, ring.width)
    end
    local from = RING_HEADER + (ring.tail + index) % ring.capacity * ring.width
    local entry = struct.pack(ENTRY[ring.width], time, weight)
    if ring.image then
      ring.image = string.sub(ring.image, 1, from) .. entry .. string.sub(ring.image, from + ring.width + 1)
    else
      -- Behind what the header says, until that is written.
      local key = ring.key
      checked(redis.pcall('SETRANGE', key, from, entry))
    end
  end

  local function drop(ring, n)
    ring.count = ring.count - n
    if n > 0 then
      ring.tail = (ring.tail + n) % ring.capacity
    end
    ring.oldest = ring.count > 0 and entryAt(ring, 0) or ring.newest
  end

  local function dropUntil(ring, edge)
    local used = ring.used
    local n = walk(ring, function(time, weight)
      if time > edge then
        return true
      end
      used = used - weight
    end)
    ring.used = used
    drop(ring, n)
    -- So that nobody has to go this way again, not even after a denial.
    ring.ahead = ring.ahead or n > RING_CHUNK
  end

  -- What lies in the future becomes one hit of now.
  local function pullBack(ring)
    local weight = ring.weight
    while ring.count > 0 do
      local time, more = entryAt(ring, ring.count - 1)
      if time < now and (weight > 0 or more > 0) then
        break
      end
      ring.count = ring.count - 1
      weight = weight + more
    end
    ring.newest, ring.weight, ring.ahead = now, weight, true
    if weight == 0 and ring.count > 0 then
      ring.newest, ring.weight = entryAt(ring, ring.count - 1)
      ring.count = ring.count - 1
    end
    if ring.count == 0 then
      ring.oldest = ring.newest
    end
  end

  local function parse(value, key)
    if #value < RING_HEADER or string.byte(value) ~= 119 then
      return nil
    end
    local ring = { key = key, exists = true }
    local _
    _, ring.width, ring.newest, ring.weight, ring.used, ring.oldest, ring.capacity, ring.tail, ring.count = struct.unpack(RING_FORMAT, value)
    if not rule.large then
      ring.image = value
    end
    return ENTRY[ring.width] and ring
  end

  function rule.read(value, key)
    if rule.large then
      value = checked(redis.pcall('GETRANGE', key, 0, RING_HEADER - 1))
    end
    -- Of a large one that is missing as much is read as of an empty string.
    local present = value and (value ~= '' or not rule.large or redis.call('EXISTS', key) == 1)
    local ring = present and parse(value, key)
    if ring and ring.newest > now then
      pullBack(ring)
    end
    if not ring or ring.newest <= now - per then
      ring = empty(key)
    elseif ring.oldest <= now - per then
      dropUntil(ring, now - per)
    end
    ring.present = present
    return ring
  end

  function rule.passes(ring, cost)
    return ring.used + cost <= limit
  end

  local function push(ring, time, weight)
    if weight > NARROW_WEIGHT and ring.width == NARROW then
      rebuild(ring, ring.capacity, WIDE)
    end
    if ring.count == ring.capacity then
      local double = math.max(ring.capacity * 2, 4)
      -- As many entries as a full window can have, one of them in the header.
      rebuild(ring, ring.capacity < limit - 1 and math.min(double, limit - 1) or double, ring.width)
    end
    put(ring, ring.count, time, weight)
    ring.count = ring.count + 1
  end

  function rule.count(ring, cost)
    if ring.newest == now then
      ring.weight = ring.weight + cost
    else
      if ring.weight > 0 then
        push(ring, ring.newest, ring.weight)
      end
      ring.newest, ring.weight = now, cost
      if ring.count == 0 then
        ring.oldest = now
      end
    end
    ring.used = ring.used + cost
  end

  -- The oldest make room: usage never exceeds the limit, and the most recent tries are what counts.
  function rule.countDenied(ring, cost)
    rule.count(ring, cost)
    local left = ring.used - limit
    if left <= 0 then
      return
    end
    ring.used = limit
    local n = walk(ring, function(time, weight, index)
      if weight > left then
        put(ring, index, time, weight - left)
        left = 0
        return true
      end
      left = left - weight
      return false
    end)
    drop(ring, n)
    ring.weight = ring.weight - left
  end

  -- The place of the entry of exactly this time.
  local function find(ring, time)
    local low, high = 0, ring.count
    while low < high do
      local middle = math.floor((low + high) / 2)
      if entryAt(ring, middle) < time then
        low = middle + 1
      else
        high = middle
      end
    end
    if low < ring.count and entryAt(ring, low) == time then
      return low
    end
  end

  function rule.adjust(ring, _, at, taken, cost)
    -- A take that lies in the future was moved to now with its hit.
    local time, change = math.min(at, now), cost - taken
    if ring.newest == time then
      local weight = math.max(0, ring.weight + change)
      ring.used, ring.weight = ring.used + weight - ring.weight, weight
      return true
    end
    local index = find(ring, time)
    if not index then
      return false
    end
    local _, before = entryAt(ring, index)
    local weight = math.max(0, before + change)
    if weight > NARROW_WEIGHT and ring.width == NARROW then
      rebuild(ring, ring.capacity, WIDE)
    end
    put(ring, index, time, weight)
    ring.used = ring.used + weight - before
    return true
  end

  -- The time of the newest hit that has any weight.
  local function newestTime(ring)
    if ring.weight > 0 then
      return ring.newest
    end
    for index = ring.count - 1, 0, -1 do
      local time, weight = entryAt(ring, index)
      if weight > 0 then
        return time
      end
    end
    return 0
  end

  -- The time of the hit with which enough has left for this cost.
  local function enough(ring, cost)
    local over = ring.used + cost - limit
    if over <= 0 or cost > limit then
      return 0
    end
    local found = ring.newest
    walk(ring, function(time, weight)
      over = over - weight
      if over <= 0 then
        found = time
        return true
      end
    end)
    return found
  end

  function rule.fact(ring, cost)
    return ring.used, newestTime(ring), enough(ring, cost)
  end

  -- Writes it; the header of a large one last.
  function rule.write(ring)
    local key, time = ring.key, newestTime(ring)
    if time == 0 then
      return redis.pcall('DEL', key)
    end
    local header = struct.pack(RING_FORMAT, 'w', ring.width, ring.newest, ring.weight, ring.used, ring.oldest, ring.capacity, ring.tail, ring.count)
    if ring.image then
      return store(key, header .. string.sub(ring.image, RING_HEADER + 1), expiryBefore(time + per), ring.present)
    end
    local written = redis.pcall('SETRANGE', key, 0, header)
    return errorOf(written) and written or redis.pcall('PEXPIREAT', key, expiryBefore(time + per))
  end

  return rule
end
