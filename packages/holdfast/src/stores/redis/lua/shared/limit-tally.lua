-- The count of a fixed window as it is kept. Value: f, number of the window, its length, count.

-- Reads and writes counts. The first function gives the count now, whether there was any, and whether it lay in the future; the
-- second what to keep for a count above 0, and until when.
local function windowCounts(per)
  local window = math.floor(now / per)
  local expiry = expiryBefore((window + 1) * per)

  local function countIn(value)
    if #value == 19 and string.byte(value) == 102 then
      local was, length, count = struct.unpack('>I6I5I7', value, 2)
      if (was + 1) * length > now then
        return count, true, length == per and was > window
      end
    end
    return 0, false, false
  end

  local function valueOf(count)
    return struct.pack('>c1I6I5I7', 'f', window, per, count), expiry
  end

  return countIn, valueOf
end
