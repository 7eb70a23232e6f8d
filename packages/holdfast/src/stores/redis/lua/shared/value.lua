-- A lock's value is OWNER#FENCE, then +RESERVED or ;trace=ID, or nothing.

-- The owner in a value: 22 characters, @, host and pid. What another software wrote is its owner whole.
local function ownerOf(value)
  local owner, fence, rest = string.match(value, '^([%w_%-]+@[^#]*)#(%d+)(.*)$')
  if owner and string.sub(owner, 23, 23) == '@' and #fence <= 16 and (rest == '' or string.find(rest, '^[+;]')) then
    return owner
  end
  return value
end

-- Whether the value is of this owner, which is one of our making: 22 characters, @, host and pid, and no #.
local function isOwnedBy(value, owner)
  return string.sub(value, 1, #owner + 1) == owner .. '#'
end

-- Whether the value is the one of this owner and this fence.
local function isGrant(value, grant)
  if string.sub(value, 1, #grant) ~= grant then
    return false
  end
  local following = string.sub(value, #grant + 1, #grant + 1)
  return following == '' or following == '+' or following == ';'
end
