/** Saved views, which all readers share. */
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { answerOf, api } from '../../api/client.ts';
import type { SavedView } from '../../api/types.ts';
import { useAnswer } from '../../api/useAnswer.ts';
import { useReasonAgainst } from '../../api/useSession.ts';
import { SECTION_NAMES, sectionOf } from '../../app/pageNames.ts';
import { useToast } from '../../app/Toast.tsx';
import { copy } from '../../ui/copy.ts';
import { DataTable, type Column } from '../../ui/DataTable.tsx';
import { Answered } from '../../ui/states/Answered.tsx';
import { TableSkeleton } from '../../ui/states/Skeleton.tsx';
import { Confirm } from '../../views/fleet/Confirm.tsx';
import { ProblemText } from '../../views/fleet/ProblemText.tsx';
import { When } from '../../views/fleet/When.tsx';

function pageOf(path: string): string {
  return SECTION_NAMES[sectionOf(path)] ?? path;
}

export function ViewsPanel() {
  const answer = useAnswer('/api/v1/views', {});
  const reason = useReasonAgainst('operator');
  const client = useQueryClient();
  const say = useToast();
  const [asked, setAsked] = useState<SavedView | null>(null);
  const remove = useMutation({
    mutationFn: (id: string) =>
      answerOf(api.DELETE('/api/v1/views/{view_id}', { params: { path: { view_id: id } } })),
    onSuccess: () => {
      setAsked(null);
      void client.invalidateQueries({ queryKey: ['/api/v1/views'] });
    },
  });
  const copyLink = (short: string): void => {
    const link = location.origin + short;
    void copy(link).then((done) => say(done ? 'Link copied.' : `Copy this link: ${link}`));
  };
  const columns: readonly Column<SavedView>[] = [
    { name: 'Name', cell: ({ name, path }) => <a href={path}>{name}</a>, sortBy: ({ name }) => name },
    {
      name: 'Page',
      cell: ({ path }) => pageOf(path),
      sortBy: ({ path }) => pageOf(path),
    },
    { name: 'Saved', cell: ({ created_at }) => <When at={created_at} now={answer.dataUpdatedAt} /> },
    { name: 'By', cell: ({ role }) => role },
    {
      name: 'Link',
      cell: ({ short, name }) => (
        <>
          <code>{short}</code>{' '}
          <button type="button" onClick={() => copyLink(short)} aria-label={`copy the link of ${name}`}>
            Copy
          </button>
        </>
      ),
    },
    {
      name: 'Delete',
      cell: (view) => (
        <button
          type="button"
          disabled={reason !== ''}
          title={reason}
          onClick={() => setAsked(view)}
          aria-label={`delete ${view.name}`}
        >
          Delete
        </button>
      ),
    },
  ];
  return (
    <section className="panel" aria-label="saved views">
      <h2>
        Saved views <span className="note">save one with Export ▾, Save view</span>
      </h2>
      <Answered query={answer} what="the saved views" skeleton={<TableSkeleton />}>
        {({ views }) => (
          <DataTable
            label="saved views"
            columns={columns}
            rows={views}
            keyOf={({ id }) => id}
            sorted="Page"
            empty={<p className="note">No view is saved.</p>}
          />
        )}
      </Answered>
      {asked !== null && (
        <Confirm
          title={`Delete the view ${asked.name}?`}
          action="Delete"
          busy={remove.isPending}
          close={() => setAsked(null)}
          run={() => remove.mutate(asked.id)}
        >
          <p>Its link {asked.short} then leads nowhere.</p>
          <ProblemText error={remove.error} />
        </Confirm>
      )}
    </section>
  );
}
