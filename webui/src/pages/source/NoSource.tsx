/** Why there is no text, and the command that stores it. */
import { ApiProblem } from '../../api/problem.ts';
import { Command } from '../../ui/Command.tsx';
import { Failure } from '../../ui/states/Failure.tsx';

interface Props {
  /** Key of the build; undefined: no build with the file is known. */
  binaryKey: string | undefined;
  path: string;
  error: Error | null;
  retry: () => void;
}

export function NoSource({ binaryKey, path, error, retry }: Props) {
  const missing = error instanceof ApiProblem && error.status === 404;
  if (error !== null && !missing) return <Failure error={error} retry={retry} />;
  return (
    <div className="state" role="status">
      <p className="sentence">No source text of this file.</p>
      <p>
        {missing
          ? error.message
          : 'No sample in the selection has a line of this file in a known build, so the version of the text is not known.'}
      </p>
      {missing && error.hint !== '' && <p>{error.hint}</p>}
      {binaryKey !== undefined && (
        <p>
          Upload the sources of this build:{' '}
          <Command text={`fleetprof symbols sources upload ${folderOf(path)} --key ${binaryKey}`} />
        </p>
      )}
      <p className="note">The costs of its lines are known without the text: choose “Hot lines”.</p>
    </div>
  );
}

function folderOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/')) || '.';
}
