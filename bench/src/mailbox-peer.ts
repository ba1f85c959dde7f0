import type { KeyFile } from '@goshawk/transport';
import { type Body, body, KIND } from './mailbox-body.js';
import { answerByMailbox, answerRaw } from './mailbox-wire.js';

/**
 * The other process of the mailbox bench. It answers requests, counts one-way messages, and reports their rate to its
 * parent, by its own clock, from the start to the last message.
 */
const COUNTED_EVERY = 10_000;

let expected = 0;
let counted = 0;
let startedMs = 0;

function handle(received: Body, reply: (answer: Body) => void): void {
  const [kind, , task] = received;
  if (kind === KIND.ask) {
    reply(received);
  } else if (kind === KIND.start) {
    expected = task;
    counted = 0;
    startedMs = performance.now();
  } else {
    counted++;
    if (counted % COUNTED_EVERY === 0) reply(body(KIND.counted, counted));
    if (counted === expected) {
      process.send?.({ perSecond: (1_000 * counted) / (performance.now() - startedMs) });
    }
  }
}

const [, , kind, keys] = process.argv;
const address =
  kind === 'raw'
    ? answerRaw(handle)
    : answerByMailbox(handle, keys === undefined ? undefined : (JSON.parse(keys) as KeyFile));
process.send?.({ address: await address });
process.on('disconnect', () => process.exit());
