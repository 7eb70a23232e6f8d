-- Fences must stay exact as doubles.
local FENCE_LIMIT = 9007199254740992

-- The last fence; 0 when none is known. The second result is the text of the error when there is one, and then no fence.
local function lastFence(fenceKey)
  local value, unreadable = readString(fenceKey)
  if unreadable then
    return nil, unreadable
  end
  local last = tonumber(value or '0') or 0
  -- 'nan' was set by hand: it is no number, and compares with none.
  return last == last and last or 0
end

-- Writes the last fence, in place of `last`. Returns the text of the error when there is one. Expiry follows time and fence, so
-- that a last fence ahead of the clock is not forgotten before the clock has passed it.
local function writeLast(fenceKey, last, fence, retention)
  if fence >= FENCE_LIMIT then
    return 'FENCELIMIT the last fence ' .. digits(last) .. ' leaves no room below 2^53'
  end
  local expiry = math.max(now, math.floor(fence / 1000)) + retention
  return errorOf(redis.pcall('SET', fenceKey, digits(fence), 'PXAT', digits(expiry)))
end

-- Takes `count` fences: greater than the last one, and not below the server's clock in microseconds. The last of them is
-- written before anything is granted. Returns the first, the text of the error (and then no first), and how many more of
-- the `wanted` ones were taken: as many as leave the last one at most `lead` ahead of the clock.
local function takeFences(fenceKey, count, retention, wanted, lead)
  local last, unreadable = lastFence(fenceKey)
  if unreadable then
    return nil, unreadable
  end
  local first = math.max(last + 1, nowMicros)
  local spare = 0
  if wanted and wanted > 0 then
    spare = math.max(0, math.min(wanted, nowMicros + lead - (first + (count - 1))))
  end
  -- Not first + count - 1: beyond 2^53 an odd number is none, and the last fence would not have risen.
  local highest = first + (count - 1) + spare
  local failure = writeLast(fenceKey, last, highest, retention)
  if failure then
    return nil, failure
  end
  return first, nil, spare
end
