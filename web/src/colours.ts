/**
 * The colours of every view: a token has the colour of the leader (first
 * token) of its cluster at the cursor; red marks strong centers, ink Rényi centers. Of the eight colours and
 * the grey of tokens that wait, every two differ for deuteranopes too, and each stands out from its ground
 * by 3:1; tests/palette.test.ts says by how much.
 */

import { notedSize } from "./mergers.ts";

/** On white. */
export const CLUSTERS = [
  "#0836b9",
  "#20a474",
  "#9e9108",
  "#7f1064",
  "#5098d1",
  "#974f70",
  "#4d68cd",
  "#891c3a",
] as const;
/** On the dark ground. */
export const DARK_CLUSTERS = [
  "#70deff",
  "#cef58e",
  "#a484f8",
  "#b9ac13",
  "#4ead94",
  "#c80064",
  "#0064d7",
  "#97f2d5",
] as const;
// Every eleventh of matplotlib's viridis (CC0).
const VIRIDIS = [
  "#440154",
  "#482475",
  "#414487",
  "#355f8d",
  "#2a788e",
  "#21918c",
  "#22a884",
  "#44bf70",
  "#7ad151",
  "#bddf26",
  "#fde725",
];

export interface Theme {
  dark: boolean;
  ink: string;
  paper: string;
  soft: string; // labels
  faint: string; // axes and grids
  red: string;
  band: string; // what many runs do, behind what one does
  waiting: string; // tokens that belong to no cluster of note, or whose cluster is not known yet
  clusters: readonly string[]; // eight
}

export const LIGHT: Theme = {
  dark: false,
  ink: "#111418",
  paper: "#ffffff",
  soft: "#5a626c",
  faint: "#dfe3e8",
  red: "#d62728",
  band: "#2b7a9b",
  waiting: "#8d939b",
  clusters: CLUSTERS,
};
export const DARK: Theme = {
  dark: true,
  ink: "#e6e6e6",
  paper: "#14171c",
  soft: "#98a2ae",
  faint: "#2b323b",
  red: "#ff6255",
  band: "#7cc7e8",
  waiting: "#6a727d",
  clusters: DARK_CLUSTERS,
};

export type Rgb = [number, number, number]; // 0 to 255

export function rgb(hex: string): Rgb {
  const value = parseInt(hex.slice(1), 16);
  return [value >> 16, (value >> 8) & 255, value & 255];
}

export function viridis(share: number): Rgb {
  const at = Math.min(1, Math.max(0, share)) * (VIRIDIS.length - 1);
  const low = rgb(VIRIDIS[Math.floor(at)]);
  const high = rgb(VIRIDIS[Math.ceil(at)]);
  return low.map((value, i) => Math.round(value + (at % 1) * (high[i] - value))) as Rgb;
}

export const hex = (colour: ArrayLike<number>): string => {
  return "#" + [0, 1, 2].map((i) => Math.round(colour[i]).toString(16).padStart(2, "0")).join("");
};

/** The first token of every token's cluster; labels may be any whole numbers. */
export function leaders(labels: ArrayLike<number>, out: Int32Array): void {
  const first = new Map<number, number>();
  for (let k = 0; k < labels.length; k++) {
    const known = first.get(labels[k]);
    if (known === undefined) first.set(labels[k], k);
    out[k] = known ?? k;
  }
}

const FEW_CLUSTERS = 48; // so few clusters at the end all have a colour, however small

/**
 * Which of the eight colours each token wears as a leader, (n,); -1: none. A colour goes to leaders that ever
 * hold a fair share of the tokens or that are among a few that lead in the end; others are grey until they
 * join one. Leaders that hold many tokens for many frames choose first, so the clusters one looks at longest
 * never share a colour before the eight are used up.
 */
export function ranks(leader: Int32Array, n: number): Int32Array {
  const held = new Float64Array(n); // tokens, summed over frames
  const most = new Int32Array(n); // tokens at once
  const size = new Int32Array(n);
  for (let at = 0; at < leader.length; at += n) {
    size.fill(0);
    for (let k = 0; k < n; k++) size[leader[at + k]]++;
    for (let k = 0; k < n; k++) {
      held[k] += size[k];
      if (size[k] > most[k]) most[k] = size[k];
    }
  }
  // size: now of the last frame
  const few = size.reduce((count, tokens) => count + (tokens > 0 ? 1 : 0), 0) <= FEW_CLUSTERS;
  const worthy = (k: number): boolean => (few && size[k] > 0) || most[k] >= notedSize(n);
  const order = Array.from({ length: n }, (_, k) => k)
    .filter(worthy)
    .sort((a, b) => held[b] - held[a] || a - b);
  const rank = new Int32Array(n).fill(-1);
  order.forEach((token, place) => (rank[token] = place));
  return rank;
}

