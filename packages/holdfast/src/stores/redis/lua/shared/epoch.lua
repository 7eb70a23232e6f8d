-- An epoch is one server's time as the primary. Its key is RUN COPIES DELAY OPENS: run id and replication id of the server that granted
-- last, for how many ms one that comes after it grants nothing, and when (server ms) this one opens.
local EPOCH_RETENTION_MS = 2592000000
-- The uptime is in whole seconds, and may be ahead by nearly one.
local UPTIME_GRAIN_MS = 1000

-- When this server opens; `known` is what is on record, if anything is.
local function openingTime(server, known, delay)
  if known and known.run == server.run and (known.copies == server.copies or not server.wasReplica) then
    -- One that lies further ahead than any that was written comes of a clock that was stepped back.
    return math.min(known.opens, now + delay + UPTIME_GRAIN_MS)
  end
  local sinceStart = server.uptime * 1000 - UPTIME_GRAIN_MS
  local isYoung = sinceStart < delay
  if isYoung and not server.wasReplica then
    -- It was started anew: what it has forgotten was granted before.
    return now - sinceStart + delay
  end
  -- It was a replica until just now, however long it has been up; or the delay is new here.
  return (known or isYoung) and now + delay or 0
end

-- Run id, replication id and uptime of this server, and whether it remembers another replication id: it was a replica then. A primary
-- that has had no replicas for long changes its own, and remembers none.
local function identity()
  local section, copying = 'server', 'replication'
  local info, replication = redis.call('INFO', section), redis.call('INFO', copying)
  local before = string.match(replication, 'master_replid2:(%w+)')
  return {
    run = string.match(info, 'run_id:(%w+)') or 'unknown',
    uptime = tonumber(string.match(info, 'uptime_in_seconds:(%d+)') or '0'),
    copies = string.match(replication, 'master_replid:(%w+)') or 'unknown',
    wasReplica = before ~= nil and string.find(before, '[^0]') ~= nil,
  }
end

-- Why nothing is granted now, or nil. `wish` is the delay that the caller gives, in ms.
local function stillShut(epochKey, wish)
  local delay = tonumber(wish)
  local server = identity()
  local text = redis.call('GET', epochKey) or ''
  local run, copies, term, opens = string.match(text, '^(%w+) (%w+) (%d+) (%d+)$')
  if run and tonumber(term) ~= delay then
    return 'REOPENDELAY the server has ' .. term .. ' ms on record, and this process says ' .. wish .. ' ms'
  end
  local known = run and { run = run, copies = copies, opens = tonumber(opens) }
  local opening = openingTime(server, known, delay)
  local written = server.run .. ' ' .. server.copies .. ' ' .. wish .. ' ' .. digits(opening)
  if written ~= text or redis.call('PTTL', epochKey) < EPOCH_RETENTION_MS / 2 then
    local set = redis.pcall('SET', epochKey, written, 'PX', digits(EPOCH_RETENTION_MS))
    if errorOf(set) then
      return errorOf(set)
    end
  end
  if now < opening then
    return 'REOPENING the server was started or has taken over; it grants in ' .. digits(opening - now) .. ' ms'
  end
  return nil
end
