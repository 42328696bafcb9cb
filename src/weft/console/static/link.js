/* The way to the console: one WebSocket, which brings the picture whole at first and then as patches.
   When it is lost, the link tries again with growing pauses, and says since when and how long until the next try. */

import { merged } from "./patch.js";

const FIRST_PAUSE = 500;
const LONGEST_PAUSE = 15_000;

export class Link {
  constructor({ changed, state }) {
    this.changed = changed;
    this.state = state;
    this.picture = undefined;
    this.looks = undefined;
    this.pause = FIRST_PAUSE;
    this.lostAt = undefined;
    this.connect();
  }

  connect() {
    clearTimeout(this.timer);
    this.tryAt = undefined;
    this.refused = false;
    const scheme = location.protocol === "https:" ? "wss:" : "ws:";
    const socket = new WebSocket(`${scheme}//${location.host}/ws`);
    this.socket = socket;
    this.phase = "connecting";
    this.state();
    socket.addEventListener("open", () => {
      if (this.looks !== undefined) socket.send(this.looks);
    });
    socket.addEventListener("message", (event) => this.read(event.data));
    socket.addEventListener("close", () => socket === this.socket && this.lost());
  }

  /** What cannot be read is as good as lost: better to say so than to show an old picture as if it were live. */
  read(data) {
    try {
      this.heard(JSON.parse(data));
    } catch (problem) {
      this.socket.close();
      throw problem;
    }
  }

  heard(message) {
    if (message.type === "full") this.picture = message.picture;
    else if (message.type === "delta" && this.picture !== undefined) this.picture = merged(this.picture, message.patch);
    else return;
    if (this.phase !== "open") {
      this.phase = "open";
      this.pause = FIRST_PAUSE;
      this.lostAt = undefined;
      this.state();
    }
    this.changed();
  }

  lost() {
    this.lostAt ??= Date.now();
    this.phase = "lost";
    this.tryAt = Date.now() + this.pause;
    this.timer = setTimeout(() => this.connect(), this.pause);
    this.pause = Math.min(LONGEST_PAUSE, this.pause * 2);
    this.state();
    this.askWhy();
  }

  /** A browser does not say why a WebSocket was refused; a plain request does. */
  async askWhy() {
    try {
      const answer = await fetch("/api/picture", { method: "HEAD" });
      this.refused = answer.status === 401 || answer.status === 403;
    } catch {
      this.refused = false;
    }
    this.state();
  }

  /** What this page shows now: nodes are asked for nothing that nobody looks at.  True if that is news. */
  look(federation, sections) {
    const words = JSON.stringify({ type: "look", ...(federation === undefined ? {} : { federation }), sections });
    if (words === this.looks) return false;
    this.looks = words;
    if (this.socket.readyState === WebSocket.OPEN) this.socket.send(words);
    return true;
  }
}

const token = () => document.querySelector('meta[name="weft-csrf"]').content;

/** A changing request.  The answer is {ok, …} or {error: words}; it never throws. */
export async function request(method, path, body) {
  try {
    const answer = await fetch(path, {
      method,
      headers: { "X-Weft-Token": token(), ...(body === undefined ? {} : { "Content-Type": "application/json" }) },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const found = await answer.json().catch(() => ({}));
    if (found.error !== undefined) return { error: String(found.error) };
    if (!answer.ok) return { error: `The console answered ${answer.status} ${answer.statusText}.` };
    return { ok: true, ...found };
  } catch {
    return { error: "The console did not answer. Is it still running?" };
  }
}
