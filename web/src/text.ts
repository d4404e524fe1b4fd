/** Every longer text of the page, in one place. */

export const TITLES: { [view: string]: string } = {
  sphere: "Sphere",
  circle: "Circle",
  angles: "Angles",
  mergers: "Mergers",
  clusters: "Clusters",
  consumption: "Consumption",
  lengths: "Lengths",
  attention: "Attention",
  spectrum: "Spectrum of V",
  words: "Text",
  cosine: "Mean cosine",
  rank: "Effective rank",
  cover: "Near centers",
  sink: "Sink",
  lost: "Lost in the picture",
};

export const EXPLANATIONS: { [view: string]: string } = {
  sphere:
    "Every dot is a token on the unit sphere, and its line is the way it came. Tokens of one cluster " +
    "share the colour of their leader, the first of them in the sequence, and grey ones have joined none " +
    "of note; a line has the colour of its cluster then, or of the first it joined. Rings mark Rényi " +
    "centers, red ones strong centers, diamonds frozen tokens. Drag to turn; at time 0, drag a token to " +
    "move it, and the run begins anew.",
  circle:
    "Every dot on the rim is a token; inside, the past grows outward like the rings of a tree, from time " +
    "0 at the hole to the end near the rim. Tokens of one cluster share the colour of their leader, grey " +
    "ones have joined none of note, and the bars outside count them; a line has the colour of its cluster " +
    "then, or of the first it joined; diamonds are frozen tokens. At time 0, drag a token to move it, and " +
    "the run begins anew.",
  angles:
    "Each line follows one token through time: on the circle its angle, on spheres its distance from " +
    "token 1 or its longitude. Lines that run together have become one cluster. Rényi centers are drawn " +
    "in black (white on dark), strong ones in red, as in Figure 2 of the paper.",
  mergers:
    "Who joins whom: every line is a cluster, named on the left by its leader, as thick as it has tokens. " +
    "It ends at the cluster that takes it in. Point at a line to see its tokens in the other views, press " +
    "it to keep them so. Where there are very many clusters, some small ones are left out.",
  clusters:
    "The number of clusters over time: two tokens belong together if short steps from token to token lead" +
    " from one to the other. Plateaus are metastable states, each step down is a merger. With V = I the " +
    "last step, to one cluster at token 1, can take longer than any run you wait for.",
  consumption:
    "The share of tokens that lie within δ of a center, for Rényi centers and for the fewer strong ones " +
    "(Figure 3). Centers are chosen at time 0 and move with the run. Strong centers hardly move but leave" +
    " some tokens unexplained; Rényi centers explain more but drift and merge.",
  lengths:
    "The length r of each token over time: with Pre-LN, Peri-LN and Mix-LN a token is r times its " +
    "direction. The longer it has grown, the more slowly it turns. The other views show directions.",
  attention:
    "Row k shows how token k divides its attention among the tokens it may see; every row sums to one, also" +
    " where the weights are exponential and nothing divides them in the motion. " +
    "Ordered by cluster, clusters that listen to themselves are bright blocks. Causal masking leaves " +
    "everything right of the diagonal empty, so token 1 hears only itself. Where tokens are frozen, seen " +
    "by all and never moving, a column of its own shows what goes to them together.",
  spectrum:
    "The eigenvalues of the value matrix V in the complex plane; the dominant one, with the largest real " +
    "part, decides where tokens end. The words beside it are the matching row of the paper's Table 1. " +
    "Only the first row is a theorem, the others are conjectures and experiments; all are about causal " +
    "attention without frozen tokens.",
  words:
    "The tokens of the text in their order. Those underlined are Rényi centers at the embedding, with" +
    " δ such that a quarter of all tokens are; red ones are strong centers. The chosen token is dark," +
    " the earlier tokens nearest to it at this depth are tinted. Cosines are those of the model’s own" +
    " dimension.",
  cosine:
    "The mean cosine of all pairs of tokens, first token left out: 1 when all point one way. " +
    "Controls: the same tokens in random order, and the same text under random weights of the same " +
    "norms, drawn anew in every layer. What the text shares with a control is not due to what the " +
    "control destroys.",
  rank:
    "How many dimensions the directions of the tokens fill: the exponential of the entropy of their " +
    "singular values, first token left out. One means that all lie on a line. The controls are those " +
    "of the mean cosine.",
  cover:
    "The mean cosine of a token with the nearest earlier Rényi center of another word, first token " +
    "left out. The band holds 95 % of 99 draws in which as many other tokens of about the same places" +
    " are called centers. Inside the band, centers are no nearer than other tokens; one text decides " +
    "nothing.",
  sink:
    "The norm of the first token over the median norm of the others. A large one marks a sink, which " +
    "takes much of all attention. Such a token is left out of the other curves.",
  lost:
    "The share of squared length that three directions lose, layer by layer, first token left out. " +
    "Directions of all layers together keep one frame for the whole way; each layer’s own lose least," +
    " and turn with it.",
};

