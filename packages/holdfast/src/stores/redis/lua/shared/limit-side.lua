-- A subject's own key: its block and its reservations; there only while it has any. Value: x, end and duration of the block; then
-- the reservations: take, when it was counted, cost, end, duration, until when it is remembered.
local BLOCK_BYTES, RESERVATION_BYTES = 12, 49
local RESERVATION_FORMAT = '>c22I6I4I6I5I6'

-- Reads a value into a subject.
local function parseSide(subject, value)
  subject.reservations = {}
  if not value or #value < BLOCK_BYTES or string.byte(value) ~= 120 then
    return
  end
  local ends, duration = struct.unpack('>I6I5', value, 2)
  if ends > now then
    subject.blocked, subject.duration = ends, duration
  end
  for at = BLOCK_BYTES + 1, #value, RESERVATION_BYTES do
    local r = {}
    r.take, r.at, r.cost, r.ends, r.duration, r.forget = struct.unpack(RESERVATION_FORMAT, value, at)
    if r.forget > now then
      table.insert(subject.reservations, r)
    end
  end
end

-- Writes a subject's own key, or deletes it. Returns the error when that failed.
local function saveSide(subject)
  local last, parts = subject.blocked or 0, {}
  for _, r in ipairs(subject.reservations or {}) do
    if r.forget > now then
      parts[#parts + 1] = struct.pack(RESERVATION_FORMAT, r.take, r.at, r.cost, r.ends, r.duration, r.forget)
      last = math.max(last, r.forget)
    end
  end
  local block = struct.pack('>c1I6I5', 'x', subject.blocked or 0, subject.duration or 0)
  local value = last > now and block .. table.concat(parts) or nil
  return errorOf(keep(subject.key, value, expiryBefore(last), subject.present))
end
