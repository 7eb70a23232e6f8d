-- Takes locks away from the owners named. The fence is raised first, so that a guard can shut the old holder out.
-- KEYS: fence, then per item: lock, queue
-- ARGV: call, process, wake channel prefix ({} before it: in a cluster), fence retention ms, then per item: owner
-- Reply: server ms, call, then per item an array: forced FENCE | missing | other VALUE PTTL | error MESSAGE
--- @include shared/now
--- @include shared/read
--- @include shared/value
--- @include shared/queue
--- @include shared/fence
local PROCESS_CHARACTERS, ID_CHARACTERS = 14, 22
local fenceKey, process, channel, retention = KEYS[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
local replies = { digits(now), ARGV[1] }

-- Tells the holder when its owner is of our making, and so names its process. A hint, like every push.
local function tellHolder(owner, lock)
  if string.sub(owner, ID_CHARACTERS + 1, ID_CHARACTERS + 1) == '@' then
    local holder = string.sub(owner, 1, PROCESS_CHARACTERS)
    -- Who holds listens for his process alone, also in a cluster.
    redis.pcall('PUBLISH', processChannels(channel) .. holder, 'forced ' .. owner .. ' ' .. lock)
  end
end

local function force(lock, queue, owner)
  local fence, failure = takeFences(fenceKey, 1, retention)
  failure = failure or errorOf(redis.pcall('DEL', lock))
  if failure then
    return { 'error', failure }
  end
  tellHolder(owner, lock)
  wakeNext(queue, process, channel, lock)
  return { 'forced', digits(fence) }
end

for i = 1, (#KEYS - 1) / 2 do
  local lock, queue, owner = KEYS[2 * i], KEYS[2 * i + 1], ARGV[4 + i]
  local value, failure = readString(lock)
  if failure then
    replies[i + 2] = { 'error', failure }
  elseif not value then
    replies[i + 2] = { 'missing' }
  elseif ownerOf(value) ~= owner then
    replies[i + 2] = other(lock, value)
  else
    replies[i + 2] = force(lock, queue, owner)
  end
end
return replies
