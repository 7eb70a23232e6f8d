-- The server's clock, read once per call: microseconds, and whole milliseconds.
local clock = redis.call('TIME')
local nowMicros = tonumber(clock[1]) * 1000000 + tonumber(clock[2])
local now = math.floor(nowMicros / 1000)

-- Writes a whole number. `..` would lose digits beyond the fourteenth.
local function digits(number)
  return string.format('%.0f', number)
end

-- The text of the error when pcall caught one, else nil.
local function errorOf(reply)
  if type(reply) == 'table' and reply.err then
    return reply.err
  end
  return nil
end
