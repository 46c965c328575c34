// The times of the pages that are ours to write; of speedscope, browser.py measures the same from outside.
export function arrived() {
  window.benchArrived = performance.now();
}

/** The time at which what `holds` tells of is on the screen: after the frame that follows. */
export function painted(holds) {
  if (!holds()) return void requestAnimationFrame(() => painted(holds));
  requestAnimationFrame(() => setTimeout(() => (window.benchPainted = performance.now())));
}
