/**
 * Which clusters join which, and when: the one place where mergers are found, for the tree, the ticks, the
 * captions of the story and the description in words. They are read from the leaders of all frames. A cluster
 * is named by its leader, the first of its tokens; it ends in the frame in which that token is found in the
 * cluster of an earlier one.
 */

export interface Branch {
  leader: number; // token, from 0
  from: number; // first frame
  to: number; // last frame
  parent: number; // the branch that it joins in frame to + 1; -1: none
  origin: number; // the branch that it leaves in frame `from`; -1: there from the start
  sizes: number[]; // tokens in frames from … to
  ofNote: boolean;
}

export interface Merger {
  frame: number; // the first in which the two are one
  branch: number; // that ends; its parent is the one it joins
  lost: number; // its leader, from 0
  into: number; // the leader it has since
  tokens: number; // of the cluster that is lost, in the frame before
  left: number; // clusters in this frame
  ofNote: boolean;
}

export interface MergerHistory {
  branches: Branch[];
  mergers: Merger[]; // by frame
  eventFrames: number[]; // that have a merger of note, in order
}

const NOTED_SHARE = 0.03; // of the tokens, from which a cluster is of note,
const NOTED_TOKENS = 3; // and so many at least;
const FEW_TOKENS = 5; // of so few tokens each one is
const FEW_LEFT = 12; // where so few clusters are left, the loss of any is of note

/** How many tokens make a cluster of note; `nucleate.explorer.thumbnails` has the same. */
export const notedSize = (n: number): number =>
  n <= FEW_TOKENS ? 1 : Math.max(NOTED_TOKENS, NOTED_SHARE * n);

/** The history in leaders (m, n), frame by frame. */
export function mergerHistory(leader: Int32Array, n: number): MergerHistory {
  const frames = n === 0 ? 0 : Math.floor(leader.length / n);
  const branches: Branch[] = [];
  const mergers: Merger[] = [];
  const open = new Int32Array(n).fill(-1); // the branch that a token leads
  const size = new Int32Array(n);
  let alive: number[] = []; // branches
  for (let i = 0; i < frames; i++) {
    const now = leader.subarray(i * n, (i + 1) * n);
    const before = i === 0 ? null : leader.subarray((i - 1) * n, i * n);
    size.fill(0);
    for (let k = 0; k < n; k++) size[now[k]]++;
    const count = alive.length; // clusters of the frame before
    const ended = alive.filter((b) => now[branches[b].leader] !== branches[b].leader);
    const begun: number[] = [];
    for (let k = 0; k < n; k++) {
      if (now[k] !== k || open[k] >= 0) continue;
      const origin = before === null ? -1 : open[before[k]];
      begun.push(branches.length);
      branches.push({ leader: k, from: i, to: i, parent: -1, origin, sizes: [], ofNote: false });
    }
    for (const b of begun) open[branches[b].leader] = b;
    const left = size.reduce((sum, tokens) => sum + (tokens > 0 ? 1 : 0), 0);
    for (const b of ended) {
      const one = branches[b];
      const tokens = one.sizes[one.sizes.length - 1];
      const into = now[one.leader];
      one.parent = open[into];
      const ofNote = tokens >= notedSize(n) || count <= FEW_LEFT;
      mergers.push({ frame: i, branch: b, lost: one.leader, into, tokens, left, ofNote });
    }
    for (const b of ended) open[branches[b].leader] = -1;
    alive = [...alive.filter((b) => open[branches[b].leader] === b), ...begun];
    for (const b of alive) {
      branches[b].to = i;
      branches[b].sizes.push(size[branches[b].leader]);
    }
  }
  for (const b of alive) branches[b].ofNote = true;
  for (const { branch, ofNote } of mergers)
    if (ofNote) branches[branch].ofNote = branches[branches[branch].parent].ofNote = true;
  const noted = mergers.filter(({ ofNote }) => ofNote).map(({ frame }) => frame);
  return { branches, mergers, eventFrames: [...new Set(noted)] };
}

