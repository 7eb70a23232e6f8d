-- The queue is one sorted set with two members per waiting process:
--   PROCESS        scored with its place (positive; lower is earlier), and
--   beat:PROCESS   scored with minus twice its last sign of life in ms, less one when it was woken and has not beaten since.
-- One key, so that place and sign of life expire together.
local HEARTBEAT_MS = 2000
local DEAD_AFTER_MS = 6000
local QUEUE_TTL_MS = 30000
local CHUNK = 32

local function writeBeat(queue, process, beat, woken)
  redis.call('ZADD', queue, -(beat * 2 + woken), 'beat:' .. process)
end

-- Last sign of life, and 1 when woken since; nil when there is none.
local function readBeat(queue, process)
  local score = redis.call('ZSCORE', queue, 'beat:' .. process)
  if not score then
    return nil
  end
  local number = -tonumber(score)
  return math.floor(number / 2), number % 2
end

local function leaveQueue(queue, process)
  redis.call('ZREM', queue, process, 'beat:' .. process)
end

-- Stands in the queue: a new entry behind the last, or a sign of life for the old one when it is due.
local function joinQueue(queue, process)
  local beat, woken = readBeat(queue, process)
  if beat and redis.call('ZSCORE', queue, process) then
    if woken == 0 and beat <= now and now - beat < HEARTBEAT_MS then
      return
    end
  else
    local last = redis.call('ZREVRANGE', queue, 0, 0, 'WITHSCORES')
    local place = now
    if last[2] and tonumber(last[2]) >= now then
      place = tonumber(last[2]) + 1
    end
    redis.call('ZADD', queue, digits(place), process)
  end
  writeBeat(queue, process, now, 0)
  -- Better no place in the queue than a queue for ever, where an ACL forbids this.
  if errorOf(redis.pcall('PEXPIRE', queue, QUEUE_TTL_MS)) then
    leaveQueue(queue, process)
  end
end

-- How many stand in the queue and gave a sign of life lately; none where the key holds something else. Reads only.
local function livingWaiters(queue)
  local count = redis.pcall('ZCOUNT', queue, '-inf', digits(-2 * (now - DEAD_AFTER_MS)))
  return errorOf(count) and 0 or count
end

-- The first living waiter of another process. With unwokenOnly: that was not woken before without a sign of life since.
-- Dead entries met on the way are removed.
local function firstWaiter(queue, process, unwokenOnly)
  local offset = 0
  while true do
    local chunk = redis.call('ZRANGEBYSCORE', queue, 1, '+inf', 'LIMIT', offset, CHUNK)
    if #chunk == 0 then
      return nil
    end
    for _, waiter in ipairs(chunk) do
      local beat, woken = readBeat(queue, waiter)
      if not beat or now - beat > DEAD_AFTER_MS then
        leaveQueue(queue, waiter)
      else
        if beat > now then
          writeBeat(queue, waiter, now, woken)
        end
        if waiter ~= process and (woken == 0 or not unwokenOnly) then
          return waiter
        end
        offset = offset + 1
      end
    end
  end
end

-- What the channels of processes begin with.
local function processChannels(channel)
  return string.sub(channel, 1, 2) == '{}' and string.sub(channel, 3) or channel
end

-- Tells a waiter something. In a cluster ({} before the channels' prefix) over its sharded channel for this name, beside the
-- queue; where it does not hear that, or the server has none, over the waiter's own channel, which all nodes pass on.
local function tell(channel, queue, waiter, message)
  if channel ~= processChannels(channel) then
    local sharded = string.sub(queue, 1, -6) .. 'free:' .. waiter
    local heard = redis.pcall('SPUBLISH', sharded, message)
    if type(heard) == 'number' and heard > 0 then
      return
    end
  end
  redis.call('PUBLISH', processChannels(channel) .. waiter, message)
end

-- Wakes the first living waiter of another process; true when there was one. Wake-ups are hints: an error is not ours.
local function wakeNext(queue, process, channel, lock)
  local ok, woken = pcall(function()
    local waiter = firstWaiter(queue, process, true)
    if not waiter then
      return false
    end
    local beat = readBeat(queue, waiter)
    writeBeat(queue, waiter, beat, 1)
    tell(channel, queue, waiter, 'free ' .. lock)
    return true
  end)
  return ok and woken
end
