/**
 * The filter of system calls for sandboxes. It denies what programs need only to administrate a machine, or to reach parts of the
 * kernel that have had many faults: other namespaces, mounts, BPF, performance counters, keys, io_uring, modules. It also denies making
 * files that give others the rights of the task's account (setuid). The program is classic BPF (`struct sock_filter`), as
 * bubblewrap expects it.
 */

interface Calls {
  /** AUDIT_ARCH of the kernel's ABI. */
  readonly arch: number;
  /** Numbers from here on belong to another ABI of the same architecture (x32). */
  readonly foreignFrom?: number;
  readonly denied: readonly number[];
  readonly clone: number;
  readonly unshare: number;
  /** Calls that set the mode of a file, with the index of that argument. */
  readonly modes: readonly (readonly [call: number, mode: number])[];
  /** Calls that may create a file, with the index of their flags, which the mode follows. */
  readonly opens: readonly (readonly [call: number, flags: number])[];
  /** Calls that receive open files of other processes: recvmsg, recvmmsg. */
  readonly receiving: readonly number[];
  readonly seccomp: number;
}

const BY_ARCHITECTURE: Readonly<Record<string, Calls>> = {
  x64: {
    arch: 0xc000003e,
    foreignFrom: 0x4000_0000,
    clone: 56,
    unshare: 272,
    // chmod, fchmod, fchmodat, fchmodat2, creat, mknod, mknodat
    modes: [
      [90, 1],
      [91, 1],
      [268, 2],
      [452, 2],
      [85, 1],
      [133, 1],
      [259, 2],
    ],
    opens: [
      [2, 1],
      [257, 2],
    ],
    receiving: [47, 299],
    seccomp: 317,
    denied: [
      ...[155, 165, 166], // pivot_root, mount, umount2
      ...[153, 163, 164, 167, 168, 169], // vhangup, acct, settimeofday, swapon, swapoff, reboot
      ...[172, 173, 174, 175, 176, 177, 178], // iopl, ioperm, create_module … query_module
      ...[103, 134, 179, 180, 212, 227], // syslog, uselib, quotactl, nfsservctl, lookup_dcookie, clock_settime
      ...[246, 313, 320], // kexec_load, finit_module, kexec_file_load
      ...[248, 249, 250], // add_key, request_key, keyctl
      ...[298, 300, 304, 305, 308, 321, 323], // perf_event_open, fanotify_init, open_by_handle_at, clock_adjtime, setns, bpf, userfaultfd
    ],
  },
  arm64: {
    arch: 0xc00000b7,
    clone: 220,
    unshare: 97,
    // fchmod, fchmodat, fchmodat2, mknodat
    modes: [
      [52, 1],
      [53, 2],
      [452, 2],
      [33, 2],
    ],
    opens: [[56, 2]],
    receiving: [212, 243],
    seccomp: 277,
    denied: [
      ...[39, 40, 41], // umount2, mount, pivot_root
      ...[18, 42, 58, 60, 89, 112, 116], // lookup_dcookie, nfsservctl, vhangup, quotactl, acct, clock_settime, syslog
      ...[104, 105, 106, 142, 170], // kexec_load, init_module, delete_module, reboot, settimeofday
      ...[217, 218, 219], // add_key, request_key, keyctl
      ...[224, 225, 241, 262, 265, 266, 268], // swapon, swapoff, perf_event_open, fanotify_init, open_by_handle_at, clock_adjtime, setns
      ...[273, 280, 282, 294], // finit_module, bpf, userfaultfd, kexec_file_load
    ],
  },
};

/** The same on all architectures: open_tree … fspick, mount_setattr, quotactl_fd. */
const DENIED = [428, 429, 430, 431, 432, 433, 442, 443];
/** Programs continue without these if the kernel seems not to have them: io_uring_setup, _enter and _register, clone3, openat2. */
const ABSENT = [425, 426, 427, 435, 437];
const SETUID = 0o4000;
const SETGID = 0o2000;
/** O_CREAT and __O_TMPFILE: the call has a mode. */
const CREATES = 0x0040_0040;
/** SECCOMP_FILTER_FLAG_NEW_LISTENER: another process may then add open files. */
const NEW_LISTENER = 8;
/** CLONE_NEWNS, CGROUP, UTS, IPC, USER, PID and NET. */
const NAMESPACES = 0x7e02_0000;
/** A flag of `unshare` only; in `clone`, the bit belongs to a signal. */
const NEW_TIME = 0x80;

