/** The URL matches no page; showing a profile of everything would be misleading. */
export function NoPage() {
  return (
    <main className="state alone">
      <h1>There is no such page</h1>
      <p>
        Nothing is at <code>{location.pathname}</code>.
      </p>
      <p>
        <a href="/">Profiles</a> · <a href="/symbols">Symbols</a>
      </p>
    </main>
  );
}
