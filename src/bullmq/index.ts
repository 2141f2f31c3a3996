export { type BullmqDoor, bullmqDoor } from './door.js'
export type { BullmqDoorOptions } from './options.js'
export type { BullmqOutcome } from './outcome.js'
