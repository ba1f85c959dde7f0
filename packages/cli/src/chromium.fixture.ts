import { existsSync } from 'node:fs';
import { leaveOut } from '@goshawk/journal/testing';
import type { Browser } from 'playwright-core';

const PROGRAMS = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

/**
 * Chromium's program; undefined where there is none, which is said.
 *
 * @throws with `GOSHAWK_REQUIRE=chromium`, where there is none
 */
export function chromiumProgram(): string | undefined {
  const found = PROGRAMS.find((program) => existsSync(program));
  if (found !== undefined) return found;
  leaveOut(
    'chromium',
    'there is no Chromium on this machine (apt-get install chromium)',
    'the tests of the page',
  );
  return undefined;
}

export async function launchChromium(program: string): Promise<Browser> {
  // Loaded here: tests and benches without a browser import this module too.
  const { chromium } = await import('playwright-core');
  // Tests run as root in containers, where Chromium has no sandbox; it opens nothing but the page.
  return chromium.launch({ executablePath: program, args: ['--no-sandbox', '--disable-dev-shm-usage'] });
}

/** Closes a browser. One that does not end within 20 s is left to Playwright, which kills it as this process ends. */
export async function closeChromium(browser: Browser): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, 20_000);
  });
  await Promise.race([browser.close(), late]);
  clearTimeout(timer);
}
