/** Finding jobs by the instant at which they wake. A member of the index is the job's name and its bucket in two digits. */
export const WAKES = `
local function isMine(mask, member)
  return string.byte(mask, tonumber(string.sub(member, -2), 16) + 1) == 49
end

local function nameOf(member)
  return string.sub(member, 1, -4)
end

-- How many members stand before (score, member), which need not be one itself: by halves among those of one score.
local function rankAfter(key, score, member)
  local low = redis.call('ZCOUNT', key, '-inf', '(' .. exact(score))
  local high = redis.call('ZCOUNT', key, '-inf', exact(score))
  while low < high do
    local middle = math.floor((low + high) / 2)
    local found = redis.call('ZRANGE', key, middle, middle)[1]
    if isBefore(member, found) then high = middle else low = middle + 1 end
  end
  return low
end

-- The earliest wake-up from a rank on, in buckets that are mine or that are not. Names fall into buckets evenly: one of the
-- kind is met after a few members, or there are few in all.
local function earliestFrom(key, rank, mask, mine)
  while true do
    local part = redis.call('ZRANGE', key, rank, rank + 31, 'WITHSCORES')
    for i = 1, #part, 2 do
      if isMine(mask, part[i]) == mine then return tonumber(part[i + 1]) end
    end
    if #part < 64 then return nil end
    rank = rank + 32
  end
end

-- The earliest of several services; "after": strictly after that instant.
local function nextWake(services, mask, mine, after)
  local next = nil
  for _, service in ipairs(services) do
    local key = base .. 'due:' .. service
    local found = earliestFrom(key, after and redis.call('ZCOUNT', key, '-inf', exact(after)) or 0, mask, mine)
    if found and (not next or found < next) then next = found end
  end
  return next or false
end

-- The earliest end of a lease of another session that holds runs.
local function nextEnd(session)
  local first = redis.call('ZRANGE', base .. 'holding', 0, 1, 'WITHSCORES')
  if #first > 0 and first[1] ~= session then return first[2] end
  return #first > 2 and first[4] or false
end
`
