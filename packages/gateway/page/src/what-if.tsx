import { useEffect, useRef, useState } from 'preact/hooks';
import { type ApiError, get } from './api.js';
import type { Job, WhatIfAnswer } from './shapes.js';
import { ErrorText, Table } from './ui.js';
import { duration } from './words.js';

interface Change {
  readonly words: string;
  readonly query: string;
}

/** Policies to try. If one of them cannot run the job, the answer says so. */
const POLICIES = ['goshawk', 'goshawk-peer', 'hawk', 'sparrow', 'central'] as const;

/** Maximum age of an answer that is shown beside a new one, in ms. */
const COMPARED_MS = 30_000;

interface Known {
  readonly words: string;
  readonly answer: WhatIfAnswer;
  readonly at: number;
}

/**
 * Buttons that simulate when the job would start under a change, and the answers.
 *
 * @param props.path path of the job in the API
 */
export function WhatIf({ path, priority }: { readonly path: string; readonly priority: Job['priority'] }) {
  const [known, setKnown] = useState<readonly Known[]>([]);
  const [outcome, setOutcome] = useState<string | ApiError>('');
  /** Aborts the current request when another question is asked. */
  const asking = useRef<AbortController | undefined>(undefined);
  useEffect(() => () => asking.current?.abort(), []);
  const ask = async ({ words, query }: Change): Promise<void> => {
    asking.current?.abort();
    const own = new AbortController();
    asking.current = own;
    setOutcome(`Simulating: ${words} …`);
    try {
      const answer = await get<WhatIfAnswer>(`${path}/whatif?${query}`, own.signal);
      const at = performance.now();
      // The simulations of older answers started from an earlier state of the cluster.
      setKnown((all) => [
        ...all.filter((one) => at - one.at <= COMPARED_MS && one.words !== words),
        { words, answer, at },
      ]);
      setOutcome('');
    } catch (error) {
      if (!own.signal.aborted) setOutcome(error as ApiError);
    }
  };
  const level = priority === 'high' ? 'normal' : 'high';
  const changes: readonly Change[] = [
    { words: '+1 worker', query: 'workers=1' },
    { words: '+10 workers', query: 'workers=10' },
    { words: `with ${level} priority`, query: `priority=${level}` },
  ];
  return (
    <div>
      <h3>What if</h3>
      <div class="actions" role="group" aria-label="What if">
        {changes.map((change) => (
          <button key={change.query} type="button" onClick={() => void ask(change)}>
            {change.words}
          </button>
        ))}
        <select
          aria-label="What if the policy were"
          onChange={({ currentTarget: { value } }) => {
            if (value !== '') void ask({ words: `policy ${value}`, query: `policy=${value}` });
          }}
        >
          <option value="">another policy</option>
          {POLICIES.map((name) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
      </div>
      <div role="status">
        <WhatIfAnswers known={known} />
        {outcome === '' ? null : typeof outcome === 'string' ? (
          <p class="hint">{outcome}</p>
        ) : (
          <p>
            <ErrorText error={outcome} />
          </p>
        )}
      </div>
    </div>
  );
}

export function WhatIfAnswers({ known }: { readonly known: readonly Known[] }) {
  const last = known.at(-1)?.answer;
  if (last === undefined) return null;
  const time = (seconds: number | null) => (seconds === null ? 'not predicted' : duration(seconds));
  const rows = [
    { words: 'no change', ...last.now },
    ...known.map(({ words, answer }) => ({ words, ...answer.changes[0]! })),
  ];
  return (
    <div>
      <Table<(typeof rows)[number]>
        caption="What if"
        rows={rows}
        keyOf={({ words }) => words}
        columns={[
          { title: 'change', of: ({ words }) => words },
          { title: 'starts in', isNumber: true, of: ({ startSeconds }) => time(startSeconds) },
          { title: 'ends in', isNumber: true, of: ({ endSeconds }) => time(endSeconds) },
        ]}
      />
      <p class="hint">Simulated: {last.assumptions.join('; ')}.</p>
    </div>
  );
}
