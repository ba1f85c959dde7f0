import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Whether this user may mount a file system, as root may. */
export function mayMount(): boolean {
  const trial = mkdtempSync(join(tmpdir(), 'goshawk-mount-'));
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', trial], { stdio: 'ignore' });
    execFileSync('umount', [trial], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  } finally {
    rmSync(trial, { recursive: true, force: true });
  }
}

/** Whether this user may mount an image of a disk, as root may where the kernel has loop devices. */
export function mayMountImages(): boolean {
  const trial = mkdtempSync(join(tmpdir(), 'goshawk-image-'));
  try {
    const disk = new DiskImage(trial, 8);
    disk.mount();
    disk.turnReadOnly();
    disk.unmount();
    return true;
  } catch {
    return false;
  } finally {
    rmSync(trial, { recursive: true, force: true });
  }
}

/** An ext4 disk in a file, mounted on the folder `disk`. */
export class DiskImage {
  readonly folder: string;
  readonly #file: string;

  constructor(within: string, mebibytes: number) {
    this.folder = join(within, 'disk');
    this.#file = join(within, 'disk.img');
    mkdirSync(this.folder);
    quietly('truncate', '-s', `${mebibytes}M`, this.#file);
    quietly('mkfs.ext4', '-q', this.#file);
  }

  mount(): void {
    quietly('mount', '-o', 'loop,errors=remount-ro', this.#file, this.folder);
  }

  /** Makes it read-only for open files, too, as the kernel does after an error of the disk. */
  turnReadOnly(): void {
    quietly('mount', '-o', 'remount,abort', this.folder);
  }

  unmount(): void {
    quietly('umount', this.folder);
  }

  /** Detaches it even if it is in use; does nothing if it is not mounted. */
  detach(): void {
    spawnSync('umount', ['-l', this.folder], { stdio: 'ignore' });
  }
}

function quietly(command: string, ...args: string[]): void {
  execFileSync(command, args, { stdio: ['ignore', 'ignore', 'pipe'] });
}
