// Who is looking. On a server for many people each request has the viewer's own token in a header;
// on one's own machine the address is enough.

const KEPT = "netclaim-viewer"; // for as long as the tab is open
const AGAIN_MS = 3000;

const shared = document.documentElement.dataset.access === "token";
const $ = (id) => document.getElementById(id);
let viewer = { token: "", namespace: "" };
try {
  viewer = { ...viewer, ...JSON.parse(sessionStorage.getItem(KEPT) ?? "{}") };
} catch { /* a browser that keeps nothing */ }

// Ask the server for something.
export function ask(path) {
  if (!shared) return fetch(path);
  const query = viewer.namespace ? `${path.includes("?") ? "&" : "?"}namespace=${encodeURIComponent(viewer.namespace)}` : "";
  return fetch(path + query, { headers: viewer.token ? { Authorization: `Bearer ${viewer.token}` } : {} });
}

// Follow the changes: `take` gets the name and the text of each event, `state` how it goes.
export function follow(take, state) {
  if (shared) return void read(take, state);
  const stream = new EventSource("stream");
  for (const name of ["all", "some"]) stream.addEventListener(name, (event) => take(name, event.data));
  stream.onerror = () => state(stream.readyState === EventSource.CLOSED ? "ended" : "lost");
}

// An EventSource sends no header, so the stream is read as it comes.
async function read(take, state) {
  for (;;) {
    let refusal = "";
    try {
      const answer = await ask("stream");
      if (answer.ok) {
        $("sign-out").hidden = !viewer.token;
        await events(answer.body, take);
      } else if (answer.status === 401) {
        await signIn(viewer.token ? await answer.text() : "");
        continue;
      } else refusal = await answer.text();
    } catch { /* the server is away */ }
    state("lost", refusal);
    await new Promise((done) => setTimeout(done, AGAIN_MS));
  }
}

async function events(body, take) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let held = [];
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    held.push(value);
    if (!value.includes("\n")) continue; // in the middle of a long line
    const parts = held.join("").split("\n\n");
    held = [parts.pop()];
    for (const part of parts) {
      const [, name, data] = /^event: (\w+)\ndata:(.*)$/s.exec(part) ?? [];
      if (name === "all" || name === "some") take(name, data);
    }
  }
}

// Ask the viewer for a token; `fault` is why the last one would not do.
function signIn(fault) {
  $("sign-in").hidden = false;
  document.body.classList.add("signing-in");
  $("sign-in-fault").textContent = fault;
  $("namespace").value = viewer.namespace;
  $("token").focus();
  return new Promise((done) => {
    $("sign-in").onsubmit = (event) => {
      event.preventDefault();
      viewer = { token: $("token").value.trim(), namespace: $("namespace").value.trim() };
      $("token").value = "";
      keep();
      $("sign-in").hidden = true;
      document.body.classList.remove("signing-in");
      done();
    };
  });
}

function keep() {
  try {
    sessionStorage.setItem(KEPT, JSON.stringify(viewer));
  } catch { /* it is asked for again */ }
}

if (shared) $("sign-out").addEventListener("click", () => {
  viewer = { token: "", namespace: "" };
  keep();
  location.reload();
});
