import { counted, formatCount } from '@goshawk/core';
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { type ApiError, post, randomKey } from './api.js';
import { expectedEndWords } from './jobs.js';
import { addressOf } from './router.js';
import type { Plan } from './shapes.js';
import { useStore } from './store.js';
import { Backticks, Card, ErrorText, Table } from './ui.js';
import { useAnswer } from './use-answer.js';
import { duration } from './words.js';

const EXAMPLE = {
  name: 'example',
  tasks: { count: 10, run: { exec: ['sh', '-c', 'echo task $GOSHAWK_TASK; sleep 1'] } },
  retries: 1,
};
const DRAFT = 'goshawk.draft';

/** The form for a job as JSON. The cluster checks and plans the job before submission. */
export function SubmitView() {
  const store = useStore();
  const editor = useRef<HTMLTextAreaElement>(null);
  const [outcome, setOutcome] = useState<ComponentChildren>(null);
  // With this key, a draft that is sent again after a lost reply or a double click remains one job.
  const key = useRef(randomKey());
  const isShown = useRef(true);
  useEffect(() => {
    editor.current!.value = sessionStorage.getItem(DRAFT) ?? `${JSON.stringify(EXAMPLE, null, 2)}\n`;
    return () => {
      isShown.current = false;
    };
  }, []);
  const attempt = async (call: (job: object) => Promise<ComponentChildren>): Promise<void> => {
    setOutcome(<p class="hint">Asking the cluster …</p>);
    let job: object;
    try {
      sessionStorage.setItem(DRAFT, editor.current!.value);
      job = JSON.parse(editor.current!.value) as object;
    } catch (error) {
      setOutcome(<p class="error">This is not JSON: {(error as Error).message}.</p>);
      editor.current!.focus();
      return;
    }
    try {
      setOutcome(await call(job));
    } catch (error) {
      setOutcome(
        <p>
          <ErrorText error={error as ApiError} />
        </p>,
      );
    }
  };
  const plan = (): Promise<void> =>
    attempt(async (job) => <Planned plan={await post<Plan>('/v1/plan', job)} />);
  const submit = (): Promise<void> =>
    attempt(async (job) => {
      const { job: id, warning } = await post<{ job: string; warning?: string }>('/v1/jobs', {
        key: key.current,
        ...job,
      });
      sessionStorage.removeItem(DRAFT);
      if (!isShown.current) return null;
      if (warning === undefined) {
        location.hash = addressOf('jobs', id);
        return null;
      }
      return (
        <>
          <p class="warning">{warning}</p>
          <p>
            <a href={addressOf('jobs', id)}>Job {id} was submitted</a>
          </p>
        </>
      );
    });
  return (
    <div class="columns">
      <section class="card">
        <h2>
          <label for="job">Job</label>
        </h2>
        <textarea
          ref={editor}
          id="job"
          rows={18}
          spellcheck={false}
          autocomplete="off"
          aria-describedby="job-outcome"
          onInput={() => {
            key.current = randomKey();
          }}
          onKeyDown={(event) => {
            if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) void plan();
          }}
        />
        {store.may('submit') ? (
          <div class="actions">
            <button type="button" onClick={() => void plan()}>
              Plan
            </button>
            <button type="button" onClick={() => void submit()}>
              Submit
            </button>
            <span class="hint">
              <kbd>Ctrl Enter</kbd> plans
            </span>
          </div>
        ) : (
          <p class="hint">Read-only: this page may not submit jobs.</p>
        )}
        <div id="job-outcome" role="status">
          {outcome}
        </div>
      </section>
      <Card title="Fields of a job">
        <Fields />
      </Card>
    </div>
  );
}

interface Field {
  readonly description?: string;
  readonly type?: string | readonly string[];
}

interface Document {
  readonly paths: Readonly<
    Record<string, { post?: { requestBody: { content: { 'application/json': { schema: Schema } } } } }>
  >;
}

interface Schema {
  readonly properties?: Readonly<Record<string, Field>>;
}

function Fields() {
  const { data, error } = useAnswer<Document>('/v1/openapi.json');
  if (error !== undefined)
    return (
      <p>
        <ErrorText error={error} />
      </p>
    );
  const schema = data?.paths['/v1/jobs']?.post?.requestBody.content['application/json'].schema;
  return <FieldTable fields={schema?.properties ?? {}} />;
}

export function FieldTable({ fields }: { readonly fields: Readonly<Record<string, Field>> }) {
  return (
    <Table<[string, Field]>
      caption="Fields of a job"
      rows={Object.entries(fields)}
      keyOf={([name]) => name}
      columns={[
        { title: 'field', of: ([name]) => <code>{name}</code> },
        {
          title: 'description',
          of: ([, { description, type }]) => (
            <span class="wraps">
              <Backticks
                text={
                  description ??
                  (typeof type === 'string' ? type : (type?.join(' or ') ?? 'see docs/JOBS.md'))
                }
              />
            </span>
          ),
        },
      ]}
    />
  );
}

function endSentence({ expectedEnd, expectedEndUnknown }: Plan): string {
  const words = expectedEndWords({ expectedEnd });
  return words === undefined
    ? `Its end is unknown: ${expectedEndUnknown}.`
    : `It would end at ${words} if it were submitted now.`;
}

export function Planned({ plan }: { readonly plan: Plan }) {
  const { canRun, refusal, class: kind, tasks, stages, startSeconds, ahead, cutoffSeconds } = plan;
  const start =
    refusal !== null
      ? `It would be refused: ${refusal}.`
      : !canRun
        ? 'It cannot start at present: the workers lack resources that it requires.'
        : startSeconds === null
          ? `Its start is unknown: ${plan.expectedEndUnknown}.`
          : startSeconds < 1
            ? 'It starts at once.'
            : `Its first task starts in about ${duration(startSeconds)}.`;
  const known =
    kind === null
      ? 'The cluster determines after submission whether it is short or long.'
      : `It is ${kind}: the cutoff is ${duration(cutoffSeconds)}.`;
  const others = ahead.hidden === 0 ? '' : ` ${counted(ahead.hidden, 'task')} of other users wait, too.`;
  const before =
    ahead.tasks === 0
      ? ahead.hidden === 0
        ? 'Nothing is ahead of it.'
        : ''
      : `${counted(ahead.tasks, 'task')} of ${counted(ahead.jobs, 'job')} may be served first.`;
  return (
    <div>
      <p class={canRun ? 'sentence' : 'sentence error'}>{`${counted(tasks, 'task')}. ${start}`}</p>
      <p>{endSentence(plan)}</p>
      <p>{`${known} ${before}${others} ${formatCount(plan.freeSlots)} of ${counted(plan.slots, 'CPU')} are free.`}</p>
      <Table<Plan['stages'][number]>
        caption="Workers for each stage"
        rows={stages}
        keyOf={({ name }) => name}
        columns={[
          { title: 'stage', of: ({ name }) => name },
          { title: 'tasks', isNumber: true, of: ({ tasks: many }) => formatCount(many) },
          {
            title: 'workers that fit',
            isNumber: true,
            of: ({ fitting, workers }) => `${formatCount(fitting)} of ${formatCount(workers)}`,
          },
        ]}
      />
    </div>
  );
}
