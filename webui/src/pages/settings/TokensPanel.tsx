/** API tokens, for administrators. The text of a new token is shown once. */
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState, type FormEvent } from 'react';
import { answerOf, api } from '../../api/client.ts';
import type { Role } from '../../api/session.ts';
import type { CreatedToken } from '../../api/types.ts';
import { useAnswer } from '../../api/useAnswer.ts';
import { localMinute } from '../../selection/time.ts';
import { Command } from '../../ui/Command.tsx';
import { DataTable } from '../../ui/DataTable.tsx';
import { Answered } from '../../ui/states/Answered.tsx';
import { TableSkeleton } from '../../ui/states/Skeleton.tsx';
import { Confirm } from '../../views/fleet/Confirm.tsx';
import { ProblemText } from '../../views/fleet/ProblemText.tsx';
import { When } from '../../views/fleet/When.tsx';

const ROUTE = '/api/v1/tokens';

export function TokensPanel() {
  const answer = useAnswer(ROUTE, {});
  const client = useQueryClient();
  const [asked, setAsked] = useState('');
  const revoke = useMutation({
    mutationFn: (name: string) =>
      answerOf(api.DELETE('/api/v1/tokens/{name}', { params: { path: { name } } })),
    onSuccess: () => {
      setAsked('');
      void client.invalidateQueries({ queryKey: [ROUTE] });
    },
  });
  return (
    <section className="panel" aria-label="API tokens">
      <h2>API tokens</h2>
      <Answered query={answer} what="the tokens" skeleton={<TableSkeleton />}>
        {({ tokens }) => (
          <DataTable
            label="API tokens"
            rows={tokens}
            keyOf={({ name }) => name}
            empty={
              <p className="note">No token was created. Those of FLEETPROF_API_TOKENS are not listed.</p>
            }
            columns={[
              { name: 'Name', cell: ({ name }) => name, sortBy: ({ name }) => name },
              { name: 'Role', cell: ({ role }) => role, sortBy: ({ role }) => role },
              {
                name: 'Created',
                cell: ({ created_at, created_by }) => (
                  <span title={created_by}>
                    <When at={created_at} now={answer.dataUpdatedAt} />
                  </span>
                ),
              },
              {
                name: 'Expires',
                cell: ({ expires_at }) => (expires_at === null ? 'never' : localMinute(expires_at)),
              },
              { name: 'Last used', cell: ({ last_used }) => last_used ?? 'never' },
              {
                name: 'Revoke',
                cell: ({ name }) => (
                  <button type="button" aria-label={`revoke ${name}`} onClick={() => setAsked(name)}>
                    Revoke …
                  </button>
                ),
              },
            ]}
          />
        )}
      </Answered>
      <NewToken />
      {asked !== '' && (
        <Confirm
          title={`Revoke the token ${asked}?`}
          action="Revoke"
          busy={revoke.isPending}
          close={() => setAsked('')}
          run={() => revoke.mutate(asked)}
        >
          <p>Programs that use it are refused within seconds, and its sessions end.</p>
          <ProblemText error={revoke.error} />
        </Confirm>
      )}
    </section>
  );
}

function NewToken() {
  const client = useQueryClient();
  const [name, setName] = useState('');
  const [role, setRole] = useState<Role>('viewer');
  const [days, setDays] = useState('');
  const create = useMutation({
    mutationFn: () =>
      answerOf<CreatedToken>(
        api.POST(ROUTE, { body: { name: name.trim(), role, days: days === '' ? null : Number(days) } }),
      ),
    onSuccess: () => {
      setName('');
      void client.invalidateQueries({ queryKey: [ROUTE] });
    },
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    create.mutate();
  };
  return (
    <form className="panel-body" aria-label="new token" onSubmit={submit}>
      <div className="form-grid">
        <label className="field">
          Name
          <input required maxLength={100} value={name} onChange={(event) => setName(event.target.value)} />
        </label>
        <label className="field">
          Role
          <select value={role} onChange={(event) => setRole(event.target.value as Role)}>
            <option>viewer</option>
            <option>operator</option>
            <option>admin</option>
          </select>
        </label>
        <label className="field">
          Days until it expires
          <input
            type="number"
            min={1}
            value={days}
            placeholder="never"
            onChange={(event) => setDays(event.target.value)}
          />
        </label>
      </div>
      <p className="form-actions">
        <button type="submit" disabled={create.isPending}>
          Create a token
        </button>
      </p>
      <ProblemText error={create.error} />
      {create.data && (
        <p role="status">
          The token {create.data.name}, which is shown only now: <Command text={create.data.token} />
        </p>
      )}
    </form>
  );
}
