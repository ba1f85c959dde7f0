/** A task of a module that does nothing. */
export default function one() {
  return 1;
}
