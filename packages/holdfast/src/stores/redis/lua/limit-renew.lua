-- Prolongs the slots of many takes to their full lease, each only if they are there under every rule that has slots.
-- KEYS: per item: subject, usage (and one more for each further rule)
-- ARGV: call, rules, then per item: take, not after ms
-- Reply: server ms, call, then per item: renewed | missing | late, or an array: error MESSAGE
--- @include shared/now
--- @include shared/limit-write
--- @include shared/limit-side
--- @include shared/limit-level
--- @include shared/limit-tally
--- @include shared/limit-counters
--- @include shared/limit-bucket
--- @include shared/limit-window
--- @include shared/limit-slots
--- @include shared/limit-subject
--- @include shared/limit-save
--- @include shared/limit-ask
local more, ITEM_KEYS, ITEM_ARGS = 0, 2, 2
more = readRules(ARGV[2]) - 1
local count = #KEYS / (ITEM_KEYS + more)
local values = readKeys(KEYS, 1, ITEM_KEYS + more)

local function renew(subject, take)
  local renewed = {}
  for n, rule in ipairs(rules) do
    if rule.renew then
      if not rule.holds(subject[n], take) then
        return 'missing'
      end
      renewed[#renewed + 1] = n
    end
  end
  for _, n in ipairs(renewed) do
    rules[n].renew(subject[n], take)
    subject[n].changed = true
  end
  return #renewed > 0 and 'renewed' or 'missing'
end

local replies, subjectOf = { now, ARGV[1] }, {}
for i = 1, count do
  local at, own = 1 + (ITEM_KEYS + more) * (i - 1), 2 + ITEM_ARGS * (i - 1)
  if now > tonumber(ARGV[own + 2]) then
    replies[i + 2] = 'late'
  else
    local ok, subject = pcall(subjectAt, KEYS[at], KEYS[at + 1], KEYS, values, at)
    replies[i + 2] = ok and renew(subject, ARGV[own + 1]) or failed(subject)
    subjectOf[i + 2] = ok and subject or nil
  end
end
saveAll(replies, subjectOf)
return replies
