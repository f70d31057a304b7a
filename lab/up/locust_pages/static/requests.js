// Requests to the Locust process that served this page.

const token = document.querySelector("meta[name=chaos-token]").content;

export async function send(method, path, body) {
  const init = { method, headers: { "X-Chaos-Page": token } };
  if (body !== undefined) {
    init.headers["Content-Type"] = "application/json";
    init.body = JSON.stringify(body);
  }
  const reply = await fetch(path, init);
  if (!reply.ok) throw new Error(await complaint(reply));
  return reply.json();
}

async function complaint(reply) {
  const words = await reply.text();
  try {
    return JSON.parse(words).detail;
  } catch {
    return `Locust answered ${reply.status}; reload the page`;
  }
}
