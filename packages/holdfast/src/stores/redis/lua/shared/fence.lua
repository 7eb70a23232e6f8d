-- Fences must stay exact as doubles.
local FENCE_LIMIT = 9007199254740992

-- Takes `count` fences: greater than the last one, and not below the server's clock in microseconds. The last of them is
-- written before anything is granted. Returns the first, the text of the error (and then no first), and how many more of
-- the `wanted` ones were taken: as many as leave the last one at most `lead` ahead of the clock. Expiry follows time and fence, so
-- that a last fence ahead of the clock is not forgotten before the clock has passed it.
local function takeFences(fenceKey, count, retention, wanted, lead)
  local value, unreadable = readString(fenceKey)
  if unreadable then
    return nil, unreadable
  end
  local last = tonumber(value or '0') or 0
  if last ~= last then
    -- 'nan' was set by hand: it is no number, and compares with none.
    last = 0
  end
  local first = math.max(last + 1, nowMicros)
  local spare = 0
  if wanted and wanted > 0 then
    spare = math.max(0, math.min(wanted, nowMicros + lead - (first + count - 1)))
  end
  local highest = first + count - 1 + spare
  if highest >= FENCE_LIMIT then
    return nil, 'FENCELIMIT the last fence ' .. digits(last) .. ' leaves no room below 2^53'
  end
  local expiry = math.max(now, math.floor(highest / 1000)) + retention
  local failure = errorOf(redis.pcall('SET', fenceKey, digits(highest), 'PXAT', digits(expiry)))
  if failure then
    return nil, failure
  end
  return first, nil, spare
end
