/** A note that the page shows the previous response; fast responses show none. */
import { useEffect, useState } from 'react';

const PATIENCE_MS = 700;

export function Waiting() {
  const [late, setLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), PATIENCE_MS);
    return () => clearTimeout(timer);
  }, []);
  return late ? (
    <p className="waiting" role="status">
      Still loading. The page shows the previous selection.
    </p>
  ) : null;
}
