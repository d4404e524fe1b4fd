"""What the report looks like."""

__all__ = ["LAYOUT", "STYLE"]

STYLE = """
:root { color-scheme: light dark; --ink: #16181d; --paper: #ffffff; --faint: #5c6370; --line: #d9dce1;
  --code: #f2f3f5;
  --good: #1a7f4b; --bad: #c2261b; --maybe: #2f5fb3; --none: #6b7280; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e6e6; --paper: #14171c; --faint: #a2a9b5;
  --line: #343a44; --code: #1f242c;
  --good: #5fcf95; --bad: #ff7b70; --maybe: #86acf5; --none: #a8aeb8; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2rem 1.2rem 4rem; max-width: 68rem; color: var(--ink);
  background: var(--paper);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0 0 .4rem; }
h2 { font-size: 1.4rem; margin: 3.2rem 0 .6rem; padding-top: .6rem; border-top: 1px solid var(--line); }
h3 { font-size: .95rem; margin: 1.4rem 0 .3rem; color: var(--faint); font-weight: 600; }
p { margin: .4rem 0 .7rem; max-width: 52rem; }
ul { margin: .3rem 0; padding-left: 1.2rem; }
a { color: inherit; text-decoration-color: var(--faint); }
code { background: var(--code); padding: .08em .3em; border-radius: 3px;
  font: .88em/1.4 ui-monospace, "DejaVu Sans Mono", monospace;
  overflow-wrap: anywhere; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; margin: .4rem 0 1rem; }
th, td { text-align: left; vertical-align: top; padding: .35rem .7rem .35rem 0;
  border-bottom: 1px solid var(--line); }
th { color: var(--faint); font-weight: 600; }
td.value { white-space: nowrap; font-variant-numeric: tabular-nums; }
td code { font-size: .78em; color: var(--faint); background: none; padding: 0; }
figure { margin: 1rem 0 1.2rem; }
figure img { max-width: 100%; height: auto; display: block; margin: 0 auto; }
figure img.dark { display: none; }
figcaption { color: var(--faint); font-size: .9rem; margin-top: .4rem; }
summary { cursor: pointer; color: var(--faint); margin: .3rem 0; }
.printed { display: none; }
.contents { list-style: none; padding: 0; columns: 2; column-gap: 2.5rem; font-size: .95rem; }
.contents li { break-inside: avoid; padding: .15rem 0; } .words { font-size: .85em; }
table.verdicts td { font-size: .95em; }
sub, sup { font-size: .72em; line-height: 0; }
.note { color: var(--faint); font-size: .9rem; }
.pair { display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); gap: 0 2.5rem; }
.badge { display: inline-block; white-space: nowrap; font-weight: 600; font-size: .85em;
  border: 1px solid currentColor; border-radius: 4px;
  padding: 0 .45em; }
.agrees { color: var(--good); } .disagrees, .evidence-against { color: var(--bad); }
.contradicted, .not-observed { color: var(--bad); } .proved { color: var(--good); }
.evidence-for, .observed { color: var(--maybe); }
.not-testable-here, .no-claim, .undecided { color: var(--none); }
.findings { padding-left: 1.2rem; max-width: 56rem; } .findings li { padding: .18rem 0; }
.overview { list-style: none; padding: 0; font-size: .93rem; } .overview li { padding: .1rem 0; }
@media (prefers-color-scheme: dark) {
  figure img.light { display: none; } figure img.dark { display: block; }
}
@media (max-width: 46rem) {
  table { display: block; overflow-x: auto; } li, td { overflow-wrap: anywhere; }
  .pair { grid-template-columns: minmax(0, 1fr); } .contents { columns: 1; } td.value { white-space: normal; }
}
@page { margin: 16mm 14mm; }
@media print {
  :root { color-scheme: light; --ink: #000; --paper: #fff; --faint: #444; --line: #bbb; --code: #f2f3f5;
    --good: #12693c; --bad: #a81d13; --maybe: #1f4c9c; --none: #444; }
  html { font-size: 8.4pt; } body { max-width: none; padding: 0; font-size: 1.05rem; } p { max-width: none; }
  figure img.light { display: block; } figure img.dark { display: none; }
  figure img { max-height: 195mm; width: auto; }
  section { break-before: page; } section#slip-table { break-before: auto; }
  h2 { border-top: none; margin-top: 0; } h2, h3 { break-after: avoid; }
  figure, tr { break-inside: avoid; } .pair td { padding: .1rem .5rem .1rem 0; }
  td.value { white-space: normal; }
  details { display: none; } .printed { display: block; }
}
"""

LAYOUT = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}, reproduced</title>
<style>{style}</style>
</head>
<body>
<header>
<h1>{title}, reproduced</h1>
<p>Figures and claims of the paper ({paper}), simulated, measured and judged by nucleate
{version}. {kind}</p>
</header>
{findings}
{picture}
<p class=note>{words}</p>
<p class=note>All numbers are in results.json
beside this file, data in data/, pictures in figures/. On a dark screen what captions call black is white.
Made with {made}.</p>
<h2 id="overview">Every statement, at a glance</h2>
{overview}
<h2 id="contents">Contents</h2>
{contents}
{sections}
{slips}
<section id="all"><h2 id="verdicts">All statements and verdicts</h2>
{verdicts}
</section>
</body>
</html>
"""
