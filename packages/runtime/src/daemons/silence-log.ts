/** Number of failed checks in a row after which central counts as silent, because a busy machine delays answers. */
const SILENT_CHECKS = 3;
/** A silence of this many checks is always reported. */
const LONG_SILENCE_CHECKS = 30;
/** Number of silences reported per window; further short ones are only counted. */
const REPORTED_MAX = 3;
const WINDOW_CHECKS = 600;

type SilenceReport =
  | { readonly kind: 'silent' }
  | { readonly kind: 'heard' }
  | { readonly kind: 'held-back'; readonly count: number };

/**
 * Decides which silences of central to log, because an overloaded central may alternate between silence and answers for
 * hours.
 */
export class SilenceLog {
  #silentChecks = 0;
  /** Whether the present silence was reported. */
  #isReported = false;
  #checksLeft = 0;
  #reported = 0;
  #suppressed = 0;

  /** Records one check. Called once per second. @returns the lines to log */
  check(isSilent: boolean): readonly SilenceReport[] {
    const news: SilenceReport[] = [];
    if (this.#checksLeft > 0 && --this.#checksLeft === 0) {
      if (this.#suppressed > 0) news.push({ kind: 'held-back', count: this.#suppressed });
      this.#reported = 0;
      this.#suppressed = 0;
    }
    if (!isSilent) {
      if (this.#isReported) news.push({ kind: 'heard' });
      else if (this.#silentChecks >= SILENT_CHECKS) this.#suppressed++;
      this.#isReported = false;
      this.#silentChecks = 0;
      return news;
    }
    this.#silentChecks++;
    const isDue = this.#silentChecks >= (this.#reported < REPORTED_MAX ? SILENT_CHECKS : LONG_SILENCE_CHECKS);
    if (this.#isReported || !isDue) return news;
    if (this.#checksLeft === 0) this.#checksLeft = WINDOW_CHECKS;
    this.#isReported = true;
    this.#reported++;
    news.push({ kind: 'silent' });
    return news;
  }
}
