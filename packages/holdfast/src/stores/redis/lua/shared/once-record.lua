-- What is known of a key that runs once: a line STATE OWNER ATTEMPT SINCE LEASE_ENDS FINGERPRINT FORM, with - for what is not
-- there, and after it the outcome's body. States: running, open (free, but earlier runs are counted), done.

-- The record at a key, nil when there is none. The second result is the text of the error when there is one.
local function readRecord(key)
  local value, failure = readString(key)
  if not value then
    return nil, failure
  end
  local state, owner, attempt, since, ends, fingerprint, form, body =
    string.match(value, '^(%l+) (%S+) (%d+) (%d+) (%d+) (%S+) (%S+)\n()')
  if not state then
    return nil, 'WRONGTYPE what lies at ' .. key .. ' is no record of a run'
  end
  local record = { state = state, owner = owner, attempt = tonumber(attempt), since = since, form = form }
  record.fingerprint, record.ends = fingerprint, tonumber(ends)
  record.body = string.sub(value, body)
  return record
end

-- Writes a record that expires so many milliseconds from now. The text of the error when there is one.
local function writeRecord(key, record, retention)
  local words = { record.state, record.owner, digits(record.attempt), record.since, digits(record.ends) }
  words[6], words[7] = record.fingerprint, record.form
  return errorOf(redis.pcall('SET', key, table.concat(words, ' ') .. '\n' .. record.body, 'PX', retention))
end

local function runs(record, owner)
  return record.state == 'running' and record.owner == owner
end

-- What is left of the lease of a run, if it is one.
local function leaseLeft(record)
  return record.state == 'running' and math.max(0, record.ends - now) or 0
end

-- Makes of a record one of another state, whose lease is over.
local function changed(record, state, owner, form, body)
  record.state, record.owner, record.since, record.ends = state, owner, digits(now), 0
  record.form, record.body = form, body
  return record
end
