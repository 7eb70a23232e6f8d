-- Grants many locks, each if it is free. All of them share one fence key.
-- KEYS: fence, then per item: lock, queue
-- ARGV: call, process, fence retention ms, then per item: owner, trace suffix, ttl ms, not after ms, manners
--       manners: some of j (join the queue when busy), s (may stand in the queue), y (let others go first)
-- Reply: server ms, call, then per item an array:
--        granted FENCE | mine FENCE | busy VALUE PTTL | turn | late | error MESSAGE
--- @include shared/now
--- @include shared/read
--- @include shared/value
--- @include shared/queue
--- @include shared/fence
local ITEM_KEYS, ITEM_ARGS = 2, 5
local fenceKey, process, retention = KEYS[1], ARGV[2], tonumber(ARGV[3])
local count = (#KEYS - 1) / ITEM_KEYS
local replies = { digits(now), ARGV[1] }
local free = {}

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

local function consider(i)
  local lock, queue = KEYS[ITEM_KEYS * i], KEYS[ITEM_KEYS * i + 1]
  local at = 3 + ITEM_ARGS * (i - 1)
  local owner, ttl, notAfter, manners = ARGV[at + 1], tonumber(ARGV[at + 3]), tonumber(ARGV[at + 4]), ARGV[at + 5]
  if now > notAfter then
    return { 'late' }
  end
  local value, failure = readString(lock)
  if failure then
    return { 'error', failure }
  end
  if value then
    if ownerOf(value) == owner then
      return again(lock, value, ttl)
    end
    return busy(lock, queue, value, manners)
  end
  if string.find(manners, 'y', 1, true) and firstWaiter(queue, process, false) then
    return busy(lock, queue, nil, manners)
  end
  free[#free + 1] = i
  return nil
end

local function grant(i, fence)
  local lock, queue = KEYS[ITEM_KEYS * i], KEYS[ITEM_KEYS * i + 1]
  local at = 3 + ITEM_ARGS * (i - 1)
  local value = ARGV[at + 1] .. '#' .. digits(fence) .. ARGV[at + 2]
  local manners = ARGV[at + 5]
  -- NX: the same lock may have been asked for twice in this very call.
  local set = redis.pcall('SET', lock, value, 'NX', 'PX', ARGV[at + 3])
  if errorOf(set) then
    return { 'error', errorOf(set) }
  end
  if not set then
    return busy(lock, queue, redis.call('GET', lock), manners)
  end
  if string.find(manners, 's', 1, true) then
    pcall(leaveQueue, queue, process)
  end
  return { 'granted', digits(fence) }
end

-- One item's failure (a key of another type, say) must not take the others along.
for i = 1, count do
  local ok, reply = pcall(consider, i)
  if ok then
    replies[i + 2] = reply or false
  else
    replies[i + 2] = { 'error', tostring(type(reply) == 'table' and reply.err or reply) }
  end
end

if #free > 0 then
  local first, failure = takeFences(fenceKey, #free, retention)
  for n, i in ipairs(free) do
    if first then
      replies[i + 2] = grant(i, first + n - 1)
    else
      replies[i + 2] = { 'error', failure }
    end
  end
end
return replies