const EPERM = 1;
const ENOSYS = 38;
const ALLOW = 0x7fff_0000;
/** Offsets in `struct seccomp_data`. */
const [NUMBER, ARCH, FIRST_ARGUMENT] = [0, 4, 16];
/** The low half of an argument. */
const argument = (index: number) => FIRST_ARGUMENT + 8 * index;

/**
 * Returns the filter for this architecture; undefined if it is unknown.
 *
 * @param isGuest whether the task has the rights of an account that is not its user's: its files must not give them away by
 *   their group either, and another process must not pass it open folders, with which it would leave its sandbox
 */
export function seccompFilter(architecture: string = process.arch, isGuest = false): Buffer | undefined {
  const calls = BY_ARCHITECTURE[architecture];
  if (calls === undefined) return undefined;
  const refuse = (errno: number): Buffer => instruction(RETURN, 0, 0, 0x0005_0000 | errno);
  const { arch, foreignFrom, denied, clone, unshare, modes, opens, receiving, seccomp } = calls;
  const allow = instruction(RETURN, 0, 0, ALLOW);
  // Others need setgid: folders that a group shares have it, and `cp -a` sets it again.
  const setId = isGuest ? SETUID | SETGID : SETUID;
  /** The call is refused if the argument has one of these bits. */
  const refuseBits = (call: number, index: number, bits: number): Buffer[] => [
    instruction(IF_EQUAL, 0, 4, call),
    instruction(LOAD, 0, 0, argument(index)),
    instruction(IF_ANY_BIT, 0, 1, bits),
    refuse(EPERM),
    allow,
  ];
  return Buffer.concat([
    instruction(LOAD, 0, 0, ARCH),
    instruction(IF_EQUAL, 1, 0, arch),
    refuse(ENOSYS),
    instruction(LOAD, 0, 0, NUMBER),
    ...(foreignFrom === undefined ? [] : [instruction(IF_AT_LEAST, 0, 1, foreignFrom), refuse(ENOSYS)]),
    ...[...denied, ...DENIED].flatMap((call) => [instruction(IF_EQUAL, 0, 1, call), refuse(EPERM)]),
    ...ABSENT.flatMap((call) => [instruction(IF_EQUAL, 0, 1, call), refuse(ENOSYS)]),
    ...refuseBits(clone, 0, NAMESPACES),
    ...refuseBits(unshare, 0, NAMESPACES | NEW_TIME),
    ...modes.flatMap(([call, mode]) => refuseBits(call, mode, setId)),
    ...opens.flatMap(([call, flags]) => [
      instruction(IF_EQUAL, 0, 7, call),
      instruction(LOAD, 0, 0, argument(flags)),
      instruction(IF_ANY_BIT, 1, 0, CREATES),
      allow,
      instruction(LOAD, 0, 0, argument(flags + 1)),
      instruction(IF_ANY_BIT, 0, 1, setId),
      refuse(EPERM),
      allow,
    ]),
    ...(isGuest
      ? [
          ...receiving.flatMap((call) => [instruction(IF_EQUAL, 0, 1, call), refuse(EPERM)]),
          ...refuseBits(seccomp, 1, NEW_LISTENER),
        ]
      : []),
    allow,
  ]);
}

/** Codes of classic BPF. */
const [LOAD, IF_EQUAL, IF_AT_LEAST, IF_ANY_BIT, RETURN] = [0x20, 0x15, 0x35, 0x45, 0x06];

/** @param yes, no number of instructions that a jump skips */
function instruction(code: number, yes: number, no: number, value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeUInt16LE(code, 0);
  bytes.writeUInt8(yes, 2);
  bytes.writeUInt8(no, 3);
  bytes.writeUInt32LE(value >>> 0, 4);
  return bytes;
}