/** The next event after a frame, or the last one before it; null: there is none. */
export function neighbourEvent(frames: number[], at: number, by: 1 | -1): number | null {
  const found = by > 0 ? frames.find((frame) => frame > at) : frames.findLast((frame) => frame < at);
  return found ?? null;
}

/** Those after one frame and up to a later one, in the order of time. */
export const mergersBetween = (history: MergerHistory | null, from: number, to: number): Merger[] =>
  history?.mergers.filter(({ frame }) => frame > from && frame <= to) ?? [];

/** What happens in a frame, in words; tokens are counted from 1. */
export function describeMergers(history: MergerHistory, frame: number, most = 3): string {
  const here = history.mergers.filter((one) => one.frame === frame && one.ofNote);
  here.sort((a, b) => b.tokens - a.tokens);
  const words = here
    .slice(0, most)
    .map(
      ({ lost, into, tokens }) =>
        `the cluster of token ${lost + 1} (${tokens === 1 ? "1 token" : `${tokens} tokens`})` +
        ` joins that of token ${into + 1}`,
    );
  if (here.length > most) words.push(`${here.length - most} more mergers`);
  return words.join("; ");
}

export interface Row {
  branch: number;
  at: number; // 0 to 1, from the top
}

const NOTED_ROOM = 4; // room that a branch of note takes, in that of another

/**
 * A place for every branch, so that the line of a merger crosses no branch: around its trunk, what joins
 * first is nearest. At most `most` branches have one, those that hold most, and those that they join.
 */
export function treeRows({ branches, mergers }: MergerHistory, most: number): Row[] {
  const held = (b: number): number => branches[b].sizes.reduce((sum, size) => sum + size, 0);
  const chosen = new Set<number>();
  const byWeight = branches.map((_, b) => b);
  if (branches.length > most) {
    const weight = branches.map((_, b) => held(b) + (branches[b].ofNote ? 1e12 : 0));
    byWeight.sort((a, b) => weight[b] - weight[a]);
  }
  for (const b of byWeight.slice(0, most))
    for (let at = b; at >= 0 && !chosen.has(at); at = branches[at].parent) chosen.add(at);
  const children = new Map<number, number[]>();
  for (const { branch } of mergers) {
    if (!chosen.has(branch)) continue;
    const { parent } = branches[branch];
    if (!children.has(parent)) children.set(parent, []);
    children.get(parent)!.push(branch); // mergers are in order: what joins first comes first
  }
  const room = (b: number): number => (branches[b].ofNote ? NOTED_ROOM : 1);
  const order: number[] = [];
  const roots = [...chosen]
    .filter((b) => branches[b].parent < 0)
    .sort((a, b) => branches[a].leader - branches[b].leader);
  // without recursion: a chain of tokens that join one another may be long
  const blocks = new Map<number, number[]>();
  for (const root of roots) {
    const stack = [root];
    const visit: number[] = [];
    while (stack.length > 0) {
      const b = stack.pop()!;
      visit.push(b);
      stack.push(...(children.get(b) ?? []));
    }
    for (const b of visit.reverse()) {
      let above: number[] = [];
      let below: number[] = [];
      let [roomAbove, roomBelow] = [0, 0];
      for (const child of children.get(b) ?? []) {
        const block = blocks.get(child)!;
        blocks.delete(child);
        const size = block.reduce((sum, one) => sum + room(one), 0);
        if (roomAbove < roomBelow) {
          above = [...block, ...above];
          roomAbove += size;
        } else {
          below = [...below, ...block];
          roomBelow += size;
        }
      }
      blocks.set(b, [...above, b, ...below]);
    }
    order.push(...blocks.get(root)!);
  }
  const whole = order.reduce((sum, b) => sum + room(b), 0);
  let passed = 0;
  return order.map((branch) => {
    const at = (passed + room(branch) / 2) / whole;
    passed += room(branch);
    return { branch, at };
  });
}
