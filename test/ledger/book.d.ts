import type { AttendContext, Context, Decision, Outcome, Request } from '../../src/ledger/context.js';
import type { Aggregate, Change, Definition, EndedSession, LedgerEvent, Run, StoredDefinition } from '../../src/ledger/types.js';
import type { ZoneData } from '../../src/schedule/types.js';
/** The terms most cases begin with. */
export declare const TERMS: Definition;
interface Asked {
    readonly id: string;
    readonly data: string | null;
    readonly earlier?: Run | null;
    readonly until: number | null;
    readonly run?: Run;
    readonly from: number;
    readonly to: number;
}
declare const COMMANDS: {
    readonly trigger: (job: Aggregate, request: Request, { data, earlier }: Asked, ctx: Context) => Decision;
    readonly pause: (job: Aggregate, request: Request, { until }: Asked, ctx: Context) => Decision;
    readonly resume: (job: Aggregate, request: Request, _: Asked, ctx: Context) => Decision;
    readonly retire: (job: Aggregate, request: Request, _: Asked, ctx: Context) => Decision;
    readonly backfill: (job: Aggregate, request: Request, { from, to }: Asked, ctx: Context) => Decision;
    readonly cancel: (job: Aggregate, request: Request, { run }: Asked, ctx: Context) => Decision;
    readonly retry: (job: Aggregate, request: Request, { run }: Asked, ctx: Context) => Decision;
};
/**
 * One job's ledger without a store: applies changes as the port says, keeps every version of every row, and turns its
 * own clock. It refuses what a store would refuse, so that a test sees guards that do not hold.
 */
export declare class Book {
    now: number;
    job: Aggregate | null;
    readonly rows: Map<string, Run>;
    readonly history: {
        before: Run | null;
        after: Run;
    }[];
    readonly events: LedgerEvent[];
    /** The latest entry of each hash, in order of entry. */
    known: StoredDefinition[];
    readonly changes: Change[];
    zones: ZoneData | undefined;
    private ids;
    constructor(from: string);
    static defined(from: string, terms?: Partial<Definition>): Book;
    /** The row with this key; a case that names one that is not there is wrong. */
    row(key: string): Run;
    /** Turns the clock and attends: what this node was granted. */
    attendAt(instant: string, more?: Partial<AttendContext>): Run[];
    /** Attends and takes the one run that is granted. */
    take(more?: Partial<AttendContext>): Run;
    /** Asks for something as a person would; `id` is the request's. */
    ask(what: keyof typeof COMMANDS, input?: Partial<Asked>): Decision;
    ctx(more?: Partial<AttendContext>): AttendContext;
    define(hash: string, content: Definition, carried?: ReadonlyMap<string, number>): boolean;
    attend(more?: Partial<AttendContext>): Run[];
    command(make: (job: Aggregate, ctx: Context) => Decision): Decision;
    settle(run: Run, outcome: Outcome): boolean;
    ended(session: string, more?: Partial<EndedSession>): Map<string, EndedSession>;
    aggregate(): Aggregate;
    /** Rows as short lines, in the order in which they were made: `key state(reason) cause from..to xcount`. */
    lines(): string[];
    live(): Run[];
    apply(change: Change | null): boolean;
    private put;
    private window;
}
export declare function line(run: Run): string;
export {};
