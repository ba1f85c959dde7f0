import { errorText } from './actions.js';
import { get, post, randomKey } from './api.js';
import { card, count, counted, duration, fill, h, renderBackticks, table } from './dom.js';
import type { Plan } from './shapes.js';
import { may, type Place } from './view.js';

const EXAMPLE = {
  name: 'example',
  tasks: { count: 10, run: { exec: ['sh', '-c', 'echo task $GOSHAWK_TASK; sleep 1'] } },
  retries: 1,
};
const DRAFT = 'goshawk.draft';

interface Field {
  readonly description?: string;
  readonly type?: string | readonly string[];
}

/** Shows the form for a job as JSON. The cluster checks and plans the job before submission. */
export function showSubmit(place: Place): void {
  const { root, signal } = place;
  const editor = h('textarea', {
    id: 'job',
    rows: 18,
    spellcheck: 'false',
    autocomplete: 'off',
    'aria-describedby': 'job-outcome',
  });
  editor.value = sessionStorage.getItem(DRAFT) ?? `${JSON.stringify(EXAMPLE, null, 2)}\n`;
  const outcome = h('div', { id: 'job-outcome', role: 'status' });
  const fields = h('div', {});
  const read = (): object => {
    sessionStorage.setItem(DRAFT, editor.value);
    return JSON.parse(editor.value) as object;
  };
  const attempt = async (call: (job: object) => Promise<void>): Promise<void> => {
    fill(outcome, h('p', { class: 'hint' }, 'Asking the cluster …'));
    let job: object;
    try {
      job = read();
    } catch (error) {
      fill(outcome, h('p', { class: 'error' }, `This is not JSON: ${(error as Error).message}.`));
      editor.focus();
      return;
    }
    try {
      await call(job);
    } catch (error) {
      fill(outcome, h('p', {}, errorText(error)));
    }
  };
  const plan = (): Promise<void> =>
    attempt(async (job) => fill(outcome, planned(await post<Plan>('/v1/plan', job))));
  // With this key, a draft that is sent again after a lost reply or a double click remains one job.
  let key = randomKey();
  editor.addEventListener('input', () => {
    key = randomKey();
  });
  const submit = (): Promise<void> =>
    attempt(async (job) => {
      const { job: id, warning } = await post<{ job: string; warning?: string }>('/v1/jobs', { key, ...job });
      sessionStorage.removeItem(DRAFT);
      if (signal.aborted) return;
      if (warning === undefined) location.hash = `#/jobs/${encodeURIComponent(id)}`;
      else
        fill(
          outcome,
          h('p', { class: 'warning' }, warning),
          h('p', {}, h('a', { href: `#/jobs/${encodeURIComponent(id)}` }, `Job ${id} was submitted`)),
        );
    });
  editor.addEventListener('keydown', (event) => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) void plan();
  });
  root.append(
    h(
      'div',
      { class: 'columns' },
      h(
        'section',
        { class: 'card' },
        h('h2', {}, h('label', { for: 'job' }, 'Job')),
        editor,
        may(place, 'submit')
          ? h(
              'div',
              { class: 'actions' },
              h('button', { type: 'button', onclick: () => void plan() }, 'Plan'),
              h('button', { type: 'button', onclick: () => void submit() }, 'Submit'),
              h('span', { class: 'hint' }, h('kbd', {}, 'Ctrl Enter'), ' plans'),
            )
          : h('p', { class: 'hint' }, 'Read-only: this page may not submit jobs.'),
        outcome,
      ),
      card('Fields of a job', fields),
    ),
  );
  void showFields(fields, signal);
}

async function showFields(fields: HTMLElement, signal: AbortSignal): Promise<void> {
  interface Document {
    readonly paths: Readonly<
      Record<string, { post?: { requestBody: { content: { 'application/json': { schema: Schema } } } } }>
    >;
  }
  interface Schema {
    readonly properties?: Readonly<Record<string, Field>>;
  }
  try {
    const { paths } = await get<Document>('/v1/openapi.json', signal);
    const schema = paths['/v1/jobs']!.post!.requestBody.content['application/json'].schema;
    const rows = Object.entries(schema.properties ?? {});
    fill(
      fields,
      table<(typeof rows)[number]>(
        'Fields of a job',
        [
          { title: 'field', of: ([name]) => h('code', {}, name) },
          {
            title: 'description',
            of: ([, field]) => h('span', { class: 'wraps' }, renderBackticks(wordsOf(field))),
          },
        ],
        rows,
      ),
    );
  } catch (error) {
    if (!signal.aborted) fill(fields, h('p', {}, errorText(error)));
  }
}

function wordsOf({ description, type }: Field): string {
  return description ?? (typeof type === 'string' ? type : (type?.join(' or ') ?? 'see docs/USE.md'));
}

function planned(plan: Plan): Node {
  const {
    canRun,
    refusal,
    class: of,
    tasks,
    stages,
    startSeconds,
    ahead,
    cutoffSeconds,
    slots,
    freeSlots,
  } = plan;
  const start =
    refusal !== null
      ? `It would be refused: ${refusal}.`
      : !canRun
        ? 'It cannot start at present: the workers lack resources that it requires.'
        : startSeconds === null
          ? 'Its start cannot be estimated: run times of jobs ahead of it are unknown.'
          : `It starts in about ${duration(startSeconds)}.`;
  const known =
    of === null
      ? 'The cluster determines after submission whether it is short or long.'
      : `It is ${of}: the cutoff is ${duration(cutoffSeconds)}.`;
  const before =
    ahead.tasks === 0
      ? 'Nothing is ahead of it.'
      : `${counted(ahead.tasks, 'task')} of ${counted(ahead.jobs, 'job')} may be served first.`;
  return h(
    'div',
    {},
    h('p', { class: canRun ? 'sentence' : 'sentence error' }, `${counted(tasks, 'task')}. ${start}`),
    h('p', {}, `${known} ${before} ${count(freeSlots)} of ${counted(slots, 'CPU')} are free.`),
    table<Plan['stages'][number]>(
      'Workers for each stage',
      [
        { title: 'stage', of: ({ name }) => name },
        { title: 'tasks', isNumber: true, of: ({ tasks: many }) => count(many) },
        {
          title: 'workers that fit',
          isNumber: true,
          of: ({ fitting, workers }) => `${count(fitting)} of ${count(workers)}`,
        },
      ],
      stages,
    ),
  );
}
