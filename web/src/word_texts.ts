/** What the words of the page mean: one text each, and where to read on. */

export interface WordText {
  title: string;
  text: string;
  paper: string; // the place in the paper
  docs: string; // the page of the documentation
}

export const PAPER_ADDRESS = "https://arxiv.org/abs/2411.04990";
/** The documentation has no public address yet: its pages are named as files of the package's source. */
export const DOCS_ADDRESS: string | null = null;

export const WORDS: { [word: string]: WordText } = {
  token: {
    title: "token",
    text:
      "A point on the unit sphere: a word's vector in a transformer, its length forgotten. Tokens are " +
      "counted from 1, in the order of the text. Time is depth.",
    paper: "section 2",
    docs: "docs/story.md",
  },
  renyi: {
    title: "Rényi center",
    text:
      "Take the tokens in their order at time 0. A token is a Rényi center if it is farther than δ " +
      "from every earlier center. Named after Rényi's cars, which park one by one where there is " +
      "room. They are a guess, made before anything moves, at the tokens that clusters form around.",
    paper: "section 5",
    docs: "docs/glossary.md",
  },
  strong: {
    title: "strong center",
    text:
      "A token that at time 0 is farther than δ from every earlier token, not only from every earlier " +
      "center. Every strong center is a Rényi center. Strong ones hardly move, for a time that Lemma " +
      "5.1 bounds from below on the circle; but they do not explain all clusters.",
    paper: "section 5, Lemma 5.1",
    docs: "docs/glossary.md",
  },
  delta: {
    title: "δ",
    text:
      "The angle that centers keep from each other: δ = c β^(−1/2), at most π. The figures of the " +
      "paper take c = 4. Two tokens attract each other most strongly at an angle of about β^(−1/2).",
    paper: "section 5",
    docs: "docs/glossary.md",
  },
  beta: {
    title: "β, the sharpness",
    text:
      "Token k weighs token j by exp(β⟨Q x_k, K x_j⟩). At β = 0 all weigh the same; with a large β, " +
      "and Q = K = I, only near tokens count. It is an inverse temperature. The larger β, the more " +
      "clusters form, about β^((d−1)/2), and the longer they last.",
    paper: "section 2",
    docs: "docs/story.md",
  },
  Q: {
    title: "Q, the query matrix",
    text:
      "What a token looks for: token k listens to token j by how far Q x_k points along K x_j. Q = I: " +
      "it listens to tokens near itself.",
    paper: "section 2",
    docs: "docs/glossary.md",
  },
  K: {
    title: "K, the key matrix",
    text:
      "What a token offers to be found by: token k listens to token j by how far Q x_k points along K " +
      "x_j. Only the product KᵀQ counts.",
    paper: "section 2",
    docs: "docs/glossary.md",
  },
  V: {
    title: "V, the value matrix",
    text:
      "What a token is told: token k moves towards the weighted mean of V x_j over the tokens it " +
      "sees. V = I: towards the tokens themselves. The dominant eigenvalues of V, those with the " +
      "largest real part, decide where tokens end.",
    paper: "sections 3 and 4",
    docs: "docs/story.md, 5",
  },
  L: {
    title: "L",
    text:
      "The dominant eigenspace: the span of the eigenvectors of V whose eigenvalue has the largest " +
      "real part. A single token comes to L from almost every start. Where V has no full set of " +
      "eigenvectors there, or a complex pair, the paper's Lemma 3.1 says what L is then.",
    paper: "Lemma 3.1",
    docs: "docs/glossary.md",
  },
  xi: {
    title: "ξ",
    text:
      "The unit eigenvector of the largest eigenvalue of V, where that is real and simple. ξ and −ξ " +
      "are the two points of the sphere that lie on its line.",
    paper: "section 4, Conjecture 1",
    docs: "docs/conjectures.md",
  },
  first: {
    title: "x₁(0)",
    text:
      "The place where token 1 starts. Under the causal mask token 1 sees only itself; with V = I it " +
      "stays there for ever, and by Theorem 4.1 every other token comes to it in the end.",
    paper: "Theorem 4.1",
    docs: "docs/story.md, 4",
  },
  table: {
    title: "Table 1 and its rows",
    text:
      "What the paper says of the end of all tokens, by the largest real part λ_max of V's " +
      "eigenvalues and by how often it occurs. Row 1 is a theorem. The other rows are conjectures and " +
      "experiments, and Conjecture 1 is false for some Q, K and V.",
    paper: "Table 1",
    docs: "docs/conjectures.md",
  },
  lambda: {
    title: "λ_max",
    text:
      "The largest real part among the eigenvalues of V. Its multiplicity (mult.) is how many " +
      "eigenvalues have it. The eigenvalues that have it are the dominant ones, red in the picture.",
    paper: "section 3",
    docs: "docs/glossary.md",
  },
  causal: {
    title: "causal mask",
    text:
      "Token k sees itself and the tokens before it, never those after it. So nothing flows back, and " +
      "the first k tokens move as if the others were not there.",
    paper: "section 2",
    docs: "docs/glossary.md",
  },
  cluster: {
    title: "cluster",
    text:
      "Tokens that short steps, from token to token, join: steps of at most 0.1 β^(−1/2) here. Its " +
      "leader is its first token in the sequence.",
    paper: "section 5; the step is ours",
    docs: "docs/glossary.md",
  },
};

/** How the words stand in texts; of two that fit, the earlier rule wins. */
export const WORD_PATTERNS: [pattern: string, word: keyof typeof WORDS][] = [
  ["[Ss]trong (?:Rényi )?centers?", "strong"],
  ["Rényi centers?", "renyi"],
  ["(?:[Rr]ow \\d of )?Table 1", "table"],
  ["Tokens n", "token"],
  ["Sharpness β", "beta"],
  ["Query Q", "Q"],
  ["Key K", "K"],
  ["Value V", "V"],
  ["Factor c", "delta"],
  ["λ max|λₘₐₓ|mult\\.|[Dd]ominant", "lambda"],
  ["x₁\\(0\\)", "first"],
  ["[Cc]ausal(?: (?:mask|masking|attention))?", "causal"],
  ["[Cc]lusters?", "cluster"],
  ["±?[ξ]", "xi"],
  ["δ", "delta"],
  ["(?<![\\p{L}\\d(−])β(?! ?\\^)", "beta"],
  ["(?<![\\p{L}_])L(?![\\p{L}'′])", "L"],
];

const PATTERN = new RegExp(WORD_PATTERNS.map(([pattern]) => `(${pattern})`).join("|"), "gu");

export interface FoundWord {
  from: number;
  to: number;
  word: string;
}

/** The words in a text that have an explanation, each once. */
export function wordsIn(text: string, known: ReadonlySet<string> = new Set()): FoundWord[] {
  const found: FoundWord[] = [];
  const seen = new Set(known);
  for (const match of text.matchAll(PATTERN)) {
    const rule = match.slice(1).findIndex(Boolean);
    const word = String(WORD_PATTERNS[rule][1]);
    if (seen.has(word)) continue;
    seen.add(word);
    found.push({ from: match.index, to: match.index + match[0].length, word });
  }
  return found;
}
