import { runHere } from '@goshawk/cli/testing';
import type { Comparison } from '@goshawk/report';
import { describe, expect, it } from 'vitest';

async function simulate(...args: string[]): Promise<Comparison> {
  const { stdout } = await runHere(['simulate', ...args, '--json', '--parallel', '1']);
  return JSON.parse(stdout) as Comparison;
}

describe('a simulated policy', () => {
  it('is compared with references, one of which knows all run times', async () => {
    const result = await simulate(
      'google-like:jobs=100,seed=5',
      '--policy',
      'goshawk,goshawk-no-delay,omniscient',
      '--workers',
      '300',
      '--estimator',
      'pilot',
    );
    const [goshawk, noDelay, omniscient] = result.runs;
    expect(goshawk).toMatchObject({
      policy: 'goshawk',
      options: { networkDelay: 0.0005, estimator: 'pilot' },
    });
    expect(noDelay).toMatchObject({
      policy: 'goshawk-no-delay',
      options: { policy: 'goshawk-no-delay', networkDelay: 0, estimator: 'pilot' },
    });
    expect(noDelay!.predictor!.pilotTasks).toBeGreaterThan(0);
    expect(omniscient).toMatchObject({
      policy: 'omniscient',
      options: { policy: 'omniscient', networkDelay: 0, estimator: 'oracle' },
      predictor: null,
    });
    expect(omniscient!.jobs.completed).toBe(100);
  });

  it('is compared with itself on a network without delay', async () => {
    const result = await simulate(
      ...['google-like:jobs=300,seed=5', '--policy', 'goshawk,goshawk-no-delay', '--workers', '600'],
    );
    const [goshawk, noDelay] = result.runs;
    // A job needs three sequential messages (need, matched, run); the next job on a worker needs two.
    const ahead = goshawk!.runtimeSeconds.short.p50! / noDelay!.runtimeSeconds.short.p50!;
    expect(ahead).toBeGreaterThan(1);
    expect(ahead).toBeLessThan(1.05);
  });

  it('is run under different settings, with separate names', async () => {
    const result = await simulate(
      ...['google-like:jobs=200,seed=5', '--policy', 'hawk,hawk:no-stealing', '--vary', 'workers=300,400'],
    );
    expect(
      result.runs.map(({ policy, options }) => [policy, options.policy, options.stealing, options.workers]),
    ).toEqual([
      ['hawk workers=300', 'hawk', true, 300],
      ['hawk workers=400', 'hawk', true, 400],
      ['hawk:no-stealing workers=300', 'hawk', false, 300],
      ['hawk:no-stealing workers=400', 'hawk', false, 400],
    ]);
    const [with300, with400] = result.runs.map(({ messages }) => messages.total);
    expect(with300).not.toBe(with400);
  });

  it('is compared with the others under equal settings, with an interval per pair', async () => {
    const result = await simulate(
      ...['google-like:jobs=200,seed=5', '--policy', 'hawk,sparrow', '--vary', 'workers=300,400'],
    );
    expect(result.ratios.map(({ policy, baseline }) => [policy, baseline])).toEqual([
      ['hawk workers=300', 'sparrow workers=300'],
      ['hawk workers=400', 'sparrow workers=400'],
    ]);
    const [at300, at400] = result.ratios;
    const p50 = (name: string) =>
      result.runs.find(({ policy }) => policy === name)!.runtimeSeconds.short.p50!;
    expect(at400!.short.p50).toBeCloseTo(p50('hawk workers=400') / p50('sparrow workers=400'), 12);
    expect(at300!.interval!.short.p50).toHaveLength(2);
  });

  it('is compared with its first setting if it is the only policy', async () => {
    const result = await simulate(
      ...[
        'google-like:jobs=100,seed=5',
        '--policy',
        'hawk',
        '--vary',
        'steal-cap=1,10,30',
        '--workers',
        '300',
      ],
    );
    expect(result.ratios.map(({ policy, baseline }) => [policy, baseline])).toEqual([
      ['hawk steal-cap=1', 'hawk steal-cap=10'],
      ['hawk steal-cap=1', 'hawk steal-cap=30'],
    ]);
  });

  it('is run with several sizes and cutoffs, which are printed at the start', async () => {
    const args = ['google-like:jobs=50,seed=5', '--policy', 'sparrow', '--vary', 'workers=300,400'];
    const { stderr } = await runHere(['simulate', ...args, '--vary', 'cutoff=1s,2s', '--parallel', '1']);
    expect(stderr.replaceAll(/\s+/g, ' ')).toMatch(
      /on 300 workers, offered load \S+ \/ 400 workers, offered load \S+; cutoff 1 s \/ 2 s of mean task time/,
    );
  });
});
