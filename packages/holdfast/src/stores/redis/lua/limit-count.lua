-- Decides takes and adjusts earlier ones, for many subjects under the same rules. Asked again by the client itself, it answers as before.
-- KEYS: reply, then per item: subject, usage (and one more for each further rule)
-- ARGV: call, rules, kind, unit, drain, full, code, reply ms, not after ms, then per item: ask
--       kind: where there is one rule and denied takes do not count, t or l for a bucket, f for a fixed window, w for an exact
--             one with a small ring and W for one with a large ring, and then its numbers (windows: unit 1, length, limit);
--             else nothing, and all is in the rules
--       ask: COST or COST TAKE or COST TAKE RETURN_AFTER_MS for a take, TAKE AT TAKEN COST to adjust one;
--            and @NOT_AFTER_MS behind it where that is another
-- Reply: server ms, call, then per item a number or an array of them (see shared/limit-subject), done | none for an adjustment, late,
--        or an array: again MS REPLY | error MESSAGE
--- @include shared/now
--- @include shared/limit-write
--- @include shared/limit-level
--- @include shared/limit-tally
--- @include shared/limit-small-window
--- @include shared/limit-large-window
local FIXED, more, ITEM_KEYS = 9, 0, 2
local replies, counted = { now, ARGV[1] }, false
-- What was written in this call, by its key.
local written = {}

-- What a call does about items from `i` on when they are more than plain takes under one simple rule.
local function countTheRest(i, values)
--- @include shared/limit-side
--- @include shared/limit-counters
--- @include shared/limit-bucket
--- @include shared/limit-window
--- @include shared/limit-slots
--- @include shared/limit-subject
--- @include shared/limit-save
--- @include shared/limit-record
--- @include shared/limit-ask
  more = readRules(ARGV[2]) - 1
  local count = (#KEYS - 1) / (ITEM_KEYS + more)
  values = values or readKeys(KEYS, 2, ITEM_KEYS + more)
  local record = readRecord(values[1])
  if record and not record.part then
    record[2] = ARGV[1]
    return record
  end
  local subjectOf = {}
  for i = i, count do
    local at = 2 + (ITEM_KEYS + more) * (i - 1)
    local usage, ask = KEYS[at + 1], ARGV[FIXED + i]
    local reply = record and answerIn(record, i + 2)
    if not reply and now > tonumber(string.match(ask, '@(%d+)$') or ARGV[9]) then
      reply = 'late'
    elseif not reply then
      values[at + 1] = written[usage] or values[at + 1]
      local ok, subject = pcall(subjectAt, KEYS[at], usage, KEYS, values, at)
      if ok then
        local counts
        reply, counts = answer(subject, ask)
        counted, subjectOf[i + 2] = counted or counts, subject
      else
        reply = failed(subject)
      end
    end
    replies[i + 2] = reply
  end
  saveAll(replies, subjectOf)
end

-- Decides plain takes under a rule whose usage is one number, as far as they go. What takes of one subject that follow each other
-- change is written once. Returns the first item that is something else, if any.
local function countNumbers(values, unit, full, read, valueOf)
  -- Of the subject that was last: its usage, what was read and what is used now; and from which item on that is not written yet.
  local usage, value, used, ahead, unwritten, _
  local function writeUntil(last)
    local keep, expiry = valueOf(used)
    local failure = errorOf(store(usage, keep, expiry, value))
    if failure then
      for i = unwritten, last do
        replies[i + 2] = { 'error', failure }
      end
      usage = nil
    else
      written[usage], value, counted = keep, keep, true
    end
    unwritten = nil
  end

  local lastAsk, cost
  local count = (#KEYS - 1) / ITEM_KEYS
  for i = 1, count do
    local at = ITEM_KEYS * i
    local key, ask = KEYS[at + 1], ARGV[FIXED + i]
    if ask ~= lastAsk then
      lastAsk, cost = ask, tonumber(ask)
    end
    if key ~= usage then
      if unwritten then
        writeUntil(i - 1)
      end
      usage, value, used, ahead = key, written[key] or values[at + 1], 0, false
      if value then
        used, _, ahead = read(value)
      end
    end
    local after = cost and used + cost * unit
    if not cost or values[at] or after > full and ahead then
      if unwritten then
        writeUntil(i - 1)
      end
      return i
    elseif after <= full then
      used, ahead, unwritten, replies[i + 2] = after, false, unwritten or i, after
    elseif not unwritten and value and redis.call('PTTL', key) == -1 then
      -- The key has lost its expiry.
      return i
    else
      replies[i + 2] = -1 - used
    end
  end
  if unwritten then
    writeUntil(count)
  end
end

-- The same under an exact window.
local function countTimes(values, stride, decide)
  local lastAsk, cost
  for i = 1, (#KEYS - 1) / ITEM_KEYS do
    local at = 2 + ITEM_KEYS * (i - 1)
    local usage, ask = KEYS[at + 1], ARGV[FIXED + i]
    if ask ~= lastAsk then
      lastAsk, cost = ask, tonumber(ask)
    end
    if not cost or values[2 + stride * (i - 1)] then
      return i
    end
    local value = stride == ITEM_KEYS and (written[usage] or values[at + 1])
    local reply, keep, expiry, counts = decide(value, cost, usage)
    if not reply or not keep and not counts and value ~= nil and redis.call('PTTL', usage) == -1 then
      -- There is more to it; or the key has lost its expiry.
      return i
    elseif keep then
      local failure = errorOf(store(usage, keep, expiry, value))
      if failure then
        reply = { 'error', failure }
      else
        written[usage], counted = keep, true
      end
    end
    counted = counted or counts
    replies[i + 2] = reply
  end
end

local function countPlain(values, stride, kind, unit, drain, full, code)
  if kind == 'w' then
    return countTimes(values, stride, smallWindow(full, drain))
  elseif kind == 'W' then
    return countTimes(values, stride, largeWindow(full, drain))
  elseif kind == 'f' then
    return countNumbers(values, unit, full, windowCounts(drain))
  end
  return countNumbers(values, unit, full, bucketLevels(kind == 'l', unit, drain, code))
end

-- The reply, and of every item its subject; and its usage, unless that is large. The second result is how many of each.
local function readPlain()
  if ARGV[3] ~= 'W' then
    return redis.call('MGET', unpack(KEYS)), ITEM_KEYS
  end
  local names = { KEYS[1] }
  for i = 1, (#KEYS - 1) / ITEM_KEYS do
    names[i + 1] = KEYS[2 * i]
  end
  return redis.call('MGET', unpack(names)), 1
end

local again
if ARGV[3] == '' then
  again = countTheRest(1)
else
  local values, stride = readPlain()
  local rest = 1
  if not values[1] and now <= tonumber(ARGV[9]) then
    local unit, drain, full, code = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
    rest = countPlain(values, stride, ARGV[3], unit, drain, full, code)
  end
  again = rest and countTheRest(rest, stride == ITEM_KEYS and values or nil)
end
if again then
  return again
end
if counted then
  redis.call('SET', KEYS[1], cmsgpack.pack(replies), 'PX', ARGV[8])
end
return replies
