-- What a call that counts was answered, kept so that it counts once however often it is asked: as { replies … } of the whole
-- call, or, when some of its items were asked again before it came through, as { part = { [place] = reply … } }.
-- A reply of another call says so: again, the time of its decision, reply.

local function readRecord(value)
  return value and cmsgpack.unpack(value) or nil
end

local function isAnswer(reply)
  return reply and reply ~= 'late' and not (type(reply) == 'table' and (reply[1] == 'error' or reply[3] == 'error'))
end

local function again(reply, at)
  if type(reply) ~= 'table' then
    return { 'again', at, reply }
  elseif reply[1] == 'again' then
    return reply
  end
  return { 'again', at, unpack(reply) }
end

-- The answer that an item had in a record.
local function answerIn(record, place)
  local reply = record and (record.part or record)[place]
  return isAnswer(reply) and again(reply, record[1]) or nil
end

-- Writes into a record what an item of its call was answered by another call.
local function amend(record, place, reply)
  local amended = record.part or record
  amended[place] = again(reply, now)
end