/** The part of viridis in which places in the sequence are coloured: 3:1 on the ground, or more. */
export const orderRange = (theme: Theme): [number, number] => (theme.dark ? [0.37, 1] : [0, 0.59]);

const DIMMED_SHARE = 0.16; // of its colour, that a token keeps while others are looked at

/**
 * The colour of every token, (n, 4) bytes; refilled in place when frame, theme or colouring change. The
 * fourth byte is 255, or less while other tokens are looked at.
 */
export class Palette {
  bytes = new Uint8Array(0);
  version = 0;
  own = new Uint8Array(0); // (n, 4) the colour of every token while it leads, whatever the frame
  trailVersion = 0; // of `own`, of who is looked at, and of what is known of clusters
  private byLeader = true;
  private rank: Int32Array | null = null;

  /** A new run: forget the old ranks. */
  begin(n: number): void {
    this.bytes = new Uint8Array(n * 4).fill(255);
    this.own = new Uint8Array(n * 4).fill(255);
    this.rank = null;
    this.version++;
    this.trailVersion++;
  }

  learn(leader: Int32Array, n: number): void {
    this.rank = ranks(leader, n);
    this.trailVersion++;
  }

  /** `focus` (n,): 1 for the tokens that are looked at; null: all of them. */
  fill(
    leader: Int32Array | null,
    colouring: "cluster" | "order",
    theme: Theme,
    focus: Uint8Array | null = null,
  ): void {
    const n = this.bytes.length / 4;
    const waiting = rgb(theme.waiting);
    const paper = rgb(theme.paper);
    let ownChanged = this.byLeader !== (colouring === "cluster");
    this.byLeader = colouring === "cluster";
    const clusters = theme.clusters.map(rgb);
    const [low, high] = orderRange(theme); // leaves out the end that fades into the page
    let changed = false;
    for (let k = 0; k < n; k++) {
      const inOrder = colouring === "order" ? viridis(low + ((high - low) * k) / Math.max(1, n - 1)) : null;
      const ofRank = (rank: number): Rgb => inOrder ?? (rank >= 0 ? clusters[rank % 8] : waiting);
      const own = ofRank(this.rank?.[k] ?? -1);
      const bright = ofRank(leader !== null && this.rank !== null ? this.rank[leader[k]] : -1);
      const dimmed = focus !== null && focus[k] === 0;
      const share = dimmed ? DIMMED_SHARE : 1;
      const alpha = Math.round(255 * share);
      if (this.bytes[4 * k + 3] !== alpha) ownChanged = true;
      this.bytes[4 * k + 3] = alpha;
      for (let c = 0; c < 3; c++) {
        const value = Math.round(paper[c] + share * (bright[c] - paper[c]));
        if (this.bytes[4 * k + c] !== value) changed = true;
        this.bytes[4 * k + c] = value;
        if (this.own[4 * k + c] !== own[c]) ownChanged = true;
        this.own[4 * k + c] = own[c];
      }
    }
    if (changed || ownChanged) this.version++;
    if (ownChanged) this.trailVersion++;
  }

  /** The colour that a token has while it leads. */
  ownOf(k: number): string {
    return hex(this.own.subarray(4 * k, 4 * k + 3));
  }

  /** Whether a token is not among those that are looked at. */
  isDimmed(k: number): boolean {
    return this.bytes[4 * k + 3] < 255;
  }

  /**
   * Whose colour the trail of token k has from each frame to the next, (m,): that of its leader then, or,
   * while that one has none, of the first leader it follows later that has one.
   */
  trailLeaders(leader: Int32Array | null, frames: number, k: number): Int32Array {
    const { rank, byLeader } = this;
    const n = this.bytes.length / 4;
    const whose = new Int32Array(frames).fill(k);
    if (leader === null || rank === null || !byLeader) return whose;
    for (let i = frames - 1, later = k; i >= 0; i--) {
      const now = leader[i * n + k] ?? k;
      if (rank[now] >= 0) later = now;
      whose[i] = later;
    }
    return whose;
  }

  of(k: number): string {
    return hex(this.bytes.subarray(4 * k, 4 * k + 3));
  }
}
