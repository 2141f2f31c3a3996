import type { CatchUp, Overlap } from '../../src/ledger/types.js';
/**
 * The table of overlap × catch-up × what is found, as data: `policies.test.ts` tries every combination, and
 * docs/ledger.md shows it. A minute job with one place whose cursor stands at 10:05:10.
 */
/** What the place is held by when the job is attended. */
export declare const HOLDERS: {
    readonly nobody: 'nobody';
    readonly fresh: 'a fresh run';
    readonly retrying: 'a fresh run that awaits its retry';
    readonly manual: 'a manual run';
    readonly backfill: 'a backfill';
    readonly 'catch-up': 'a catch-up run';
};
export type Holder = keyof typeof HOLDERS;
/** A fresh occurrence that is not joined with catch-up: its row, and what becomes of the holder. */
export interface FreshFate {
    readonly row: 'starts' | 'waits' | 'skipped(overlap)';
    readonly holder: 'goes on' | 'is asked to stop' | 'cancelled(replaced)';
}
export declare const FRESH: Record<Holder, Record<Overlap, FreshFate>>;
/** What is found due: when the job is attended, with which grace, and whether the newest is fresh. */
export declare const FOUND: {
    readonly 'one, fresh': {
        readonly at: '10:06:05';
        readonly graceMs: 60000;
        readonly fresh: '10:06';
    };
    readonly 'one, late': {
        readonly at: '10:06:05';
        readonly graceMs: 1000;
        readonly fresh: null;
    };
    readonly 'five, the newest fresh': {
        readonly at: '10:10:05';
        readonly graceMs: 60000;
        readonly fresh: '10:10';
    };
    readonly 'five, all late': {
        readonly at: '10:10:05';
        readonly graceMs: 1000;
        readonly fresh: null;
    };
    readonly 'many, too old ones among them': {
        readonly at: '12:10:05';
        readonly graceMs: 60000;
        readonly fresh: '12:10';
    };
};
export type Found = keyof typeof FOUND;
export declare const CATCH_UP: Record<CatchUp['policy'], CatchUp>;
/** What becomes of what passed, as `from..to xcount fate`; whether the fresh one is joined with it. */
export declare const PASSED: Record<CatchUp['policy'], Record<Found, {
    readonly rows: string[];
    readonly joined: boolean;
}>>;
