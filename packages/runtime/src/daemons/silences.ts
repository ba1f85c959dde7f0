/** Number of failed checks in a row after which central counts as silent, because a busy machine delays answers. */
const SILENT_LOOKS = 3;
/** A silence of this many checks is always reported. */
const LONG_LOOKS = 30;
/** Number of silences reported per window; further short ones are only counted. */
const REPORTED_MAX = 3;
const WINDOW_LOOKS = 600;

type News =
  | { readonly kind: 'silent' }
  | { readonly kind: 'heard' }
  | { readonly kind: 'held-back'; readonly count: number };

/**
 * Decides which silences of central to log, because an overloaded central may alternate between silence and answers for
 * hours.
 */
export class Silences {
  #silentLooks = 0;
  /** Whether the present silence was reported. */
  #isReported = false;
  #looksLeft = 0;
  #reported = 0;
  #heldBack = 0;

  /** Records one check. Called once per second. @returns the lines to log */
  look(isSilent: boolean): readonly News[] {
    const news: News[] = [];
    if (this.#looksLeft > 0 && --this.#looksLeft === 0) {
      if (this.#heldBack > 0) news.push({ kind: 'held-back', count: this.#heldBack });
      this.#reported = 0;
      this.#heldBack = 0;
    }
    if (!isSilent) {
      if (this.#isReported) news.push({ kind: 'heard' });
      else if (this.#silentLooks >= SILENT_LOOKS) this.#heldBack++;
      this.#isReported = false;
      this.#silentLooks = 0;
      return news;
    }
    this.#silentLooks++;
    const isDue = this.#silentLooks >= (this.#reported < REPORTED_MAX ? SILENT_LOOKS : LONG_LOOKS);
    if (this.#isReported || !isDue) return news;
    if (this.#looksLeft === 0) this.#looksLeft = WINDOW_LOOKS;
    this.#isReported = true;
    this.#reported++;
    news.push({ kind: 'silent' });
    return news;
  }
}
