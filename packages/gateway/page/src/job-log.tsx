import { isFinal } from '@goshawk/core';
import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { ansiSpans } from './ansi.js';
import { ApiError, getFile } from './api.js';
import { type LogLine, linesOf } from './log-lines.js';
import type { Job, Logs } from './shapes.js';
import { type Store, useParam, useStore } from './store.js';
import { Backticks, Problem, Waiting } from './ui.js';
import { useAnswer } from './use-answer.js';
import { clock } from './words.js';

/** Refresh interval (ms) of the log of a running job, because output arrives between events of the job. */
const REFRESH_MS = 1_000;
/** Maximum number of log lines shown, from the end of the log. */
const LINES = 500;
/** Distance (px) from the end at which the log counts as scrolled to its end. */
const END_PX = 4;

/** The output of the job. The address has the task, the search and how it is shown. */
export function LogCard({
  path,
  job,
  tick,
}: {
  readonly path: string;
  readonly job: Job;
  readonly tick: number;
}) {
  const store = useStore();
  const { task, find, isFailedOnly, isFollowed, wraps, hasTimes } = useLogOptions();
  const asked = new URLSearchParams();
  if (isFailedOnly) asked.set('failed', 'true');
  if (/^\d{1,9}$/.test(task)) asked.set('task', task);
  const { data, error } = useAnswer<Logs>(
    `${path}/logs?${asked}`,
    tick,
    isFinal(job.state) ? undefined : REFRESH_MS,
  );
  const lines = useMemo(() => (data === undefined ? [] : linesOf(data.chunks)), [data]);
  const shown = useMemo(() => matching(lines, find), [lines, find]);
  const log = useRef<HTMLPreElement>(null);
  const card = useRef<HTMLElement>(null);
  const toEnd = (): void => {
    if (log.current !== null && isFollowed) log.current.scrollTop = log.current.scrollHeight;
  };
  useLayoutEffect(toEnd, [shown, isFollowed]);
  // A link to a task leads to its output.
  const mustScroll = useRef(task !== '');
  useEffect(() => {
    if (mustScroll.current && data !== undefined) card.current?.scrollIntoView({ block: 'nearest' });
    if (data !== undefined) mustScroll.current = false;
  }, [data]);
  const [downloadError, setDownloadError] = useState<ApiError | undefined>(undefined);
  /** Saves all output of the chosen task; of all tasks, what is shown. */
  const download = async (): Promise<void> => {
    const text = lines.map((line) => `${line.task}: ${line.text}\n`).join('');
    const link = document.createElement('a');
    try {
      const file = asked.has('task') ? await getFile(`${path}/output?task=${task}`) : new Blob([text]);
      link.href = URL.createObjectURL(file);
      setDownloadError(undefined);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      return setDownloadError(error);
    }
    link.download = `${job.id}${task === '' ? '' : `-${task}`}.log`;
    link.click();
    URL.revokeObjectURL(link.href);
  };
  return (
    <section class="card" ref={card}>
      <h2>Log</h2>
      <LogOptions>
        {lines.length === 0 ? null : (
          <button type="button" class="plain" onClick={() => void download()}>
            Download
          </button>
        )}
      </LogOptions>
      <Problem error={error ?? downloadError} />
      {data === undefined && error === undefined ? <Waiting /> : null}
      <pre
        ref={log}
        class={wraps ? 'log wrapped' : 'log'}
        tabIndex={0}
        role="log"
        aria-live="off"
        aria-label="Task output"
        onScroll={({ currentTarget: { scrollTop, clientHeight, scrollHeight } }) =>
          follow(store, scrollTop + clientHeight >= scrollHeight - END_PX)
        }
      >
        {data === undefined ? null : (
          <>
            {notesOf(data, lines.length, job, task, isFailedOnly).map((note) => (
              <span key={note} class="note">
                <Backticks text={note} />
                {'\n'}
              </span>
            ))}
            {find !== '' && lines.length > 0 ? (
              <span class="note">{`${shown.length} of ${lines.length} lines match.\n`}</span>
            ) : null}
            <Lines lines={shown.slice(-LINES)} hasTimes={hasTimes} />
          </>
        )}
      </pre>
      {lines.some(({ stream }) => stream === 'stderr') ? (
        <p class="hint log-key">
          <span class="stderr">This color</span> is stderr.
        </p>
      ) : null}
    </section>
  );
}

