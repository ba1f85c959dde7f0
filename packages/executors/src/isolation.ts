import { execFileSync, spawnSync } from 'node:child_process';
import {
  chownSync,
  closeSync,
  existsSync,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  statSync,
} from 'node:fs';
import { userInfo } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { InputError } from '@goshawk/core';
import { type FailedOutcome, failed, type RunOrder } from './contract.js';
import { isWithin, programOf, realPathOf } from './paths.js';
import { limitIn } from './proc-limits.js';
import { seccompFilter } from './seccomp.js';
import type { AccountIds, SpawnOrder } from './spawner-protocol.js';
import { RESULT_REPORT_BYTES_MAX } from './task-result.js';

/** Isolation of a worker's commands: the worker's account, the user's account, or a sandbox. */
export type RunAs = 'self' | 'user' | 'sandbox';

export interface IsolationOptions {
  readonly runAs: Exclude<RunAs, 'self'>;
  /** Whether the cluster has keys; without them user names are unverified. */
  readonly hasKeys: boolean;
  /** Files and folders to hide from tasks: keys, records, journals. */
  readonly hidden: readonly string[];
  /** Whether sandboxed tasks may use the network. Default: true. */
  readonly network?: boolean | undefined;
  /** Size of the private /tmp, and of /dev/shm, of a sandbox, in bytes. */
  readonly tmpBytes?: number;
}

interface Account {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
  readonly home: string;
  readonly shell: string;
  /** Command prefix that sets the account's limits; empty: the worker's limits apply. */
  readonly limits: readonly string[];
  /** Ids of its groups, with the primary group. */
  readonly groups: readonly number[];
}

/** The part of a run that isolation depends on. */
interface IsolatedRun extends Pick<RunOrder, 'user' | 'folder'> {
  /** Variables that the worker sets. */
  readonly env?: RunOrder['env'];
  /** Further files and folders that the task may read, if its account may. */
  readonly reads?: readonly string[];
  /** Files and folders of this installation that the task needs. */
  readonly needs?: readonly string[];
}

/** A file or folder of the machine that a sandbox shows. */
interface Mount {
  readonly source: string;
  readonly target: string;
  /** Device and inode of the source when it was checked. */
  readonly identity: string;
}

/** A folder that the worker created for one task. */
interface Exchanged {
  readonly at: string;
  /** Whether the command writes its result to it. */
  readonly hasResult: boolean;
}

/** The options of bwrap for a sandbox, and the mounts that it verifies from inside: those that a task could replace. */
interface View {
  readonly options: readonly string[];
  readonly mounts: readonly Mount[];
}

interface HiddenPath {
  readonly path: string;
  /** Real path when it last existed. */
  real: string | undefined;
}

/** Lower uids are system accounts (UID_MIN of login.defs). */
const UID_MIN = 1_000;
const TMP_BYTES = 1024 * 1024 * 1024;
/** Size of the folder for the result of a command in a sandbox. */
const RESULT_FOLDER_BYTES = 64 * 1024 * 1024;
/** Processes in one sandbox, which limits fork bombs. */
const PROCESSES_MAX = 4_096;
/** Accounts are cached for this long (ms). */
const ACCOUNT_AGE_MS = 30_000;
const NOBODY: Account = {
  name: 'nobody',
  uid: 65_534,
  gid: 65_534,
  home: '/',
  shell: '/bin/sh',
  limits: [],
  groups: [65_534],
};
/** Variable of a job with folders that its tasks may read in a sandbox, separated by colons. */
const FOLDERS = 'GOSHAWK_FOLDERS';
/** Flag of open(2) on Linux for a descriptor that only names a file; Node.js has no constant. */
const O_PATH = 0o10000000;
/** Maximum number of these folders: computing their mounts blocks all workers of the process for quadratic time. */
const FOLDERS_MAX = 256;
/**
 * Prefix of a task's variables until the task's account is set, so that LD_PRELOAD does not affect programs of root.
 */
