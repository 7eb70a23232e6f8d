-- Grants many locks, each if it is free. All of them share one fence key.
-- KEYS: fence, then per item: lock, queue
--       with a reopen delay the epoch stands behind them: RUN COPIES DELAY OPENS, which server granted here last, and when it opens (server ms)
-- ARGV: call, process, fence retention ms, ttl ms, manners, end of every owner, not after ms, ids, extras, reopen delay ms
--       ids: of all items one after the other, 22 characters each; with the end of every owner they are the owners
--       extras: a JSON list with a text per item, where there is any: +MS when its own last moment is that much later, and
--       ;trace=TRACE; empty when there is none and a reopen delay follows
--       reopen delay: ms for which a server grants nothing that was started, or took over; nearly always left out
--       manners: some of a (all or none: where one cannot be had, none is granted), j (join the queue when busy), s (may stand
--       in the queue), y (let others go first), and then how many fences more each item wants, to hand the lock on within the
--       process
-- Reply: server ms, call, then when all were free: all FIRST (the fences are FIRST, FIRST + 1, and so on).
--        Else per item FENCE when it was granted, or an array:
--        granted FENCE RESERVED | mine FENCE | busy VALUE PTTL | turn | late | error MESSAGE
--- @include shared/now
local ID_CHARACTERS, ITEM_KEYS = 22, 2
local fenceKey, process, retention = KEYS[1], ARGV[2], tonumber(ARGV[3])
local ttl, manners, tail, notAfter = ARGV[4], ARGV[5], ARGV[6], tonumber(ARGV[7])
local reopens = 0
if ARGV[10] then
  reopens = 1
