/** A moment: how long ago, with the time as title. */
import { localMinute, roughly } from '../../selection/time.ts';

interface Props {
  at: string | null;
  /** Milliseconds since 1970. */
  now: number;
  none?: string;
}

export function When({ at, now, none = '–' }: Props) {
  if (at === null) return <span>{none}</span>;
  const seconds = (now - Date.parse(at)) / 1000;
  return (
    <time dateTime={at} title={localMinute(at)}>
      {seconds >= 0 ? `${roughly(seconds)} ago` : `in ${roughly(-seconds)}`}
    </time>
  );
}