/** Of views that show runs as well, where they show a trace. */
export const TRACE_EXPLANATIONS: { [view: string]: string } = {
  sphere:
    "Every dot is a token of the text, seen as a direction: its hidden state over its length. A model’s" +
    " sphere has hundreds of dimensions and the picture three, so dots lie inside the ball, the deeper " +
    "the more is lost; the line below says how much. Dark to light is the place in the text; rings mark" +
    " Rényi centers at the embedding, red ones strong centers. Drag to turn, zoom in to come to the " +
    "tokens.",
  lengths:
    "The norm of every token’s hidden state over depth, one line per token, dark to light by its place in " +
    "the text. The line that leaves the others by far is the sink, often the first token. The other views " +
    "show directions, for which norms do not count.",
};

/** The scene the page opens with, as a preset. */
export const FIRST_PRESET = {
  title: "First look",
  explain:
    "Tokens start anywhere on the circle and, within a few units of time, gather around centers. Then " +
    "clusters merge one by one. Drag β and see their number change.",
};

export const TABLE_1: [string, string, string][] = [
  ["> 0", "d", "the first token"],
  ["> 0", "≥ 2", "one point in L"],
  ["> 0", "1", "two points ±ξ"],
  ["< 0", "≥ 2", "a cloud around L"],
  ["< 0", "1", "two clouds around ±ξ"],
];

export const SHORTCUTS: [string, string][] = [
  ["Space", "play or pause"],
  ["← →", "one frame back or on (with Shift: ten)"],
  ["Home, End", "first or last frame"],
  ["N, P", "next or previous merger of note"],
  ["[ ]", "highlight the previous or next token, in every view"],
  ["Esc", "highlight none; close a window"],
  ["R", "run again"],
  ["E", "show or hide all explanations"],
  ["T", "light or dark"],
  ["Page Up, Page Down", "in the story: the step before or after; Esc leaves it"],
  ["?", "this help"],
  ["Tab", "every control in turn"],
  ["Arrows on the sphere", "turn it; + and − zoom, 0 puts it back (Tab brings you there)"],
  ["Alt + arrows on it", "at time 0: move the highlighted token; the run follows"],
  ["Fingers on the sphere", "one sideways turns it, two turn and zoom it; up and down scrolls"],
];

export const connectionLost = (port: string): string =>
  "The server does not answer; trying again. If it has ended, start nucleate explore again" +
  `${port === "" ? "" : ` (at port ${port})`}: as soon as its page is open in this browser, this tab ` +
  "goes on where it is. What is computed can still be looked at.";
export const INSTEAD = "The page shows its first scene instead.";
export const NOT_READ =
  "The server does not answer, so that the matrix is not read. Type it again when it does.";
export const SESSION_REFUSED = "The server has closed this session; trying again in a few seconds.";
export const WHY_DISABLED =
  "This page plays a recorded run and has no engine. Start “nucleate explore” to change it.";
