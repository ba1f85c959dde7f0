/** Resolves in the next turn of the event loop, after what is ready now was handled. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
