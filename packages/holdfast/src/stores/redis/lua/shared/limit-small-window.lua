-- A plain take under an exact window whose ring is small, as shared/limit-window keeps it: in one go over the whole ring, since
-- most windows are small. Gives nothing, and so leaves the take to that, where there is more to it.
local RING_BYTES, ENTRY_BYTES = 38, 8

-- The ring's entries, oldest first, with room for more: as many as a full window can have, one of them in the header.
local function grownRing(entries, tail, capacity, limit)
  local double = math.max(capacity * 2, 4)
  local grown = capacity < limit - 1 and math.min(double, limit - 1) or double
  local turned = string.sub(entries, tail * ENTRY_BYTES + 1) .. string.sub(entries, 1, tail * ENTRY_BYTES)
  return turned .. string.rep('\0', (grown - capacity) * ENTRY_BYTES), grown
end

-- Returns a function that gives what to answer, what to keep and until when.
local function smallWindow(limit, per)
  local edge = now - per
  local expiry = expiryBefore(now + per)

  return function(value, cost)
    local newest, weight, used, oldest, capacity, tail, count = -1, 0, 0, -1, 0, 0, 0
    local entries = ''
    if value then
      if #value < RING_BYTES or string.byte(value) ~= 119 or string.byte(value, 2) ~= ENTRY_BYTES then
        return nil
      end
      newest, weight, used, oldest, capacity, tail, count = struct.unpack('>I6I6I6I6I4I4I4', value, 3)
      if newest > now or weight == 0 then
        return nil
      end
      entries = string.sub(value, RING_BYTES + 1)
      if newest <= edge then
        newest, weight, used, capacity, tail, count, entries = -1, 0, 0, 0, 0, 0, ''
      end
      while count > 0 and oldest <= edge do
        local _, gone = struct.unpack('>I6I2', entries, tail * ENTRY_BYTES + 1)
        used, tail, count = used - gone, (tail + 1) % capacity, count - 1
        oldest = count > 0 and struct.unpack('>I6', entries, tail * ENTRY_BYTES + 1) or newest
      end
    end

    local over = used + cost - limit
    if over > 0 then
      local enough = cost > limit and 0 or newest
      for n = 0, cost > limit and -1 or count - 1 do
        local time, leaves = struct.unpack('>I6I2', entries, (tail + n) % capacity * ENTRY_BYTES + 1)
        over = over - leaves
        if over <= 0 then
          enough = time
          break
        end
      end
      return { 0, used, math.max(newest, 0), enough }
    end

    if newest == now then
      weight = weight + cost
    else
      if weight > 0 then
        if weight > 65535 then
          return nil
        elseif count == capacity then
          entries, capacity = grownRing(entries, tail, capacity, limit)
          tail = 0
        end
        local from = (tail + count) % capacity * ENTRY_BYTES
        local entry = struct.pack('>I6I2', newest, weight)
        entries = string.sub(entries, 1, from) .. entry .. string.sub(entries, from + ENTRY_BYTES + 1)
        count = count + 1
      end
      if count == 0 then
        oldest = now
      end
      newest, weight = now, cost
    end
    used = used + cost
    local header = struct.pack('>c1I1I6I6I6I6I4I4I4', 'w', ENTRY_BYTES, newest, weight, used, oldest, capacity, tail, count)
    return { 1, used, newest, 0 }, header .. entries, expiry
  end
end
