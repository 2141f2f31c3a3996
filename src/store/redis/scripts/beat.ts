import { SEEN_MS } from '../../retention.js'
import { SHARED } from './shared.js'
import { WAKES } from './wakes.js'

const CALL = `
local seen, candidate = number(), arg()
local session, leaseMs, room, ending = arg(), number(), arg() == '1', arg() == '1'
local mask, hasMine, hasOthers = arg(), arg() == '1', arg() == '1'
local services = list(number())
local sent = {}
for _, attempt in ipairs(list(number())) do sent[attempt] = true end
local now = clock()
local incarnation = begin(seen, candidate)

local row = nodeOf(session)
local alive = isAlive(session, row, now)
if alive then
  row.room = room
  renew(session, row, now, leaseMs)
end
if row and ending then endSession(session, row, now) end

local running = {}
local held = redis.call('HGETALL', base .. 'session:' .. session)
local runs = {}
for i = 2, #held, 2 do runs[i / 2] = held[i] end
for i, packed in ipairs(read('row', runs)) do
  local attempt = held[2 * i - 1]
  if sent[attempt] then
    local found = columns(packed)
    running[i] = { attempt, found and found.stop or false, false }
  else
    local found = columns(packed)
    running[i] = { attempt, found and found.stop or false, found and jsonOf(packed, found) or '' }
  end
end

local nodes = {}
local ids = redis.call('ZRANGEBYSCORE', base .. 'seen', exact(now - ${SEEN_MS}), '+inf')
for _, id in ipairs(ids) do
  local other = nodeOf(id)
  if other then
    nodes[#nodes + 1] = { exact(other.order), id, other.node, other.room and 1 or 0, exact(other.seenAt), exact(other.endedAt), other.said }
  end
end
return {
  exact(now), alive and 1 or 0, incarnation, wrote(), row and 1 or 0, running, nodes,
  exact(hasMine and nextWake(services, mask, true)), exact(hasOthers and nextWake(services, mask, false)), nextEnd(session),
}
`

export const BEAT = SHARED + WAKES + CALL
