-- Token and leaky bucket. Same operations in the same order as store/limit/algorithms/bucket.ts.
local MAX_LEVEL = 281474976710655

local function bucket(numbers)
  local unit, drain, full, code = numbers[3], numbers[4], numbers[5], numbers[6]
  local leaky = numbers[1] == 'l'
  local levelIn, valueOf = bucketLevels(leaky, unit, drain, code)
  local rule = { capacity = numbers[2], facts = 1 }

  function rule.read(value)
    local state = { level = 0 }
    if value then
      state.level, state.exists, state.ahead = levelIn(value)
    end
    return state
  end

  function rule.passes(state, cost)
    return state.level + cost * unit - full <= 0
  end

  function rule.count(state, cost)
    state.level = state.level + cost * unit
  end

  function rule.countDenied(state, cost)
    state.level = math.max(state.level, math.min(full, state.level + cost * unit))
  end

  function rule.adjust(state, _, at, taken, cost)
    local passed = math.max(0, now - at) * drain
    if passed >= full then
      return false
    end
    if cost >= taken then
      state.level = math.min(MAX_LEVEL, state.level + (cost - taken) * unit)
      return true
    end
    -- The clock was set back since: nobody knows how much of it has drained.
    if at > now then
      return false
    end
    local back = math.max(0, taken * unit - passed) - math.max(0, cost * unit - passed)
    state.level = math.max(0, state.level - back)
    return back ~= 0
  end

  function rule.fact(state)
    return state.level
  end

  -- For a leaky bucket: how long those before it take.
  function rule.delay(state)
    return leaky and math.ceil(state.level / drain) or 0
  end

  function rule.value(state)
    if state.level > 0 then
      return valueOf(state.level)
    end
  end

  return rule
end
