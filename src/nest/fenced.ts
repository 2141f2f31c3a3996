import {
  applyDecorators,
  type CanActivate,
  createParamDecorator,
  type ExecutionContext,
  HttpException,
  Inject,
  Injectable,
  SetMetadata,
  UseGuards,
} from '@nestjs/common'
import { HttpAdapterHost, Reflector } from '@nestjs/core'
import type { Effects, TxOf } from '../effect/port.js'
import {
  checkReceiveOptions,
  type ReceivedFence as Received,
  type ReceiveOptions,
  receiveFenced,
} from '../effect/receive.js'
import { FleetcronError } from '../errors.js'
import { EFFECTS } from './tokens.js'

export type FencedOptions = ReceiveOptions

/** The fence that came with a request. */
export type ReceivedFence<Tx = TxOf> = Received<Tx>

const OPTIONS: unique symbol = Symbol.for('fleetcron/nest/fenced') as never
const RECEIVED: unique symbol = Symbol.for('fleetcron/nest/received-fence') as never

/** What the guard keeps at the request, of Express or Fastify. */
interface HttpRequest {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly method: string
  readonly url: string
  [RECEIVED]?: Received<unknown>
}

/** The guard behind `@Fenced()`. */
@Injectable()
export class FencedGuard implements CanActivate {
  constructor(
    @Inject(EFFECTS) private readonly effects: Effects<unknown>,
    @Inject(Reflector) private readonly reflector: Reflector,
    @Inject(HttpAdapterHost) private readonly host: HttpAdapterHost,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const place = `${context.getClass().name}.${context.getHandler().name}`
    if (context.getType() !== 'http') {
      const message = `${place}: @Fenced() reads headers of HTTP requests, and this is none. Call receiveFenced() yourself.`
      throw new FleetcronError('EFFECT_INVALID', message)
    }
    const http = context.switchToHttp()
    const request = http.getRequest<HttpRequest>()
    const options = this.reflector.getAllAndOverride<FencedOptions>(OPTIONS, [context.getHandler(), context.getClass()])
    const answer = await receiveFenced(this.effects, request, options)
    if (answer.accepted) {
      request[RECEIVED] = answer.fence
      return true
    }
    for (const [name, value] of Object.entries(answer.headers)) {
      this.host.httpAdapter.setHeader(http.getResponse(), name, value)
    }
    throw new HttpException(answer.body, answer.status)
  }
}

/**
 * Lets in only requests whose sender is the newest attempt of its resource, by a fence in this application's own business
 * database (`effects` of `FleetModule`): 409 for a stale one, 428 without the headers, 503 while the database is away.
 * Authenticate before: whoever may send a token can shut out others.
 *
 * @example
 * @Post('orders')
 * @Fenced()
 * order(@Body() order: Order, @ReceivedFence() fence: ReceivedFence) {
 *   return fence.once(`order:${order.id}`, async (tx) => {
 *     await this.orders.insert(tx, order)
 *   })
 * }
 */
export function Fenced(options: FencedOptions = {}): MethodDecorator & ClassDecorator {
  checkReceiveOptions(options, '@Fenced()')
  return applyDecorators(SetMetadata(OPTIONS, options), UseGuards(FencedGuard))
}

/** Hands a method behind `@Fenced()` the fence of its request: `fence(tx)` and `once(key, fn)` look at it in the transaction of the write. */
export const ReceivedFence: () => ParameterDecorator = createParamDecorator((_: unknown, context: ExecutionContext) => {
  const fence = context.switchToHttp().getRequest<HttpRequest>()[RECEIVED]
  if (fence !== undefined) return fence
  const place = `${context.getClass().name}.${context.getHandler().name}`
  throw new FleetcronError('EFFECT_INVALID', `${place}: @ReceivedFence() needs @Fenced() on the method or its class.`)
})
