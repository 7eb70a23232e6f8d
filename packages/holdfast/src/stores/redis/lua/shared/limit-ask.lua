-- One ask about one subject.

-- One item's failure must not take the others along.
local function failed(problem)
  return { 'error', tostring(type(problem) == 'table' and problem.err or problem) }
end

local function answerAsk(subject, ask)
  ask = string.match(ask, '^[^@]*')
  local cost = tonumber(ask)
  if cost then
    return decide(subject, nil, cost)
  end
  local first, second, third, fourth = string.match(ask, '^(%S+) (%S+) ?(%S*) ?(%S*)$')
  if fourth == '' then
    return decide(subject, second, tonumber(first), tonumber(third))
  end
  local adjusted = adjust(subject, first, tonumber(second), tonumber(third), tonumber(fourth))
  return adjusted and 'done' or 'none', true
end

-- The reply, and whether something may have been counted.
local function answer(subject, ask)
  local ok, reply, counts = pcall(answerAsk, subject, ask)
  if ok then
    return reply, counts
  end
  -- Half of it may have been counted: nothing of it is written.
  local failure = failed(reply)
  subject.failure = failure[2]
  return failure
end
