-- Grants many locks, each if it is free. All of them share one fence key.
-- KEYS: fence, then per item: lock, queue
-- ARGV: call, process, fence retention ms, then per item: owner, trace suffix, ttl ms, not after ms, manners
--       manners: some of j (join the queue when busy), s (may stand in the queue), y (let others go first), and then how many
--       fences more are wanted, to hand the lock on within the process
-- Reply: server ms, call, then per item FENCE when it was granted, else an array:
--        granted FENCE RESERVED | mine FENCE | busy VALUE PTTL | turn | late | error MESSAGE
--- @include shared/now
--- @include shared/read
--- @include shared/value
--- @include shared/queue
--- @include shared/fence
local ITEM_KEYS, ITEM_ARGS = 2, 5
-- Reserved fences must not let the last one lead the clock by more than this.
local LEAD_MICROS = 1000
local fenceKey, process, retention = KEYS[1], ARGV[2], tonumber(ARGV[3])
local count = (#KEYS - 1) / ITEM_KEYS
local replies = { digits(now), ARGV[1] }
local free, reserves = {}, {}

local function busy(lock, queue, value, manners)
  if string.find(manners, 'j', 1, true) then
    pcall(joinQueue, queue, process)
  end
  if not value then
    return { 'turn' }
  end
  return { 'busy', value, digits(redis.call('PTTL', lock)) }
end

-- An owner that asks again gets the same answer, and its full time from now.
local function again(lock, value, ttl)
  local left = redis.call('PTTL', lock)
  local reply = redis.pcall('PEXPIRE', lock, digits(math.max(left, ttl)))
  if errorOf(reply) then
    return { 'error', errorOf(reply) }
  end
  return { 'mine', string.match(value, '#(%d+)') }
end

-- Somebody stands in the lock, or in the way.
local function taken(lock, queue, value, owner, ttl, manners)
  if isOwnedBy(value, owner) then
    return again(lock, value, tonumber(ttl))
  end
  return busy(lock, queue, value, manners)
end

local function grant(lock, queue, owner, suffix, ttl, manners, fence, reserved)
  local text = digits(fence)
  local value = owner .. '#' .. text .. (reserved > 0 and '+' .. reserved or '') .. suffix
  -- NX: the same lock may have been asked for twice in this very call, and a key of another type has no value above.
  local set = redis.pcall('SET', lock, value, 'NX', 'PX', ttl)
  if not set then
    local found, failure = readString(lock)
    if failure then
      return { 'error', failure }
    end
    return taken(lock, queue, found, owner, ttl, manners)
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

local locks = {}
for i = 1, count do
  locks[i] = KEYS[ITEM_KEYS * i]
end
local values = redis.call('MGET', unpack(locks))
for i = 1, count do
  local at = 3 + ITEM_ARGS * (i - 1)
  local queue, manners, value = KEYS[ITEM_KEYS * i + 1], ARGV[at + 5], values[i]
  if now > tonumber(ARGV[at + 4]) then
    replies[i + 2] = { 'late' }
  elseif value then
    replies[i + 2] = guarded(taken, locks[i], queue, value, ARGV[at + 1], ARGV[at + 3], manners)
  elseif string.find(manners, 'y', 1, true) and guarded(firstWaiter, queue, process, false) then
    replies[i + 2] = guarded(busy, locks[i], queue, nil, manners)
  else
    free[#free + 1] = i
    replies[i + 2] = false
  end
end

if #free > 0 then
  local wanted = 0
  for n, i in ipairs(free) do
    reserves[n] = tonumber(string.match(ARGV[3 + ITEM_ARGS * i], '%d+') or 0)
    wanted = wanted + reserves[n]
  end
  local fence, failure, spare = takeFences(fenceKey, #free, retention, wanted, LEAD_MICROS)
  for n, i in ipairs(free) do
    if fence then
      local at = 3 + ITEM_ARGS * (i - 1)
      local reserved = math.min(reserves[n], spare)
      replies[i + 2] = guarded(grant, locks[i], KEYS[ITEM_KEYS * i + 1], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3], ARGV[at + 5], fence, reserved)
      fence = fence + 1 + reserved
      spare = spare - reserved
    else
      replies[i + 2] = { 'error', failure }
    end
  end
end
return replies
