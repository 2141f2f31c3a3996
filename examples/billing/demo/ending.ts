import type { FromNode, ToNode } from '../shared/messages.js'
import type { NodeProcess } from './node-process.js'
import { type Deeds, PERIOD_WAIT_MS, type Scene, TRIES } from './scene.js'
import { DemoFailure, type Heard } from './stage.js'

/** Lets the last period end and nothing begin any more, then ends every node in good order. */
export async function close(scene: Scene, deeds: Deeds): Promise<void> {
  const { stage, story, books, guarded, background } = scene
  await Promise.all(background)
  await Promise.all(stage.living().map((node) => ask(scene, node, 'hurry', 'hurried')))
  story.say('', 'the billing is paused: what has begun is finished')
  if (guarded) await pauseFleet(scene)
  else await Promise.all(stage.living().map((node) => ask(scene, node, 'pause', 'paused')))
  if (deeds.definitions !== null) deeds.definitions.after = await books.ledger.definition()
  const living = stage.living()
  for (const node of living) node.signal('SIGTERM')
  await Promise.all(living.map((node) => stage.end(node, 15_000)))
}

/** One word to one node pauses the job on all. A run that was due just then would wait for the end of the pause: then once more. */
async function pauseFleet(scene: Scene): Promise<void> {
  const { stage, books } = scene
  const { ledger } = books
  const [node] = stage.living()
  for (let tries = 1; node !== undefined && tries <= TRIES; tries++) {
    await ended(scene, async () => (await ledger.runsIn('queued')) + (await ledger.runsIn('running')))
    await ask(scene, node, 'pause', 'paused')
    await ended(scene, () => ledger.runsIn('running'))
    if ((await ledger.runsIn('queued')) === 0) return
    await ask(scene, node, 'resume', 'resumed')
  }
  throw new DemoFailure(`${TRIES} times a period began in the moment of the pause: this machine is too busy`)
}

/** Waits until none is left. */
async function ended({ stage }: Scene, left: () => Promise<number>): Promise<void> {
  for (;;) {
    const since = stage.history.length
    if ((await left()) === 0) return
    await stage.next('ended', { what: 'a run ends', withinMs: PERIOD_WAIT_MS, since })
  }
}

async function ask(
  { stage }: Scene,
  node: NodeProcess,
  question: ToNode['type'],
  answer: FromNode['type'],
): Promise<void> {
  const since = stage.history.length
  const accept = (heard: Heard) => heard.node === node
  node.send({ type: question })
  await stage.next(answer, { what: `${node.name} has ${answer}`, withinMs: PERIOD_WAIT_MS, since, accept })
}
