/** The task of a module. It does nothing. */
export default function one() {
  return 1;
}
