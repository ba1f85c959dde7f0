import { expect, test } from 'vitest';
import { seccompFilter } from './seccomp.js';

const ALLOW = 0x7fff_0000;
const refused = (errno: number) => 0x0005_0000 + errno;
const [EPERM, ENOSYS] = [1, 38];

/** Runs the program as the kernel does. */
function decide(program: Buffer, arch: number, call: number, ...args: number[]): number {
  const data = new Map([
    [0, call],
    [4, arch],
    ...[0, 1, 2, 3].map((index) => [16 + 8 * index, args[index] ?? 0] as const),
  ]);
  let value = 0;
  for (let at = 0; at < program.length / 8; at++) {
    const code = program.readUInt16LE(8 * at);
    const [yes, no] = [program.readUInt8(8 * at + 2), program.readUInt8(8 * at + 3)];
    const operand = program.readUInt32LE(8 * at + 4);
    if (code === 0x06) return operand;
    if (code === 0x20) value = data.get(operand)!;
    else if (code === 0x15) at += value === operand ? yes : no;
    else if (code === 0x35) at += value >= operand ? yes : no;
    else if (code === 0x45) at += (value & operand) !== 0 ? yes : no;
    else throw new Error(`unknown instruction ${code}`);
  }
  throw new Error('the program does not end');
}

/** ABI and numbers of calls by architecture. */
const CALLS = {
  x64: {
    arch: 0xc000003e,
    mount: 165,
    bpf: 321,
    keyctl: 250,
    module: 313,
    kexec: 246,
    perf: 298,
    fault: 323,
    setns: 308,
    unshare: 272,
    clone: 56,
    read: 0,
    execve: 59,
    ptrace: 101,
    futex: 202,
  },
  arm64: {
    arch: 0xc00000b7,
    mount: 40,
    bpf: 280,
    keyctl: 219,
    module: 273,
    kexec: 104,
    perf: 241,
    fault: 282,
    setns: 268,
    unshare: 97,
    clone: 220,
    read: 63,
    execve: 221,
    ptrace: 117,
    futex: 98,
  },
} as const;

const NAMESPACES = [
  0x0002_0000, 0x0200_0000, 0x0400_0000, 0x0800_0000, 0x1000_0000, 0x2000_0000, 0x4000_0000,
];

test.each(Object.entries(CALLS))(
  'the filter of %s denies what administers a machine, and namespaces',
  (architecture, calls) => {
    const program = seccompFilter(architecture)!;
    const of = (call: number, firstArgument = 0) => decide(program, calls.arch, call, firstArgument);
    for (const call of [
      calls.mount,
      calls.bpf,
      calls.keyctl,
      calls.module,
      calls.kexec,
      calls.perf,
      calls.fault,
      calls.setns,
      428,
      442,
    ])
      expect([call, of(call)]).toEqual([call, refused(EPERM)]);
    for (const call of [425, 426, 427, 435, 437]) expect(of(call)).toBe(refused(ENOSYS));
    for (const flag of NAMESPACES) {
      expect(of(calls.clone, flag | 17)).toBe(refused(EPERM));
      expect(of(calls.unshare, flag)).toBe(refused(EPERM));
    }
    expect(of(calls.unshare, 0x80)).toBe(refused(EPERM));
    // fork, threads, and unshare of files
    for (const flags of [17, 0x003d_0f00]) expect(of(calls.clone, flags)).toBe(ALLOW);
    expect(of(calls.unshare, 0x400)).toBe(ALLOW);
    for (const call of [calls.read, calls.execve, calls.ptrace, calls.futex]) expect(of(call)).toBe(ALLOW);
    const denied = Array.from({ length: 470 }, (_, call) => of(call)).filter(
      (decision) => decision !== ALLOW,
    );
    expect(denied.length).toBeGreaterThan(30);
    expect(denied.length).toBeLessThan(60);
  },
);

test.each([
  ['x64', 0xc000003e, { chmod: [90, 91, 85, 133], chmodAt: [268, 259, 452], open: [2, 1], openAt: [257, 2] }],
  ['arm64', 0xc00000b7, { chmod: [52], chmodAt: [53, 33, 452], open: [56, 2], openAt: [56, 2] }],
] as const)(
  'the filter of %s denies files that give others the rights of the account',
  (name, arch, calls) => {
    for (const isGuest of [false, true]) {
      const program = seccompFilter(name, isGuest)!;
      for (const [mode, decision] of [
        [0o4755, refused(EPERM)],
        [0o2775, isGuest ? refused(EPERM) : ALLOW],
        [0o1777, ALLOW],
        [0o100755, ALLOW],
      ] as const) {
        for (const call of calls.chmod) expect(decide(program, arch, call, 0, mode)).toBe(decision);
        for (const call of calls.chmodAt) expect(decide(program, arch, call, 3, 0, mode)).toBe(decision);
        for (const [call, flags] of [calls.open, calls.openAt]) {
          const args = (value: number): number[] => [...Array<number>(flags).fill(0), value, mode];
          for (const creates of [0o101, 0o20200002])
            expect(decide(program, arch, call, ...args(creates))).toBe(decision);
          expect(decide(program, arch, call, ...args(0o2))).toBe(ALLOW);
        }
      }
    }
  },
);

test.each([
  ['x64', 0xc000003e, [47, 299], 317],
  ['arm64', 0xc00000b7, [212, 243], 277],
] as const)(
  'the filter of %s lets tasks with the rights of another account receive no files',
  (name, arch, calls, seccomp) => {
    const [guest, other] = [seccompFilter(name, true)!, seccompFilter(name)!];
    for (const call of calls) {
      expect(decide(guest, arch, call)).toBe(refused(EPERM));
      expect(decide(other, arch, call)).toBe(ALLOW);
    }
    expect(decide(guest, arch, seccomp, 1, 8)).toBe(refused(EPERM));
    expect(decide(guest, arch, seccomp, 1, 0)).toBe(ALLOW);
  },
);

test('calls of other ABIs are absent: 32-bit programs, and x32', () => {
  const program = seccompFilter('x64')!;
  for (const call of [0, 21, 165, 310]) {
    expect(decide(program, 0x4000_0003, call)).toBe(refused(ENOSYS));
    expect(decide(program, CALLS.x64.arch, 0x4000_0000 + call)).toBe(refused(ENOSYS));
  }
  expect(seccompFilter('riscv64')).toBeUndefined();
});
