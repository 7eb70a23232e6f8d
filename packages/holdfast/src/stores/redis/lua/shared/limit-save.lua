-- Writes what the call changed, each subject once.

-- A key that lost its expiry is written again, with one.
local function isEndless(key, present)
  return present and redis.call('PTTL', key) == -1
end

-- With several rules nothing may be written when one of the keys is of another type: that would count in part.
local function anotherType(subject)
  for n = 1, #rules do
    local key = usageKey(subject, n)
    if not subject[n].present and redis.call('EXISTS', key) == 1 then
      return store(key, '', digits(now), false)
    end
  end
end

-- Returns the error when it could not be written.
local function saveSubject(subject)
  local failure = #rules > 1 and errorOf(anotherType(subject))
  if failure then
    return failure
  end
  for n, rule in ipairs(rules) do
    local state, key = subject[n], usageKey(subject, n)
    if state.changed or state.ahead or isEndless(key, state.present) then
      local written
      if rule.write then
        written = rule.write(state)
      else
        local value, expires = rule.value(state)
        written = keep(key, value, expires, state.present)
      end
      failure = failure or errorOf(written)
    end
  end
  if subject.changed or isEndless(subject.key, subject.present) then
    failure = failure or saveSide(subject)
  end
  return failure
end

-- Saves all, and gives every reply that is about a subject which could not be saved its error.
local function saveAll(replies, subjectOf)
  local failed
  for _, subject in ipairs(inOrder) do
    subject.failure = subject.failure or saveSubject(subject)
    failed = failed or subject.failure
  end
  if failed then
    for at, subject in pairs(subjectOf) do
      if subject.failure then
        replies[at] = { 'error', subject.failure }
      end
    end
  end
end
