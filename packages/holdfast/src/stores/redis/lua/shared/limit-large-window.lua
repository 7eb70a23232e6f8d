-- A plain take under an exact window whose ring is large, as shared/limit-window keeps it: reads and writes only what is needed,
-- so that it costs as much with a million entries as with a few. Gives nothing, and so leaves the take to that, where there is
-- more to it: a ring that begins, grows, or has many entries to drop at once.
local FEW = 8

-- Returns a function that counts and gives what to answer; the last result says whether it counted.
local function largeWindow(limit, per)
  local edge = now - per
  local expiry = expiryBefore(now + per)

  return function(_, cost, key)
    local header = redis.pcall('GETRANGE', key, 0, RING_BYTES - 1)
    if errorOf(header) or #header < RING_BYTES or string.byte(header) ~= 119 or string.byte(header, 2) ~= ENTRY_BYTES then
      return nil
    end
    local newest, weight, used, oldest, capacity, tail, count = struct.unpack('>I6I6I6I6I4I4I4', header, 3)
    if newest > now or newest <= edge or weight == 0 then
      return nil
    end
    local few, bytes = math.min(FEW, count, capacity - tail), nil
    if few > 0 and (oldest <= edge or used + cost > limit) then
      local from = RING_BYTES + tail * ENTRY_BYTES
      bytes = redis.call('GETRANGE', key, from, from + few * ENTRY_BYTES - 1)
    end
    local dropped, time, leaves = 0, oldest, 0
    while dropped < count and time <= edge do
      if dropped == few then
        return nil
      end
      time, leaves = struct.unpack('>I6I2', bytes, dropped * ENTRY_BYTES + 1)
      if time <= edge then
        dropped, used = dropped + 1, used - leaves
      end
    end
    oldest = dropped < count and time or newest

    local over = used + cost - limit
    if over > 0 then
      local enough, n = cost > limit and 0 or newest, cost > limit and count or dropped
      while n < count and over > 0 do
        if n == few then
          return nil
        end
        enough, leaves = struct.unpack('>I6I2', bytes, n * ENTRY_BYTES + 1)
        over, n = over - leaves, n + 1
      end
      return { 0, used, newest, cost <= limit and over > 0 and newest or enough }
    end

    tail, count = (tail + dropped) % capacity, count - dropped
    local failure
    if newest == now then
      weight = weight + cost
    else
      if weight > 65535 or count == capacity then
        return nil
      end
      -- Behind what the header says, until that is written.
      local from = RING_BYTES + (tail + count) % capacity * ENTRY_BYTES
      failure = errorOf(redis.pcall('SETRANGE', key, from, struct.pack('>I6I2', newest, weight)))
      count, newest, weight = count + 1, now, cost
    end
    header = struct.pack('>c1I1I6I6I6I6I4I4I4', 'w', ENTRY_BYTES, newest, weight, used + cost, oldest, capacity, tail, count)
    failure = failure or errorOf(redis.pcall('SETRANGE', key, 0, header))
      or errorOf(redis.pcall('PEXPIREAT', key, expiry))
    if failure then
      return { 'error', failure }
    end
    return { 1, used + cost, newest, 0 }, nil, nil, true
  end
end
