import { type Message, type MessageOf, PRESETS, parseJobSpec } from '@goshawk/core';
import { expect, test } from 'vitest';
import { CENTRAL, joined, loneScheduler, W1, W2, welcome } from '../lone-scheduler.fixture.js';

test('the need of a retry names the workers that it avoids, while another may run it', () => {
  for (const workers of [[W1, W2], [W1]]) {
    const sent: Message[] = [];
    const scheduler = loneScheduler({}, { send: (_, message) => void sent.push(message) });
    scheduler.start(0);
    scheduler.receive(CENTRAL, welcome({ preset: { ...PRESETS.goshawk }, policy: 'goshawk' }), 0);
    scheduler.receive(CENTRAL, joined(1, workers, 1), 0);
    const job = scheduler.submit(
      parseJobSpec({ tasks: [{ sleep: 1 }], retries: 1, estimate: '1s' }),
      undefined,
      0,
    );
    const at = [{ worker: W1, match: 1 }];
    const matched = { job: job.number, stage: 0, workers: at, noneWaiting: undefined, newcomers: undefined };
    scheduler.receive(CENTRAL, { type: 'matched', ...matched }, 1);
    const run = sent.splice(0).find((message): message is MessageOf<'run'> => message.type === 'run')!;
    const outcome = { kind: 'failed', errorCode: 'exit', errorMessage: '1' } as never;
    const report = { report: 1, job: job.number, task: run.task, attempt: run.attempt, outcome, runMs: 1 };
    scheduler.receive(W1, { type: 'ended', ...report, output: [], outputBytes: 0, ask: 0 }, 2);
    const need = sent.find((message): message is MessageOf<'need'> => message.type === 'need')!;
    expect(need.avoid).toEqual(workers.length > 1 ? [W1] : undefined);
  }
});
