import { AGGREGATES, SHARED } from './shared.js'

/** Rows that one call looks at: whoever wants more asks again, and others are served in between. */
export const LOOKED_AT = 500

/** A page of jobs by name; of one service, the names of those looked at are told too, so that the next call goes on there. */
const JOBS_CALL = `
local service, after, limit = text(), text(), number()
local names = redis.call('ZRANGEBYLEX', base .. 'jobs', after and '(' .. after or '-', '+', 'LIMIT', 0, ${LOOKED_AT})
local last = #names == ${LOOKED_AT} and names[#names] or false
local wanted = {}
for i, packed in ipairs(read('tally', names)) do
  local tally = tallyOf(packed)
  if #wanted == limit then
    last = names[i - 1]
    break
  end
  if tally and (not service or tally.service == service) then wanted[#wanted + 1] = names[i] end
end
return { (aggregates(wanted)), last }
`

/** Runs from the newest on, before a position; where to go on, if there may be more. */
const RUNS_CALL = String.raw`
local job, limit = text(), number()
local position = { createdAt = number(), key = arg(), job = arg() }
local states, isAsked = {}, false
for _, state in ipairs(list(number())) do
  states[state] = true
  isAsked = true
end

-- How many members stand before (score, member), by halves among those of one score.
local function rankOf(key, score, member)
  local low = redis.call('ZCOUNT', key, '-inf', '(' .. exact(score))
  local high = redis.call('ZCOUNT', key, '-inf', exact(score))
  while low < high do
    local middle = math.floor((low + high) / 2)
    if isBefore(redis.call('ZRANGE', key, middle, middle)[1], member) then low = middle + 1 else high = middle end
  end
  return low
end

local key = base .. (job and 'runs:' .. job or 'time')
local count = redis.call('ZCARD', key)
if position.createdAt then
  -- A run of this job at that very place is before it where its job's name is.
  local after = job and isBefore(job, position.job) and '\0' or ''
  count = rankOf(key, position.createdAt, job and position.key .. after or position.key .. '\0' .. position.job)
end
local names = {}
if count > 0 then
  local part = redis.call('ZRANGE', key, math.max(0, count - ${LOOKED_AT}), count - 1)
  for i = #part, 1, -1 do names[#names + 1] = job and part[i] .. '\0' .. job or part[i] end
end

local found, last = {}, false
for from = 1, #names, 50 do
  local part = {}
  for i = from, math.min(from + 49, #names) do part[#part + 1] = names[i] end
  for i, packed in ipairs(read('row', part)) do
    if #found == limit then return { found, last } end
    local row = columns(packed)
    if row then
      last = { exact(row.createdAt), string.sub(part[i], 1, string.find(part[i], '\0', 1, true) - 1), jobOf(part[i]) }
      if not isAsked or states[row.state] then found[#found + 1] = { jsonOf(packed, row), row.stop } end
    end
  end
end
return { found, #names == ${LOOKED_AT} and last or false }
`

/** Events from the newest on, before a position: of a job, or those of each kind, which the client puts in order. */
const EVENTS_CALL = String.raw`
local job, limit = text(), number()
local position = { at = number(), id = arg() }
local found = {}
local function take(ids)
  for _, packed in ipairs(read('event', ids)) do
    local event = unpacked(packed)
    if event then found[#found + 1] = event[1] end
  end
end
if job then
  local to = '(' .. job .. '\1'
  if position.at then to = '(' .. history(job, position.at, position.id) end
  local ids = redis.call('ZREVRANGEBYLEX', base .. 'events', to, '[' .. job .. '\0', 'LIMIT', 0, limit)
  for i, place in ipairs(ids) do ids[i] = string.sub(place, #job + 18) end
  take(ids)
else
  for _, kind in ipairs({ 'happened', 'requested' }) do
    local key = base .. kind
    local count = redis.call('ZCARD', key)
    if position.at then
      local low = redis.call('ZCOUNT', key, '-inf', '(' .. exact(position.at))
      count = redis.call('ZCOUNT', key, '-inf', exact(position.at))
      while low < count do
        local middle = math.floor((low + count) / 2)
        if isBefore(redis.call('ZRANGE', key, middle, middle)[1], position.id) then low = middle + 1 else count = middle end
      end
    end
    if count > 0 then take(redis.call('ZRANGE', key, math.max(0, count - limit), count - 1)) end
  end
end
return found
`

export const JOBS = SHARED + AGGREGATES + JOBS_CALL
export const RUNS = SHARED + RUNS_CALL
export const EVENTS = SHARED + EVENTS_CALL
