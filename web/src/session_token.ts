/**
 * The token of this session. It comes in the address that the server printed; the browser then keeps it for
 * this host and port, where pages of no other port can read it, so that links without it open in a new tab,
 * and a tab goes on when a server started anew has been opened beside it. The address loses it: what is
 * copied from there holds no secret.
 */

const KEY = "nucleate-token";

export interface TokenStore {
  read(): string | null;
  /** False where nothing can be kept. */
  write(token: string): boolean;
}

/** Of the browser; where it keeps nothing, such as with all cookies blocked, there is none. */
export const browserStore: TokenStore = {
  read: () => {
    try {
      return localStorage.getItem(KEY);
    } catch {
      return null;
    }
  },
  write: (token) => {
    try {
      localStorage.setItem(KEY, token);
      return localStorage.getItem(KEY) === token;
    } catch {
      return false;
    }
  },
};

export class SessionToken {
  private tries = 0;

  constructor(
    private given: string | null, // in the address, or the last that was right
    private readonly store: TokenStore,
    private readonly onKept: () => void,
  ) {}

  /** The token to try next: the one that was given, then the one that the browser has kept meanwhile. */
  next(): string {
    const known = [this.given, this.store.read()].filter((token) => token !== null && token !== "");
    return known.length === 0 ? "" : known[this.tries++ % known.length]!;
  }

  /** The server took it. */
  accepted(token: string): void {
    this.given = token;
    this.tries = 0;
    if (this.store.write(token)) this.onKept();
  }
}
