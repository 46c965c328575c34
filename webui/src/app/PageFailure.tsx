/** Shows a fault of a page in its place, so that the navigation stays. */
import { Component, type ReactNode } from 'react';

interface State {
  fault: Error | null;
}

export class PageFailure extends Component<{ children: ReactNode }, State> {
  override state: State = { fault: null };

  static getDerivedStateFromError(fault: Error): State {
    return { fault };
  }

  override render(): ReactNode {
    const { fault } = this.state;
    if (fault === null) return this.props.children;
    return (
      <main id="main" className="state alone" role="alert">
        <h1>This page failed</h1>
        <p>
          <code>{fault.message}</code>
        </p>
        <p>A new release of the server may have replaced the page.</p>
        <button type="button" className="primary" onClick={() => location.reload()}>
          Reload the page
        </button>
      </main>
    );
  }
}
