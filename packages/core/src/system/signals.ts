/** Numbers of the signals that can end a command on Linux; workers report names. */
export const SIGNALS: Readonly<Record<string, number>> = {
  SIGHUP: 1,
  SIGINT: 2,
  SIGQUIT: 3,
  SIGILL: 4,
  SIGTRAP: 5,
  SIGABRT: 6,
  SIGIOT: 6,
  SIGBUS: 7,
  SIGFPE: 8,
  SIGKILL: 9,
  SIGUSR1: 10,
  SIGSEGV: 11,
  SIGUSR2: 12,
  SIGPIPE: 13,
  SIGALRM: 14,
  SIGTERM: 15,
  SIGSTKFLT: 16,
  SIGCHLD: 17,
  SIGCONT: 18,
  SIGSTOP: 19,
  SIGTSTP: 20,
  SIGTTIN: 21,
  SIGTTOU: 22,
  SIGURG: 23,
  SIGXCPU: 24,
  SIGXFSZ: 25,
  SIGVTALRM: 26,
  SIGPROF: 27,
  SIGWINCH: 28,
  SIGIO: 29,
  SIGPOLL: 29,
  SIGPWR: 30,
  SIGSYS: 31,
};

const SHELL_SIGNAL_BASE = 128;
/** SIGRTMIN and SIGRTMAX of Linux, where the C library reserves 32 and 33. Node.js has no names for signals above 31. */
const [REAL_TIME_FIRST, REAL_TIME_LAST] = [34, 64];

/** Returns undefined for a name that is not a signal. Accepts SIGRTMIN+3 and SIGRTMAX-2, as shells do. */
function numberOfSignal(name: string): number | undefined {
  if (Object.hasOwn(SIGNALS, name)) return SIGNALS[name];
  const [, base, offset = '0'] = /^SIGRT(MIN(?=$|\+)|MAX(?=$|-))([+-]\d{1,2})?$/.exec(name) ?? [];
  if (base === undefined) return undefined;
  const number = (base === 'MIN' ? REAL_TIME_FIRST : REAL_TIME_LAST) + Number(offset);
  return number >= REAL_TIME_FIRST && number <= REAL_TIME_LAST ? number : undefined;
}

/** Returns the name of a signal above 31, as shells write it. */
export function nameOfRealTimeSignal(number: number): string {
  const offset = number - REAL_TIME_FIRST;
  if (offset < 0) return `SIG${number}`;
  return offset === 0 ? 'SIGRTMIN' : `SIGRTMIN+${offset}`;
}

/** The exit code that a shell reports for a command ended by this signal; undefined for an unknown name. */
export function exitCodeOfSignal(name: string): number | undefined {
  const number = numberOfSignal(name);
  return number === undefined ? undefined : SHELL_SIGNAL_BASE + number;
}
