/** Saves the graph for Graphviz. A link cannot do it: the request needs the session's header. */
import { addressOf } from '../../api/client.ts';
import { session, SESSION_HEADER } from '../../api/session.ts';

export async function saveDot(query: object): Promise<void> {
  const address = addressOf('/api/v1/call-graph', { ...query, format: 'dot', download: 1 });
  const response = await fetch(address, { headers: { [SESSION_HEADER]: session() } });
  if (!response.ok) throw new Error(`The server returned status ${response.status}.`);
  const link = document.createElement('a');
  link.href = URL.createObjectURL(await response.blob());
  link.download = 'call-graph.dot';
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
