'use strict';
// The keys are those of the web UI: webui/src/ui/useTheme.ts and webui/src/api/session.ts.
const stored = (key) => {
  try {
    return localStorage.getItem(key);
  } catch {
    return null; // storage is forbidden
  }
};
const theme = stored('fleetprof:theme');
if (theme === 'dark' || theme === 'light') document.documentElement.style.colorScheme = theme;

for (const button of document.querySelectorAll('[data-copy]')) {
  button.addEventListener('click', async () => {
    try {
      await navigator.clipboard.writeText(button.dataset.copy);
      button.textContent = 'Copied';
    } catch {
      // Without TLS a page has no clipboard: the command is selected, so that the reader can copy it.
      getSelection().selectAllChildren(button.previousElementSibling);
    }
  });
}

document.getElementById('sign-in')?.addEventListener('submit', async (event) => {
  event.preventDefault();
  const problem = document.getElementById('problem');
  problem.textContent = '';
  try {
    const response = await fetch('/login', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ token: document.getElementById('token').value.trim() }),
    });
    const answer = await response.json();
    if (!response.ok) {
      problem.textContent = `${answer.detail} ${answer.hint}`;
      return;
    }
    // The web UI takes the session from the fragment, and goes to the address that the reader opened first.
    location.replace(`/#session=${answer.binding}`);
  } catch {
    problem.textContent = 'The server is unreachable.';
  }
});
