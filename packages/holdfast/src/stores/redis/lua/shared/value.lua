-- A lock's value is OWNER#FENCE, then +RESERVED or ;trace=ID, or nothing.

-- The owner in a value: 22 characters, @, host and pid. What another software wrote is its owner whole.
local function ownerOf(value)
  local owner, fence, rest = string.match(value, '^([%w_%-]+@[^#]*)#(%d+)(.*)$')
  if owner and string.sub(owner, 23, 23) == '@' and #fence <= 16 and (rest == '' or string.find(rest, '^[+;]')) then
    return owner
  end
  return value
end

-- Whether the value is of this owner. Quicker than reading the owner from the value.
local function isOwnedBy(value, owner)
  if string.sub(value, 1, #owner + 1) ~= owner .. '#' then
    return false
  end
  -- As nearly always: a fence, and nothing after it.
  if #value - #owner <= 17 and string.find(value, '^%d+$', #owner + 2) then
    return true
  end
  return ownerOf(value) == owner
end

-- Whether the value is the one of this owner and this fence.
local function isGrant(value, grant)
  if string.sub(value, 1, #grant) ~= grant then
    return false
  end
  local following = string.sub(value, #grant + 1, #grant + 1)
  return following == '' or following == '+' or following == ';'
end
