-- The level of a token or leaky bucket as it is kept.
-- Value: a whole number of at most 64 bits, which Redis keeps in the least memory: LEVEL * 64 + UNIT, and then the time in
-- twelve digits, as milliseconds since 2020 (enough from 2023 to 2051); negative for a leaky bucket. UNIT is the unit's place among the common ones.
-- Where that does not fit: t or l, level, time, unit.
local COMPACT_LEVELS = 144115
local COMPACT_SINCE = 1577836800000
local COMPACT_FIRST, COMPACT_LAST = 100000000000, 999999999999

local function commonUnits()
  return {
    1, 2, 4, 5, 8, 10, 20, 25, 40, 50, 60, 100, 120, 125, 150, 180,
    200, 240, 250, 300, 360, 400, 500, 600, 720, 900, 1000, 1200, 1500, 1800, 2000, 2400,
    3000, 3600, 4000, 5000, 6000, 7200, 7500, 8640, 10000, 12000, 15000, 18000, 20000, 24000, 30000, 36000,
    60000, 72000, 86400, 120000, 180000, 300000, 360000, 600000, 720000, 864000, 900000, 1800000, 3600000, 8640000, 43200000, 86400000,
  }
end

-- Reads and writes levels. The first function gives the level now, whether there was any, and whether it lay in the future; the
-- second what to keep for a level above 0, and until when.
local function bucketLevels(leaky, unit, drain, code)
  local since = now - COMPACT_SINCE
  local compact = code >= 0 and since >= COMPACT_FIRST and since <= COMPACT_LAST
  local format = compact and string.format(leaky and '-%%d%d' or '%%d%d', since)

  local function parse(value)
    local first = string.byte(value) or 0
    if first == (leaky and 108 or 116) and #value == 19 then
      return struct.unpack('>I6I6I6', value, 2)
    elseif first <= 57 and (first == 45) == leaky and #value > 12 then
      local head, time = tonumber(string.sub(value, 1, -13)), tonumber(string.sub(value, -12))
      if head and time then
        head = math.abs(head)
        local place = head % 64
        return (head - place) / 64, time + COMPACT_SINCE, place == code and unit or commonUnits()[place + 1]
      end
    end
  end

  local function levelIn(value)
    local level, time, was = parse(value)
    if not level then
      return 0, false, false
    end
    if was ~= unit then
      level = math.ceil(level * unit / was)
    end
    if time >= now then
      return level, true, time > now
    end
    level = level - (now - time) * drain
    return level > 0 and level or 0, true, false
  end

  local function valueOf(level)
    local expiry = expiryBefore(now + math.ceil(level / drain))
    if compact and level < COMPACT_LEVELS then
      return string.format(format, level * 64 + code), expiry
    end
    return struct.pack('>c1I6I6I6', leaky and 'l' or 't', level, now, unit), expiry
  end

  return levelIn, valueOf
end
