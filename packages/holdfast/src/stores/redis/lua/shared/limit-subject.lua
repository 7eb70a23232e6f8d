-- One subject of a limiter: its usage under each rule, its block, its reservations. Same decisions as store/limit/subject.ts.
-- The rules come as JSON: { rules: [[kind, capacity, numbers …] …], deny: whether denied takes count, span: longest span }.
local KINDS = { f = fixedWindow, w = slidingWindow, c = slidingCounter, t = bucket, l = bucket, s = slots }
local rules, countDenied, longestSpan
-- Those that this call is about, by their keys: each is read once and written once.
local subjects, inOrder = {}, {}

local function readRules(text)
  local given = cjson.decode(text)
  rules, countDenied, longestSpan = given.rules, given.deny, given.span
  for n, numbers in ipairs(rules) do
    rules[n] = KINDS[numbers[1]](numbers)
  end
  return #rules
end

-- What lies at the keys, in their order; of a large ring nothing.
local function readKeys(keys, first, stride)
  local names = keys
  for n, rule in ipairs(rules) do
    if rule.large then
      names = names == keys and { unpack(keys) } or names
      for at = first + n, #keys, stride do
        names[at] = keys[first]
      end
    end
  end
  return redis.call('MGET', unpack(names))
end

-- Where nothing was used there is nothing to change.
local function adjustUsage(subject, take, at, taken, cost)
  local adjusted = false
  for n, rule in ipairs(rules) do
    local state = subject[n]
    if state.exists and rule.adjust(state, take, at, taken, cost) then
      state.changed, adjusted = true, true
    end
  end
  return adjusted
end

-- A clock that was set back prolongs no block.
local function shortenBlock(subject)
  if subject.blocked and subject.blocked > now + subject.duration then
    subject.blocked, subject.changed = now + subject.duration, true
  end
end

-- Gives back what was reserved and never settled. It is remembered, so that settling it late gives nothing back twice.
local function giveBackWhatIsDue(subject)
  for _, reservation in ipairs(subject.reservations) do
    if reservation.cost > 0 and reservation.ends <= now then
      adjustUsage(subject, reservation.take, reservation.at, reservation.cost, 0)
      reservation.cost, subject.changed = 0, true
    elseif reservation.at > now then
      -- The clock was set back: it counts as made now, as what it counted does.
      reservation.at, reservation.ends, subject.changed = now, now + reservation.duration, true
    end
  end
end

local function usageKey(subject, n)
  return n == 1 and subject.usage or subject.keys[subject.at + n]
end

-- The subject with these keys, which are those at `at` and behind it.
local function subjectAt(key, usage, keys, values, at)
  local subject = subjects[key]
  if not subject then
    subject = { key = key, usage = usage, keys = keys, at = at, present = values[at] }
    for n, rule in ipairs(rules) do
      local value = not rule.large and values[at + n]
      local state = rule.read(value, usageKey(subject, n))
      state.present = state.present or value
      subject[n] = state
    end
    if subject.present then
      parseSide(subject, subject.present)
      shortenBlock(subject)
    end
    subjects[key] = subject
    inOrder[#inOrder + 1] = subject
  end
  if subject.reservations then
    giveBackWhatIsDue(subject)
  end
  return subject
end

-- What the caller works the verdict out from: one number, or an array that begins with a status.
-- A single number n: admitted; -1 - n: denied.
local ADMITTED, DENIED, BLOCKED, DENIED_AND_COUNTED = 1, 0, 2, 3

local function facts(subject, status, cost, before)
  if #rules == 1 and rules[1].facts == 1 and status <= ADMITTED then
    local fact = rules[1].fact(subject[1], cost)
    return status == ADMITTED and fact or -1 - fact
  end
  local reply = { status }
  if status == BLOCKED then
    reply[2] = subject.blocked
  end
  for _, each in ipairs(before or {}) do
    reply[#reply + 1] = each
  end
  for n, rule in ipairs(rules) do
    local one, two, three = rule.fact(subject[n], cost)
    reply[#reply + 1] = one
    reply[#reply + 1] = two
    reply[#reply + 1] = three
  end
  return reply
end

local function never(cost)
  for _, rule in ipairs(rules) do
    if cost > rule.capacity then
      return true
    end
  end
  return false
end

local function passes(subject, cost)
  for n, rule in ipairs(rules) do
    if not rule.passes(subject[n], cost) then
      return false
    end
  end
  return true
end

local function reserve(subject, take, cost, duration)
  local ends = now + duration
  subject.reservations = subject.reservations or {}
  table.insert(subject.reservations, {
    take = take, at = now, cost = cost, ends = ends, duration = duration,
    forget = math.max(ends, now + longestSpan),
  })
  subject.changed = true
end

local function countAll(subject, how, cost, take)
  for n, rule in ipairs(rules) do
    rule[how](subject[n], cost, take)
    subject[n].changed, subject[n].exists = true, true
  end
end

-- What each rule said before a denied take was counted: whether it admits, and the delay if it does.
local function judgedBefore(subject, cost)
  local before = {}
  for n, rule in ipairs(rules) do
    local admits = rule.passes(subject[n], cost)
    before[#before + 1] = admits and 1 or 0
    before[#before + 1] = admits and rule.delay and rule.delay(subject[n]) or 0
  end
  return before
end

-- Decides one take: all rules admit and count it, or none counts. The second result says whether it was counted.
local function decide(subject, take, cost, duration)
  if subject.blocked then
    return facts(subject, BLOCKED, cost)
  elseif passes(subject, cost) then
    countAll(subject, 'count', cost, take)
    if duration then
      reserve(subject, take, cost, duration)
    end
    return facts(subject, ADMITTED, cost), true
  elseif countDenied and not never(cost) then
    local before = judgedBefore(subject, cost)
    countAll(subject, 'countDenied', cost)
    return facts(subject, DENIED_AND_COUNTED, cost, before), true
  end
  return facts(subject, DENIED, cost)
end

-- Changes what a take counted. Nothing when it was given back already.
local function adjust(subject, take, at, taken, cost)
  for n, reservation in ipairs(subject.reservations or {}) do
    if reservation.take == take then
      if reservation.cost == 0 then
        return false
      end
      table.remove(subject.reservations, n)
      -- Where the clock was set back it counts as made later or earlier than its caller knows.
      at, subject.changed = reservation.at, true
      break
    end
  end
  return adjustUsage(subject, take, at, taken, cost)
end