const PREFIX = 'GOSHAWK_ENV_';
/** The shell's own variable while it does so. */
const OWN = 'GOSHAWK_OWN';
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** System folders are read-only in a sandbox, even if a job names one as its working folder. */
const SYSTEM = ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32', '/etc', '/opt', '/nix'];
const NEVER_WRITABLE = [...SYSTEM, '/boot', '/dev', '/proc', '/run', '/sys', '/var/lib', '/var/run'];
/** Shared folders, never given to one task as a whole. */
const SHARED = ['/', '/dev/shm', '/home', '/media', '/mnt', '/srv', '/tmp', '/var', '/var/tmp'];
/** Secrets of the machine within these folders. */
const SECRETS = [
  '/etc/shadow',
  '/etc/shadow-',
  '/etc/gshadow',
  '/etc/gshadow-',
  '/etc/ssh',
  '/etc/ssl/private',
  '/etc/goshawk',
];

/**
 * Runs under the task's account: sets its variables, enters its folder, opens its output files, and execs the
 * command. The kernel thus enforces file permissions. The shell's own variable has a reserved name, and is gone in the end.
 */
const SCRIPT = [
  'cd -- "$2" || exit 126',
  `for ${OWN} in "$3" "$4"; do [ -z "$${OWN}" ] || mkdir -p -- "$(dirname -- "$${OWN}")" || exit 126; done`,
  '[ -z "$3" ] || exec >"$3" || exit 126',
  '[ -z "$4" ] || if [ "$4" = "$3" ]; then exec 2>&1; else exec 2>"$4"; fi || exit 126',
  'unset OLDPWD',
  `for ${OWN} in $1; do eval "export $${OWN}=\\"\\$${PREFIX}$${OWN}\\"; unset ${PREFIX}$${OWN}"; done`,
  `unset ${OWN}`,
  'shift 4',
].join('\n');

/** Ends `SCRIPT` by becoming the command. */
const EXEC = 'exec "$@"';

/** Lets SIGTERM end the shell until the command starts. */
const UNTIL_COMMAND = 'trap "exit 143" TERM';

/**
 * Ends `SCRIPT` in a sandbox by running the command, and reports an empty line and the result, if there is one. The shell is
 * the first process of the sandbox, so signals do not end it.
 */
const EXEC_AND_REPORT = [
  'trap - TERM',
  '(exec "$@" 3>&-)',
  `${OWN}=$? at=$GOSHAWK_RESULT`,
  `[ -e "$at" ] || exit $${OWN}`,
  'exec >&3',
  'echo',
  `[ -f "$at" ] && [ ! -h "$at" ] || exit $${OWN}`,
  // Reads a small result itself, because `cat` takes a millisecond. To a file of 4 KiB it cannot append a line.
  'trap "" XFSZ; ulimit -f 8',
  'if { echo >>"$at"; } 2>/dev/null',
  `then while IFS= read -r line; do printf '%s\\n' "$line"; done <"$at"`,
  'else command -p cat -- "$at"; fi',
  `exit $${OWN}`,
].join('\n');

/** The filters of system calls in sandboxes, in Base64; undefined on other architectures, and without seccomp. */
const [FILTER, GUEST_FILTER] = [false, true].map((isGuest) =>
  existsSync('/proc/sys/kernel/seccomp/actions_avail')
    ? seccompFilter(process.arch, isGuest)?.toString('base64')
    : undefined,
);

/**
 * Runs first in a sandbox: exits if a mount shows another file than the checked one, because another task can replace
 * a folder by a link before bwrap mounts it. Arguments: program, number of mounts, expected identities, and paths.
 */
const VERIFY = [
  'p=$1 n=$2 x=$3 i=1 q=; shift 3',
  'while [ $i -le $n ]; do q="$q \\"\\$"{$i}\\"; i=$((i + 1)); done',
  '[ $n = 0 ] || if eval "f=\\$(\\"\\$p\\" -c %d:%i -- $q)" && [ "$f" = "$x" ]; then shift $n; else',
  'echo "a folder of the task was replaced while it was mounted" >&2; exit 126; fi',
].join('\n');

