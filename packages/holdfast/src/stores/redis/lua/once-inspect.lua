-- Reads many records of runs. Changes nothing.
-- KEYS: per item: record
-- ARGV: call
-- Reply: server ms, call, then per item: missing, or an array:
--        found STATE OWNER ATTEMPT SINCE LEFT_MS FINGERPRINT PTTL FORM BODY | error MESSAGE
--- @include shared/now
--- @include shared/read
--- @include shared/once-record
local replies = { digits(now), ARGV[1] }
for i = 1, #KEYS do
  local record, failure = readRecord(KEYS[i])
  if failure then
    replies[i + 2] = { 'error', failure }
  elseif not record then
    replies[i + 2] = 'missing'
  else
    local reply = { 'found', record.state, record.owner, digits(record.attempt), record.since, digits(leaseLeft(record)) }
    reply[7], reply[8] = record.fingerprint, digits(redis.call('PTTL', KEYS[i]))
    reply[9], reply[10] = record.form, record.body
    replies[i + 2] = reply
  end
end
return replies
