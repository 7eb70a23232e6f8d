-- Fixed window and sliding window counter. Same operations in the same order as store/limit/algorithms/*.ts.
-- A rule is made from its numbers. What it reads of a key is a state moved on to now; `exists` says that it counts already,
-- `ahead` that part of it lay in the future, so that it has to be written even if nothing is counted.

local function fixedWindow(numbers)
  local limit, per = numbers[2], numbers[3]
  local window = math.floor(now / per)
  local countIn, valueOf = windowCounts(per)
  local rule = { capacity = limit, facts = 1 }

  function rule.read(value)
    local state = { count = 0 }
    if value then
      state.count, state.exists, state.ahead = countIn(value)
    end
    return state
  end

  function rule.passes(state, cost)
    return state.count + cost <= limit
  end

  function rule.count(state, cost)
    state.count = state.count + cost
  end

  function rule.countDenied(state, cost)
    state.count = math.max(state.count, math.min(limit, state.count + cost))
  end

  function rule.adjust(state, _, at, taken, cost)
    if math.floor(at / per) < window then
      return false
    end
    state.count = math.max(0, state.count + cost - taken)
    return true
  end

  function rule.fact(state)
    return state.count
  end

  -- What to keep, and until when; nothing where nothing counts.
  function rule.value(state)
    if state.count > 0 then
      return valueOf(state.count)
    end
  end

  return rule
end

-- Value: c, number of the window, its length, its count, the count of the one before.
local function slidingCounter(numbers)
  local limit, per = numbers[2], numbers[3]
  local window = math.floor(now / per)
  local elapsed = now - window * per
  local rule = { capacity = limit, facts = 2 }

  -- Counts of `was` and of the window before it, as they stand in the present window.
  local function movedOn(was, present, current, previous)
    if was >= present then
      return current, previous
    end
    return 0, was == present - 1 and current or 0
  end

  function rule.read(value)
    local state = { current = 0, previous = 0 }
    if not value or #value ~= 26 or string.byte(value) ~= 99 then
      return state
    end
    local was, length, current, previous = struct.unpack('>I6I5I7I7', value, 2)
    if (was + 2) * length <= now then
      return state
    end
    state.exists = true
    local present = math.floor(now / length)
    current, previous = movedOn(was, present, current, previous)
    if length == per then
      state.current, state.previous = current, previous
      state.ahead = was > window
    else
      local past = now - present * length
      state.current = math.ceil((previous * (length - past) + current * length) / length)
    end
    return state
  end

  function rule.passes(state, cost)
    return state.previous * (per - elapsed) + (state.current + cost) * per <= limit * per
  end

  function rule.count(state, cost)
    state.current = state.current + cost
  end

  function rule.countDenied(state, cost)
    local used = state.previous * (per - elapsed) + state.current * per
    local room = math.max(0, math.floor((limit * per - used) / per))
    while room > 0 and not rule.passes(state, room) do
      room = room - 1
    end
    state.current = state.current + math.min(cost, room)
  end

  function rule.adjust(state, _, at, taken, cost)
    local counted = math.floor(at / per)
    if counted >= window then
      state.current = math.max(0, state.current + (cost - taken))
    elseif counted == window - 1 then
      state.previous = math.max(0, state.previous + (cost - taken))
    else
      return false
    end
    return true
  end

  function rule.fact(state)
    return state.current, state.previous
  end

  function rule.value(state)
    if state.current > 0 or state.previous > 0 then
      return struct.pack('>c1I6I5I7I7', 'c', window, per, state.current, state.previous), expiryBefore((window + 2) * per)
    end
  end

  return rule
end
