import { describe, expect, test } from 'vitest';
import { docker, image, missing, named, runToEnd } from './docker.fixture.js';

interface Inspected {
  readonly Size: number;
  readonly Config: {
    readonly User: string;
    readonly Entrypoint: readonly string[];
    readonly Labels: Readonly<Record<string, string>>;
  };
  readonly RootFS: { readonly Layers: readonly string[] };
}

async function inspected(name: string): Promise<Inspected> {
  const [found] = JSON.parse(await docker('image', 'inspect', name)) as [Inspected];
  return found;
}

const MIB = 1024 * 1024;

describe.skipIf(missing !== undefined)(named('the image'), () => {
  test('runs the command as an unprivileged user, and has a description', async () => {
    const { Config } = await inspected(image);
    expect(Config).toMatchObject({ User: '1000:1000', Entrypoint: ['goshawk'] });
    expect(Config.Labels).toMatchObject({ 'org.opencontainers.image.licenses': 'Apache-2.0' });
    expect(await runToEnd([image, '--version'])).toMatchObject({
      code: 0,
      output: expect.stringMatching(/^\d+\.\d+\.\d+\n$/),
    });
  });

  test('adds at most 120 MB to Node’s', async () => {
    const sizes = (
      await docker(
        'image',
        'history',
        '--no-trunc',
        '--human=false',
        '--format',
        '{{.Size}} {{.CreatedBy}}',
        image,
      )
    )
      .trim()
      .split('\n');
    const entry = sizes.findIndex((line) => line.includes('/opt/goshawk'));
    expect(entry).toBeGreaterThanOrEqual(0);
    const own = sizes.slice(0, sizes.findLastIndex((line) => line.includes('/opt/goshawk')) + 1);
    const added = own.reduce((sum, line) => sum + Number.parseInt(line, 10), 0);
    expect(added / MIB).toBeLessThan(120);
    expect(added / MIB).toBeGreaterThan(10);
  });

  test('runs with a read-only root file system, and reports when it is not ready', async () => {
    const args = ['--read-only', '--tmpfs', '/tmp', '--init', '--entrypoint', 'bash', image, '-c'];
    const script =
      'goshawk central & until goshawk-ready; do :; done 2>/dev/null; kill %1; wait %1; echo ended with $?';
    expect(await runToEnd([...args, script])).toMatchObject({
      code: 0,
      output: expect.stringContaining('ended with 0'),
    });
    const alone =
      'goshawk worker & until goshawk-ready | grep joined; do :; done 2>/dev/null; kill %1; wait %1';
    expect((await runToEnd([...args, alone])).output).toContain('it has not joined its cluster yet');
  });
});
