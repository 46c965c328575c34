import type { ReactNode } from 'react';

/** A part of the function's panel. */
export function DrawerSection({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section>
      <h3>{title}</h3>
      {children}
    </section>
  );
}
