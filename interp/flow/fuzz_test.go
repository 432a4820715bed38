package flow

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"go.starlark.net/starlark"
)

// FuzzBlock: no text makes the analyzer panic or hang, and the tools called are within those announced.
func FuzzBlock(f *testing.F) {
	for _, c := range flows {
		f.Add(c.src, "send(1)")
	}
	f.Add("load(\"a\", \"b\")", "x = (")
	f.Fuzz(func(t *testing.T, one, two string) {
		a := New(testTools, Limits{SourceBytes: 4 << 10, Steps: 5_000})
		m := newMachine(testTools, func(string, string) starlark.Value { return starlark.String("ab") })
		for _, src := range []string{one, two} {
			start := time.Now()
			r, err := a.Block(src)
			if d := time.Since(start); d > 2*time.Second {
				t.Errorf("%v for %d bytes", d, len(src))
			}
			if err != nil || len(r.Unknown) > 0 || strings.ContainsAny(src, "*<") { // no products and shifts: they cost the test its memory
				return
			}
			_ = m.block(src)
			for _, c := range m.calls {
				if !strings.Contains(strings.Join(r.Tools, " "), c.Tool) {
					t.Errorf("called %s, announced %v", c.Tool, r.Tools)
				}
			}
		}
	})
}

const typical = `rows = fetch("https://example.test/rows")
seen = {}
out = []
def clean(text, limit=80):
    text = text.strip()
    if len(text) > limit:
        return text[:limit] + "..."
    return text
for r in rows:
    key = r["id"]
    if key in seen:
        continue
    seen[key] = True
    title = clean(r["title"])
    detail = attempt(fetch, url=r["url"])
    if not detail.ok:
        print(detail.error)
        continue
    out.append({"title": title, "body": clean(detail.value["body"], limit=200), "n": len(out)})
best = sorted(out, key=lambda o: -o["n"])[:5]
lines = []
for o in best:
    lines.append("{}. {}".format(o["n"], o["title"]))
now = clock()
text = "\n".join(lines)
if text:
    send(text, to="me@example.test")
else:
    send("nothing at " + str(now), to="me@example.test")
final({"sent": len(lines)})
`

// long has 200 lines with 150 calls.
var long = func() string {
	var b strings.Builder
	b.WriteString("def note(x, l=[]):\n    l.append(x)\n    return send(x)\nacc = []\n")
	for i := range 49 {
		fmt.Fprintf(&b, "a%d = fetch(\"u%d\")\nfor r in a%d:\n    acc.append(note(str(r)))\nif len(a%d) > %d: send(fetch(acc), to=clock())\n", i, i, i, i, i)
	}
	return b.String()
}()

func BenchmarkBlock(b *testing.B) {
	for _, c := range []struct{ name, src string }{{"30Lines", typical}, {"200Lines", long}} {
		b.Run(c.name, func(b *testing.B) {
			steps := 0
			for b.Loop() {
				a := New(testTools, Limits{})
				if r := block(b, a, c.src); r.OverBudget {
					b.Fatal("over budget")
				}
				steps = a.last.steps
			}
			b.ReportMetric(float64(steps), "steps/op")
		})
	}
}