end
local count = (#KEYS - 1 - reopens) / ITEM_KEYS
local keys = { fenceKey }
for i = 1, count do
  keys[i + 1] = KEYS[ITEM_KEYS * i]
end
-- A server that has come back, or has taken over, may have forgotten what was granted: it waits until that is over.
if ARGV[10] then
--- @include shared/epoch
  local epochKey = unpack(KEYS, 1 + ITEM_KEYS * count + 1)
  local shut = stillShut(epochKey, ARGV[10])
  if shut then
    local replies = { digits(now), ARGV[1] }
    for i = 1, count do
      replies[i + 2] = { 'error', shut }
    end
    return replies
  end
end
local values = redis.call('MGET', unpack(keys))

local extras = ARGV[9] and ARGV[9] ~= '' and cjson.decode(ARGV[9])
local function ownerOfItem(item)
  return string.sub(ARGV[8], ID_CHARACTERS * (item - 1) + 1, ID_CHARACTERS * item) .. tail
end

-- The value of a lock: OWNER#FENCE, and what follows.
local function valueOf(item, text, reserved)
  local trace = extras and string.match(extras[item], ';.*$') or ''
  return ownerOfItem(item) .. '#' .. text .. reserved .. trace
end

-- As nearly always: the last fence is known and behind the clock, and nobody stands in any lock. Written for speed: what
-- follows below is dear, function by function, even where it is not called, and numbers are dear to write. Texts of sixteen
-- digits compare as the numbers do.
local granted, grants = {}, 0
local first, last = clock[1] .. string.sub('00000' .. clock[2], -6), values[1]
local simple = last and #last == #first and last < first and not string.find(last, '%D')
  and now <= notAfter and (manners == 'j' or manners == '' or manners == 'a')
for i = 2, count + 1 do
  simple = simple and not values[i]
end
if simple then
  local highest = count == 1 and first or digits(nowMicros + count - 1)
  -- A fence of now: its expiry is a retention from now.
  local written = redis.pcall('SET', fenceKey, highest, 'PX', ARGV[3])
  if not written.err then
    for i = 1, count do
      local text = i == 1 and first or digits(nowMicros + i - 1)
      local set = redis.pcall('SET', keys[i + 1], valueOf(i, text, ''), 'NX', 'PX', ttl)
      if set and not set.err then
        granted[i] = text
        grants = grants + 1
      end
    end
    if grants == count then
      return { string.sub(first, 1, 13), ARGV[1], 'all', first }
    end
  end
end

--- @include shared/read
--- @include shared/value
--- @include shared/queue
--- @include shared/fence
-- Reserved fences must not let the last one lead the clock by more than this.
local LEAD_MICROS = 1000

local function lastMoment(item)
  return notAfter + (extras and tonumber(string.match(extras[item], '^%+(%d+)')) or 0)
end

local function busy(lock, queue, value)
  local failure = refusesWrites(lock)
  if failure then
    return { 'error', failure }
  end
  if string.find(manners, 'j', 1, true) then
    pcall(joinQueue, queue, process)
  end
  if not value then
    return { 'turn' }
  end
  return { 'busy', value, digits(redis.call('PTTL', lock)) }
end

-- An owner that asks again gets the same answer, and its full time from now.
local function again(lock, value)
  local left = redis.call('PTTL', lock)
  local reply = redis.pcall('PEXPIRE', lock, digits(math.max(left, tonumber(ttl))))
  if errorOf(reply) then
    return { 'error', errorOf(reply) }
  end
  return { 'mine', string.match(value, '#(%d+)') }
end

-- Somebody stands in the lock, or in the way.
local function taken(lock, queue, value, owner)
  if isOwnedBy(value, owner) then
    return again(lock, value)
  end
  return busy(lock, queue, value)
end

local function grant(item, lock, queue, fence, reserved)
  local text = digits(fence)
  local value = valueOf(item, text, reserved > 0 and '+' .. reserved or '')
  -- NX: the same lock may have been asked for twice in this very call, and a key of another type has no value above.
  local set = redis.pcall('SET', lock, value, 'NX', 'PX', ttl)
  if not set then
    local found, failure = readString(lock)
    if failure then
      return { 'error', failure }
    end
    return taken(lock, queue, found, ownerOfItem(item))
  elseif errorOf(set) then
    return { 'error', errorOf(set) }
  end
  if string.find(manners, 's', 1, true) then
    pcall(leaveQueue, queue, process)
  end
  return reserved > 0 and { 'granted', text, tostring(reserved) } or text
end

-- One item's failure must not take the others along.
local function guarded(work, ...)
  local ok, reply = pcall(work, ...)
  if ok then
    return reply
  end
  return { 'error', tostring(type(reply) == 'table' and reply.err or reply) }
end

local replies = { digits(now), ARGV[1] }
local free, missed = {}, false
local yields = string.find(manners, 'y', 1, true)
for i = 1, count do
  local lock, queue, value = keys[i + 1], KEYS[ITEM_KEYS * i + 1], values[i + 1]
  replies[i + 2] = false
  if granted[i] then
    replies[i + 2] = granted[i]
  elseif now > lastMoment(i) then
    replies[i + 2] = { 'late' }
  elseif value then
    replies[i + 2] = guarded(taken, lock, queue, value, ownerOfItem(i))
  elseif yields and guarded(firstWaiter, queue, process, false) then
    replies[i + 2] = guarded(busy, lock, queue, nil)
  else
    free[#free + 1] = i
  end
end

for i = 1, count do
  missed = missed or type(replies[i + 2]) == 'table' and replies[i + 2][1] ~= 'mine'
end
if missed and string.find(manners, 'a', 1, true) then
  for _, i in ipairs(free) do
    replies[i + 2] = { 'turn' }
  end
  free = {}
end

if #free > 0 then
  local each = tonumber(string.match(manners, '%d+') or 0)
  local fence, failure, spare = takeFences(fenceKey, #free, retention, each * #free, LEAD_MICROS)
  for _, i in ipairs(free) do
    if fence then
      local reserved = math.min(each, spare)
      replies[i + 2] = guarded(grant, i, keys[i + 1], KEYS[ITEM_KEYS * i + 1], fence, reserved)
      fence = fence + 1 + reserved
      spare = spare - reserved
    else
      replies[i + 2] = { 'error', failure }
    end
  end
end

-- Whether this call wrote the lock.
local function written(reply)
  return type(reply) == 'string' or reply[1] == 'granted'
end

-- All or none: what was written before another was refused is taken back in this same step. Nobody has seen it.
if string.find(manners, 'a', 1, true) then
  local refused = false
  for i = 1, count do
    local reply = replies[i + 2]
    refused = refused or not written(reply) and reply[1] ~= 'mine'
  end
  for i = 1, count do
    local reply = replies[i + 2]
    if refused and written(reply) and not errorOf(redis.pcall('DEL', keys[i + 1])) then
      replies[i + 2] = { 'turn' }
    end
  end
end
return replies
