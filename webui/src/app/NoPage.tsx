/** The URL matches no page; showing a profile of everything would be misleading. */
export function NoPage() {
  return (
    <main className="state alone">
      <h1>Page not found</h1>
      <p>
        No page has the address <code>{location.pathname}</code>.
      </p>
      <p>
        <a href="/">Profiles</a> · <a href="/symbols">Symbols</a>
      </p>
    </main>
  );
}
