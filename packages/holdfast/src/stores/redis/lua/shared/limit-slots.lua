-- Slots of a concurrency limit. Same verdicts as store/limit/algorithms/concurrency.ts.
-- Value: s, weight of all, earliest end, latest end; then the slots in the order in which they were taken: take, weight, end.
-- While the earliest end lies ahead nothing has to be looked through.
local SLOT_BYTES = 32

local function slots(numbers)
  local limit, lease = numbers[2], numbers[3]
  local latestEnd = now + lease
  local rule = { capacity = limit, facts = 3 }

  -- Goes through the slots: `change` gives weight and end to keep, or nothing.
  local function rebuild(state, change)
    local kept, used, earliest, latest = {}, 0, math.huge, 0
    for at = 1, #state.slots, SLOT_BYTES do
      local take, weight, ends = struct.unpack('>c22I4I6', state.slots, at)
      weight, ends = change(take, weight, ends)
      if weight then
        kept[#kept + 1] = struct.pack('>c22I4I6', take, weight, ends)
        used, earliest, latest = used + weight, math.min(earliest, ends), math.max(latest, ends)
      end
    end
    state.slots, state.used, state.earliest, state.latest = table.concat(kept), used, earliest, latest
  end

  function rule.holds(state, take)
    local at = string.find(state.slots, take, 1, true)
    return at and (at - 1) % SLOT_BYTES == 0
  end

  function rule.read(value)
    local state = { slots = '', used = 0, earliest = math.huge, latest = 0 }
    if not value or #value <= 19 or string.byte(value) ~= 115 or (#value - 19) % SLOT_BYTES ~= 0 then
      return state
    end
    local used, earliest, latest = struct.unpack('>I6I6I6', value, 2)
    if latest <= now then
      return state
    end
    state.exists, state.slots = true, string.sub(value, 20)
    state.used, state.earliest, state.latest = used, earliest, latest
    if earliest <= now or latest > latestEnd then
      rebuild(state, function(_, weight, ends)
        if ends > now then
          state.ahead = state.ahead or ends > latestEnd
          return weight, math.min(ends, latestEnd)
        end
      end)
    end
    return state
  end

  function rule.passes(state, cost)
    return state.used + cost <= limit
  end

  function rule.count(state, cost, take)
    state.slots = state.slots .. struct.pack('>c22I4I6', take, cost, latestEnd)
    state.used = state.used + cost
    state.earliest, state.latest = math.min(state.earliest, latestEnd), math.max(state.latest, latestEnd)
  end

  function rule.countDenied() end

  function rule.adjust(state, take, _, _, cost)
    if not rule.holds(state, take) then
      return false
    end
    rebuild(state, function(whose, weight, ends)
      if whose ~= take then
        return weight, ends
      elseif cost > 0 then
        return cost, ends
      end
    end)
    return true
  end

  function rule.renew(state, take)
    rebuild(state, function(whose, weight, ends)
      return weight, whose == take and latestEnd or ends
    end)
  end

  -- The end at which enough leases are over for this cost.
  local function enough(state, cost)
    local over, byEnd = state.used + cost - limit, {}
    if over <= 0 or cost > limit then
      return 0
    end
    for at = 1, #state.slots, SLOT_BYTES do
      local weight, ends = struct.unpack('>I4I6', state.slots, at + 22)
      byEnd[#byEnd + 1] = { weight, ends }
    end
    table.sort(byEnd, function(one, two)
      return one[2] < two[2]
    end)
    for _, slot in ipairs(byEnd) do
      over = over - slot[1]
      if over <= 0 then
        return slot[2]
      end
    end
    return 0
  end

  function rule.fact(state, cost)
    return state.used, state.latest, enough(state, cost)
  end

  function rule.value(state)
    if state.slots ~= '' then
      local header = struct.pack('>c1I6I6I6', 's', state.used, state.earliest, state.latest)
      return header .. state.slots, expiryBefore(state.latest)
    end
  end

  return rule
end