/** Runs each command under its user's account, in a sandbox, or both. */
export class Isolation {
  readonly #options: IsolationOptions;
  readonly #isRoot = process.getuid?.() === 0;
  /** Name of the worker's account; undefined: it has none. */
  readonly #ownName = nameOfAccount();
  readonly #setpriv: string | undefined;
  readonly #bwrap: string | undefined;
  readonly #stat: string | undefined;
  readonly #hidden: readonly HiddenPath[];
  /** Shell code that limits the processes of a sandbox; empty if the limit is lower already. */
  #limits: readonly string[] = [];
  readonly #accounts = new Map<string, { readonly at: number; readonly found: Account | undefined }>();

  /** @throws InputError, in one line, if this machine or process cannot isolate tasks */
  constructor(options: IsolationOptions) {
    this.#options = options;
    this.#setpriv = programOf('setpriv');
    this.#bwrap = programOf('bwrap');
    this.#stat = programOf('stat');
    this.#hidden = [...options.hidden, ...SECRETS].map((path) => ({ path, real: realPathOf(path) }));
    if (this.#isRoot && this.#setpriv === undefined)
      throw runAsError('setpriv is not installed', 'install util-linux');
    if (options.runAs === 'user') {
      if (options.network === false)
        throw new InputError(
          'bad-option',
          '--no-network: only a sandbox has a separate network',
          'use --run-as sandbox',
        );
      if (!this.#isRoot)
        throw runAsError('only root can start tasks under other accounts', 'start the worker as root');
      if (!options.hasKeys)
        throw runAsError(
          'without keys, any client can claim any user name',
          'pass the key of the worker with --keys',
        );
      return;
    }
    if (this.#bwrap === undefined) throw runAsError('bwrap is not installed', 'install bubblewrap');
    if (this.#stat === undefined) throw runAsError('stat is not installed', 'install coreutils');
    this.#trySandbox();
    this.#limits = processLimit();
  }

  /** Command prefix of the spawner, whose commands inherit neither groups nor capabilities of the worker. */
  get launcher(): readonly string[] {
    return this.#isRoot ? [this.#setpriv!, '--clear-groups', '--inh-caps=-all', '--'] : [];
  }

  /** Returns the isolated order, or the reason for a refusal. `environment` is the complete environment. */
  isolate(
    given: SpawnOrder,
    { user, folder: exchanged, env = {}, reads = [], needs = [] }: IsolatedRun,
    environment: Readonly<Record<string, string>>,
  ): SpawnOrder | FailedOutcome {
    const isSandbox = this.#options.runAs === 'sandbox';
    const hasResult = isSandbox && env.GOSHAWK_RESULT !== undefined;
    const order = hasResult ? { ...given, reportBytesMax: RESULT_REPORT_BYTES_MAX } : given;
    const account = this.#accountFor(user);
    if (account !== undefined && 'kind' in account) return account;
    const secluded = account && needs.find((path) => !isPublic(path));
    if (secluded !== undefined)
      return failed(
        'not-allowed',
        `modules need ${secluded}, which only the worker's account can read: install it where all accounts can`,
      );
    const own =
      account === undefined
        ? {}
        : { HOME: account.home, USER: account.name, LOGNAME: account.name, SHELL: account.shell };
    const variables = Object.entries({ ...environment, ...own, ...order.env }).filter(([name]) =>
      VARIABLE.test(name),
    );
    const folder = order.cwd ?? account?.home ?? '/';
    if (account !== undefined && exchanged !== undefined) chownContents(account, exchanged);
    const ids = account && idsOf(account);
    // Needs no further program: the spawner switches to the account and enters the folder.
    const isPlain = this.#options.runAs === 'user' && order.files === undefined;
    if (isPlain && ids !== undefined && !isClosedToRoot(folder))
      return { ...order, cwd: folder, env: Object.fromEntries(variables), account: ids };
    const guest = this.#guestOf(user);
    const filter = guest === undefined ? FILTER : GUEST_FILTER;
    const named = order.env[FOLDERS]?.split(':') ?? [];
    if (named.length > FOLDERS_MAX)
      return failed(
        'bad-payload',
        `${FOLDERS} lists ${named.length} folders, and at most ${FOLDERS_MAX} are allowed`,
      );
    const view = isSandbox
      ? this.#view(
          account,
          folder,
          exchanged === undefined ? undefined : { at: exchanged, hasResult },
          [...needs, ...this.#openTo(guest, [...reads, ...named])],
          guest,
        )
      : undefined;
    if (view !== undefined && 'kind' in view) return view;
    const { stdout = '', stderr = '' } = order.files ?? {};
    const command = [
      ...(account === undefined || ids !== undefined ? [] : this.#identityArgs(account)),
      ...(view === undefined
        ? ['/bin/sh', '-c', `${SCRIPT}\n${EXEC}`, '/bin/sh']
        : this.#verified(view, order, hasResult)),
      variables.map(([name]) => name).join(' '),
      ...[folder, stdout, stderr, order.command, ...order.args],
    ];
    const { files: _, ...rest } = order;
    return {
      ...rest,
      ...(view === undefined || filter === undefined ? {} : { early: filter }),
      command: command[0]!,
      args: command.slice(1),
      cwd: '/',
      ...(ids === undefined ? {} : { account: ids }),
      env: Object.fromEntries(variables.map(([name, value]) => [`${PREFIX}${name}`, value])),
    };
  }

  /** Returns undefined if the worker is not root: tasks then run under its account. */
  #accountFor(user: string | undefined): Account | FailedOutcome | undefined {
    if (!this.#isRoot) return undefined;
    // Without keys, any client could claim any user name.
    const found = user === undefined || !this.#options.hasKeys ? undefined : this.#lookUp(user);
    if (found !== undefined) return found;
    if (this.#options.runAs === 'sandbox') return NOBODY;
    const whose =
      user === undefined ? 'the job has no user' : `the account "${user}" for tasks does not exist`;
    return failed(
      'no-account',
      `${whose} on this worker, which runs tasks under the account of their submitter`,
    );
  }

  /**
   * Returns the account of a user whose tasks must not get the worker's rights to folders, because the worker cannot switch to it;
   * undefined if the task is of the worker's own account. Jobs without a user come from holders of `client.key`, who may claim any name.
   */
  #guestOf(user: string | undefined): Account | undefined {
    if (this.#isRoot || !this.#options.hasKeys || user === undefined || user === this.#ownName)
      return undefined;
    return this.#lookUp(user) ?? NOBODY;
  }

  /** Returns the paths in folders that the guest could write to itself. What others own may contain private files of the worker's account. */
  #openTo(guest: Account | undefined, paths: readonly string[]): readonly string[] {
    if (guest === undefined) return paths;
    return paths.filter((path) => {
      const real = path.startsWith('/') ? openIdentified(path)?.real : undefined;
      return real !== undefined && mayWrite(guest, real);
    });
  }

  /** Returns the account of a user. Rejects numeric names, which would be uids, and system accounts. */
  #lookUp(user: string): Account | undefined {
    if (!/^[a-z_][a-z0-9_-]{0,31}$/.test(user)) return undefined;
    const known = this.#accounts.get(user);
    if (known !== undefined && performance.now() - known.at < ACCOUNT_AGE_MS) return known.found;
    const found = accountNamed(user);
    if (this.#accounts.size > 1_000) this.#accounts.clear();
    this.#accounts.set(user, { at: performance.now(), found });
    return found;
  }

  #identityArgs({ uid, gid, limits }: Account): string[] {
    const groups = uid === NOBODY.uid ? '--clear-groups' : '--init-groups';
    return [
      ...limits,
      ...[this.#setpriv!, `--reuid=${uid}`, `--regid=${gid}`, groups, '--inh-caps=-all', '--'],
    ];
  }

  /** Starts a sandbox that verifies its mounts and then runs `SCRIPT`, whose arguments follow. */
  #verified(
    { options, mounts }: View,
    { reportBytesMax = 0 }: Pick<SpawnOrder, 'reportBytesMax'>,
    hasResult: boolean,
  ): string[] {
    const [bwrap, ...sandbox] = options;
    const script = hasResult
      ? [UNTIL_COMMAND, ...this.#limits, VERIFY, SCRIPT, EXEC_AND_REPORT]
      : [...this.#limits, VERIFY, SCRIPT, EXEC];
    return [
      bwrap!,
      ...(FILTER === undefined ? [] : ['--seccomp', reportBytesMax > 0 ? '4' : '3']),
      ...(hasResult ? ['--as-pid-1'] : []),
      ...sandbox,
      ...['/bin/sh', '-c', script.join('\n'), '/bin/sh'],
      ...[this.#stat!, `${mounts.length}`],
      mounts.map(({ identity }) => identity).join('\n'),
      ...mounts.map(({ target }) => target),
    ];
  }

  /**
   * Returns bwrap options that show the system (read-only), the task’s inputs and folder, and private /tmp, /dev,
   * /proc.
   */
  #view(
    account: Account | undefined,
    folder: string,
    exchanged?: Exchanged,
    reads: readonly string[] = [],
    guest?: Account,
  ): View | FailedOutcome {
    const found = openIdentified(folder);
    const real = found?.real ?? resolve(folder);
    const hidden = this.#hiddenPaths();
    if (hidden.some((path) => isWithin(real, path)))
      return failed('not-allowed', `the folder "${folder}" is not accessible to tasks on this worker`);
    if (guest !== undefined && found !== undefined && mayMount(real) && !mayWrite(guest, real))
      return failed(
        'not-allowed',
        `this worker runs as ${this.#ownName}, and other users may only use folders that they can write to: the account ${guest.name} cannot write to "${folder}"`,
      );
    for (const path of [real, ...(exchanged === undefined ? [] : [exchanged.at])])
      if (account !== undefined && this.#isClosed(account, path))
        return failed(
          'permission-denied',
          `the account ${account.name} of the task cannot enter the folder "${path}": open it to other accounts (chmod o+x), or choose another folder`,
        );
    const writable =
      found === undefined || !mayMount(real)
        ? []
        : // A folder that is named through a link is mounted under that name too.
          [...new Set([real, resolve(folder)])].map((target) => ({ ...found, source: real, target }));
    // A task could have moved the hidden folder to where nothing hides it.
    const isMissing = this.#hidden.some(
      ({ path, real: last }) =>
        last !== undefined &&
        realPathOf(path) === undefined &&
        writable.some(({ source }) => isWithin(last, source)),
    );
    if (isMissing)
      return failed(
        'not-allowed',
        `a file or folder in "${folder}" that this worker must hide was moved or removed`,
      );
    const bound = [
      ...writable.map(({ target }) => target),
      ...(exchanged === undefined ? [] : [exchanged.at]),
    ];
    const readable = this.#readable(reads, bound, hidden, account);
    const system = SYSTEM.map((path) => ({ source: path, target: path }));
    // Mounting a folder onto itself prevents tasks from renaming it, and with it the hidden folder inside.
    const inFolder = coversOf(hidden, real, account);
    const fixed = writable.flatMap((mount) => parentsOf(inFolder, mount));
    const covered = [...system, ...readable, ...writable].flatMap(({ source, target }) => {
      const covers = source === real ? inFolder : coversOf(hidden, source, account);
      return covers.flatMap((path) => hidingArgs(path, join(target, path.slice(source.length))));
    });
    const size = `${this.#options.tmpBytes ?? TMP_BYTES}`;
    const options = [
      ...[
        this.#bwrap!,
        '--unshare-user',
        '--unshare-pid',
        '--unshare-ipc',
        '--unshare-uts',
        '--unshare-cgroup-try',
      ],
      ...(this.#options.network === false ? ['--unshare-net'] : []),
      // The file systems that a task can write to have a size: their files take memory.
      ...[
        '--cap-drop',
        'ALL',
        '--dev',
        '/dev',
        '--size',
        size,
        '--tmpfs',
        '/dev/shm',
        '--remount-ro',
        '/dev',
      ],
      ...['--proc', '/proc'],
      ...['--size', size, '--tmpfs', '/tmp', '--dir', '/var/tmp', '--dir', '/run'],
      ...SYSTEM.flatMap(systemFolder),
      ...readable.flatMap(({ source, target }) => ['--ro-bind', source, target]),
      ...[...writable, ...fixed].flatMap(({ source, target }) => ['--bind', source, target]),
      ...covered,
      ...(exchanged === undefined ? [] : exchangedArgs(exchanged)),
      ...['--remount-ro', '/', '--chdir', '/', '--'],
    ];
    const mounts = [...readable, ...writable, ...fixed].filter(({ source }) => isReplaceable(source));
    return { options, mounts };
  }

  /** Returns the current and last known real paths of the hidden files and folders, because links may change. */
  #hiddenPaths(): readonly string[] {
    const paths = new Set<string>();
    for (const hidden of this.#hidden) {
      if (hidden.real !== undefined) paths.add(hidden.real);
      const real = realPathOf(hidden.path);
      if (real === undefined) continue;
      paths.add(real);
      hidden.real = real;
    }
    // Hiding a folder hides what it contains.
    return [...paths].filter((path) => ![...paths].some((other) => other !== path && isWithin(path, other)));
  }

  /** Returns the mounts of the files that a task may read, except those that it already sees. */
  #readable(
    reads: readonly string[],
    bound: readonly string[],
    hidden: readonly string[],
    account: Account | undefined,
  ): Mount[] {
    const mounts: Mount[] = [];
    // Parents first: a mount hides what is mounted below it.
    for (const path of [...new Set(reads)].sort()) {
      const found = path.startsWith('/') ? openIdentified(path) : undefined;
      if (found === undefined || !mayMount(found.real) || hidden.some((each) => isWithin(found.real, each)))
        continue;
      // bwrap cannot cover what is hidden in a folder that the account cannot enter, and the task could not use it.
      const isClosed = account !== undefined && !mayEnter(account, found.real);
      if (isClosed && hidden.some((each) => isWithin(each, found.real))) continue;
      for (const target of new Set([found.real, resolve(path)])) {
        const isShown = [...bound, ...mounts.map(({ target: at }) => at)].some((folder) =>
          isWithin(target, folder),
        );
        if (!isShown) mounts.push({ ...found, source: found.real, target });
      }
    }
    return mounts;
  }

  /** Whether the account cannot enter the folder. Modes decide usually; where they deny, an access control list may allow it. */
  #isClosed(account: Account, folder: string): boolean {
    let mayEnterAll = true;
    for (let at = folder; at !== dirname(at); at = dirname(at)) mayEnterAll &&= mayEnter(account, at);
    if (mayEnterAll || !existsSync(folder)) return false;
    const [program, ...args] = [
      ...this.#identityArgs(account),
      '/bin/sh',
      '-c',
      'cd -- "$1"',
      '/bin/sh',
      folder,
    ];
    return spawnSync(program!, args, { stdio: 'ignore', env: {} }).status !== 0;
  }

  #trySandbox(): void {
    const { options } = this.#view(this.#isRoot ? NOBODY : undefined, '/') as View;
    const [program, ...args] = [
      ...(this.#isRoot ? this.#identityArgs(NOBODY) : []),
      ...options,
      '/bin/sh',
      '-c',
      ':',
    ];
    try {
      execFileSync(program!, args, { stdio: 'pipe', env: {} });
    } catch (error) {
      const { stderr, message } = error as { stderr?: Buffer; message: string };
      const reason = stderr?.toString().trim().split('\n').at(-1) || message;
      throw runAsError(
        `bwrap does not work here: ${reason}`,
        'allow user namespaces, or use another --run-as',
      );
    }
  }
}

/** Returns shell code that lowers the limit of processes; shells name it differently. */
function processLimit(): string[] {
  for (const flag of ['-u', '-p']) {
    const code = `ulimit ${flag} ${PROCESSES_MAX}`;
    // An account whose own limit is lower may not raise it.
    if (spawnSync('/bin/sh', ['-c', code], { stdio: 'ignore' }).status === 0) return [`${code} 2>/dev/null`];
  }
  return [];
}

/** Whether a sandbox may show the folder, apart from what it shows of the system. */
function mayMount(real: string): boolean {
  return (
    !SHARED.includes(real) && !NEVER_WRITABLE.some((path) => isWithin(real, path) || isWithin(path, real))
  );
}

/** Returns undefined if switching to the account requires a program, for its groups or limits. */
function idsOf({ uid, gid, limits, groups }: Account): AccountIds | undefined {
  return groups.every((group) => group === gid) && limits.length === 0 ? { uid, gid } : undefined;
}

/** Whether only processes of the account may enter the folder, for example one of sshfs; the spawner may not. */
function isClosedToRoot(folder: string): boolean {
  try {
    statSync(folder);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EACCES';
  }
}

/** Whether every account may read the file, or enter and list the folder. */
function isPublic(path: string): boolean {
  const real = realPathOf(path);
  if (real === undefined) return false;
  for (let at = real; at !== dirname(at); at = dirname(at)) {
    const stats = statSync(at);
    const wanted = stats.isDirectory() ? (at === real ? 0o005 : 0o001) : 0o004;
    if ((stats.mode & wanted) !== wanted) return false;
  }
  return true;
}

function runAsError(why: string, hint: string): InputError {
  return new InputError('bad-option', `--run-as: ${why}`, hint);
}

function nameOfAccount(): string | undefined {
  try {
    return userInfo().username;
  } catch {
    // In containers, the user id may have no account.
    return undefined;
  }
}

function accountNamed(user: string): Account | undefined {
  try {
    const line = execFileSync('getent', ['passwd', user], { encoding: 'utf8', stdio: 'pipe' }).split(
      '\n',
    )[0]!;
    const [name, , uid, gid, , home, shell] = line.split(':');
    if (name !== user || !(Number(uid) >= UID_MIN) || !(Number(gid) > 0)) return undefined;
    return {
      name,
      uid: Number(uid),
      gid: Number(gid),
      home: home || '/',
      shell: shell || '/bin/sh',
      limits: limitsOf(name),
      groups: groupsOf(name),
    };
  } catch {
    return undefined;
  }
}

function groupsOf(account: string): number[] {
  const printed = execFileSync('id', ['-G', account], { encoding: 'utf8', stdio: 'pipe' });
  return printed.trim().split(/\s+/).map(Number);
}

/** Makes the account the owner of the folder, which the worker created for this task alone. */
function chownContents({ uid, gid }: Account, folder: string): void {
  for (const name of readdirSync(folder)) chownSync(join(folder, name), uid, gid);
  chownSync(folder, uid, gid);
}

const LIMITS_BY_NAME: Readonly<Record<string, string>> = {
  'Max address space': 'as',
  'Max core file size': 'core',
  'Max cpu time': 'cpu',
  'Max data size': 'data',
  'Max file size': 'fsize',
  'Max locked memory': 'memlock',
  'Max open files': 'nofile',
  'Max processes': 'nproc',
  'Max stack size': 'stack',
};

/** Applies the limits of a login session (PAM) where they differ from those of this process's children. */
function limitsOf(account: string): readonly string[] {
  const [prlimit, runuser] = [programOf('prlimit'), programOf('runuser')];
  if (prlimit === undefined || runuser === undefined) return [];
  try {
    const show = ['/bin/cat', '/proc/self/limits'];
    const ours = limitFlags(execFileSync(show[0]!, show.slice(1), { encoding: 'latin1' }));
    const theirs = execFileSync(runuser, ['-u', account, '--', ...show], {
      encoding: 'latin1',
      stdio: 'pipe',
    });
    const hardOpenFiles = (flag: string) => /^--nofile=\S+:(\S+)$/.exec(flag)?.[1];
    const isSoftOnly = (flag: string) =>
      hardOpenFiles(flag) !== undefined && ours.some((other) => hardOpenFiles(other) === hardOpenFiles(flag));
    // Any process may raise the soft limit, and the spawner sets that of a login.
    const flags = limitFlags(theirs).filter((flag) => !ours.includes(flag) && !isSoftOnly(flag));
    return flags.length > 0 ? [prlimit, ...flags] : [];
  } catch {
    // Without PAM, only the worker's limits apply.
    return [];
  }
}

/** Converts `/proc/self/limits` to flags of prlimit. */
function limitFlags(text: string): string[] {
  return Object.entries(LIMITS_BY_NAME).flatMap(([name, flag]) => {
    const limit = limitIn(text, name);
    return limit === undefined ? [] : [`--${flag}=${limit.soft}:${limit.hard}`];
  });
}

/** Returns bwrap options for a system folder; links such as /bin → usr/bin stay links. */
function systemFolder(path: string): string[] {
  try {
    return lstatSync(path).isSymbolicLink()
      ? ['--symlink', realpathSync(path), path]
      : ['--ro-bind', path, path];
  } catch {
    return [];
  }
}

/** Returns bwrap options that show the worker's files, and a separate file system of limited size for the result. */
function exchangedArgs({ at, hasResult }: Exchanged): string[] {
  if (!hasResult) return ['--ro-bind', at, at];
  const files = readdirSync(at).map((name) => join(at, name));
  return [
    ...['--size', `${RESULT_FOLDER_BYTES}`, '--tmpfs', at],
    ...files.flatMap((file) => ['--ro-bind', file, file]),
  ];
}

/** Returns bwrap options that hide the file or folder `path`, shown at `target`. */
function hidingArgs(path: string, target: string): string[] {
  try {
    return lstatSync(path).isDirectory()
      ? ['--tmpfs', target, '--remount-ro', target]
      : ['--ro-bind', '/dev/null', target];
  } catch {
    return [];
  }
}

/**
 * Returns the paths to cover so that the hidden files and folders within `source` do not show. bwrap runs under the
 * task's account, so below a folder that this account cannot enter it cannot mount; it covers that folder.
 */
function coversOf(hidden: readonly string[], source: string, account: Account | undefined): string[] {
  const covers = new Set<string>();
  for (const path of hidden) {
    if (!isWithin(path, source)) continue;
    let cover = path;
    for (let at = dirname(path); at !== source && isWithin(at, source); at = dirname(at))
      if (account !== undefined && !mayEnter(account, at)) cover = at;
    covers.add(cover);
  }
  return [...covers];
}

/** Whether an account other than root can replace the file or folder at this real path, or a folder above it. */
function isReplaceable(real: string): boolean {
  try {
    for (let at = real; at !== dirname(at); at = dirname(at)) {
      const parent = statSync(dirname(at));
      const isSticky = (parent.mode & 0o1000) !== 0 && lstatSync(at).uid === 0;
      if (parent.uid !== 0 || ((parent.mode & 0o022) !== 0 && !isSticky)) return true;
    }
    return false;
  } catch {
    return true;
  }
}

/**
 * Whether the mode lets the account enter the folder; also true for a folder that this process may not read, for example
 * one of sshfs. An access control list may allow more.
 */
function mayEnter({ uid, groups }: Account, folder: string): boolean {
  try {
    const stats = statSync(folder);
    return stats.uid === uid || (stats.mode & (groups.includes(stats.gid) ? 0o010 : 0o001)) !== 0;
  } catch {
    return true;
  }
}

/** Whether the account may write to the file or folder at this real path, by the modes on its way. */
function mayWrite({ uid, groups }: Account, real: string): boolean {
  try {
    for (let at = dirname(real); at !== dirname(at); at = dirname(at)) {
      const { uid: owner, gid, mode } = statSync(at);
      const bit = owner === uid ? 0o100 : groups.includes(gid) ? 0o010 : 0o001;
      if ((mode & bit) === 0) return false;
    }
    const { uid: owner, gid, mode } = statSync(real);
    return owner === uid || (mode & (groups.includes(gid) ? 0o020 : 0o002)) !== 0;
  } catch {
    return false;
  }
}

/** Returns the folders between a mount and the covered paths in it, outermost first. */
function parentsOf(covers: readonly string[], { source, target }: Mount): Mount[] {
  const parents = new Map<string, Mount>();
  for (const path of covers) {
    for (let at = dirname(path); at !== source && isWithin(at, source); at = dirname(at)) {
      const found = openIdentified(at);
      if (found !== undefined)
        parents.set(at, { ...found, source: at, target: join(target, at.slice(source.length)) });
    }
  }
  return [...parents.values()].sort((one, other) => one.source.length - other.source.length);
}

/** Opens the path once, so its real path and identity belong to the same file; undefined if it is not accessible. */
function openIdentified(path: string): { readonly real: string; readonly identity: string } | undefined {
  let descriptor: number | undefined;
  try {
    descriptor = openSync(path, O_PATH);
    const { dev, ino } = fstatSync(descriptor, { bigint: true });
    return { real: readlinkSync(`/proc/self/fd/${descriptor}`), identity: `${dev}:${ino}` };
  } catch {
    return undefined;
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}
