import { SEEN_MS } from '../../retention.js'
import { AGGREGATES, SHARED } from './shared.js'

const CALL = String.raw`
local jobs = list(number())
local attempts, keys, requests, nodes = list(number()), list(number()), list(number()), arg() == '1'
local now = clock()

local found = aggregates(jobs)
local definitions = {}
local names = {}
for i, row in ipairs(found) do names[i] = row[1] end
for i, packed in ipairs(read('defs', names)) do
  local entered = unpacked(packed)
  local hashes = {}
  for _, hash in ipairs(entered and entered[1] or {}) do hashes[#hashes + 1] = names[i] .. '\0' .. hash[1] end
  local texts = {}
  for n, def in ipairs(read('def', hashes)) do
    local row = unpacked(def)
    texts[n] = row and row[1] or ''
  end
  definitions[i] = texts
end

local runs, seen = {}, {}
local function take(run)
  if run and not seen[run] then
    seen[run] = true
    runs[#runs + 1] = run
  end
end
for _, run in ipairs(read('attempt', attempts)) do take(run) end
for _, run in ipairs(keys) do take(run) end
local rows = {}
for i, packed in ipairs(read('row', runs)) do
  if packed then
    local row = columns(packed)
    rows[#rows + 1] = { jobOf(runs[i]), row and jsonOf(packed, row) or '', row and row.stop or false }
  end
end

local events = {}
for _, packed in ipairs(read('event', requests)) do
  local event = unpacked(packed)
  if event then events[#events + 1] = event[1] end
end

local rowsOfNodes = {}
if nodes then
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', base .. 'seen', exact(now - ${SEEN_MS}), '+inf')) do
    local n = nodeOf(id)
    if n then
      rowsOfNodes[#rowsOfNodes + 1] = {
        exact(n.order), id, n.node, n.room and 1 or 0, exact(n.seenAt), exact(n.endedAt), n.said, exact(n.startedAt),
        exact(n.leaseEnd), redis.call('HGET', base .. 'manifest', id),
      }
    end
  end
end
return { exact(now), found, definitions, rows, events, rowsOfNodes }
`

export const LOAD = SHARED + AGGREGATES + CALL