/** What of the output is shown and how, which is in the address. */
function LogOptions({ children }: { readonly children: ComponentChildren }) {
  const store = useStore();
  const { task, find, isFailedOnly, isFollowed, wraps, hasTimes } = useLogOptions();
  return (
    <div class="filters">
      <CheckBox
        id="failed"
        label="failed tasks only"
        isOn={isFailedOnly}
        set={(isOn) => store.setQuery({ failed: isOn ? '1' : '' })}
      />
      <span>
        <label for="task">Task</label>
        <input
          id="task"
          size={6}
          inputMode="numeric"
          autocomplete="off"
          value={task}
          onChange={(event) => store.setQuery({ task: event.currentTarget.value.trim() })}
        />
      </span>
      <span>
        <label for="find">Find</label>
        <input
          id="find"
          type="search"
          size={10}
          autocomplete="off"
          value={find}
          onInput={(event) => store.setQuery({ find: event.currentTarget.value })}
        />
      </span>
      <CheckBox id="follow" label="follow" isOn={isFollowed} set={(isOn) => follow(store, isOn)} />
      <CheckBox
        id="wraps"
        label="wrap"
        isOn={wraps}
        set={(isOn) => store.setQuery({ wrap: isOn ? '1' : '' })}
      />
      <CheckBox
        id="times"
        label="times"
        isOn={hasTimes}
        set={(isOn) => store.setQuery({ times: isOn ? '1' : '' })}
      />
      {children}
    </div>
  );
}

function CheckBox({
  id,
  label,
  isOn,
  set,
}: {
  readonly id: string;
  readonly label: string;
  readonly isOn: boolean;
  readonly set: (isOn: boolean) => void;
}) {
  return (
    <span>
      <input type="checkbox" id={id} checked={isOn} onChange={(event) => set(event.currentTarget.checked)} />
      <label for={id}>{label}</label>
    </span>
  );
}

function useLogOptions() {
  return {
    task: useParam('task'),
    find: useParam('find'),
    isFailedOnly: useParam('failed') === '1',
    isFollowed: useParam('follow') !== 'no',
    wraps: useParam('wrap') === '1',
    hasTimes: useParam('times') === '1',
  };
}

function follow(store: Store, follows: boolean): void {
  store.setQuery({ follow: follows ? '' : 'no' });
}

/** Returns the lines that contain a text, ignoring case. */
export function matching(lines: readonly LogLine[], find: string): readonly LogLine[] {
  if (find === '') return lines;
  const low = find.toLowerCase();
  return lines.filter(({ text }) => text.toLowerCase().includes(low));
}

/** Says what is missing in the log. "Nothing was printed" is said only if nothing was printed. */
export function notesOf(
  { truncated, missing, earlierAttempts }: Pick<Logs, 'truncated' | 'missing' | 'earlierAttempts'>,
  lines: number,
  { id, state, tasks }: Pick<Job, 'id' | 'state' | 'tasks'>,
  task: string,
  isFailedOnly: boolean,
): string[] {
  const notes: string[] = [];
  if (earlierAttempts)
    notes.push(`Only last attempts are shown: \`goshawk logs ${id} --attempt all\` prints all.`);
  if (lines > 0) {
    if (missing !== null) notes.push(`Some output is gone: ${missing}.`);
    else if (truncated || lines > LINES)
      notes.push(`Earlier output is not shown: \`goshawk logs ${id}\` prints all that is stored.`);
    return notes;
  }
  if (truncated)
    notes.push(missing === null ? 'The output is no longer kept.' : `The output is gone: ${missing}.`);
  else if (tasks.waiting === tasks.total && !isFinal(state)) notes.push('No task has started.');
  else if (isFailedOnly && tasks.failed === 0) notes.push('No task has failed.');
  else if (!isFinal(state))
    notes.push(task === '' ? 'Nothing was printed yet.' : `Task ${task} has not printed anything yet.`);
  else notes.push('Nothing was printed.');
  return notes;
}

/** Renders lines with the number of the task as a prefix, as in `goshawk logs`, with the colors of escape sequences. */
export function Lines({
  lines,
  hasTimes = false,
}: {
  readonly lines: readonly LogLine[];
  readonly hasTimes?: boolean;
}) {
  return (
    <>
      {lines.map(({ task, stream, text, at }, index) => (
        <span key={index} class={stream}>
          {hasTimes ? (
            <time class="note" dateTime={at}>
              {`${clock(at)} `}
            </time>
          ) : null}
          {`${task}: `}
          {ansiSpans(text).map(({ text: part, classes }, at) =>
            classes === '' ? (
              part
            ) : (
              <span key={at} class={classes}>
                {part}
              </span>
            ),
          )}
          {'\n'}
        </span>
      ))}
    </>
  );
}
