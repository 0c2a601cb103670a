/** The style sheet of the HTML report: light and dark, and for paper. Colours have a contrast of 4.5 : 1 or more on their ground. */

export const STYLE = `
:root { color-scheme: light dark; --ground: #ffffff; --raised: #f6f8fa; --line: #d1d9e0; --text: #1f2328; --quiet: #59636e;
  --good: #1a7f37; --good-ground: #dafbe1; --bad: #b3202a; --bad-ground: #ffebe9; --open: #7d4e00; --open-ground: #fff8c5; }
@media (prefers-color-scheme: dark) { :root { --ground: #0d1117; --raised: #151b23; --line: #3d444d; --text: #f0f6fc; --quiet: #9198a1;
  --good: #56d364; --good-ground: #12261e; --bad: #ff8f88; --bad-ground: #2b1518; --open: #e3b341; --open-ground: #272115; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--text); font: 15px/1.55 system-ui, -apple-system, "Segoe UI", sans-serif; overflow-wrap: anywhere; }
main { max-width: 60rem; margin: 0 auto; padding: 2.5rem 1.25rem 4rem; }
h1 { margin: 0; font-size: 1.6rem; line-height: 1.25; font-weight: 600; }
h2 { margin: 2.5rem 0 .75rem; font-size: 1.1rem; font-weight: 600; }
h3 { margin: 0; font-size: 1rem; font-weight: 600; }
p { margin: .5rem 0; }
.head { display: flex; flex-wrap: wrap; gap: .6rem 1rem; align-items: center; }
.lead { font-size: 1.05rem; margin: .75rem 0 1.25rem; }
.badge { display: inline-block; padding: .1rem .65rem; border-radius: 1rem; font-size: .85rem; font-weight: 600; white-space: nowrap; }
.pass, .passed { color: var(--good); background: var(--good-ground); }
.fail, .failed { color: var(--bad); background: var(--bad-ground); }
.partial, .none, .cancelled, .missing { color: var(--open); background: var(--open-ground); }
.bar { display: flex; height: .5rem; border-radius: .25rem; overflow: hidden; background: var(--raised); margin: 1rem 0 1.5rem; }
.bar span { background: currentColor; }
dl { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: .3rem 1.25rem; margin: 0; padding: 1rem 1.25rem;
  background: var(--raised); border: 1px solid var(--line); border-radius: .5rem; }
dt { color: var(--quiet); }
dd { margin: 0; }
.tests { list-style: none; margin: 0; padding: 0; border: 1px solid var(--line); border-radius: .5rem; }
.tests > li { padding: .85rem 1.25rem; }
.tests > li + li { border-top: 1px solid var(--line); }
.test { display: flex; flex-wrap: wrap; gap: .35rem .75rem; align-items: baseline; }
.test h3 { flex: 1 1 16rem; font-weight: 500; }
.quiet { color: var(--quiet); font-size: .85rem; }
pre { margin: .6rem 0 0; padding: .75rem 1rem; background: var(--raised); border: 1px solid var(--line); border-radius: .4rem;
  font: 12.5px/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; white-space: pre-wrap; }
.tests ul { margin: .5rem 0 0; padding-left: 1.2rem; }
.tests ul li { white-space: pre-wrap; }
figure { margin: .75rem 0 0; }
figure img { display: block; max-width: 100%; height: auto; border: 1px solid var(--line); border-radius: .4rem; }
figcaption { color: var(--quiet); font-size: .85rem; margin-top: .25rem; }
@media (max-width: 30rem) { dl { grid-template-columns: 1fr; gap: 0; } dd { margin-bottom: .5rem; } }
@media print { main { padding: 0; max-width: none; } .tests > li { break-inside: avoid; } }
`
